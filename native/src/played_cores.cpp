// The part of a pipeline that is played out between L2 and cores.

#include <algorithm>
#include <cmath>

#include "played.h"

namespace npuflow::mapped {

void Played::compute_more() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t lane = 0; ahead_ > 0 && lane < brought_.size(); ++lane) {
      while (bring(lane)) goes_on = true;
    }
    if (step_ < steps_ && compute_step()) {
      ++step_;
      goes_on = true;
    }
  }
}

bool Played::bring(std::size_t lane) {
  Brought& own = brought_[lane];
  const std::size_t step = own.all.size();
  if (step == steps_ || (step >= ahead_ && computed_of_.size() <= step - ahead_)) return false;
  double ready = 0;
  for (std::size_t number = 0; number < inputs_; ++number) {
    const Way& way = ways_[number];
    if (way.lane == lane && !way.is_behind && !has_come(way, step, ready)) return false;
  }
  const double each = arrival_ / calls_;
  const double before = own.all.empty() ? 0.0 : own.all.back();
  // A slot of the last step's, or of the call before the last of the one before.
  const double free = step >= ahead_ ? computed_of_[step - ahead_] : 0.0;
  const double first_free = ahead_ == 1 ? free - step_seconds_ / calls_ : free;
  const double anew = own.stays ? arrival_seconds(step, true) : 0.0;
  const double first = std::max({ready, before, first_free}) + each + anew;
  own.first.push_back(first);
  own.all.push_back(ahead_ == 1 ? std::max(first, free) + each : first);
  for (std::size_t number = 0; number < inputs_; ++number) {
    Way& way = ways_[number];
    if (way.lane == lane && !way.is_behind) free_behind(way, step, own.all.back());
  }
  return true;
}

void Played::free_behind(Way& way, std::size_t step, double freed) const {
  if (step + 1 == steps_ || turn_of(way, step + 1) > turn_of(way, step)) way.frees.push_back(freed);
}

std::size_t Played::turn_of(const Way& way, std::size_t step) const {
  return static_cast<std::size_t>((static_cast<double>(step) + rounding) * way.turns / static_cast<double>(steps_));
}

bool Played::has_come(bool behind, double& ready) const {
  for (std::size_t number = 0; number < inputs_; ++number) {
    const Way& way = ways_[number];
    if (way.is_behind == behind && !has_come(way, step_, ready)) return false;
  }
  return true;
}

bool Played::has_come(const Way& way, std::size_t step, double& ready) const {
  const std::size_t turn = turn_of(way, step);
  if (way.ends.size() <= turn) return false;
  ready = std::max(ready, way.ends[turn]);
  return true;
}

// How long all that a step needs takes into L1: of what comes with every step, or of what stays there for some and
// comes anew with this one.
double Played::arrival_seconds(std::size_t step, bool stays) {
  std::fill(lanes_.begin(), lanes_.end(), Lane{});
  const auto steps = static_cast<double>(steps_);
  for (std::size_t number = 0; number < inputs_; ++number) {
    const Way& way = ways_[number];
    if ((way.onward < steps) != stays) continue;
    const auto before = std::ceil(static_cast<double>(step) * way.onward / steps - rounding);
    const auto behind = std::ceil(static_cast<double>(step + 1) * way.onward / steps - rounding);
    const double times = stays ? behind - before : way.onward / steps;
    if (times == 0) continue;
    Lane& lane = lanes_[way.lane];
    lane.bytes += times * way.onward_bytes;
    lane.streams = std::max(lane.streams, way.streams);
  }
  return lanes_seconds();
}

// How long lanes take side by side, whose streams share the wires to a column's cores.
double Played::lanes_seconds() {
  double seconds = 0;
  while (true) {
    double least = never;
    double streams = 0;
    for (const Lane& lane : lanes_) {
      if (lane.bytes <= 0) continue;
      least = std::min(least, lane.bytes);
      streams += lane.streams;
    }
    if (streams == 0) return seconds;
    seconds += least / std::min(machine_.core.bytes_per_second, machine_.link_rate / streams);
    for (Lane& lane : lanes_) lane.bytes -= least;
  }
}

bool Played::compute_step() {
  const std::size_t block = step_ / pieces_;
  const bool is_first = step_ % pieces_ == 0;
  const bool is_last = step_ % pieces_ == pieces_ - 1;
  double ready = 0;
  double tail = 0;
  double room = 0;
  const auto is_brought = [&](const Brought& lane) { return lane.all.size() > step_; };
  if (ahead_ > 0 && !std::all_of(brought_.begin(), brought_.end(), is_brought)) return false;
  if (!has_come(false, ready) || (is_last && (!has_come(true, tail) || !has_room(block, room)))) return false;
  if (is_first) {
    if (block >= results_) core_free_ = std::max(core_free_, left_[block - results_]);
    core_free_ += starting_seconds_;
  }
  const double freed = ahead_ > 0 ? compute_brought() : compute(ready);
  if (is_last) {
    core_free_ = std::max(core_free_, tail) + ending_seconds_;
    const double before = left_.empty() ? 0.0 : left_.back();
    left_.push_back(std::max({core_free_, room, before}) + leaving_);
  }
  for (std::size_t number = 0; number < inputs_; ++number) {
    if (ahead_ == 0 || ways_[number].is_behind) free_behind(ways_[number], step_, freed);
  }
  return true;
}

// When L2 has a slot for a block's results.
bool Played::has_room(std::size_t block, double& room) const {
  if (block < results_) return true;
  for (std::size_t number = inputs_; number < ways_.size(); ++number) {
    const Way& way = ways_[number];
    if (way.ends.size() <= block - results_) return false;
    room = std::max(room, way.ends[block - results_]);
  }
  return true;
}

// The calls of a step, whose parts come into L1 as far as there are slots; and when L2 has none of them any more.
double Played::compute(double ready) {
  const double call = step_seconds_ / calls_;
  const double each = arrival_ / calls_;
  const double others = arrival_ - each;
  const double anew = arrival_seconds(step_, true);
  if (is_single_) {
    const double first = std::max(ready, computed_) + each + anew;
    computed_ = std::max(core_free_, first) + step_seconds_ + others;
    core_free_ = computed_;
    return computed_ - call;
  }
  // Of two slots, one is free again with the call before the last.
  const double apart = std::max(call, each);
  const double first = std::max({ready, into_l1_, computed_ - apart}) + each + anew;
  const double begins = std::max(core_free_, first);
  // The third part has no slot before the first call is done.
  const double third = begins + call + (calls_ - 2) * each;
  computed_ = std::max({begins + step_seconds_, first + others + call, third + call});
  core_free_ = computed_;
  into_l1_ = std::max(first + others, computed_ - std::max(call, 2 * call - each));
  return into_l1_;
}

double Played::compute_brought() {
  double first = 0;
  double all = 0;
  for (const Brought& lane : brought_) {
    first = std::max(first, lane.first[step_]);
    all = std::max(all, lane.all[step_]);
  }
  computed_ = std::max(std::max(core_free_, first) + step_seconds_, all + step_seconds_ / calls_);
  core_free_ = computed_;
  computed_of_.push_back(computed_);
  return all;
}

}  // namespace npuflow::mapped
