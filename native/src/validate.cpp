#include "validate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace npuflow {

namespace {

constexpr std::size_t most_problems = 32;
constexpr double most_bytes_per_cycle = 1 << 20;

std::string text(std::int64_t value) { return std::to_string(value); }

// What a problem is about, in words where there is one: "buffer 'x'", or "'step' of 'engine'".
struct Who {
  const char* kind;
  const std::string& name;
  const std::string* of = nullptr;

  friend std::string operator+(const std::string& before, const Who& who) {
    return before + who.kind + "'" + who.name + "'" + (who.of == nullptr ? "" : " of '" + *who.of + "'");
  }
  friend std::string operator+(const Who& who, const std::string& behind) { return "" + who + behind; }
};

class Validator {
 public:
  explicit Validator(const Program& program) : program_(program) {}

  std::vector<std::string> run() {
    for (const Memory& memory : program_.memories) check_memory(memory);
    for (const Buffer& buffer : program_.buffers) check_buffer(buffer);
    for (const Semaphore& semaphore : program_.semaphores) check_semaphore(semaphore);
    for (const Resource& resource : program_.resources) check_resource(resource);
    for (const Stream& stream : program_.streams) check_stream(stream);
    for (std::size_t e = 0; e < program_.engines.size(); ++e) check_engine(static_cast<Index>(e));
    return problems_;
  }

 private:
  // `problem` makes the words, which take far longer than to see that all is well.
  template <typename Problem>
  void require(bool holds, Problem problem) {
    if (!holds && problems_.size() < most_problems) problems_.push_back(problem());
  }

  // Whether `index` is one of `count` things; everything that looks a thing up asks first.
  bool known(Index index, std::size_t count, const Who& who, const char* kind) {
    require(index < count, [&] {
      return who + " refers to " + kind + " number " + std::to_string(index) + " of " + std::to_string(count);
    });
    return index < count;
  }

  template <typename What>
  bool in_range(std::int64_t value, std::int64_t least, std::int64_t most, What what) {
    const bool holds = least <= value && value <= most;
    require(holds,
            [&] { return what() + " is " + text(value) + "; hint: it must be " + text(least) + " to " + text(most); });
    return holds;
  }

  void rate(double value, const Who& what) {
    const bool holds = value >= 1.0 / most_bytes_per_cycle && value <= most_bytes_per_cycle;  // false for NaN
    require(holds, [&] {
      return what + " moves " + std::to_string(value) + " bytes per cycle; hint: it must be more than 0";
    });
  }

  void check_memory(const Memory& memory) {
    in_range(memory.bytes, 0, max_number, [&] { return "the size of '" + memory.name + "'"; });
  }

  void check_buffer(const Buffer& buffer) {
    const Who who{"buffer ", buffer.name};
    if (!known(buffer.memory, program_.memories.size(), who, "memory")) return;
    const Memory& memory = program_.memories[buffer.memory];
    const bool sane = in_range(buffer.address_bytes, 0, max_number, [&] { return "the address of " + who; }) &&
                      in_range(buffer.slot_bytes, 0, max_number, [&] { return "the slot size of " + who; }) &&
                      in_range(buffer.depth, 1, 1 << 15, [&] { return "the depth of " + who; });
    if (!sane || memory.bytes < 0 || memory.bytes > max_number) return;  // a wrong memory is reported as such
    if (buffer.slot_bytes <= (memory.bytes - buffer.address_bytes) / buffer.depth) return;
    require(false, [&] {
      return who + " needs bytes " + text(buffer.address_bytes) + " to " +
             text(buffer.address_bytes + buffer.depth * buffer.slot_bytes - 1) + " of '" + memory.name +
             "', which has " + text(memory.bytes);
    });
  }

  void check_semaphore(const Semaphore& semaphore) {
    const Who who{"semaphore ", semaphore.name};
    if (!in_range(semaphore.maximum, 1, max_number, [&] { return "the maximum of " + who; })) return;
    in_range(semaphore.initial, 0, semaphore.maximum, [&] { return "the initial value of " + who; });
  }

  void check_resource(const Resource& resource) { rate(resource.bytes_per_cycle, {"resource ", resource.name}); }

  void check_stream(const Stream& stream) {
    const Who who{"stream ", stream.name};
    known(stream.sender, program_.engines.size(), who, "engine");
    in_range(stream.latency_cycles, 0, max_number, [&] { return "the latency of " + who; });
    require(!stream.receivers.empty(), [&] { return who + " has no receiver"; });
    std::set<Index> ends{stream.sender};
    for (const Index receiver : stream.receivers) {
      known(receiver, program_.engines.size(), who, "engine");
      require(ends.insert(receiver).second, [&] { return who + " has an engine at two of its ends"; });
    }
    for (const Index link : stream.links) known(link, program_.resources.size(), who, "resource");
  }

  void check_engine(Index index) {
    const Engine& engine = program_.engines[index];
    const Who who{"engine ", engine.name};
    rate(engine.bytes_per_cycle, who);
    in_range(engine.start_cycles, 0, max_number, [&] { return "the start-up of " + who; });
    in_range(engine.latency_cycles, 0, max_number, [&] { return "the latency of " + who; });
    for (const Index port : engine.ports) known(port, program_.resources.size(), who, "resource");
    trips_.assign(engine.loop_depth, 0);
    open_ = 0;
    for (Index op = engine.first_op; op < engine.first_op + engine.op_count; ++op) check_op(index, op);
  }

  void check_op(Index engine, Index index) {
    const Op& op = program_.ops[index];
    const Who who{"", program_.op_names[index], &program_.engines[engine].name};
    switch (op.kind) {
      case OpKind::loop_begin:
        in_range(op.amount, 0, max_number,
                 [&] { return "the trip count of a loop of '" + program_.engines[engine].name + "'"; });
        trips_[open_++] = op.amount;
        break;
      case OpKind::loop_end:
        --open_;
        break;
      case OpKind::acquire:
      case OpKind::release:
        check_count(op, who);
        break;
      case OpKind::send:
      case OpKind::receive:
        check_transfer(engine, op, who);
        break;
      case OpKind::compute:
        known(op.target, program_.kernels.size(), who, "kernel");
        [[fallthrough]];
      case OpKind::control:
        in_range(op.amount, 0, max_number, [&] { return "the cycles of " + who; });
        for (Index o = 0; o < op.operand_count; ++o) check_argument(op.first_operand + o, who);
        break;
    }
  }

  void check_count(const Op& op, const Who& who) {
    if (!known(op.target, program_.semaphores.size(), who, "semaphore")) return;
    const Semaphore& semaphore = program_.semaphores[op.target];
    in_range(op.amount, 1, semaphore.maximum, [&] { return "the count of " + who + " on '" + semaphore.name + "'"; });
  }

  void check_transfer(Index engine, const Op& op, const Who& who) {
    if (!known(op.target, program_.streams.size(), who, "stream")) return;
    const Stream& stream = program_.streams[op.target];
    const auto& receivers = stream.receivers;
    const bool is_end = op.kind == OpKind::send
                            ? stream.sender == engine
                            : std::find(receivers.begin(), receivers.end(), engine) != receivers.end();
    require(is_end, [&] {
      return who + (op.kind == OpKind::send ? " sends on" : " receives from") + " stream '" + stream.name +
             "', which has its " + (op.kind == OpKind::send ? "sender" : "receivers") + " elsewhere";
    });
    if (!check_operand(op.first_operand, who)) return;
    const Access& access = program_.accesses[program_.operands[op.first_operand].access];
    const auto [seen, added] = element_bytes_.try_emplace(op.target, access.element_bytes);
    require(added || seen->second == access.element_bytes, [&] {
      return who + " moves elements of " + text(access.element_bytes) + " bytes on '" + stream.name +
             "', where another transfer has " + text(seen->second);
    });
  }

  // What a kernel reads may have zeros around it; what it writes is all there, but in a larger tensor, beyond whose
  // edges nothing is written.
  void check_argument(Index operand, const Who& who) {
    if (!check_operand(operand, who)) return;
    const Operand& used = program_.operands[operand];
    const Access& access = program_.accesses[used.access];
    require(access.limits.empty() || ((!used.writes || used.apart) && access.outside == Outside::zero),
            [&] { return who + " limits an argument; hint: let zeros be outside of what it only reads"; });
  }

  bool check_operand(Index operand, const Who& who) {
    if (!known(operand, program_.operands.size(), who, "operand")) return false;
    const Operand& used = program_.operands[operand];
    if (!known(used.access, program_.accesses.size(), who, "access")) return false;
    return check_access(program_.accesses[used.access], used.writes, who);
  }

  bool check_access(const Access& access, bool writes, const Who& who) {
    if (!known(access.buffer, program_.buffers.size(), who, "buffer")) return false;
    const std::size_t rank = access.sizes.size();
    require(rank <= max_dims, [&] {
      return who + " has an access of " + std::to_string(rank) + " dimensions; hint: at most " +
             std::to_string(max_dims);
    });
    require(access.strides.size() == rank, [&] {
      return who + " has " + std::to_string(rank) + " sizes and " + std::to_string(access.strides.size()) + " strides";
    });
    if (rank > max_dims || access.strides.size() != rank) return false;
    in_range(access.element_bytes, 1, 64, [&] { return "the element size of " + who; });
    require(access.run_overhead_bytes >= 0 && access.run_overhead_bytes <= most_bytes_per_cycle,
            [&] { return who + " loses " + std::to_string(access.run_overhead_bytes) + " bytes' time per run"; });
    double span = 1;
    double elements = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      in_range(access.sizes[d], 1, max_number, [&] { return "size " + std::to_string(d) + " of " + who; });
      in_range(access.strides[d], -max_number, max_number,
               [&] { return "stride " + std::to_string(d) + " of " + who; });
      require(!writes || access.strides[d] != 0 || access.sizes[d] == 1, [&] {
        return who + " writes the same elements " + text(access.sizes[d]) + " times; hint: stride " +
               std::to_string(d) + " is 0";
      });
      span += std::abs(static_cast<double>(access.strides[d])) * static_cast<double>(access.sizes[d]);
      elements *= static_cast<double>(access.sizes[d]);
    }
    const bool fits = std::max(span, elements) * 64 < static_cast<double>(max_number);
    require(fits, [&] { return who + " has more elements, or a wider span, than any memory"; });
    check_affine(access.offset, who, "offset");
    check_affine(access.slot, who, "slot");
    check_limits(access, who);
    return true;
  }

  void check_limits(const Access& access, const Who& who) {
    const std::size_t rank = access.sizes.size();
    require(access.limits.size() <= max_limits,
            [&] { return who + " has more than " + std::to_string(max_limits) + " limits"; });
    for (const Limit& limit : access.limits) {
      check_affine(limit.bound, who, "limit");
      require(limit.coefficients.size() == rank, [&] {
        return who + " has a limit of " + std::to_string(limit.coefficients.size()) + " coefficients for " +
               std::to_string(rank) + " dimensions";
      });
      double reach = 0;
      for (std::size_t d = 0; d < std::min(rank, limit.coefficients.size()); ++d) {
        reach += std::abs(static_cast<double>(limit.coefficients[d])) * static_cast<double>(access.sizes[d]);
      }
      require(reach * 64 < static_cast<double>(max_number), [&] { return who + " has a limit beyond every memory"; });
      const auto zeros = std::count(limit.coefficients.begin(), limit.coefficients.end(), 0);
      require(access.outside == Outside::zero || zeros + 1 == static_cast<std::ptrdiff_t>(rank), [&] {
        return who + " skips by a limit over several dimensions; hint: limit one dimension, or let zeros be outside";
      });
    }
  }

  // The affine's largest magnitude over its loops must stay far inside 64 bits.
  void check_affine(const Affine& affine, const Who& who, const char* what) {
    require(affine.coefficients.size() <= open_, [&] {
      return who + " uses the counters of " + std::to_string(affine.coefficients.size()) + " loops in its " + what +
             "; hint: it stands in " + std::to_string(open_);
    });
    double reach = std::abs(static_cast<double>(affine.constant));
    for (std::size_t d = 0; d < std::min<std::size_t>(affine.coefficients.size(), open_); ++d) {
      reach += std::abs(static_cast<double>(affine.coefficients[d])) * static_cast<double>(trips_[d]);
    }
    require(reach * 64 < static_cast<double>(max_number),
            [&] { return who + " has an " + what + " that leaves every memory"; });
  }

  const Program& program_;
  std::vector<std::string> problems_;
  std::vector<std::int64_t> trips_;  // of the loops around the op that is looked at
  std::size_t open_ = 0;
  std::map<Index, std::int64_t> element_bytes_;  // of each stream
};

}  // namespace

std::vector<std::string> problems_of(const Program& program) { return Validator(program).run(); }

}  // namespace npuflow
