// Who touched which bytes last: finds accesses that conflict and that nothing orders, and data that is used wrongly.

#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ordering.h"

namespace npuflow {

class Shadow {
 public:
  // `initialised` says of each memory whether it holds data from the start.
  Shadow(const Program& program, const std::vector<bool>& initialised);

  // What it takes to watch a run: a state per byte, cells where something is written.
  static std::int64_t bytes_of(const Program& program);

  Ordering& ordering() { return ordering_; }

  // Each access is looked up as one run of bytes, and answers with an access it races with, if there is one.
  std::optional<Index> read(Index op, Index memory, std::int64_t byte, std::int64_t bytes);
  std::optional<Index> write(Index op, Index memory, std::int64_t byte, std::int64_t bytes);

  // States of single bytes, to be read and changed by whoever moves them.
  static constexpr std::uint8_t written = 1;  // something was written here
  static constexpr std::uint8_t unread = 2;   // and it has not been read yet
  std::uint8_t* states(Index memory, std::int64_t byte) { return memories_[memory].states.data() + byte; }

 private:
  // The last write and the last reads by two engines since, of one granule. A third engine's read takes the place of
  // the older one, so that its race with a later write can be missed; what is reported is always a race.
  struct Cell {
    Epoch write;
    std::array<Epoch, 2> reads;
  };
  struct MemoryShadow {
    std::int64_t granule = 1;  // bytes that every access touches only together
    std::vector<Cell> cells;   // none in a memory that no step writes, where nothing can race
    std::vector<std::uint8_t> states;
  };

  static std::vector<std::int64_t> granules(const Program& program);
  static std::vector<bool> is_written(const Program& program);
  static std::int64_t cell_count(std::int64_t bytes, std::int64_t granule) { return (bytes + granule - 1) / granule; }
  std::span<Cell> cells(Index memory, std::int64_t byte, std::int64_t bytes);
  void note_read(Cell& cell, const Epoch& epoch) const;

  Ordering ordering_;
  std::vector<MemoryShadow> memories_;
};

}  // namespace npuflow
