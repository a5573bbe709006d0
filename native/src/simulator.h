// The discrete-event simulator. Engines are small state machines over their programs; time only passes in kernels,
// control steps and transfers. See docs/simulator.md for the model.

#pragma once

#include <memory>
#include <optional>

#include "access.h"
#include "budget.h"
#include "data_plane.h"
#include "deadlock.h"
#include "event_heap.h"
#include "flow_network.h"
#include "repeat_search.h"
#include "results.h"

namespace npuflow {

struct RunOptions {
  std::int64_t most_steps = 0;
  std::int64_t most_trace_events = 0;  // 0: no trace
  std::function<void()> poll;
  std::int64_t* done = nullptr;  // if given: how many operations are, at any time
  bool skips_repeats = true;     // what repeats itself is counted, and not simulated again; in timing runs
};

class Simulator {
 public:
  // `data` is null for a timing run. The program has been validated.
  Simulator(const Program& program, const RunOptions& options, DataPlane* data);

  // Throws Fault, or Deadlock naming who waits for whom.
  Results run();

 private:
  enum class Phase : std::uint8_t { idle, starting, moving };

  struct EngineState {
    bool done = false;
    Index pc = 0;
    Index next = none;      // in the list of ready engines, or of a semaphore's waiters
    Cycles since = 0;       // of the present wait or kernel, or of a transfer's first byte
    Cycles arrived = 0;     // at the stream, ready to move data
    Cycles last_sent = -1;  // when the last transfer ended; -1: none yet
    std::int64_t elements_left = 0;
    bool moving = false;  // the present transfer has begun to move data
    std::vector<std::int64_t> counters;
    Placed placed;
  };

  // A first-in-first-out list of engines, linked through the engines themselves.
  struct EngineList {
    Index first = none;
    Index last = none;
  };

  struct SemaphoreState {
    std::int64_t value = 0;
    EngineList waiters;
  };

  struct StreamState {
    Phase phase = Phase::idle;
    Index arrived = 0;
    std::int64_t elements = 0;  // of the piece in flight
    Cycles began = 0;
    double rate_alone = 0;
  };

  // All that what comes next depends on, and what had been counted by then.
  struct Moment {
    Cycles now = 0;
    EventHeap heap;
    FlowNetwork network;
    std::vector<EngineState> engines;
    std::vector<SemaphoreState> semaphores;
    std::vector<StreamState> streams;
    Results results;  // without the trace
  };

  // From one moment to the next like it: how long, and the loop of each engine that went on meanwhile, if any.
  struct Shift {
    Index loop = none;  // its op
    std::int64_t turns = 0;
  };
  struct Period {
    Cycles cycles = 0;
    std::vector<Shift> shifts;
  };

  void push(EngineList& list, Index engine);
  Index pop(EngineList& list);
  void make_ready(Index engine);

  void loop();
  std::vector<Blocked> blocked_engines() const;
  void fire(Index entity);
  void step(Index engine);
  void wake_at(Index entity, Cycles duration);
  void spend(Index engine, Spent cause, Cycles cycles);
  void trace(Index engine, Cycles begin);

  bool acquire(Index engine, const Op& op);
  void release(Index engine, const Op& op);
  void begin_timed(Index engine, const Op& op);
  void end_timed(Index engine);
  void place_operands(Index engine, const Op& op);

  void arrive(Index engine, const Op& op);
  void begin_piece(Index stream);
  Cycles latency_left(const Stream& stream, Cycles at) const;
  bool is_near(const Placed& placed) const;
  void start_moving(Index stream);
  void end_piece(Index stream);
  void account(Index stream);
  void leave_stream(Index engine, Index stream);
  void copy_piece(Index stream);

  void look_for_repeats();
  Moment moment();
  std::optional<Period> period_since(const Moment& before) const;
  std::optional<Shift> shift_of(Index engine, const Moment& before) const;
  bool repeats(Index engine, const Moment& before, Cycles cycles) const;
  bool waiters_repeat(Index semaphore, const Moment& before) const;
  std::int64_t periods_left(const Moment& before, const Period& period) const;
  std::int64_t turns_until_cut(Index engine, const Shift& shift) const;
  void skip(const Moment& before, const Period& period, std::int64_t periods);
  void collect_uses(Index stream);
  void add_uses(const Engine& engine, const Placed& placed);

  template <typename Visit>
  void for_each_end(const Stream& stream, Visit visit) {
    visit(stream.sender);
    for (const Index receiver : stream.receivers) visit(receiver);
  }

  const Program& program_;
  RunOptions options_;
  DataPlane* data_;
  Budget budget_;
  Cycles now_ = 0;
  EventHeap heap_;
  FlowNetwork network_;
  std::vector<EngineState> engines_;
  std::vector<SemaphoreState> semaphores_;
  std::vector<StreamState> streams_;
  EngineList ready_;
  std::vector<Use> uses_;                             // scratch of `start_moving`
  std::vector<std::optional<TransferEnd>> ends_;      // by engine: its transfer in progress, in functional runs
  std::vector<TransferEnd*> receiving_;               // scratch of `copy_piece`
  std::vector<std::vector<Placed>> kernel_operands_;  // by engine: of its running kernel, in functional runs
  std::optional<RepeatSearch> search_;                // in timing runs
  std::vector<std::unique_ptr<Moment>> moments_;      // by depth of the loop that the search goes by
  Results results_;
};

}  // namespace npuflow
