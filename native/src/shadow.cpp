#include "shadow.h"

#include <numeric>

namespace npuflow {

namespace {

// The largest unit such that an access, relative to its slot, begins and ends each of its runs at a multiple of it.
std::int64_t run_granule(const Access& access) {
  if (!access.limits.empty()) return access.element_bytes;
  std::int64_t run = 1;
  std::size_t d = access.sizes.size();
  while (d > 0 && access.strides[d - 1] == run) run *= access.sizes[--d];
  std::int64_t elements = std::gcd(run, access.offset.constant);
  for (const std::int64_t coefficient : access.offset.coefficients) elements = std::gcd(elements, coefficient);
  while (d > 0) elements = std::gcd(elements, access.strides[--d]);
  return elements * access.element_bytes;
}

}  // namespace

Shadow::Shadow(const Program& program, const std::vector<bool>& initialised)
    : ordering_(program), memories_(program.memories.size()) {
  const std::vector<std::int64_t> granule = granules(program);
  const std::vector<bool> changes = is_written(program);
  for (std::size_t m = 0; m < memories_.size(); ++m) {
    const std::int64_t bytes = program.memories[m].bytes;
    memories_[m].granule = granule[m];
    if (changes[m]) memories_[m].cells.resize(static_cast<std::size_t>(cell_count(bytes, granule[m])));
    memories_[m].states.assign(static_cast<std::size_t>(bytes), initialised[m] ? written : std::uint8_t{0});
  }
}

std::int64_t Shadow::bytes_of(const Program& program) {
  const std::vector<std::int64_t> granule = granules(program);
  const std::vector<bool> changes = is_written(program);
  std::int64_t total = 0;
  for (std::size_t m = 0; m < program.memories.size(); ++m) {
    const std::int64_t bytes = program.memories[m].bytes;
    total += bytes;
    if (changes[m]) total += cell_count(bytes, granule[m]) * static_cast<std::int64_t>(sizeof(Cell));
  }
  return total;
}

std::vector<bool> Shadow::is_written(const Program& program) {
  std::vector<bool> changes(program.memories.size(), false);
  for (const Operand& operand : program.operands) {
    if (operand.writes) changes[program.buffers[program.accesses[operand.access].buffer].memory] = true;
  }
  return changes;
}

std::vector<std::int64_t> Shadow::granules(const Program& program) {
  std::vector<std::int64_t> granule(program.memories.size(), 0);
  for (const Buffer& buffer : program.buffers) {
    std::int64_t& bytes = granule[buffer.memory];
    bytes = std::gcd(bytes, buffer.address_bytes);
    if (buffer.depth > 1) bytes = std::gcd(bytes, buffer.slot_bytes);
  }
  for (const Access& access : program.accesses) {
    std::int64_t& bytes = granule[program.buffers[access.buffer].memory];
    bytes = std::gcd(bytes, run_granule(access));
  }
  for (std::int64_t& bytes : granule) bytes = bytes == 0 ? 1 : bytes;
  return granule;
}

std::span<Shadow::Cell> Shadow::cells(Index memory, std::int64_t byte, std::int64_t bytes) {
  MemoryShadow& shadow = memories_[memory];
  if (shadow.cells.empty()) return {};
  // A run that was cut in two in the middle of a granule marks it twice, which does no harm.
  const std::int64_t first = byte / shadow.granule;
  const std::int64_t last = (byte + bytes - 1) / shadow.granule;
  return {&shadow.cells[static_cast<std::size_t>(first)], static_cast<std::size_t>(last - first + 1)};
}

std::optional<Index> Shadow::read(Index op, Index memory, std::int64_t byte, std::int64_t bytes) {
  std::optional<Index> other;
  const Epoch now = ordering_.stamp(op);
  for (Cell& cell : cells(memory, byte, bytes)) {
    if (!ordering_.is_before(cell.write, op)) other = cell.write.op;
    note_read(cell, now);
  }
  return other;
}

// Takes the place of a read that is over by now, or of the older one.
void Shadow::note_read(Cell& cell, const Epoch& epoch) const {
  if (!ordering_.is_before(cell.reads[0], epoch.op)) std::swap(cell.reads[0], cell.reads[1]);
  cell.reads[0] = epoch;
}

std::optional<Index> Shadow::write(Index op, Index memory, std::int64_t byte, std::int64_t bytes) {
  std::optional<Index> other;
  const Epoch now = ordering_.stamp(op);
  for (Cell& cell : cells(memory, byte, bytes)) {
    for (const Epoch& read : cell.reads) {
      if (!ordering_.is_before(read, op)) other = read.op;
    }
    if (!ordering_.is_before(cell.write, op)) other = cell.write.op;
    cell = {now, {}};
  }
  return other;
}

}  // namespace npuflow
