#include "moving_times.h"

#include <algorithm>
#include <cmath>

namespace npuflow::mapped {

namespace {

// The power of a norm over what works side by side, which rises with each doubling of how often something comes into
// L2, since pipelines that are long have time to even out.
constexpr double least_power = 3.0;
constexpr double power_per_doubling = 0.6;
// What comes into L1 shares its way with what is waited for, and takes so much longer.
constexpr double arrival_share = 1.08;

// What the busiest of the channels into L1 takes, or the one out of a memory tile for all of its rows.
double arrival_bytes(const OuterTransfers& outer) {
  ShortVector<double, 8> lanes(outer.lanes(), 0.0);
  for (std::size_t number = 0; number < outer.inputs(); ++number) {
    const OuterTransfer& each = outer.all()[number];
    lanes[each.lane] += each.onward_bytes * static_cast<double>(each.onward_rows);
  }
  return *std::max_element(lanes.begin(), lanes.end());
}

double between_seconds(const OuterTransfers& outer, double busy_dram) {
  const double first = outer.first_dram_seconds();
  const double last = outer.last_dram_seconds();
  const double between = busy_dram > 0 ? std::max(0.0, 1 - (first + last) / busy_dram) : 0.0;
  return between * std::max(busy_dram, outer.channel_seconds());
}

bool tails_come_once(const Mapped& mapped) {
  const Group& group = mapped.group();
  return std::all_of(group.inputs.begin(), group.inputs.end(), [&](std::size_t number) {
    const Tensor& tensor = group.tensors[number];
    return tensor.operand != Operand::tail || mapped.comes_once(tensor, mapped.mapping().tiles);
  });
}

void find_visits(MovingTimes& found, const OuterTransfers& outer) {
  double visits = 0;
  for (std::size_t number = 0; number < outer.inputs(); ++number) {
    found.most_visits = std::max(found.most_visits, outer.all()[number].visits);
    visits += outer.all()[number].visits;
  }
  found.power = power_of(visits);
  for (std::size_t number = 0; number < outer.inputs(); ++number) {
    const OuterTransfer& each = outer.all()[number];
    const double share = each.visits / found.most_visits;
    if (share == 1) found.often += each.dram_seconds;
    found.seldom += each.dram_seconds * (1 - 1 / each.visits) * (1 - share);
  }
}

void find_setting_up(MovingTimes& found, const OuterTransfers& outer, const Machine& machine) {
  found.setting_up = outer.setting_up_seconds();
  double channels = 0;
  for (const OuterTransfer& each : outer.all()) channels += static_cast<double>(each.channels);
  found.set_up_once = machine.descriptor_seconds * channels;
  for (std::size_t number = 0; number < outer.inputs(); ++number) {
    const OuterTransfer& each = outer.all()[number];
    if (each.turns == 1) continue;
    const double second = machine.descriptor_seconds * outer.set_up_with(number, 1);
    const double last =
        each.turns == 2 ? second : machine.descriptor_seconds * outer.set_up_with(number, each.turns - 1);
    found.in_turns.push_back({second + each.part_seconds, last + each.part_seconds, each.turns});
  }
}

void find_results(MovingTimes& found, const Mapped& mapped, const Machine& machine) {
  double bytes = 0;
  bool streams = false;
  for (const std::size_t number : mapped.group().outputs) {
    const Tensor& tensor = mapped.group().tensors[number];
    bytes += tensor.bytes(mapped.mapping().tiles);
    streams = streams || tensor.streams;
  }
  found.result = bytes / machine.core.bytes_per_second;
  if (streams) found.result_pieces = found.calls;
}

}  // namespace

MovingTimes moving_times(const Mapped& mapped, const OuterTransfers& outer, const Machine& machine) {
  MovingTimes found;
  found.blocks = outer.blocks();
  found.calls = mapped.calls();
  found.busy_dram = outer.busy_dram_seconds();
  found.arrival = into_l1_seconds(arrival_bytes(outer), machine);
  find_visits(found, outer);
  find_setting_up(found, outer, machine);
  find_results(found, mapped, machine);
  // Between L2 and L1 alone: what the first call of kernels needs, and what the last block makes.
  const bool is_direct = machine.direct.are_taken;
  const double first_piece = is_direct ? 0.0 : found.arrival / (found.blocks * found.calls);
  found.leaving = is_direct ? 0.0 : found.result;
  found.before = outer.arrival_seconds(false) + first_piece;
  found.first_of_all = outer.arrival_seconds(true);
  found.between = between_seconds(outer, found.busy_dram);
  found.last = std::max(outer.last_dram_seconds(), outer.last_channel_seconds());
  found.last_alone = outer.last_alone_seconds();
  found.tails_come_once = tails_come_once(mapped);
  return found;
}

double power_of(double visits) { return least_power + power_per_doubling * std::log2(std::max(1.0, visits)); }

double into_l1_seconds(double bytes, const Machine& machine) {
  return arrival_share * bytes / machine.core.bytes_per_second;
}

}  // namespace npuflow::mapped
