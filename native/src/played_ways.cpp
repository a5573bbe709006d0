// The ways of tensors between DRAM and L2 of a pipeline that is played out: their parts, and who moves these.

#include <algorithm>
#include <cmath>

#include "played.h"

namespace npuflow::mapped {

std::size_t Played::Way::group_of(std::size_t turn) const {
  return static_cast<std::size_t>((static_cast<double>(turn) + rounding) * set_up_turns / turns);
}

std::size_t Played::Way::first_of(std::size_t group) const {
  return static_cast<std::size_t>(std::ceil(static_cast<double>(group) * turns / set_up_turns - rounding));
}

double Played::Way::bytes_of(std::size_t turn) const {
  double found = bytes;
  for (const Along& each : along) {
    found *= turn % each.parts + 1 == each.parts ? each.last : each.full;
    turn /= each.parts;
  }
  return found;
}

double Played::Way::channels_of(std::size_t turn) const {
  double found = channels;
  for (const Along& each : along) {
    if (turn % each.parts + 1 == each.parts) found *= each.last_channels;
    turn /= each.parts;
  }
  return found;
}

Played::Way Played::way_of(const Mapped& mapped, const OuterTransfer& transfer, double turns, double rate) const {
  Way way;
  way.turns = turns;
  way.along = parts_along(mapped, transfer);
  double parts = 1;
  for (const Along& each : way.along) parts *= static_cast<double>(each.parts);
  if (parts != turns) way.along.clear();
  way.channels = static_cast<double>(transfer.moving);
  way.set_up_channels = static_cast<double>(transfer.channels);
  way.bytes = transfer.bytes / (turns * way.channels);
  way.weight = transfer.dram_seconds * rate / transfer.bytes;
  way.set_up_turns = std::min(turns, transfer.turns);
  way.late = machine_.descriptor_seconds * (way.channels - 1);
  return way;
}

// Whether no op that runs for every piece reads an input, nor one before these.
static bool is_behind(const Group& group, const Tensor& tensor) {
  if (group.is_packed) return tensor.operand == Operand::tail;
  std::size_t behind = 0;
  for (std::size_t op = 0; op < group.work.size(); ++op) {
    if (group.work[op].is_pieced) behind = op + 1;
  }
  return behind > 0 && static_cast<std::size_t>(tensor.user) >= behind;
}

Played::Way Played::way_in(const Mapped& mapped, const OuterTransfer& transfer) const {
  const Tensor& tensor = *transfer.tensor;
  const Mapping& mapping = mapped.mapping();
  Way way = way_of(mapped, transfer, transfer.visits, machine_.dram.read_rate);
  way.slots = static_cast<std::size_t>(mapping.depths.of(tensor.operand).l2);
  way.is_behind = is_behind(mapped.group(), tensor);
  way.onward = mapped.visits(tensor, mapping.tiles);
  way.lane = transfer.lane;
  // One channel goes on for so many rows of cores, one by one.
  const auto rows = static_cast<double>(transfer.onward_rows);
  way.onward_bytes =
      rows * (tensor.l1_bytes(mapping.tiles) + machine_.begin_l1_seconds * machine_.core.bytes_per_second);
  if (tensor.follows_loop(mapping.spread.row_loop)) way.streams = static_cast<double>(mapping.spread.rows) / rows;
  return way;
}

Played::Way Played::way_out(const Mapped& mapped, const OuterTransfer& transfer) const {
  Way way = way_of(mapped, transfer, static_cast<double>(blocks_), machine_.dram.write_rate);
  way.slots = results_;
  way.is_input = false;
  return way;
}

std::vector<Played::Along> Played::parts_along(const Mapped& mapped, const OuterTransfer& transfer) {
  std::vector<Along> found;
  const std::vector<std::size_t>& streamed = mapped.group().streamed;
  if (transfer.tensor->role == Role::input && transfer.tensor->streams) {
    for (auto loop = streamed.rbegin(); loop != streamed.rend(); ++loop) {
      found.push_back(along(mapped, transfer, *loop, transfer.in_l2[*loop]));
    }
  }
  for (const std::size_t loop : transfer.around) found.push_back(along(mapped, transfer, loop, mapped.block()[loop]));
  return found;
}

Played::Along Played::along(const Mapped& mapped, const OuterTransfer& transfer, std::size_t loop, Size block) {
  const Size size = mapped.group().sizes[loop];
  const Size parts = parts_of(size, block);
  if (!transfer.tensor->follows_loop(loop)) return {static_cast<std::size_t>(parts)};
  const Part part = transfer.divided(mapped.mapping().spread);
  const Size last = size - (parts - 1) * block;
  const double moving =
      part.loop == loop ? static_cast<double>(parts_of(last, part.size)) / static_cast<double>(transfer.moving) : 1.0;
  const auto share = [&](Size own) { return static_cast<double>(own * parts) / static_cast<double>(size); };
  return {static_cast<std::size_t>(parts), share(std::min(block, size)), share(last) / moving, moving};
}

}  // namespace npuflow::mapped
