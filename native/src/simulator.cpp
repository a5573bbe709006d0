#include "simulator.h"

#include <algorithm>

namespace npuflow {

Simulator::Simulator(const Program& program, const RunOptions& options, DataPlane* data)
    : program_(program),
      options_(options),
      data_(data),
      budget_(options.most_steps, options.poll),
      heap_(static_cast<Index>(program.engines.size() + program.streams.size())),
      network_(program.resources, static_cast<Index>(program.streams.size()),
               static_cast<Index>(program.engines.size())),
      engines_(program.engines.size()),
      semaphores_(program.semaphores.size()),
      streams_(program.streams.size()),
      ends_(program.engines.size()),
      kernel_operands_(program.engines.size()) {
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    engines_[e].pc = program.engines[e].first_op;
    engines_[e].counters.assign(program.engines[e].loop_depth, 0);
  }
  for (std::size_t s = 0; s < semaphores_.size(); ++s) semaphores_[s].value = program.semaphores[s].initial;
  results_.engines.resize(engines_.size());
  results_.semaphore_waits.resize(semaphores_.size());
  results_.stream_bytes.resize(streams_.size());
  results_.buffers.resize(program.buffers.size());
  if (data == nullptr && options.skips_repeats) search_.emplace(program);
}

Results Simulator::run() {
  loop();
  if (options_.done != nullptr) *options_.done = results_.operations;
  std::vector<std::int64_t> values;
  for (const SemaphoreState& semaphore : semaphores_) values.push_back(semaphore.value);
  const std::vector<Blocked> blocked = blocked_engines();
  if (!blocked.empty()) throw Deadlock(explain_deadlock(program_, blocked, values, now_));
  results_.cycles = now_;
  results_.semaphore_values = std::move(values);
  results_.resource_bytes = network_.used_bytes();
  if (data_ != nullptr) results_.hazards = data_->take_hazards();
  return std::move(results_);
}

// Everything that can happen at this cycle happens before rates are shared out anew, and that before time goes on.
void Simulator::loop() {
  for (Index engine = 0; engine < engines_.size(); ++engine) make_ready(engine);
  for (;;) {
    if (ready_.first != none) {
      step(pop(ready_));
    } else if (!heap_.empty() && heap_.top_time() <= now_) {
      const Index entity = heap_.top();
      heap_.pop();
      fire(entity);
    } else if (network_.needs_update()) {
      network_.update(now_, heap_);
    } else if (heap_.empty()) {
      return;
    } else {
      if (search_ && search_->looks(results_.operations)) look_for_repeats();
      now_ = heap_.top_time();
      if (options_.done != nullptr) *options_.done = results_.operations;
    }
  }
}

void Simulator::fire(Index entity) {
  if (entity < engines_.size()) {
    end_timed(entity);
    make_ready(entity);
    return;
  }
  const Index stream = entity - static_cast<Index>(engines_.size());
  streams_[stream].phase == Phase::starting ? start_moving(stream) : end_piece(stream);
}

// Carries out the engine's operations until one takes time or has to wait.
void Simulator::step(Index index) {
  EngineState& engine = engines_[index];
  const Index end = program_.engines[index].first_op + program_.engines[index].op_count;
  while (engine.pc < end) {
    budget_.spend(1);
    const Op& op = program_.ops[engine.pc];
    engine.since = now_;
    switch (op.kind) {
      case OpKind::loop_begin:
        engine.counters[op.depth] = 0;
        engine.pc = op.amount > 0 ? engine.pc + 1 : op.target + 1;
        continue;
      case OpKind::loop_end:
        if (++engine.counters[op.depth] < op.amount) {
          engine.pc = op.target + 1;
          if (search_) search_->turned(index, op.depth);
        } else {
          ++engine.pc;
        }
        continue;
      case OpKind::acquire:
        if (!acquire(index, op)) return;
        break;
      case OpKind::release:
        release(index, op);
        break;
      case OpKind::send:
      case OpKind::receive:
        return arrive(index, op);
      case OpKind::compute:
      case OpKind::control:
        begin_timed(index, op);
        if (op.amount > 0) return wake_at(index, op.amount);
        end_timed(index);
        continue;
    }
    ++engine.pc;
    ++results_.operations;
  }
  engine.done = true;
  results_.engines[index].finished = now_;
}

bool Simulator::acquire(Index engine, const Op& op) {
  SemaphoreState& semaphore = semaphores_[op.target];
  if (semaphore.waiters.first == none && semaphore.value >= op.amount) {
    semaphore.value -= op.amount;
    if (data_ != nullptr) data_->ordering().acquired(engine, op.target, op.amount);
    return true;
  }
  push(semaphore.waiters, engine);
  return false;
}

void Simulator::release(Index releasing, const Op& op) {
  SemaphoreState& semaphore = semaphores_[op.target];
  const Semaphore& declared = program_.semaphores[op.target];
  semaphore.value += op.amount;
  if (data_ != nullptr) data_->ordering().released(releasing, op.target, op.amount);
  while (semaphore.waiters.first != none) {
    const Index waiter = semaphore.waiters.first;
    EngineState& engine = engines_[waiter];
    const std::int64_t need = program_.ops[engine.pc].amount;
    if (semaphore.value < need) break;
    semaphore.value -= need;
    pop(semaphore.waiters);
    if (data_ != nullptr) data_->ordering().acquired(waiter, op.target, need);
    results_.semaphore_waits[op.target] += now_ - engine.since;
    spend(waiter, declared.cause, now_ - engine.since);
    if (now_ > engine.since) trace(waiter, engine.since);
    ++engine.pc;
    ++results_.operations;
    make_ready(waiter);
  }
  if (semaphore.value <= declared.maximum) return;
  throw Fault(quoted_name(program_, engines_[releasing].pc) + " raises semaphore '" + declared.name + "' to " +
              std::to_string(semaphore.value) + " at cycle " + std::to_string(now_) + ", above its maximum " +
              std::to_string(declared.maximum) + "; hint: something releases more often than others acquire");
}

void Simulator::begin_timed(Index index, const Op& op) {
  spend(index, op.kind == OpKind::compute ? Spent::kernel : Spent::control, op.amount);
  if (op.kind != OpKind::compute) return;
  place_operands(index, op);
}

// Timing runs check the operands' bounds as well: a wrong address is wrong even if no data moves.
void Simulator::place_operands(Index index, const Op& op) {
  EngineState& engine = engines_[index];
  std::vector<Placed>& placed = kernel_operands_[index];
  placed.clear();
  for (Index o = 0; o < op.operand_count; ++o) {
    const Operand& operand = program_.operands[op.first_operand + o];
    const Placed here = place(program_, operand.access, engine.counters, engine.pc, budget_);
    if (data_ != nullptr) placed.push_back(here);
  }
  if (data_ != nullptr) data_->begin_kernel(engine.pc, placed, now_, budget_);
}

void Simulator::end_timed(Index index) {
  EngineState& engine = engines_[index];
  if (data_ != nullptr && program_.ops[engine.pc].kind == OpKind::compute) {
    data_->end_kernel(engine.pc, kernel_operands_[index], now_, budget_);
  }
  if (now_ > engine.since) trace(index, engine.since);
  ++engine.pc;
  ++results_.operations;
}

void Simulator::wake_at(Index entity, Cycles duration) {
  if (now_ > max_time - duration) throw Fault("the program runs for more than 2^60 cycles");
  heap_.set(entity, now_ + duration);
}

void Simulator::spend(Index engine, Spent cause, Cycles cycles) {
  results_.engines[engine].spent[static_cast<std::size_t>(cause)] += cycles;
}

void Simulator::trace(Index engine, Cycles begin) {
  if (options_.most_trace_events == 0) return;
  if (static_cast<std::int64_t>(results_.trace.size()) == options_.most_trace_events) {
    results_.trace_is_cut = true;
    return;
  }
  results_.trace.push_back({engine, engines_[engine].pc, begin, now_});
}

void Simulator::make_ready(Index engine) { push(ready_, engine); }

void Simulator::push(EngineList& list, Index engine) {
  engines_[engine].next = none;
  (list.last == none ? list.first : engines_[list.last].next) = engine;
  list.last = engine;
}

Index Simulator::pop(EngineList& list) {
  const Index engine = list.first;
  list.first = engines_[engine].next;
  if (list.first == none) list.last = none;
  return engine;
}

std::vector<Blocked> Simulator::blocked_engines() const {
  std::vector<Blocked> blocked;
  for (Index e = 0; e < engines_.size(); ++e) {
    if (!engines_[e].done) blocked.push_back({e, engines_[e].pc, engines_[e].counters});
  }
  return blocked;
}

}  // namespace npuflow
