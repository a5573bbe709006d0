#include "mapped_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace npuflow::mapped {

namespace {

// How sharply the slowest decides at most, as a power of a norm over what works side by side, where single slots let
// less overlap. These and the powers of moving times, and the shares below, bring estimates nearest to simulated times
// within each group: the powers over 900 strategies of 78 groups (layers, operators and published matmuls on npu1, npu2
// and toy), the others over 884 of 75 (layers of docs/networks.md, and sums of products over two loops).
constexpr std::array<double, 3> single_powers{std::numeric_limits<double>::infinity(), 2.5, 1.0};
constexpr double single_l1_power = 1.5;
// Blocks that are computed before any result has left, for each slot that results have.
constexpr double ahead_blocks = 2.0;
// What cores lose while DRAM is busy with what comes seldom, for all that others need of it.
constexpr double starved_share = 1.9;
// Of setting up, what is waited for again where a tail's operand has a single slot, in which the last block's is.
constexpr double single_tail_share = 0.14;

class MappedTime {
 public:
  MappedTime(const Mapped& mapped, const MovingTimes& moving, const Machine& machine, const EngineCycles& cycles)
      : depths_(mapped.mapping().depths), group_(mapped.group()), machine_(machine), moving_(moving) {
    core_ = core_seconds(cycles);
    const double all = cycles.products + cycles.others;
    reading_share_ = all > 0 ? cycles.reading / all : 1.0;
  }

  EstimateParts parts() const { return {seconds(), core_, moving_.busy_dram, moving_.setting_up}; }

 private:
  double seconds() const {
    const double work = work_seconds();
    const double again = depths_.tail == 1 && !moving_.tails_come_once ? single_tail_share * moving_.setting_up : 0.0;
    // Until the first results can leave, no more blocks are computed than there are slots for.
    const double ahead = std::min(1.0, ahead_blocks * static_cast<double>(depths_.result) / moving_.blocks);
    const double held_back = moving_.set_up_once + (1 - ahead) * work + moving_.last_alone;
    return std::max(moving_.before + work + moving_.leaving + moving_.last, held_back) + again;
  }

  // What works side by side, once the first block is there.
  double work_seconds() const {
    const double behind = std::max(behind_set_up_seconds(), moving_.setting_up) - moving_.before;
    // What is in L2 of a matmul goes on once it is whole: behind the last of it stands its way through L1.
    const double late = group_.is_packed ? 1 / moving_.most_visits : 0.0;
    const std::array<double, 3> times{(1 - late) * core_ + starved_seconds(), (1 - late) * moving_.arrival,
                                      moving_.between};
    // What has a single slot comes while ops work that don't read it.
    const double shared = group_.is_packed ? 1.0 : reading_share_;
    const std::array<double, 3> reading{shared * times[0], times[1], times[2]};
    const double power = moving_.power;
    const double single = std::min(power, single_power());
    const double of_all = together(times, power);
    const double together_ = shared == 1.0 && single == power ? of_all : std::max(of_all, together(reading, single));
    return std::max({together_ + late * in_l1_seconds(), in_turn_seconds(), behind});
  }

  // At least so long where L2 has a single slot: it is filled again once all of it has gone on, while cores have one of
  // the pieces left that it goes on in.
  double in_turn_seconds() const {
    if (group_.is_packed || depths_.inward.l2 > 1) return 0.0;
    const double pieces = std::max(1.0, moving_.blocks * moving_.calls / moving_.most_visits);
    const double in_l1 = std::max(core_, moving_.arrival);
    return in_l1 + std::max(0.0, moving_.between - in_l1 / pieces);
  }

  // What cores take for all that is in L2.
  double in_l1_seconds() const {
    return is_single_in_l1() ? core_ + moving_.arrival : std::max(core_, moving_.arrival);
  }

  // When cores are done if they wait for nothing but what is set up: for what is set up once, and for the second and
  // the last turn of what is set up in turns, each with the work behind it.
  double behind_set_up_seconds() const {
    const double in_l1 = in_l1_seconds();
    double behind = moving_.first_of_all + in_l1 / moving_.most_visits;
    for (const SetUpTurns& each : moving_.in_turns) {
      behind = std::max({behind, each.second + in_l1 * (1 - 1 / each.turns), each.last + in_l1 / each.turns});
    }
    return behind;
  }

  // How long cores wait for what comes often, while what comes seldom, and much at a time, takes DRAM's time.
  double starved_seconds() const {
    if (moving_.often == 0) return 0.0;
    return starved_share * moving_.seldom * std::min(1.0, std::max(0.0, 2 - core_ / moving_.often));
  }

  // The power at most for the single slots of the two ways in that are waited for.
  double single_power() const {
    if (!group_.is_packed) {
      if (depths_.inward.l1 == 1) return depths_.inward.l2 == 1 ? single_powers[2] : single_l1_power;
      return single_powers[depths_.inward.l2 == 1 ? 1 : 0];
    }
    std::size_t found = 0;
    for (const Operand operand : {Operand::lhs, Operand::rhs}) {
      const Slots slots = depths_.of(operand);
      if (std::min(slots.l1, slots.l2) == 1) ++found;
    }
    return single_powers[found];
  }

  bool is_single_in_l1() const {
    if (!group_.is_packed) return depths_.inward.l1 == 1;
    return std::min(depths_.of(Operand::lhs).l1, depths_.of(Operand::rhs).l1) == 1;
  }

  // A core's time: computing, and between blocks waiting for a result that leaves alone while others arrive.
  //
  // What the faster of two engines computes before or behind all blocks, the slower one has nothing to do meanwhile.
  double core_seconds(const EngineCycles& cycles) const {
    const double blocks = moving_.blocks;
    const double block_cycles = cycles.block(depths_.between > 1);
    const double compute = block_cycles / machine_.clock_hz;
    const double uncovered = (cycles.block(false) - block_cycles) / machine_.clock_hz;
    const double leaving = moving_.result;
    const double hidden = std::max(compute, moving_.arrival / blocks) / moving_.result_pieces;
    // Of what leaves in pieces, the next one is written by the last of several ops only.
    const bool is_in_place = depths_.result == 1 && moving_.result_pieces == 1;
    const double waiting = is_in_place ? leaving : std::max(0.0, leaving - hidden);
    const double leaves = blocks * moving_.result_pieces;
    return blocks * compute + uncovered + (leaves - 1) * waiting - cycles.starting / machine_.clock_hz;
  }

  const Depths& depths_;
  const Group& group_;
  const Machine& machine_;
  const MovingTimes& moving_;
  double core_ = 0.0;
  double reading_share_ = 1.0;  // of a core's time, while it reads the input that it reads longest
};

}  // namespace

double together(const std::array<double, 3>& times, double power) {
  const double slowest = *std::max_element(times.begin(), times.end());
  if (slowest == 0.0) return 0.0;
  double sum = 0;
  for (const double time : times) sum += time == slowest ? 1.0 : std::pow(time / slowest, power);
  return slowest * std::pow(sum, 1 / power);
}

EstimateParts parts_of(const Mapped& mapped, const MovingTimes& moving, const Machine& machine,
                       const EngineCycles& cycles) {
  return MappedTime(mapped, moving, machine, cycles).parts();
}

}  // namespace npuflow::mapped
