// What the schedule itself orders: vector clocks over engines, passed on by semaphores and streams. Two accesses that
// nothing orders are a race, even where their times happen to keep them apart.

#pragma once

#include <deque>
#include <span>
#include <vector>

#include "program.h"

namespace npuflow {

// An access: which op, and its engine's own time then. Time 0 is before everything.
struct Epoch {
  Index op = 0;
  std::uint32_t time = 0;
};

class Ordering {
 public:
  explicit Ordering(const Program& program);

  void released(Index engine, Index semaphore, std::int64_t count);
  void acquired(Index engine, Index semaphore, std::int64_t count);
  // The receiver writes what the sender sends, when all that the sender did before is over.
  void receiving(Index receiver, Index sender);
  // The receiver has got what the sender sent until now.
  void received(Index receiver, Index sender);

  Epoch stamp(Index op) const { return {op, own_time(engine_of_[op])}; }
  // Whether the access is known to be over when `op` happens now.
  bool is_before(const Epoch& access, Index op) const {
    const Index engine = engine_of_[access.op];
    return access.time == 0 || engine == engine_of_[op] || access.time <= clock(engine_of_[op])[engine];
  }

 private:
  // What an acquire learns by taking `count` from a semaphore: the clock of who put them there.
  struct Token {
    std::int64_t count = 0;
    std::vector<std::uint32_t> clock;
  };

  std::uint32_t own_time(Index engine) const { return clock(engine)[engine]; }
  std::span<const std::uint32_t> clock(Index engine) const { return {&clocks_[engine * engines_], engines_}; }
  std::span<std::uint32_t> clock(Index engine) { return {&clocks_[engine * engines_], engines_}; }
  void tick(Index engine);
  static void join(std::span<std::uint32_t> into, std::span<const std::uint32_t> from);

  std::size_t engines_;
  std::vector<Index> engine_of_;       // by op
  std::vector<std::uint32_t> clocks_;  // engines x engines
  std::vector<std::deque<Token>> tokens_;
};

}  // namespace npuflow
