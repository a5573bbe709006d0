#include "mapped_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "outer_transfers.h"

namespace npuflow::mapped {

namespace {

// How sharply the slowest decides: the power of a norm over what works side by side, which rises with each doubling of
// how often something comes into L2, since pipelines that are long have time to even out; and powers at most where
// single slots let less overlap. These, and the shares below, bring estimates nearest to simulated times within each
// group: the powers over 900 strategies of 78 groups (layers, operators and published matmuls on npu1, npu2 and toy),
// the others over 884 of 75 (layers of docs/networks.md, and sums of products over two loops).
constexpr double least_power = 3.0;
constexpr double power_per_doubling = 0.6;
constexpr std::array<double, 3> single_powers{std::numeric_limits<double>::infinity(), 2.5, 1.0};
constexpr double single_l1_power = 1.5;
// What comes into L1 shares its way with what is waited for, and takes so much longer.
constexpr double arrival_share = 1.08;
// Blocks that are computed before any result has left, for each slot that results have.
constexpr double ahead_blocks = 2.0;
// What cores lose while DRAM is busy with what comes seldom, for all that others need of it.
constexpr double starved_share = 1.9;
// Of setting up, what is waited for again where a tail's operand has a single slot, in which the last block's is.
constexpr double single_tail_share = 0.14;

class MappedTime {
 public:
  MappedTime(const Mapped& mapped, const OuterTransfers& outer, const Machine& machine, const EngineCycles& cycles)
      : mapped_(mapped), group_(mapped.group()), machine_(machine), outer_(outer) {
    for (std::size_t number = 0; number < outer_.inputs(); ++number) {
      most_visits_ = std::max(most_visits_, outer_.all()[number].visits);
    }
    busy_dram_ = outer_.busy_dram_seconds();
    setting_up_ = outer_.setting_up_seconds();
    arrival_ = into_l1_seconds(arrival_bytes(), machine);
    core_ = core_seconds(cycles);
    const double all = cycles.products + cycles.others;
    reading_share_ = all > 0 ? cycles.reading / all : 1.0;
    if (machine.direct.are_taken) return;
    first_piece_ = arrival_ / (outer_.blocks() * mapped.calls());
    leaving_ = result_seconds();
  }

  EstimateParts parts() const { return {seconds(), core_, busy_dram_, setting_up_}; }

 private:
  double seconds() const {
    const double last = std::max(outer_.last_dram_seconds(), outer_.last_channel_seconds());
    const double before = outer_.arrival_seconds(false) + first_piece_;
    const double work = work_seconds(before);
    const Depths& depths = mapped_.mapping().depths;
    const double again = depths.tail == 1 && !tails_come_once() ? single_tail_share * setting_up_ : 0.0;
    // Until the first results can leave, no more blocks are computed than there are slots for.
    const double ahead = std::min(1.0, ahead_blocks * static_cast<double>(depths.result) / outer_.blocks());
    const double held_back = set_up_seconds() + (1 - ahead) * work + outer_.last_alone_seconds();
    return std::max(before + work + leaving_ + last, held_back) + again;
  }

  // What works side by side, once the first block is there.
  double work_seconds(double before) const {
    const double first = outer_.first_dram_seconds();
    const double last = outer_.last_dram_seconds();
    const double between = busy_dram_ > 0 ? std::max(0.0, 1 - (first + last) / busy_dram_) : 0.0;
    const double moving = between * std::max(busy_dram_, outer_.channel_seconds());
    const double behind = std::max(behind_set_up_seconds(), setting_up_) - before;
    // What is in L2 of a matmul goes on once it is whole: behind the last of it stands its way through L1.
    const double late = group_.is_packed ? 1 / most_visits_ : 0.0;
    const std::array<double, 3> times{(1 - late) * core_ + starved_seconds(), (1 - late) * arrival_, moving};
    double visits = 0;
    for (std::size_t number = 0; number < outer_.inputs(); ++number) visits += outer_.all()[number].visits;
    const double power = power_of(visits);
    // What has a single slot comes while ops work that don't read it.
    const double shared = group_.is_packed ? 1.0 : reading_share_;
    const std::array<double, 3> reading{shared * times[0], times[1], times[2]};
    const double single = std::min(power, single_power());
    const double of_all = together(times, power);
    const double together_ = shared == 1.0 && single == power ? of_all : std::max(of_all, together(reading, single));
    return std::max({together_ + late * in_l1_seconds(), in_turn_seconds(moving), behind});
  }

  // At least so long where L2 has a single slot: it is filled again once all of it has gone on, while cores have one of
  // the pieces left that it goes on in.
  double in_turn_seconds(double moving) const {
    if (group_.is_packed || mapped_.mapping().depths.inward.l2 > 1) return 0.0;
    const double pieces = std::max(1.0, outer_.blocks() * mapped_.calls() / most_visits_);
    const double in_l1 = std::max(core_, arrival_);
    return in_l1 + std::max(0.0, moving - in_l1 / pieces);
  }

  // What cores take for all that is in L2.
  double in_l1_seconds() const { return is_single_in_l1() ? core_ + arrival_ : std::max(core_, arrival_); }

  // When cores are done if they wait for nothing but what is set up: for what is set up once, and for the second and
  // the last turn of what is set up in turns, each with the work behind it.
  double behind_set_up_seconds() const {
    double behind = outer_.arrival_seconds(true) + in_l1_seconds() / most_visits_;
    for (std::size_t number = 0; number < outer_.inputs(); ++number) {
      const OuterTransfer& each = outer_.all()[number];
      const double turns = each.turns;
      if (turns == 1) continue;
      const double come = each.dram_seconds / each.visits;
      const double second = machine_.descriptor_seconds * outer_.set_up_with(number, 1);
      const double last = machine_.descriptor_seconds * outer_.set_up_with(number, turns - 1);
      behind =
          std::max({behind, second + come + in_l1_seconds() * (1 - 1 / turns), last + come + in_l1_seconds() / turns});
    }
    return behind;
  }

  // How long it takes to set up a transfer of everything in every channel.
  double set_up_seconds() const {
    double channels = 0;
    for (const OuterTransfer& each : outer_.all()) channels += static_cast<double>(each.channels);
    return machine_.descriptor_seconds * channels;
  }

  // How long cores wait for what comes often, while what comes seldom, and much at a time, takes DRAM's time.
  double starved_seconds() const {
    double often = 0;
    double seldom = 0;
    for (std::size_t number = 0; number < outer_.inputs(); ++number) {
      const OuterTransfer& each = outer_.all()[number];
      const double share = each.visits / most_visits_;
      if (share == 1) often += each.dram_seconds;
      seldom += each.dram_seconds * (1 - 1 / each.visits) * (1 - share);
    }
    if (often == 0) return 0.0;
    return starved_share * seldom * std::min(1.0, std::max(0.0, 2 - core_ / often));
  }

  // The power at most for the single slots of the two ways in that are waited for.
  double single_power() const {
    const Depths& depths = mapped_.mapping().depths;
    if (!group_.is_packed) {
      if (depths.inward.l1 == 1) return depths.inward.l2 == 1 ? single_powers[2] : single_l1_power;
      return single_powers[depths.inward.l2 == 1 ? 1 : 0];
    }
    std::size_t found = 0;
    for (const Operand operand : {Operand::lhs, Operand::rhs}) {
      const Slots slots = depths.of(operand);
      if (std::min(slots.l1, slots.l2) == 1) ++found;
    }
    return single_powers[found];
  }

  bool is_single_in_l1() const {
    const Depths& depths = mapped_.mapping().depths;
    if (!group_.is_packed) return depths.inward.l1 == 1;
    return std::min(depths.of(Operand::lhs).l1, depths.of(Operand::rhs).l1) == 1;
  }

  bool tails_come_once() const {
    return std::all_of(group_.inputs.begin(), group_.inputs.end(), [&](std::size_t number) {
      const Tensor& tensor = group_.tensors[number];
      return tensor.operand != Operand::tail || mapped_.comes_once(tensor, mapped_.mapping().tiles);
    });
  }

  // A core's time: computing, and between blocks waiting for a result that leaves alone while others arrive.
  //
  // What the faster of two engines computes before or behind all blocks, the slower one has nothing to do meanwhile.
  double core_seconds(const EngineCycles& cycles) const {
    const double blocks = outer_.blocks();
    const double block_cycles = cycles.block(mapped_.mapping().depths.between > 1);
    const double compute = block_cycles / machine_.clock_hz;
    const double uncovered = (cycles.block(false) - block_cycles) / machine_.clock_hz;
    const double leaving = result_seconds();
    const double hidden = std::max(compute, arrival_ / blocks) / result_pieces();
    // Of what leaves in pieces, the next one is written by the last of several ops only.
    const bool is_in_place = mapped_.mapping().depths.result == 1 && result_pieces() == 1;
    const double waiting = is_in_place ? leaving : std::max(0.0, leaving - hidden);
    const double leaves = blocks * result_pieces();
    return blocks * compute + uncovered + (leaves - 1) * waiting - cycles.starting / machine_.clock_hz;
  }

  // In how many pieces a block's results leave L1.
  double result_pieces() const {
    const bool streams = std::any_of(group_.outputs.begin(), group_.outputs.end(),
                                     [&](std::size_t number) { return group_.tensors[number].streams; });
    return streams ? mapped_.calls() : 1.0;
  }

  // How long a block's results, or a piece of them, take out of L1.
  double result_seconds() const {
    double bytes = 0;
    for (const std::size_t number : group_.outputs) bytes += group_.tensors[number].bytes(mapped_.mapping().tiles);
    return bytes / machine_.core.bytes_per_second;
  }

  // What the busiest of the channels into L1 takes, or the one out of a memory tile for all of its rows.
  double arrival_bytes() const {
    ShortVector<double, 8> lanes(outer_.lanes(), 0.0);
    for (std::size_t number = 0; number < outer_.inputs(); ++number) {
      const OuterTransfer& each = outer_.all()[number];
      lanes[each.lane] += outer_.onward_bytes(each) * static_cast<double>(each.onward_rows);
    }
    return *std::max_element(lanes.begin(), lanes.end());
  }

  const Mapped& mapped_;
  const Group& group_;
  const Machine& machine_;
  const OuterTransfers& outer_;
  double most_visits_ = 1.0;
  double busy_dram_ = 0.0;
  double setting_up_ = 0.0;
  double arrival_ = 0.0;
  double core_ = 0.0;
  double reading_share_ = 1.0;  // of a core's time, while it reads the input that it reads longest
  // Between L2 and L1 alone: what the first call of kernels needs, and what the last block makes.
  double first_piece_ = 0.0;
  double leaving_ = 0.0;
};

}  // namespace

double together(const std::array<double, 3>& times, double power) {
  const double slowest = *std::max_element(times.begin(), times.end());
  if (slowest == 0.0) return 0.0;
  double sum = 0;
  for (const double time : times) sum += time == slowest ? 1.0 : std::pow(time / slowest, power);
  return slowest * std::pow(sum, 1 / power);
}

double power_of(double visits) { return least_power + power_per_doubling * std::log2(std::max(1.0, visits)); }

double into_l1_seconds(double bytes, const Machine& machine) {
  return arrival_share * bytes / machine.core.bytes_per_second;
}

EstimateParts parts_of(const Mapped& mapped, const OuterTransfers& outer, const Machine& machine,
                       const EngineCycles& cycles) {
  return MappedTime(mapped, outer, machine, cycles).parts();
}

}  // namespace npuflow::mapped
