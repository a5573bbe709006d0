#include "cost_floor.h"

#include <algorithm>
#include <limits>

#include "dram_runs.h"
#include "mapped_time.h"

namespace npuflow::mapped {

namespace {

// Floors and costs are sums of the same numbers in another order.
constexpr double rounding = 1 - 1e-9;

// Whether streamed loops index a dimension.
bool is_streamed(const Group& group, const Dim& dim) {
  return std::any_of(dim.terms.begin(), dim.terms.end(), [&](const Term& term) {
    return std::find(group.streamed.begin(), group.streamed.end(), term.loop) != group.streamed.end();
  });
}

// Whether two dimensions of a tensor follow the same loop: blocks then aren't all that their product says.
bool is_diagonal(const Tensor& tensor, std::size_t loops) {
  std::vector<int> seen(loops, 0);
  for (const Dim& dim : tensor.dims) {
    for (const Term& term : dim.terms) {
      if (++seen[term.loop] > 1) return true;
    }
  }
  return false;
}

double cost_of(const FloorParts& parts) {
  // What is in front and behind takes DRAM's time too: that moves nothing beside what cores do, and is longer by that.
  const double beside = std::max(0.0, parts.dram - parts.before - parts.last);
  const double work = together({std::max(parts.core, parts.arrival), beside, 0.0}, power_of(parts.visits));
  const double seconds = std::max(parts.before + work + parts.last, parts.setting_up);
  return EstimateParts{seconds, parts.core, parts.dram, parts.setting_up}.cost() * rounding;
}

}  // namespace

CostFloor::CostFloor(Estimator& estimator, const Space& space)
    : estimator_(estimator), opens_order_(space.parts().opens_order) {
  const auto& slots = space.parts().slots;
  is_side_by_side_ = space.parts().start.depths.between > 1 ||
                     std::find(slots.begin(), slots.end(), PlaceKind::between) != slots.end();
}

double CostFloor::roughly(const Mapping& mapping, double limit) const {
  const Mapped mapped(estimator_.group(), mapping);
  const EngineCycles cycles = estimator_.least_block_cycles(mapped);
  // What cores compute is found at once, and is too much of most.
  const double core = core_seconds(mapped, cycles) * rounding;
  return core >= limit ? core : cost_of(parts_of(mapped, cycles));
}

double CostFloor::core_seconds(const Mapped& mapped, const EngineCycles& cycles) const {
  return (mapped.blocks() * cycles.block(is_side_by_side_) - cycles.starting) / estimator_.machine().clock_hz;
}

double CostFloor::exactly(const Mapping& mapping) const { return cost_of(parts(mapping)); }

FloorParts CostFloor::parts(const Mapping& mapping) const {
  const Mapped mapped(estimator_.group(), mapping);
  return parts_of(mapped, estimator_.block_cycles(mapped));
}

FloorParts CostFloor::parts_of(const Mapped& mapped, const EngineCycles& cycles) const {
  const Group& group = estimator_.group();
  const Machine& machine = estimator_.machine();
  int op = std::numeric_limits<int>::max();
  for (const std::size_t number : group.inputs) op = std::min(op, group.tensors[number].user);
  Size channels = 0;
  Size starting = 0;
  double first = 0;
  double last = 0;
  double read = 0;
  double written = 0;
  double moved = 0;
  for (const std::size_t number : group.inputs) {
    const Tensor& tensor = group.tensors[number];
    const Size own = outer_channels(mapped, machine, tensor);
    channels += own;
    if (tensor.user == op) {
      starting += own;
      first += mapped.traffic_bytes(tensor, mapped.mapping().tiles, 1, copies(mapped, tensor)) / machine.dram.read_rate;
    }
    const double bytes = moved_bytes(mapped, tensor);
    moved += bytes;
    read += bytes * (1 + machine.dram.read_overhead * run_share(mapped, tensor));
  }
  for (const std::size_t number : group.outputs) {
    const Tensor& tensor = group.tensors[number];
    channels += outer_channels(mapped, machine, tensor);
    last += mapped.traffic_bytes(tensor, mapped.mapping().tiles, 1, copies(mapped, tensor)) / machine.dram.write_rate;
    const double bytes = moved_bytes(mapped, tensor);
    moved += bytes;
    written += bytes * (1 + machine.dram.write_overhead * run_share(mapped, tensor));
  }
  const double core = core_seconds(mapped, cycles);
  const double dram =
      std::max({read / machine.dram.read_rate, written / machine.dram.write_rate, moved / machine.dram.total_rate});
  const double before = std::max(first, machine.descriptor_seconds * static_cast<double>(starting));
  const double setting_up = machine.descriptor_seconds * static_cast<double>(channels);
  const double arrival = into_l1_seconds(arrival_bytes(mapped), machine);
  const double visits = mapped.blocks() * static_cast<double>(mapped.pieces(mapped.mapping().tiles));
  return {before, core, last, dram, setting_up, arrival, visits * static_cast<double>(group.inputs.size())};
}

double CostFloor::arrival_bytes(const Mapped& mapped) const {
  double most = 0;
  if (opens_order_) return most;
  const Sizes& tiles = mapped.mapping().tiles;
  for (const std::size_t number : estimator_.group().inputs) {
    const Tensor& tensor = estimator_.group().tensors[number];
    most = std::max(most, tensor.l1_bytes(tiles) * mapped.visits(tensor, tiles));
  }
  return most;
}

Size CostFloor::copies(const Mapped& mapped, const Tensor& tensor) const {
  return is_direct() ? 1 : mapped.copies(tensor);
}

double CostFloor::moved_bytes(const Mapped& mapped, const Tensor& tensor) const {
  const Group& group = estimator_.group();
  if (is_diagonal(tensor, group.sizes.size())) return 0.0;
  auto bytes = static_cast<double>(tensor.element_bytes * copies(mapped, tensor));
  for (const Dim& dim : tensor.dims) bytes *= moved_elements(mapped, dim);
  if (opens_order_) return bytes;
  // Where the order of blocks is known, how often a part comes again is known too.
  double turns = 1;
  double apart = 1;
  const auto& order = mapped.mapping().order;
  const std::size_t around = order.size() - mapped.stays(tensor);
  for (std::size_t place = 0; place < around; ++place) turns *= static_cast<double>(mapped.counts()[order[place]]);
  for (std::size_t loop = 0; loop < group.space; ++loop) {
    if (tensor.follows_loop(loop)) apart *= static_cast<double>(mapped.counts()[loop]);
  }
  return bytes * turns / apart;
}

double CostFloor::moved_elements(const Mapped& mapped, const Dim& dim) const {
  const Group& group = estimator_.group();
  if (!is_streamed(group, dim)) return mapped.moved_elements(dim, mapped.mapping().tiles);
  if (dim.terms.size() == 1 && dim.terms.front().coefficient == 1) return static_cast<double>(dim.size);
  double steps = 1;
  Size extent = 1;
  for (const Term& term : dim.terms) {
    if (std::find(group.streamed.begin(), group.streamed.end(), term.loop) != group.streamed.end()) continue;
    if (term.loop < group.space) steps *= static_cast<double>(mapped.counts()[term.loop]);
    extent += term.coefficient * (mapped.block()[term.loop] - 1);
  }
  return std::min(static_cast<double>(dim.size), steps * static_cast<double>(extent));
}

double CostFloor::run_share(const Mapped& mapped, const Tensor& tensor) const {
  const Group& group = estimator_.group();
  Sizes tiles = mapped.mapping().tiles;
  for (const std::size_t loop : group.streamed) tiles[loop] = padded(group.sizes[loop], tiles[loop]);
  const Sizes block = mapped.block_of(tiles);
  const bool by_rows = !is_direct() && mapped.goes_by_rows(tensor);
  const Sizes part = by_rows ? tiles : mapped.column_of(tiles);
  const Size joined = estimator_.machine().dram.joins_runs ? tensor.run_bytes(block) : 0;
  return 1 / static_cast<double>(std::max(runs_of(group, tensor, part).run_bytes, joined));
}

}  // namespace npuflow::mapped
