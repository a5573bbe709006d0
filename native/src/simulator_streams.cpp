// The part of the simulator that moves data: engines meet at streams, and data flows while all ends are there.

#include <algorithm>
#include <cmath>

#include "simulator.h"

namespace npuflow {

void Simulator::arrive(Index index, const Op& op) {
  EngineState& engine = engines_[index];
  const Cycles start = program_.engines[index].start_cycles;
  spend(index, Spent::start, start);
  engine.placed = place(program_, program_.operands[op.first_operand].access, engine.counters, engine.pc, budget_);
  if (engine.placed.elements == 0) return wake_at(index, start);
  if (now_ > max_time - start) throw Fault("the program runs for more than 2^60 cycles");
  engine.elements_left = engine.placed.elements;
  engine.arrived = now_ + start;
  engine.moving = false;
  const std::size_t ends = 1 + program_.streams[op.target].receivers.size();
  if (++streams_[op.target].arrived == ends) begin_piece(op.target);
}

// All ends are there: as many elements go as the shortest transfer among them still has.
void Simulator::begin_piece(Index index) {
  const Stream& stream = program_.streams[index];
  StreamState& state = streams_[index];
  Cycles at = now_;
  state.elements = engines_[stream.sender].elements_left;
  for_each_end(stream, [&](Index e) {
    at = std::max(at, engines_[e].arrived);
    state.elements = std::min(state.elements, engines_[e].elements_left);
  });
  const Cycles latency = latency_left(stream, at);
  for_each_end(stream, [&](Index e) {
    spend(e, Spent::partner, at - engines_[e].arrived);
    spend(e, Spent::start, latency);
  });
  if (at + latency == now_) return start_moving(index);
  state.phase = Phase::starting;
  wake_at(static_cast<Index>(engines_.size()) + index, at + latency - now_);
}

// The first byte takes the latency, unless the sender's requests have been under way: while it kept sending, and
// while it waited for the other ends.
Cycles Simulator::latency_left(const Stream& stream, Cycles at) const {
  const EngineState& sender = engines_[stream.sender];
  if (sender.moving) return 0;
  const Cycles own = is_near(sender.placed) ? 0 : program_.engines[stream.sender].latency_cycles;
  const Cycles latency = own + stream.latency_cycles;
  const Cycles idle = sender.last_sent < 0 ? latency : std::min(latency, sender.since - sender.last_sent);
  return std::max(Cycles{0}, idle - (at - sender.arrived));
}

void Simulator::start_moving(Index index) {
  const Stream& stream = program_.streams[index];
  StreamState& state = streams_[index];
  double limit = program_.engines[stream.sender].bytes_per_cycle;
  for_each_end(stream, [&](Index e) {
    EngineState& engine = engines_[e];
    limit = std::min(limit, program_.engines[e].bytes_per_cycle);
    if (data_ != nullptr && !engine.moving) {
      ends_[e].emplace(TransferEnd{engine.pc, &engine.placed, Walker(engine.placed)});
    }
    if (!engine.moving) engine.since = now_;
    engine.moving = true;
  });
  collect_uses(index);
  const std::int64_t element_bytes = engines_[stream.sender].placed.access->element_bytes;
  const auto bytes = static_cast<double>(state.elements * element_bytes);
  state.phase = Phase::moving;
  state.began = now_;
  state.rate_alone = network_.rate_alone(limit, uses_);
  network_.start(index, bytes, limit, uses_, now_);
}

void Simulator::collect_uses(Index index) {
  const Stream& stream = program_.streams[index];
  uses_.clear();
  for (const Index link : stream.links) uses_.push_back({link, 1.0});
  for_each_end(stream, [&](Index e) { add_uses(program_.engines[e], engines_[e].placed); });
}

bool Simulator::is_near(const Placed& placed) const {
  return program_.memories[program_.buffers[placed.access->buffer].memory].is_near;
}

// A memory's port carries only what is in memory, and pays for each contiguous run.
void Simulator::add_uses(const Engine& engine, const Placed& placed) {
  if (placed.inside == 0 || is_near(placed)) return;
  const double share = static_cast<double>(placed.inside) / static_cast<double>(placed.elements);
  const auto run = static_cast<double>(placed.run_bytes);
  double overhead = placed.access->run_overhead_bytes;
  for (const Index port : engine.ports) {
    uses_.push_back({port, share * (run + overhead) / run});
    overhead = 0;
  }
}

void Simulator::end_piece(Index index) {
  const Stream& stream = program_.streams[index];
  StreamState& state = streams_[index];
  network_.stop(index);
  account(index);
  if (data_ != nullptr) copy_piece(index);
  state.phase = Phase::idle;
  for_each_end(stream, [&](Index e) {
    engines_[e].elements_left -= state.elements;
    engines_[e].arrived = now_;
  });
  for_each_end(stream, [&](Index e) {
    if (engines_[e].elements_left == 0) leave_stream(e, index);
  });
}

// What the piece would have taken alone is transfer, the rest contention.
void Simulator::account(Index index) {
  const Stream& stream = program_.streams[index];
  const StreamState& state = streams_[index];
  const std::int64_t bytes = state.elements * engines_[stream.sender].placed.access->element_bytes;
  const Cycles duration = now_ - state.began;
  const auto alone = static_cast<Cycles>(std::ceil(static_cast<double>(bytes) / state.rate_alone - 1e-6));
  for_each_end(stream, [&](Index e) {
    spend(e, Spent::transfer, std::min(alone, duration));
    spend(e, Spent::contention, duration - std::min(alone, duration));
  });
  results_.stream_bytes[index] += bytes;
}

void Simulator::leave_stream(Index index, Index stream) {
  EngineState& engine = engines_[index];
  const Placed& placed = engine.placed;
  const bool sends = program_.streams[stream].sender == index;
  Traffic& traffic = results_.buffers[placed.access->buffer];
  (sends ? traffic.read_bytes : traffic.written_bytes) += placed.inside * placed.access->element_bytes;
  if (sends) engine.last_sent = now_;
  if (data_ != nullptr && !sends) data_->finish_write(engine.pc, placed, now_);
  trace(index, engine.since);
  --streams_[stream].arrived;
  ++engine.pc;
  ++results_.operations;
  make_ready(index);
}

void Simulator::copy_piece(Index index) {
  const Stream& stream = program_.streams[index];
  receiving_.clear();
  for (const Index e : stream.receivers) receiving_.push_back(&*ends_[e]);
  for (const Index e : stream.receivers) data_->ordering().receiving(e, stream.sender);
  data_->move(*ends_[stream.sender], receiving_, streams_[index].elements, now_, budget_);
  for (const Index e : stream.receivers) data_->ordering().received(e, stream.sender);
}

}  // namespace npuflow
