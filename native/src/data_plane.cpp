#include "data_plane.h"

#include <algorithm>
#include <cstring>

#include "memref.h"

namespace npuflow {

namespace {

constexpr std::size_t most_hazards = 64;
constexpr std::int64_t piece_bytes = 1 << 14;  // of a stream that is staged at once
constexpr std::int64_t bytes_per_step = 64;    // what one step of the budget pays for

// Loops over bytes' states. They are functions of plain pointers because a compiler cannot keep anything else in
// registers, or use vectors, while bytes are written.

std::int64_t count_unread(const std::uint8_t* states, std::size_t bytes) {
  std::int64_t count = 0;
  for (std::size_t b = 0; b < bytes; ++b) count += (states[b] & Shadow::unread) != 0;
  return count;
}

void mark_read(std::uint8_t* states, std::size_t bytes) {
  for (std::size_t b = 0; b < bytes; ++b) states[b] &= Shadow::written;
}

// Bytes that have arrived are as written as they were where they came from, and unread.
void mark_arrived(std::uint8_t* states, const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t b = 0; b < bytes; ++b) states[b] = from[b] | Shadow::unread;
}

std::int64_t size_of(const Placed& placed, const Run& run) { return run.elements * placed.access->element_bytes; }

}  // namespace

DataPlane::DataPlane(const Program& program, std::vector<std::uint8_t*> images, const std::vector<bool>& initialised,
                     std::vector<KernelFunction> kernels)
    : program_(program),
      images_(std::move(images)),
      kernels_(std::move(kernels)),
      shadow_(program, initialised),
      kept_by_kernels_(kept_by_kernels(program)),
      overwritten_(program.ops.size(), 0),
      covered_(program.ops.size(), 0) {}

std::vector<bool> DataPlane::kept_by_kernels(const Program& program) {
  std::vector<bool> updated(program.buffers.size(), false);
  std::vector<bool> read(program.buffers.size(), false);
  for (const Operand& operand : program.operands) {
    const Index buffer = program.accesses[operand.access].buffer;
    if (operand.reads) (operand.writes ? updated : read)[buffer] = true;
  }
  for (std::size_t b = 0; b < updated.size(); ++b) updated[b] = updated[b] && !read[b];
  return updated;
}

// One report per pair of operations: a loop repeats the same mistake.
void DataPlane::report(const Hazard& hazard) {
  const auto same = [&hazard](const Hazard& known) {
    return known.kind == hazard.kind && known.op == hazard.op && known.other == hazard.other;
  };
  if (hazards_.size() == most_hazards || std::any_of(hazards_.begin(), hazards_.end(), same)) return;
  hazards_.push_back(hazard);
}

void DataPlane::check_run(Index op, const Placed& placed, const Run& run) const {
  if (run.byte >= placed.low_byte && run.byte + size_of(placed, run) <= placed.high_byte) return;
  throw Fault(quoted_name(program_, op) + " touches byte " + std::to_string(run.byte) + " of '" +
              program_.memories[placed.memory].name + "', outside of its buffer's slot; hint: check its limits");
}

void DataPlane::note_read(Index op, const Placed& placed, const Run& run, Cycles now) {
  check_run(op, placed, run);
  const std::int64_t bytes = size_of(placed, run);
  if (const std::optional<Index> other = shadow_.read(op, placed.memory, run.byte, bytes)) {
    report({HazardKind::race, op, *other, placed.memory, run.byte, run.byte + bytes, now});
  }
}

void DataPlane::note_write(Index op, const Placed& placed, const Run& run, Cycles now) {
  check_run(op, placed, run);
  const std::int64_t bytes = size_of(placed, run);
  if (const std::optional<Index> other = shadow_.write(op, placed.memory, run.byte, bytes)) {
    report({HazardKind::race, op, *other, placed.memory, run.byte, run.byte + bytes, now});
  }
  covered_[op] += bytes;
}

void DataPlane::move(TransferEnd& from, std::vector<TransferEnd*>& to, std::int64_t elements, Cycles now,
                     Budget& budget) {
  const std::int64_t element_bytes = from.placed->access->element_bytes;
  const std::int64_t most = std::max(std::int64_t{1}, piece_bytes / element_bytes);
  for (std::int64_t left = elements; left > 0; left -= most) {
    const std::int64_t piece = std::min(left, most);
    budget.spend(1 + piece * element_bytes / bytes_per_step);
    gather(from, piece, now);
    for (TransferEnd* end : to) scatter(*end, piece, now);
  }
}

void DataPlane::gather(TransferEnd& from, std::int64_t elements, Cycles now) {
  const Placed& placed = *from.placed;
  staged_.assign(static_cast<std::size_t>(elements * placed.access->element_bytes), 0);
  staged_states_.assign(staged_.size(), Shadow::written);
  std::size_t at = 0;
  for (std::int64_t left = elements; left > 0;) {
    const Run run = from.walker.next(left);
    const auto bytes = static_cast<std::size_t>(size_of(placed, run));
    if (run.inside) {
      note_read(from.op, placed, run, now);
      std::memcpy(staged_.data() + at, images_[placed.memory] + run.byte, bytes);
      std::uint8_t* state = shadow_.states(placed.memory, run.byte);
      mark_read(state, bytes);
      std::memcpy(staged_states_.data() + at, state, bytes);
    }
    at += bytes;
    left -= run.elements;
  }
}

void DataPlane::scatter(TransferEnd& to, std::int64_t elements, Cycles now) {
  const Placed& placed = *to.placed;
  std::size_t at = 0;
  for (std::int64_t left = elements; left > 0;) {
    const Run run = to.walker.next(left);
    const auto bytes = static_cast<std::size_t>(size_of(placed, run));
    if (run.inside) {
      note_write(to.op, placed, run, now);
      std::memcpy(images_[placed.memory] + run.byte, staged_.data() + at, bytes);
      std::uint8_t* state = shadow_.states(placed.memory, run.byte);
      overwritten_[to.op] += count_unread(state, bytes);
      mark_arrived(state, staged_states_.data() + at, bytes);
    }
    at += bytes;
    left -= run.elements;
  }
}

// Some slots are only partly read, as where a tile is padded; a write that covers nothing but unread data is another
// matter: its reader has missed a whole turn.
void DataPlane::finish_write(Index op, const Placed& placed, Cycles now) {
  if (covered_[op] > 0 && overwritten_[op] == covered_[op]) {
    report({HazardKind::lost, op, none, placed.memory, placed.low_byte, placed.high_byte, now});
  }
  covered_[op] = overwritten_[op] = 0;
}

void DataPlane::read_operand(Index op, const Placed& placed, Cycles now, Budget& budget) {
  Walker walker(placed);
  for (std::int64_t left = placed.elements; left > 0;) {
    const Run run = walker.next(left);
    const std::int64_t bytes = size_of(placed, run);
    left -= run.elements;
    budget.spend(1 + bytes / bytes_per_step);
    if (!run.inside) continue;
    note_read(op, placed, run, now);
    std::uint8_t* state = shadow_.states(placed.memory, run.byte);
    const std::uint8_t* blank =
        std::find_if(state, state + bytes, [](std::uint8_t s) { return (s & Shadow::written) == 0; });
    if (blank != state + bytes) {
      report({HazardKind::unwritten, op, none, placed.memory, run.byte + (blank - state), run.byte + bytes, now});
    }
    mark_read(state, static_cast<std::size_t>(bytes));
  }
}

void DataPlane::write_operand(Index op, const Placed& placed, bool also_read, Cycles now, Budget& budget) {
  Walker walker(placed);
  for (std::int64_t left = placed.elements; left > 0;) {
    const Run run = walker.next(left);
    const std::int64_t bytes = size_of(placed, run);
    left -= run.elements;
    budget.spend(1 + bytes / bytes_per_step);
    if (!run.inside) continue;
    note_write(op, placed, run, now);
    std::uint8_t* state = shadow_.states(placed.memory, run.byte);
    if (!also_read) overwritten_[op] += count_unread(state, static_cast<std::size_t>(bytes));
    // What a kernel keeps only to go on from it, as the maximum beside its place, is of no use in the end.
    const int after = kept_by_kernels_[placed.access->buffer] ? Shadow::written : Shadow::written | Shadow::unread;
    std::memset(state, after, static_cast<std::size_t>(bytes));
  }
  finish_write(op, placed, now);
}

void DataPlane::begin_kernel(Index op, const std::vector<Placed>& operands, Cycles now, Budget& budget) {
  for (std::size_t o = 0; o < operands.size(); ++o) {
    if (program_.operands[program_.ops[op].first_operand + o].reads) read_operand(op, operands[o], now, budget);
  }
}

void DataPlane::end_kernel(Index op, const std::vector<Placed>& operands, Cycles now, Budget& budget) {
  call(op, operands);
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const Operand& operand = program_.operands[program_.ops[op].first_operand + o];
    if (operand.writes) write_operand(op, operands[o], operand.reads, now, budget);
  }
}

std::uint8_t* DataPlane::with_zeros(const Placed& placed, std::vector<std::uint8_t>& whole) const {
  const std::int64_t element = placed.access->element_bytes;
  whole.assign(static_cast<std::size_t>(placed.elements * element), 0);
  Walker walker(placed);
  for (std::int64_t at = 0; at < placed.elements;) {
    const Run run = walker.next(placed.elements - at);
    if (run.inside) {
      const auto bytes = static_cast<std::size_t>(run.elements * element);
      std::memcpy(whole.data() + at * element, images_[placed.memory] + run.byte, bytes);
    }
    at += run.elements;
  }
  return whole.data();
}

void DataPlane::call(Index op, const std::vector<Placed>& operands) {
  const KernelFunction& kernel = kernels_[program_.ops[op].target];
  std::vector<MemRef> memrefs;
  memrefs.reserve(operands.size());
  std::vector<void*> pointers;
  padded_.resize(operands.size());
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const Placed& placed = operands[o];
    const bool is_copied = placed.limited || program_.operands[program_.ops[op].first_operand + o].apart;
    std::uint8_t* first = is_copied ? with_zeros(placed, padded_[o]) : images_[placed.memory] + placed.first_byte;
    memrefs.emplace_back(placed, first);
    pointers.push_back(first);
  }
  if (kernel.abi == KernelAbi::pointers) {
    kernel.call(pointers.data());
  } else {
    std::transform(memrefs.begin(), memrefs.end(), pointers.begin(), [](MemRef& memref) { return memref.data(); });
    std::vector<void*> arguments;
    for (void*& pointer : pointers) arguments.push_back(&pointer);
    kernel.call(arguments.data());
  }
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const Operand& operand = program_.operands[program_.ops[op].first_operand + o];
    if (operand.apart && operand.writes) put_back(operands[o], padded_[o]);
  }
}

void DataPlane::put_back(const Placed& placed, const std::vector<std::uint8_t>& whole) {
  const std::int64_t element = placed.access->element_bytes;
  Walker walker(placed);
  for (std::int64_t at = 0; at < placed.elements;) {
    const Run run = walker.next(placed.elements - at);
    if (run.inside) {
      const auto bytes = static_cast<std::size_t>(run.elements * element);
      std::memcpy(images_[placed.memory] + run.byte, whole.data() + at * element, bytes);
    }
    at += run.elements;
  }
}

}  // namespace npuflow
