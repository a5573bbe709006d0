// The part of the simulator that skips what repeats itself. Loops settle: after some turns everything is as it was some
// turns before, only later and with other loop counters. As long as no loop ends and no edge cuts a transfer off, all
// that follows is that same period again, so it is counted as often as it goes on, and not simulated.

#include <algorithm>

#include "simulator.h"

namespace npuflow {

namespace {

// A time is as much later as everything else, or has not changed: of what is not under way.
bool is_later(Cycles now, Cycles then, Cycles by) { return now == then || now - then == by; }

void postpone(Cycles& time, Cycles then, Cycles period, Cycles by) {
  if (time - then == period) time += by;
}

// The loops around an op, the outermost first; each by its first op.
std::vector<Index> loops_around(const Program& program, Index engine, Index at) {
  std::vector<Index> open;
  for (Index op = program.engines[engine].first_op; op < at; ++op) {
    if (program.ops[op].kind == OpKind::loop_begin) open.push_back(op);
    if (program.ops[op].kind == OpKind::loop_end) open.pop_back();
  }
  return open;
}

std::int64_t coefficient(const Affine& affine, Index depth) {
  return depth < affine.coefficients.size() ? affine.coefficients[depth] : 0;
}

// A limit's bound without the counter at `depth`: the counters outside of it are given, those inside take any value.
std::int64_t least_bound(const Affine& bound, Index depth, const std::vector<std::int64_t>& counters,
                         const std::vector<std::int64_t>& trips) {
  std::int64_t least = bound.constant;
  for (Index d = 0; d < bound.coefficients.size(); ++d) {
    const std::int64_t slope = bound.coefficients[d];
    if (d < depth) least += slope * counters[d];
    if (d > depth) least += std::min(std::int64_t{0}, slope * (trips[d] - 1));
  }
  return least;
}

// How often what a period adds can be added again.
std::int64_t periods_up_to(std::int64_t most, std::int64_t now, std::int64_t then) {
  return now == then ? most : (most - now) / (now - then);
}

// How many turns of the loop at `depth` are left in which an access is not cut off, as it was not in the last `turns`.
std::int64_t turns_uncut(const Access& access, Index depth, std::int64_t turns,
                         const std::vector<std::int64_t>& counters, const std::vector<std::int64_t>& trips) {
  std::int64_t left = max_number;
  for (const Limit& limit : access.limits) {
    const std::int64_t slope = coefficient(limit.bound, depth);
    if (slope == 0) continue;
    const std::int64_t spare = least_bound(limit.bound, depth, counters, trips) - largest(access, limit) - 1;
    if (spare + slope * (counters[depth] - turns) < 0) return 0;
    if (slope < 0) left = std::min(left, spare / -slope - counters[depth]);
  }
  return std::max(left, std::int64_t{0});
}

template <typename T>
void add_times(std::vector<T>& values, const std::vector<T>& before, std::int64_t times) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += times * (values[i] - before[i]);
}

}  // namespace

void Simulator::look_for_repeats() {
  const bool traces = options_.most_trace_events > 0 && !results_.trace_is_cut;
  const Index depth = search_->depth();
  if (moments_.size() <= depth) moments_.resize(depth + 1);
  std::unique_ptr<Moment>& kept = moments_[depth];
  if (kept && !traces) {
    const std::optional<Period> period = period_since(*kept);
    const std::int64_t periods = period ? periods_left(*kept, *period) : 0;
    if (periods > 0) skip(*kept, *period, periods);
  }
  if (search_->keeps()) kept = std::make_unique<Moment>(moment());
}

Simulator::Moment Simulator::moment() {
  std::vector<TraceEvent> trace = std::move(results_.trace);
  results_.trace.clear();
  Moment made{now_, heap_, network_, engines_, semaphores_, streams_, results_};
  results_.trace = std::move(trace);
  return made;
}

std::optional<Simulator::Period> Simulator::period_since(const Moment& before) const {
  const Cycles cycles = now_ - before.now;
  if (cycles <= 0 || !heap_.repeats(before.heap, cycles)) return std::nullopt;
  for (Index s = 0; s < semaphores_.size(); ++s) {
    if (semaphores_[s].value != before.semaphores[s].value || !waiters_repeat(s, before)) return std::nullopt;
  }
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const StreamState& now = streams_[s];
    const StreamState& then = before.streams[s];
    const bool same = now.phase == then.phase && now.arrived == then.arrived && now.elements == then.elements &&
                      now.rate_alone == then.rate_alone && is_later(now.began, then.began, cycles);
    if (!same) return std::nullopt;
  }
  Period period{cycles, {}};
  for (Index e = 0; e < engines_.size(); ++e) {
    if (!repeats(e, before, cycles)) return std::nullopt;
    const std::optional<Shift> shift = shift_of(e, before);
    if (!shift) return std::nullopt;
    period.shifts.push_back(*shift);
  }
  if (!network_.repeats(before.network, cycles)) return std::nullopt;
  return period;
}

bool Simulator::repeats(Index index, const Moment& before, Cycles cycles) const {
  const EngineState& now = engines_[index];
  const EngineState& then = before.engines[index];
  return now.done == then.done && now.pc == then.pc && now.elements_left == then.elements_left &&
         now.moving == then.moving && is_later(now.since, then.since, cycles) &&
         is_later(now.arrived, then.arrived, cycles) && is_later(now.last_sent, then.last_sent, cycles) &&
         now.placed.elements == then.placed.elements && now.placed.inside == then.placed.inside &&
         now.placed.run_bytes == then.placed.run_bytes;
}

bool Simulator::waiters_repeat(Index semaphore, const Moment& before) const {
  Index now = semaphores_[semaphore].waiters.first;
  Index then = before.semaphores[semaphore].waiters.first;
  while (now != none && now == then) {
    now = engines_[now].next;
    then = before.engines[then].next;
  }
  return now == then;
}

// Of the loops around, the outermost that has turned has not ended meanwhile, since no loop around it has turned; those
// inside have to stand where they stood.
std::optional<Simulator::Shift> Simulator::shift_of(Index index, const Moment& before) const {
  const EngineState& now = engines_[index];
  const EngineState& then = before.engines[index];
  if (now.done || now.counters == then.counters) return Shift{};
  Shift shift;
  for (const Index loop : loops_around(program_, index, now.pc)) {
    const Index depth = program_.ops[loop].depth;
    const std::int64_t turns = now.counters[depth] - then.counters[depth];
    if (turns == 0) continue;
    if (turns < 0 || shift.loop != none) return std::nullopt;
    shift = {loop, turns};
  }
  return shift;
}

// How often the period can go on before a loop ends, a transfer is cut off, or what is counted gets too large.
std::int64_t Simulator::periods_left(const Moment& before, const Period& period) const {
  std::int64_t left = periods_up_to(max_time, now_, before.now);
  left = std::min(left, periods_up_to(max_time, results_.operations, before.results.operations));
  for (std::size_t b = 0; b < results_.buffers.size(); ++b) {
    const Traffic& now = results_.buffers[b];
    const Traffic& then = before.results.buffers[b];
    left = std::min(left, periods_up_to(max_time, now.read_bytes, then.read_bytes));
    left = std::min(left, periods_up_to(max_time, now.written_bytes, then.written_bytes));
  }
  for (Index e = 0; e < engines_.size(); ++e) {
    const Shift& shift = period.shifts[e];
    if (shift.loop != none) left = std::min(left, turns_until_cut(e, shift) / shift.turns);
  }
  return left;
}

// How many turns of a loop are left in which no access is cut off in another way than in the last ones.
std::int64_t Simulator::turns_until_cut(Index index, const Shift& shift) const {
  const Op& loop = program_.ops[shift.loop];
  const std::vector<std::int64_t>& counters = engines_[index].counters;
  std::int64_t left = loop.amount - 1 - counters[loop.depth];
  std::vector<std::int64_t> trips(program_.engines[index].loop_depth, 0);
  for (Index op = shift.loop + 1; op < loop.target; ++op) {
    const Op& here = program_.ops[op];
    if (here.kind == OpKind::loop_begin) trips[here.depth] = here.amount;
    for (Index o = 0; o < here.operand_count; ++o) {
      const Access& access = program_.accesses[program_.operands[here.first_operand + o].access];
      left = std::min(left, turns_uncut(access, loop.depth, shift.turns, counters, trips));
    }
  }
  return left;
}

void Simulator::skip(const Moment& before, const Period& period, std::int64_t periods) {
  const Cycles by = periods * period.cycles;
  heap_.postpone(by);
  network_.postpone(before.network, by, periods);
  for (Index e = 0; e < engines_.size(); ++e) {
    EngineState& now = engines_[e];
    const EngineState& then = before.engines[e];
    postpone(now.since, then.since, period.cycles, by);
    postpone(now.arrived, then.arrived, period.cycles, by);
    postpone(now.last_sent, then.last_sent, period.cycles, by);
    const Shift& shift = period.shifts[e];
    if (shift.loop != none) {
      now.counters[program_.ops[shift.loop].depth] += periods * shift.turns;
    }
    EngineTime& time = results_.engines[e];
    for (std::size_t kind = 0; kind < spent_kinds; ++kind)
      time.spent[kind] += periods * (time.spent[kind] - before.results.engines[e].spent[kind]);
  }
  for (std::size_t s = 0; s < streams_.size(); ++s)
    postpone(streams_[s].began, before.streams[s].began, period.cycles, by);
  for (std::size_t b = 0; b < results_.buffers.size(); ++b) {
    Traffic& traffic = results_.buffers[b];
    const Traffic& then = before.results.buffers[b];
    traffic.read_bytes += periods * (traffic.read_bytes - then.read_bytes);
    traffic.written_bytes += periods * (traffic.written_bytes - then.written_bytes);
  }
  add_times(results_.stream_bytes, before.results.stream_bytes, periods);
  add_times(results_.semaphore_waits, before.results.semaphore_waits, periods);
  results_.operations += periods * (results_.operations - before.results.operations);
  now_ += by;
}

}  // namespace npuflow
