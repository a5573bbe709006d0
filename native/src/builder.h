// Builds a Program piece by piece, in the order the Python face walks its dataclasses.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "program.h"
#include "validate.h"

namespace npuflow {

using AffineParts = std::pair<std::int64_t, std::vector<std::int64_t>>;
using LimitParts = std::pair<std::vector<std::int64_t>, AffineParts>;

// Numbers that a program has for what another has numbers of its own for, by these.
struct Renumbering {
  std::vector<Index> buffers;
  std::vector<Index> semaphores;
  std::vector<Index> resources;
  std::vector<Index> streams;
  std::vector<Index> kernels;
};

class ProgramBuilder {
 public:
  static constexpr std::size_t most_depth = 64;

  Index add_memory(std::string name, std::int64_t bytes, bool is_near) {
    return add(changed().memories, Memory{std::move(name), bytes, is_near});
  }

  Index add_buffer(std::string name, Index memory, std::int64_t address_bytes, std::int64_t slot_bytes,
                   std::int64_t depth) {
    return add(changed().buffers, Buffer{std::move(name), memory, address_bytes, slot_bytes, depth});
  }

  Index add_semaphore(std::string name, std::int64_t initial, std::int64_t maximum, Spent cause) {
    return add(changed().semaphores, Semaphore{std::move(name), initial, maximum, cause});
  }

  Index add_resource(std::string name, double bytes_per_cycle) {
    return add(changed().resources, Resource{std::move(name), bytes_per_cycle});
  }

  Index add_kernel(std::string name) { return add(changed().kernels, std::move(name)); }

  // Streams may name engines that are added later.
  Index add_stream(std::string name, Index sender, std::vector<Index> receivers, std::vector<Index> links,
                   Cycles latency_cycles) {
    return add(changed().streams,
               Stream{std::move(name), sender, std::move(receivers), std::move(links), latency_cycles});
  }

  Index add_access(Index buffer, std::int64_t element_bytes, AffineParts offset, AffineParts slot,
                   std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                   const std::vector<LimitParts>& limits, bool zero_outside, double run_overhead_bytes) {
    Access access{buffer,
                  element_bytes,
                  affine(std::move(offset)),
                  affine(std::move(slot)),
                  std::move(sizes),
                  std::move(strides),
                  {},
                  zero_outside ? Outside::zero : Outside::skip,
                  run_overhead_bytes};
    for (const LimitParts& limit : limits) access.limits.push_back({limit.first, affine(limit.second)});
    return add(changed().accesses, std::move(access));
  }

  // The operations added next are this engine's.
  Index add_engine(std::string name, double bytes_per_cycle, std::vector<Index> ports, Cycles start_cycles,
                   Cycles latency_cycles) {
    check_loops_closed();
    const auto first = static_cast<Index>(program_.ops.size());
    return add(changed().engines,
               Engine{std::move(name), bytes_per_cycle, std::move(ports), start_cycles, latency_cycles, first, 0, 0});
  }

  void begin_loop(std::int64_t trips) {
    if (open_.size() == most_depth) throw std::invalid_argument("loops are nested too deeply");
    const auto depth = static_cast<Index>(open_.size());
    add_op("loop", Op{OpKind::loop_begin, none, trips, depth, 0, 0});
    open_.push_back(static_cast<Index>(program_.ops.size()) - 1);
    Engine& engine = changed().engines.back();
    engine.loop_depth = std::max(engine.loop_depth, depth + 1);
  }

  void end_loop() {
    if (open_.empty()) throw std::invalid_argument("a loop ends that has not begun");
    const Index begin = open_.back();
    open_.pop_back();
    changed().ops[begin].target = static_cast<Index>(program_.ops.size());
    add_op("loop", Op{OpKind::loop_end, begin, program_.ops[begin].amount, program_.ops[begin].depth, 0, 0});
  }

  void add_acquire(std::string name, Index semaphore, std::int64_t count) {
    add_op(std::move(name), Op{OpKind::acquire, semaphore, count, 0, 0, 0});
  }

  void add_release(std::string name, Index semaphore, std::int64_t count) {
    add_op(std::move(name), Op{OpKind::release, semaphore, count, 0, 0, 0});
  }

  void add_send(std::string name, Index stream, Index access) {
    add_with_operands(std::move(name), OpKind::send, stream, 0, {{access, true, false}});
  }

  void add_receive(std::string name, Index stream, Index access) {
    add_with_operands(std::move(name), OpKind::receive, stream, 0, {{access, false, true}});
  }

  void add_compute(std::string name, Index kernel, Cycles cycles, const std::vector<Operand>& operands) {
    add_with_operands(std::move(name), OpKind::compute, kernel, cycles, operands);
  }

  void add_control(std::string name, Cycles cycles) {
    add_op(std::move(name), Op{OpKind::control, none, cycles, 0, 0, 0});
  }

  // The only engine of another program.
  void add_engine_of(const Program& other, const Renumbering& numbers) {
    check_loops_closed();
    if (other.engines.size() != 1) throw std::invalid_argument("a program of one engine is added");
    Program& own = changed();
    Engine engine = other.engines.front();
    engine.first_op = static_cast<Index>(own.ops.size());
    for (Index& port : engine.ports) port = numbers.resources.at(port);
    own.engines.push_back(std::move(engine));
    const auto op_offset = static_cast<Index>(own.ops.size());
    const auto operand_offset = static_cast<Index>(own.operands.size());
    const auto access_offset = static_cast<Index>(own.accesses.size());
    for (Access access : other.accesses) {
      access.buffer = numbers.buffers.at(access.buffer);
      own.accesses.push_back(std::move(access));
    }
    for (Operand operand : other.operands) {
      operand.access += access_offset;
      own.operands.push_back(operand);
    }
    for (Op op : other.ops) {
      switch (op.kind) {
        case OpKind::loop_begin:
        case OpKind::loop_end:
          op.target += op_offset;
          break;
        case OpKind::acquire:
        case OpKind::release:
          op.target = numbers.semaphores.at(op.target);
          break;
        case OpKind::send:
        case OpKind::receive:
          op.target = numbers.streams.at(op.target);
          break;
        case OpKind::compute:
          op.target = numbers.kernels.at(op.target);
          break;
        case OpKind::control:
          break;
      }
      op.first_operand += operand_offset;
      own.ops.push_back(op);
    }
    own.op_names.insert(own.op_names.end(), other.op_names.begin(), other.op_names.end());
  }

  // Other numbers in place of those that are there. Operations are counted from their engine's first.

  void set_memory(Index memory, std::int64_t bytes) { changed().memories.at(memory).bytes = bytes; }

  void set_buffer(Index buffer, std::int64_t address_bytes, std::int64_t depth) {
    changed().buffers.at(buffer).address_bytes = address_bytes;
    changed().buffers.at(buffer).depth = depth;
  }

  void set_semaphore(Index semaphore, std::int64_t initial, std::int64_t maximum) {
    changed().semaphores.at(semaphore).initial = initial;
    changed().semaphores.at(semaphore).maximum = maximum;
  }

  void set_resource(Index resource, double bytes_per_cycle) {
    changed().resources.at(resource).bytes_per_cycle = bytes_per_cycle;
  }

  void set_stream(Index stream, Cycles latency_cycles) { changed().streams.at(stream).latency_cycles = latency_cycles; }

  void set_engine(Index engine, double bytes_per_cycle, Cycles start_cycles, Cycles latency_cycles) {
    Engine& own = changed().engines.at(engine);
    own.bytes_per_cycle = bytes_per_cycle;
    own.start_cycles = start_cycles;
    own.latency_cycles = latency_cycles;
  }

  // Of a kernel or a step of control.
  void set_cycles(Index engine, Index op, Cycles cycles) { op_of(engine, op).amount = cycles; }

  // Of a transfer.
  void set_run_overhead(Index engine, Index op, double bytes) {
    const Index operand = op_of(engine, op).first_operand;
    const Index known = program_.operands.at(operand).access;
    const auto [found, is_new] = with_overhead_.try_emplace({known, bytes}, none);
    if (is_new) {
      Access access = program_.accesses[known];
      access.run_overhead_bytes = bytes;
      found->second = add(changed().accesses, std::move(access));
    }
    changed().operands[operand].access = found->second;
  }

  const Program& program() const {
    check_loops_closed();
    return program_;
  }

  // What is wrong with it, in words.
  const std::vector<std::string>& problems() const {
    if (!problems_) problems_ = problems_of(program());
    return *problems_;
  }

 private:
  static Affine affine(AffineParts parts) { return {parts.first, std::move(parts.second)}; }

  template <typename T>
  static Index add(std::vector<T>& list, T item) {
    list.push_back(std::move(item));
    return static_cast<Index>(list.size() - 1);
  }

  void check_loops_closed() const {
    if (!open_.empty()) throw std::invalid_argument("a loop has no end");
  }

  void add_op(std::string name, Op op) {
    if (program_.engines.empty()) throw std::invalid_argument("an operation comes before the first engine");
    changed().ops.push_back(op);
    changed().op_names.push_back(std::move(name));
    ++changed().engines.back().op_count;
  }

  void add_with_operands(std::string name, OpKind kind, Index target, std::int64_t amount,
                         const std::vector<Operand>& operands) {
    const auto first = static_cast<Index>(program_.operands.size());
    add_op(std::move(name), Op{kind, target, amount, 0, first, static_cast<Index>(operands.size())});
    changed().operands.insert(program_.operands.end(), operands.begin(), operands.end());
  }

  // What is wrong with the program is to be found again.
  Program& changed() {
    problems_.reset();
    return program_;
  }

  Op& op_of(Index engine, Index op) { return changed().ops.at(program_.engines.at(engine).first_op + op); }

  Program program_;
  mutable std::optional<std::vector<std::string>> problems_;
  std::map<std::pair<Index, double>, Index> with_overhead_;  // accesses made of others
  std::vector<Index> open_;                                  // loops that have begun
};

}  // namespace npuflow
