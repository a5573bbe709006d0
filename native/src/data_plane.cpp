#include "data_plane.h"

#include <algorithm>
#include <cstring>

#include "memref.h"
#include "overlap.h"

namespace npuflow {

namespace {
constexpr std::size_t most_hazards = 64;
constexpr std::int64_t piece_bytes = 1 << 14;  // of a stream that is staged at once
constexpr std::int64_t bytes_per_step = 64;    // what one step of the budget pays for
}  // namespace

DataPlane::DataPlane(const Program& program, std::vector<Image> images, std::vector<KernelFunction> kernels)
    : program_(program),
      images_(std::move(images)),
      kernels_(std::move(kernels)),
      active_(program.memories.size()),
      overwritten_(program.ops.size(), 0),
      covered_(program.ops.size(), 0) {
  for (std::size_t m = 0; m < images_.size(); ++m) {
    const std::uint8_t state = images_[m].written ? written : 0;
    states_.emplace_back(static_cast<std::size_t>(program.memories[m].bytes), state);
  }
}

void DataPlane::report(const Hazard& hazard) {
  const auto same = [&hazard](const Hazard& known) {
    return known.kind == hazard.kind && known.op == hazard.op && known.other == hazard.other;
  };
  if (hazards_.size() == most_hazards || std::any_of(hazards_.begin(), hazards_.end(), same)) return;
  hazards_.push_back(hazard);
}

void DataPlane::begin(Index op, const Placed& placed, bool writes, Cycles now) {
  std::vector<Active>& others = active_[placed.memory];
  for (const Active& other : others) {
    if (other.op == op || !(writes || other.writes) || !overlap(placed, other.placed)) continue;
    const std::int64_t low = std::max(placed.low_byte, other.placed.low_byte);
    const std::int64_t high = std::min(placed.high_byte, other.placed.high_byte);
    report({HazardKind::race, op, other.op, placed.memory, low, high, now});
  }
  others.push_back({op, writes, placed, now});
}

void DataPlane::end(Index op, const Placed& placed) {
  std::vector<Active>& others = active_[placed.memory];
  const auto is_this = [&](const Active& active) {
    return active.op == op && active.placed.access == placed.access && active.placed.first_byte == placed.first_byte;
  };
  const auto found = std::find_if(others.begin(), others.end(), is_this);
  if (found != others.end()) others.erase(found);
}

void DataPlane::move(TransferEnd& from, std::vector<TransferEnd*>& to, std::int64_t elements, Budget& budget) {
  const std::int64_t element_bytes = from.placed->access->element_bytes;
  const std::int64_t piece = std::max(std::int64_t{1}, piece_bytes / element_bytes);
  for (std::int64_t left = elements; left > 0; left -= piece) {
    const std::int64_t now = std::min(left, piece);
    budget.spend(1 + now * element_bytes / bytes_per_step);
    gather(from, now);
    for (TransferEnd* end : to) scatter(*end, now);
  }
}

void DataPlane::check_run(Index op, const Placed& placed, const Run& run) const {
  const std::int64_t bytes = run.elements * placed.access->element_bytes;
  if (run.byte >= placed.low_byte && run.byte + bytes <= placed.high_byte) return;
  throw Fault("'" + program_.op_names[op] + "' touches byte " + std::to_string(run.byte) + " of '" +
              program_.memories[placed.memory].name + "', outside of its buffer's slot; hint: check its limits");
}

void DataPlane::gather(TransferEnd& from, std::int64_t elements) {
  const auto element_bytes = static_cast<std::size_t>(from.placed->access->element_bytes);
  staged_.assign(static_cast<std::size_t>(elements) * element_bytes, 0);
  staged_states_.assign(staged_.size(), written);
  std::size_t at = 0;
  for (std::int64_t left = elements; left > 0;) {
    const Run run = from.walker.next(left);
    const std::size_t bytes = static_cast<std::size_t>(run.elements) * element_bytes;
    if (run.inside) {
      check_run(from.op, *from.placed, run);
      std::uint8_t* state = states_[from.placed->memory].data() + run.byte;
      std::memcpy(staged_.data() + at, images_[from.placed->memory].bytes + run.byte, bytes);
      for (std::size_t b = 0; b < bytes; ++b) {
        staged_states_[at + b] = state[b] & written;
        state[b] &= written;
      }
    }
    at += bytes;
    left -= run.elements;
  }
}

void DataPlane::scatter(TransferEnd& to, std::int64_t elements) {
  const auto element_bytes = static_cast<std::size_t>(to.placed->access->element_bytes);
  std::size_t at = 0;
  for (std::int64_t left = elements; left > 0;) {
    const Run run = to.walker.next(left);
    const std::size_t bytes = static_cast<std::size_t>(run.elements) * element_bytes;
    if (run.inside) {
      check_run(to.op, *to.placed, run);
      std::uint8_t* state = states_[to.placed->memory].data() + run.byte;
      std::memcpy(images_[to.placed->memory].bytes + run.byte, staged_.data() + at, bytes);
      covered_[to.op] += static_cast<std::int64_t>(bytes);
      for (std::size_t b = 0; b < bytes; ++b) {
        overwritten_[to.op] += (state[b] & unread) != 0;
        state[b] = staged_states_[at + b] | unread;
      }
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

void DataPlane::check_read(Index op, const Placed& placed, Cycles now, Budget& budget) {
  Walker walker(placed);
  const std::int64_t element_bytes = placed.access->element_bytes;
  std::uint8_t* states = states_[placed.memory].data();
  for (std::int64_t left = placed.elements; left > 0;) {
    const Run run = walker.next(left);
    left -= run.elements;
    budget.spend(1 + run.elements * element_bytes / bytes_per_step);
    if (!run.inside) continue;
    check_run(op, placed, run);
    for (std::int64_t b = run.byte; b < run.byte + run.elements * element_bytes; ++b) {
      if ((states[b] & written) == 0) report({HazardKind::unwritten, op, none, placed.memory, b, b + 1, now});
      states[b] &= written;
    }
  }
}

void DataPlane::mark_written(Index op, const Placed& placed, bool also_read, Cycles now, Budget& budget) {
  Walker walker(placed);
  const std::int64_t element_bytes = placed.access->element_bytes;
  std::uint8_t* states = states_[placed.memory].data();
  for (std::int64_t left = placed.elements; left > 0;) {
    const Run run = walker.next(left);
    left -= run.elements;
    budget.spend(1 + run.elements * element_bytes / bytes_per_step);
    if (!run.inside) continue;
    check_run(op, placed, run);
    for (std::int64_t b = run.byte; b < run.byte + run.elements * element_bytes; ++b) {
      overwritten_[op] += !also_read && (states[b] & unread) != 0;
      states[b] = written | unread;
    }
    covered_[op] += run.elements * element_bytes;
  }
  finish_write(op, placed, now);
}

void DataPlane::begin_kernel(Index op, const std::vector<Placed>& operands, Cycles now, Budget& budget) {
  const Op& step = program_.ops[op];
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const Operand& operand = program_.operands[step.first_operand + o];
    begin(op, operands[o], operand.writes, now);
    if (operand.reads) check_read(op, operands[o], now, budget);
  }
}

void DataPlane::end_kernel(Index op, const std::vector<Placed>& operands, Cycles now, Budget& budget) {
  call(op, operands);
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const Operand& operand = program_.operands[program_.ops[op].first_operand + o];
    if (operand.writes) mark_written(op, operands[o], operand.reads, now, budget);
    end(op, operands[o]);
  }
}

void DataPlane::call(Index op, const std::vector<Placed>& operands) {
  const Op& step = program_.ops[op];
  const KernelFunction& kernel = kernels_[step.target];
  std::vector<MemRef> memrefs;
  std::vector<void*> pointers;
  for (const Placed& placed : operands) {
    std::uint8_t* first = images_[placed.memory].bytes + placed.first_byte;
    memrefs.push_back(MemRef(placed, first));
    pointers.push_back(first);
  }
  for (std::size_t o = 0; kernel.abi == KernelAbi::memrefs && o < operands.size(); ++o) pointers[o] = memrefs[o].data();
  std::vector<void*> arguments;
  for (void*& pointer : pointers) arguments.push_back(kernel.abi == KernelAbi::memrefs ? &pointer : pointer);
  kernel.call(arguments.data());
}

}  // namespace npuflow
