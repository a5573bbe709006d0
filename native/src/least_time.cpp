#include "least_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace npuflow::mapped {

namespace {

// A kernel's cycles take about as long to be found as so many tiles.
constexpr std::int64_t kernel_steps = 16;
constexpr std::int64_t poll_interval = 1 << 14;
// Sums of the same numbers in another order.
constexpr double rounding = 1 - 1e-9;
// Of so many inputs at most, which have a single slot is weighed.
constexpr std::size_t most_weighed = 8;

}  // namespace

LeastTimeSearch::LeastTimeSearch(Estimator& estimator, const Space& space, std::vector<ResultCycles> results,
                                 std::int64_t most, std::function<void()> poll)
    : estimator_(estimator),
      space_(space),
      floor_(estimator, space),
      results_(std::move(results)),
      spreads_(space.all_spreads()),
      most_(most),
      poll_(std::move(poll)) {
  for (const std::size_t loop : space.parts().open) {
    sizes_.push_back(sizes_of(space.group().sizes[loop], space.parts().units[loop]));
  }
  for (const Spread& spread : spreads_) cores_ = std::max(cores_, spread.rows * spread.columns);
}

std::optional<LeastTime> LeastTimeSearch::run() {
  Mapping start = space_.smallest();
  Mapping first = start;
  double least = std::numeric_limits<double>::infinity();
  each_of(
      start, 0, [&](double rough) { return rough < least; },
      [&](Mapping& mapping) {
        least = roughly(mapping);
        first = mapping;
      });
  if (least == std::numeric_limits<double>::infinity()) return std::nullopt;
  look_at(first);
  each_of(
      start, 0, [&](double rough) { return is_open(rough); },
      [&](Mapping& mapping) {
        if (is_open(exactly(mapping))) look_at(mapping);
      });
  return is_spent() ? std::nullopt : best_;
}

bool LeastTimeSearch::is_spent() const { return looked_at_ + kernel_steps * estimator_.asked() > most_; }

template <typename Wanted, typename Look>
void LeastTimeSearch::each_of(Mapping& mapping, std::size_t place, Wanted is_wanted, Look look) {
  const bool is_all = place == sizes_.size();
  if (is_all || space_.parts().open[place] >= space_.group().space) {
    if (++looked_at_ % poll_interval == 0) poll_();
    if (is_spent() || !is_wanted(roughly(is_all ? mapping : with_all_summed(mapping, place)))) return;
    if (is_all) return look(mapping);
  }
  Size& tile = mapping.tiles[space_.parts().open[place]];
  const Size before = tile;
  for (auto size = sizes_[place].rbegin(); size != sizes_[place].rend() && !is_spent(); ++size) {
    tile = *size;
    if (estimator_.has_room(mapping.tiles)) each_of(mapping, place + 1, is_wanted, look);
  }
  tile = before;
}

// With all of the loops from a place on, of which no pieces take less.
Mapping LeastTimeSearch::with_all_summed(Mapping mapping, std::size_t place) const {
  for (; place < sizes_.size(); ++place) {
    const std::size_t loop = space_.parts().open[place];
    mapping.tiles[loop] = space_.group().sizes[loop];
  }
  return mapping;
}

// How many blocks there are at least for the core that has most.
double LeastTimeSearch::rounds(const Mapping& mapping) const {
  const Group& group = space_.group();
  Size blocks = 1;
  for (std::size_t loop = 0; loop < group.space; ++loop) blocks *= parts_of(group.sizes[loop], mapping.tiles[loop]);
  return static_cast<double>(parts_of(blocks, cores_));
}

double LeastTimeSearch::roughly(const Mapping& mapping) const {
  const Group& group = space_.group();
  double pieces = 1;
  for (const std::size_t loop : group.streamed) {
    pieces *= static_cast<double>(parts_of(group.sizes[loop], mapping.tiles[loop]));
  }
  EngineCycles cycles;
  for (std::size_t number = 0; number < group.work.size(); ++number) {
    const Work& work = group.work[number];
    const LeastCycles& least = estimator_.least()[number];
    double steps = least.step;
    for (const std::size_t loop : work.loops) steps *= static_cast<double>(mapping.tiles[loop]);
    for (const auto& [loops, unit] : results_[number].units) {
      Size together = 1;
      for (const std::size_t loop : loops) together *= mapping.tiles[loop];
      steps *= static_cast<double>(padded(together, unit)) / static_cast<double>(together);
    }
    double made = results_[number].each;
    for (const std::size_t loop : results_[number].loops) made *= static_cast<double>(mapping.tiles[loop]);
    const double own = (work.is_pieced ? pieces : 1.0) * (least.call + steps + made);
    (least.multiplies ? cycles.products : cycles.others) += own;
    if (work.is_starting) cycles.starting += own;
  }
  return seconds_of(cycles, rounds(mapping));
}

double LeastTimeSearch::exactly(const Mapping& mapping) {
  return seconds_of(estimator_.block_cycles(Mapped(space_.group(), mapping)), rounds(mapping));
}

// Of so many blocks, what the first begins with is done before anything has come.
double LeastTimeSearch::seconds_of(const EngineCycles& cycles, double blocks) const {
  const bool side_by_side = floor_.is_side_by_side();
  const double first = std::max(0.0, (side_by_side ? 0.0 : cycles.products) + cycles.others - cycles.starting);
  const double all = (blocks - 1) * cycles.block(side_by_side) + first;
  return all / estimator_.machine().clock_hz * rounding;
}

void LeastTimeSearch::look_at(Mapping& mapping) {
  const Spread before = mapping.spread;
  const Machine& machine = estimator_.machine();
  const auto lanes = static_cast<double>(std::max<Size>(2, machine.tile.lanes.lanes));
  for (const Spread& spread : spreads_) {
    mapping.spread = spread;
    FloorParts parts = floor_.parts(mapping);
    const auto each = arrivals(Mapped(space_.group(), mapping));
    const double arrival = std::accumulate(each.begin(), each.end(), 0.0) / lanes;
    const double waits = waiting(mapping, each);
    const double work = parts.before + std::max(parts.core + waits, arrival);
    if (!is_open(std::max({work, parts.dram, parts.setting_up}))) continue;
    parts.dram = std::max(parts.dram, dram(mapping));
    const double seconds = std::max({work, parts.dram, parts.setting_up});
    if (std::isfinite(seconds) && is_open(seconds)) best_ = LeastTime{seconds, parts, waits, arrival, mapping};
  }
  mapping.spread = before;
}

double LeastTimeSearch::dram(Mapping mapping) const {
  const Group& group = space_.group();
  const Machine& machine = estimator_.machine();
  const bool is_known = group.is_packed && group.streamed.size() == 1 && space_.parts().opens_l2;
  if (!is_known || machine.direct.are_taken) return 0.0;
  mapping.depths = Depths();
  double least = std::numeric_limits<double>::infinity();
  for (const Size piece : space_.pieces(group.streamed[0], mapping.tiles[group.streamed[0]])) {
    mapping.in_l2[0] = piece;
    if (!estimator_.fits(mapping)) continue;
    least = std::min(least, OuterTransfers(Mapped(group, mapping), machine).busy_dram_seconds());
  }
  return least;
}

ShortVector<double, 8> LeastTimeSearch::arrivals(const Mapped& mapped) const {
  const Group& group = space_.group();
  const Machine& machine = estimator_.machine();
  ShortVector<double, 8> found;
  if (machine.direct.are_taken) return found;
  const Sizes& tiles = mapped.mapping().tiles;
  for (const std::size_t number : group.inputs) {
    const Tensor& tensor = group.tensors[number];
    double visits = tensor.streams ? static_cast<double>(mapped.pieces(tiles)) : 1.0;
    const bool comes_always = visits > 1;
    for (std::size_t loop = 0; loop < group.space; ++loop) {
      if (comes_always || tensor.follows_loop(loop)) visits *= static_cast<double>(mapped.counts()[loop]);
    }
    const double bytes = tensor.is_gathered ? tensor.l1_bytes(tiles) : tensor.stored_bytes(tiles);
    found.push_back((visits - 1) * bytes / machine.core.bytes_per_second);
  }
  return found;
}

double LeastTimeSearch::waiting(const Mapping& mapping, const ShortVector<double, 8>& arrivals) const {
  if (arrivals.size() > most_weighed) return 0.0;
  const Group& group = space_.group();
  double once = 0;
  for (const Tensor& tensor : group.tensors) {
    if (tensor.operand != Operand::start) once += tensor.l1_bytes(mapping.tiles);
  }
  double least = std::numeric_limits<double>::infinity();
  for (unsigned singles = 0; singles < 1U << arrivals.size(); ++singles) {
    double need = once;
    double waits = 0;
    for (std::size_t number = 0; number < arrivals.size(); ++number) {
      if ((singles >> number & 1U) != 0) {
        waits = std::max(waits, arrivals[number]);
      } else {
        need += group.tensors[group.inputs[number]].l1_bytes(mapping.tiles);
      }
    }
    if (need <= estimator_.machine().core.capacity) least = std::min(least, waits);
  }
  return least;
}

}  // namespace npuflow::mapped
