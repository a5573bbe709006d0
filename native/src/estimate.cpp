#include "estimate.h"

#include <algorithm>
#include <cmath>

#include "mapped_time.h"
#include "played.h"
#include "room.h"

namespace npuflow::mapped {

namespace {

// Of DRAM's time, what a search counts although it is hidden: estimates don't tell times apart that are as near, and
// what moves takes energy.
constexpr double moving_share = 0.1;
// The same where what takes the time is played out, which errs less by as much.
constexpr double played_moving_share = 0.02;
// Floors and costs are sums of the same numbers in another order.
constexpr double rounding = 1 - 1e-9;

}  // namespace

double EstimateParts::cost() const { return seconds + moving_share * busy_dram_seconds; }

Estimator::Estimator(Group group, const Machine& machine, KernelCycles cycles, std::vector<LeastCycles> least)
    : group_(std::move(group)), machine_(machine), kernel_cycles_(std::move(cycles)), least_(std::move(least)) {
  known_cycles_.resize(group_.work.size());
}

EstimateParts Estimator::parts_of(const Mapped& mapped, const EngineCycles& cycles) {
  return mapped::parts_of(mapped, known_moving_.times_of(mapped, machine_), machine_, cycles);
}

template <typename Cycles>
EngineCycles Estimator::summed(double pieces, Cycles cycles) const {
  EngineCycles total;
  ShortVector<double, 16> before;  // what ops in front of each take; nobody asks of a matmul
  double so_far = 0.0;
  for (std::size_t number = 0; number < group_.work.size(); ++number) {
    const double own = (group_.work[number].is_pieced ? pieces : 1.0) * cycles(number);
    (least_[number].multiplies ? total.products : total.others) += own;
    if (group_.work[number].is_starting) total.starting += own;
    if (group_.work[number].is_pieced) total.pieced += own;
    if (!group_.is_packed) before.push_back(so_far);
    so_far += own;
  }
  if (group_.is_packed) return total;
  before.push_back(so_far);
  for (const std::size_t number : group_.inputs) {
    const Tensor& tensor = group_.tensors[number];
    const auto first = static_cast<std::size_t>(tensor.user);
    const auto last = static_cast<std::size_t>(tensor.last_user);
    total.reading = std::max(total.reading, before[last + 1] - before[first]);
  }
  return total;
}

EstimateParts Estimator::parts(const Mapping& mapping) {
  const Mapped mapped(group_, mapping);
  const auto of_op = [&](std::size_t number) { return cycles(number, mapping.tiles); };
  return parts_of(mapped, summed(mapped.calls(), of_op));
}

double Estimator::played_cost(const Mapping& mapping) {
  const Mapped mapped(group_, mapping);
  const auto of_op = [&](std::size_t number) { return cycles(number, mapping.tiles); };
  const EngineCycles engines = summed(mapped.calls(), of_op);
  const EstimateParts found = parts_of(mapped, engines);
  if (machine_.direct.are_taken) return found.cost();
  const double played = Played(mapped, machine_, engines).seconds();
  return std::isfinite(played) ? played + played_moving_share * found.busy_dram_seconds : found.cost();
}

double Estimator::least_cost(const Mapping& mapping) {
  const Mapped mapped(group_, mapping);
  return parts_of(mapped, least_block_cycles(mapped)).cost();
}

double Estimator::floor_of_least(const Mapping& mapping) const {
  const Mapped mapped(group_, mapping);
  const EngineCycles cycles = least_block_cycles(mapped);
  const double all = mapped.blocks() * cycles.block(mapping.depths.between > 1) - cycles.starting;
  return all / machine_.clock_hz * rounding;
}

bool Estimator::fits(const Mapping& mapping) {
  const Mapped mapped(group_, mapping);
  return Room(mapped, &known_groups_).fits(machine_);
}

bool Estimator::has_room(const Sizes& tiles) const {
  double need = 0;
  for (const Tensor& tensor : group_.tensors) {
    if (tensor.operand != Operand::start) need += tensor.l1_bytes(tiles);
  }
  return need <= machine_.core.capacity;
}

EngineCycles Estimator::block_cycles(const Mapped& mapped) {
  const Sizes& tiles = mapped.mapping().tiles;
  return summed(static_cast<double>(mapped.pieces(tiles)), [&](std::size_t number) { return cycles(number, tiles); });
}

EngineCycles Estimator::least_block_cycles(const Mapped& mapped) const {
  const Sizes& tiles = mapped.mapping().tiles;
  return summed(static_cast<double>(mapped.pieces(tiles)), [&](std::size_t number) {
    double steps = 1;
    for (const std::size_t loop : group_.work[number].loops) steps *= static_cast<double>(tiles[loop]);
    return least_[number].call + least_[number].step * steps;
  });
}

double Estimator::cycles(std::size_t number, const Sizes& tiles) {
  Sizes own;
  for (const std::size_t loop : group_.work[number].loops) own.push_back(tiles[loop]);
  auto& known = known_cycles_[number];
  if (const auto found = known.find(own); found != known.end()) return found->second;
  ++asked_;
  return known.emplace(own, kernel_cycles_(number, own)).first->second;
}

}  // namespace npuflow::mapped
