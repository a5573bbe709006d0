#include "played.h"

#include <algorithm>
#include <cmath>

namespace npuflow::mapped {

namespace {

// Steps that are played out at least, with all of their block: what comes behind them goes on like their second half.
constexpr std::size_t most_steps = 1000;
// Of parts that come into L1 with a call, where there is more than one.
constexpr double slots_in_l1 = 2.0;
// Of a time, what rounding may add to it.
constexpr double least = 1e-12;
// Of a rate that is still to be found.
constexpr double unknown = -1.0;

}  // namespace

Played::Played(const Mapped& mapped, const Machine& machine, const EngineCycles& cycles) : machine_(machine) {
  const OuterTransfers outer(mapped, machine);
  const Depths& depths = mapped.mapping().depths;
  inputs_ = outer.inputs();
  results_ = static_cast<std::size_t>(depths.result);
  is_single_ = std::min(depths.of(Operand::lhs).l1, depths.of(Operand::rhs).l1) == 1;
  double visits = 1;
  for (std::size_t number = 0; number < inputs_; ++number) visits = std::max(visits, outer.all()[number].visits);
  blocks_ = static_cast<std::size_t>(outer.blocks());
  pieces_ = std::max<std::size_t>(1, static_cast<std::size_t>(visits) / blocks_);
  steps_ = blocks_ * pieces_;
  calls_ = std::max(1.0, mapped.calls() / static_cast<double>(pieces_));
  set_up_order_.assign(outer.set_up_order().begin(), outer.set_up_order().end());
  for (const OuterTransfer& each : outer.all()) {
    if (ways_.size() >= inputs_) set_up_order_.push_back(ways_.size());
    ways_.push_back(ways_.size() < inputs_ ? way_in(mapped, each) : way_out(mapped, each));
  }
  // Where all columns share what comes again and again, none goes ahead of the others.
  const bool share = std::any_of(outer.all().begin(), outer.all().end(),
                                 [](const OuterTransfer& each) { return each.by_rows && each.visits > 1; });
  for (std::size_t number = 0; number < ways_.size(); ++number) {
    ways_[number].is_apart = !share && !outer.all()[number].by_rows;
  }
  lanes_.resize(outer.lanes());
  brought_.resize(outer.lanes());
  for (std::size_t number = 0; number < inputs_; ++number) {
    const Way& way = ways_[number];
    if (!way.is_behind && way.onward < static_cast<double>(steps_)) brought_[way.lane].stays = true;
  }
  if (!is_single_) ahead_ = static_cast<std::size_t>(slots_in_l1 / calls_ + rounding);
  arrival_ = arrival_seconds(0, false);
  double out = 0;
  for (const std::size_t number : mapped.group().outputs) {
    out += mapped.group().tensors[number].bytes(mapped.mapping().tiles);
  }
  leaving_ = out / machine.core.bytes_per_second + machine.begin_l1_seconds;
  divide(cycles, depths.between > 1);
}

// What a core computes in front of a block's steps, in each, and behind them.
void Played::divide(const EngineCycles& cycles, bool side_by_side) {
  const double all = cycles.block(side_by_side);
  const double rest = side_by_side ? 0.0 : std::max(0.0, all - cycles.pieced - cycles.starting);
  starting_seconds_ = cycles.starting / machine_.clock_hz;
  ending_seconds_ = rest / machine_.clock_hz;
  const double steps = std::max(0.0, all - cycles.starting - rest);
  step_seconds_ = steps / (machine_.clock_hz * static_cast<double>(pieces_));
}

double Played::seconds() {
  while (true) {
    set_up_more();
    compute_more();
    begin_more();
    share();
    if (step_ < steps_ && step_ >= most_steps && left_.size() > 1) return with_what_is_left();
    const bool done = std::all_of(ways_.begin(), ways_.end(), [](const Way& way) { return way.is_done(); });
    if (done && step_ == steps_) break;
    move_on();
    if (now_ == never) return never;
  }
  double last = std::max(left_.back(), behind_set_up_seconds());
  for (const Way& way : ways_) last = std::max(last, way.ends.back());
  return last;
}

// When the last column is done, which is set up last, with all of its work behind that: others may go ahead of it.
double Played::behind_set_up_seconds() const {
  double of_results = 0;
  double last = control_;
  // Of results that cannot leave yet, L2 and L1 have room for those of so many blocks.
  const double held = 2.0 * static_cast<double>(results_);
  const double block = starting_seconds_ + static_cast<double>(pieces_) * step_seconds_ + ending_seconds_;
  for (const Way& way : ways_) {
    if (way.is_input) continue;
    const double part = way.bytes_of(blocks_ - 1) / machine_.channel_rate;
    of_results = std::max(of_results, part);
    for (std::size_t group = 0; group < way.set_up.size(); ++group) {
      const double there = way.set_up[group] + way.late + machine_.latency_seconds;
      const auto blocks = static_cast<double>(blocks_ - way.first_of(group));
      last = std::max(last, there + blocks * part);
      if (blocks > held) last = std::max(last, there + 2 * part + (blocks - held) * block + leaving_);
    }
  }
  for (const Way& way : ways_) {
    if (!way.is_input) continue;
    for (std::size_t group = 0; group < way.set_up.size(); ++group) {
      const std::size_t turn = way.first_of(group);
      const double set_up = way.set_up[group] + way.late;
      const bool is_idle = turn == 0 || set_up > way.ends[turn - 1];
      const double part = machine_.begin_l2_seconds + way.bytes_of(turn) / machine_.channel_rate;
      const double there = set_up + (is_idle ? machine_.latency_seconds : 0.0) + part;
      last = std::max(last, there + work_from(way, turn) + of_results);
    }
  }
  return last;
}

// What cores take from such a part on, until the last block has left them.
double Played::work_from(const Way& way, std::size_t turn) const {
  const double share = static_cast<double>(steps_) / way.turns;
  const double step = std::ceil(static_cast<double>(turn) * share - rounding);
  const double steps = static_cast<double>(steps_) - step;
  const double blocks = std::ceil(steps / static_cast<double>(pieces_) - rounding);
  const double work = steps * step_seconds_ + blocks * ending_seconds_ + (blocks - 1) * starting_seconds_;
  const double first = way.is_behind ? -static_cast<double>(pieces_) * step_seconds_ : arrival_ / calls_;
  return first + work + leaving_;
}

double Played::with_what_is_left() const {
  const std::size_t half = left_.size() / 2;
  const double each = (left_.back() - left_[half - 1]) / static_cast<double>(left_.size() - half);
  return left_.back() + each * static_cast<double>(blocks_ - left_.size());
}

// Sets up in the order of the program, as long as there is room in what channels have queued.
void Played::set_up_more() {
  while (Way* next = next_to_set_up()) {
    double room = 0.0;
    const auto queue = static_cast<std::size_t>(machine_.queue);
    if (next->set_up.size() >= queue) {
      const std::size_t turns = next->first_of(next->set_up.size() - queue + 1);
      if (next->ends.size() < turns) return;
      room = next->ends[turns - 1];
    }
    control_ = std::max(control_, room);
    next->set_up.push_back(control_ + machine_.descriptor_seconds);
    control_ += machine_.descriptor_seconds * next->set_up_channels;
  }
}

Played::Way* Played::next_to_set_up() {
  Way* first = nullptr;
  double place = never;
  for (const std::size_t number : set_up_order_) {
    Way& way = ways_[number];
    const auto own = static_cast<double>(way.set_up.size());
    if (own >= way.set_up_turns || own / way.set_up_turns > place - rounding) continue;
    place = own / way.set_up_turns;
    first = &way;
  }
  return first;
}

void Played::begin_more() {
  for (Way& way : ways_) {
    if (way.is_moving || way.is_done()) continue;
    const std::size_t turn = way.ends.size();
    const std::size_t group = way.group_of(turn);
    const double room = room_for(way, turn);
    if (group >= way.set_up.size() || room == never) continue;
    // DRAM answers a channel that had nothing to do once it has been set up.
    const double before = way.ends.empty() ? 0.0 : way.ends.back();
    const double set_up = way.set_up[group];
    const bool is_idle = way.ends.empty() || set_up > before;
    const double answered = is_idle ? set_up + machine_.latency_seconds : set_up;
    way.begins = std::max({answered, room, before}) + machine_.begin_l2_seconds;
    if (way.begins > now_) continue;
    way.is_moving = true;
    way.left = way.bytes_of(turn);
    way.moving = way.channels_of(turn);
    way.all_set_up = set_up + way.late;
  }
}

// When there is a slot for a part, or the part itself.
double Played::room_for(const Way& way, std::size_t turn) const {
  if (!way.is_input) return turn < left_.size() ? left_[turn] : never;
  if (turn < way.slots) return 0.0;
  return turn - way.slots < way.frees.size() ? way.frees[turn - way.slots] : never;
}

void Played::share() {
  for (Way& way : ways_) {
    way.rate = way.is_moving ? unknown : 0.0;
    const double since = std::max(0.0, now_ - (way.all_set_up - way.late));
    way.active = std::min(way.moving, 1 + std::floor(since / machine_.descriptor_seconds + rounding));
    if (now_ >= way.all_set_up) way.active = way.moving;
  }
  Rates left{machine_.dram.read_rate, machine_.dram.write_rate, machine_.dram.total_rate};
  while (share_out(left)) {
  }
}

// All rates rise together, until one is its channel's, or DRAM has no more for some.
bool Played::share_out(Rates& left) {
  Rates wanted{0.0, 0.0, 0.0};
  for (const Way& way : ways_) {
    if (way.rate != unknown) continue;
    (way.is_input ? wanted.read : wanted.write) += way.active * way.weight;
    wanted.total += way.active;
  }
  if (wanted.total == 0) return false;
  const double read = wanted.read > 0 ? left.read / wanted.read : never;
  const double write = wanted.write > 0 ? left.write / wanted.write : never;
  const double total = std::max(0.0, left.total / wanted.total);
  const double level = std::min({machine_.channel_rate, read, write, total});
  const bool for_all = level == machine_.channel_rate || level == total;
  for (Way& way : ways_) {
    if (way.rate != unknown || (!for_all && level != (way.is_input ? read : write))) continue;
    way.rate = level;
    left.total -= level * way.active;
    (way.is_input ? left.read : left.write) -= level * way.active * way.weight;
  }
  return true;
}

// When the next of its channels is set up.
double Played::next_active(const Way& way) const {
  if (way.active >= way.moving) return never;
  return std::min(way.all_set_up, way.all_set_up - way.late + way.active * machine_.descriptor_seconds);
}

void Played::move_on() {
  double next = never;
  for (const Way& way : ways_) {
    if (way.is_moving) {
      next = std::min({next, now_ + way.left / way.pace(), next_active(way)});
    } else if (way.begins > now_) {
      next = std::min(next, way.begins);
    }
  }
  for (Way& way : ways_) {
    if (!way.is_moving) continue;
    const double end = now_ + way.left / way.pace();
    way.left -= (next - now_) * way.pace();
    if (end <= next * (1 + least)) end_part(way, next);
  }
  now_ = next;
}

void Played::end_part(Way& way, double at) const {
  const std::size_t turn = way.ends.size();
  const std::size_t group = way.group_of(turn);
  // The last channel shares DRAM with those before it, which go on to what comes next.
  if (!way.is_apart && (turn == 0 || way.group_of(turn - 1) < group)) {
    at = std::max(at, way.set_up[group] + way.late + way.bytes_of(turn) / machine_.channel_rate);
  }
  way.ends.push_back(at);
  way.is_moving = false;
  way.begins = never;
}

}  // namespace npuflow::mapped
