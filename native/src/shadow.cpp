#include "shadow.h"

#include <numeric>

namespace npuflow {

Shadow::Shadow(const Program& program, const std::vector<bool>& initialised)
    : ordering_(program), memories_(program.memories.size()) {
  const std::vector<std::int64_t> granule = granules(program);
  const std::vector<bool> changes = is_written(program);
  for (std::size_t m = 0; m < memories_.size(); ++m) {
    const std::int64_t bytes = program.memories[m].bytes;
    memories_[m].granule = granule[m];
    if (changes[m]) memories_[m].cells.resize(static_cast<std::size_t>((bytes + granule[m] - 1) / granule[m]));
    memories_[m].states.assign(static_cast<std::size_t>(bytes), initialised[m] ? written : std::uint8_t{0});
  }
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
  const auto divide = [&](Index memory, std::int64_t bytes) { granule[memory] = std::gcd(granule[memory], bytes); };
  for (const Buffer& buffer : program.buffers) {
    divide(buffer.memory, buffer.address_bytes);
    if (buffer.depth > 1) divide(buffer.memory, buffer.slot_bytes);
  }
  for (const Access& access : program.accesses) divide(program.buffers[access.buffer].memory, access.element_bytes);
  for (std::int64_t& bytes : granule) bytes = bytes == 0 ? 64 : bytes;
  return granule;
}

std::span<Shadow::Cell> Shadow::cells(Index memory, std::int64_t byte, std::int64_t bytes) {
  MemoryShadow& shadow = memories_[memory];
  if (shadow.cells.empty()) return {};
  return {&shadow.cells[static_cast<std::size_t>(byte / shadow.granule)],
          static_cast<std::size_t>(bytes / shadow.granule)};
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
