// What the simulator runs: engines' programs over memories, semaphores and streams. Plain data, filled by the Python
// face and checked once by `problems_of` (validate.h); everything after that may rely on the indices.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace npuflow {

using Index = std::uint32_t;
using Cycles = std::int64_t;

inline constexpr Index none = std::numeric_limits<Index>::max();
inline constexpr std::size_t max_dims = 8;
inline constexpr std::size_t max_limits = 8;
// Bounds that keep every later product and sum inside 64 bits.
inline constexpr std::int64_t max_number = std::int64_t{1} << 48;
inline constexpr Cycles max_time = Cycles{1} << 60;

// constant + sum of coefficients[d] * counter of the loop at depth d, the outermost being 0.
struct Affine {
  std::int64_t constant = 0;
  std::vector<std::int64_t> coefficients;
};

// The element at index i exists where sum(coefficients[d] * i[d]) < bound.
struct Limit {
  std::vector<std::int64_t> coefficients;
  Affine bound;
};

// What happens to indices outside of the limits: they are not part of the transfer, or they carry zeros (when reading)
// and are thrown away (when writing).
enum class Outside : std::uint8_t { skip, zero };

// Elements of one slot of a buffer, in the order they travel; sizes and strides outermost first, in elements.
struct Access {
  Index buffer = 0;
  std::int64_t element_bytes = 1;
  Affine offset;
  Affine slot;  // taken modulo the buffer's depth
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::vector<Limit> limits;
  Outside outside = Outside::skip;
  double run_overhead_bytes = 0;  // a contiguous run of r bytes takes its engine's first port's time of r + this
};

// What moves to or from one that is near takes neither its engine's ports nor its latency, which are another memory's.
struct Memory {
  std::string name;
  std::int64_t bytes = 0;
  bool is_near = false;
};

// `depth` slots of `slot_bytes`, one after the other from `address_bytes` on.
struct Buffer {
  std::string name;
  Index memory = 0;
  std::int64_t address_bytes = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t depth = 1;
};

// Where an engine's time goes. The last four are waits for a semaphore, named by what it stands for.
enum class Spent : std::uint8_t { kernel, transfer, control, start, contention, partner, data, space, task, other };
inline constexpr std::size_t spent_kinds = 10;

struct Semaphore {
  std::string name;
  std::int64_t initial = 0;
  std::int64_t maximum = 0;
  Spent cause = Spent::other;
};

// A rate that transfers share.
struct Resource {
  std::string name;
  double bytes_per_cycle = 0;
};

// A wire from one engine to one or more others. Data moves while all ends are in a transfer.
struct Stream {
  std::string name;
  Index sender = 0;
  std::vector<Index> receivers;
  std::vector<Index> links;
  Cycles latency_cycles = 0;
};

enum class OpKind : std::uint8_t { loop_begin, loop_end, acquire, release, send, receive, compute, control };

// One step of an engine's program.
//   loop_begin, loop_end  target: the index of the matching end or begin; amount: trip count; depth: the counter
//   acquire, release      target: semaphore; amount: how many
//   send, receive         target: stream; operand first_operand: what is read or written
//   compute               target: kernel; amount: cycles; operands
//   control               amount: cycles
struct Op {
  OpKind kind = OpKind::control;
  Index target = none;
  std::int64_t amount = 0;
  Index depth = 0;
  Index first_operand = 0;
  Index operand_count = 0;
};

struct Operand {
  Index access = 0;
  bool reads = false;
  bool writes = false;
  bool apart = false;  // its rows lie apart, where the kernel knows one piece
};

struct Engine {
  std::string name;
  double bytes_per_cycle = 0;  // of its transfers
  std::vector<Index> ports;    // resources that its transfers use besides the stream's
  Cycles start_cycles = 0;     // before each transfer
  Cycles latency_cycles = 0;   // from asking for data to the first byte, when the engine has been idle
  Index first_op = 0;
  Index op_count = 0;
  Index loop_depth = 0;
};

struct Program {
  std::vector<Memory> memories;
  std::vector<Buffer> buffers;
  std::vector<Semaphore> semaphores;
  std::vector<Resource> resources;
  std::vector<Stream> streams;
  std::vector<std::string> kernels;
  std::vector<Access> accesses;
  std::vector<Operand> operands;
  std::vector<Engine> engines;
  std::vector<Op> ops;
  std::vector<std::string> op_names;  // beside ops, out of the hot path

  Index engine_of(Index op) const {
    const auto begins_later = [](Index at, const Engine& engine) { return at < engine.first_op; };
    const auto next = std::upper_bound(engines.begin(), engines.end(), op, begins_later);
    return static_cast<Index>(next - engines.begin()) - 1;
  }
};

// `'name of the op' of 'its engine'`, for messages.
inline std::string quoted_name(const Program& program, Index op) {
  return "'" + program.op_names[op] + "' of '" + program.engines[program.engine_of(op)].name + "'";
}

}  // namespace npuflow
