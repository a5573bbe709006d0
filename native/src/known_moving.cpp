#include "known_moving.h"

namespace npuflow::mapped {

namespace {

// Four times as many find little more again, and are further away: these are in a near cache.
constexpr std::size_t places = 128;

}  // namespace

KnownMoving::Known::Known(const Mapped& mapped, const Machine& machine) : mapping(mapped.mapping()) {
  const OuterTransfers outer(mapped, machine);
  depends_on_slots = outer.depends_on_slots();
  times = moving_times(mapped, outer, machine);
}

const MovingTimes& KnownMoving::times_of(const Mapped& mapped, const Machine& machine) {
  const Mapping& mapping = mapped.mapping();
  if (places_.empty()) places_.resize(places);
  // Of mappings one behind the other, the first one's slots are taken to do for all.
  if (places_[last_] && places_[last_]->is_of(mapping)) return places_[last_]->times;
  last_ = moving_hash(mapping) % places;
  std::unique_ptr<Known>& place = places_[last_];
  const bool is_known =
      place && place->is_of(mapping) && (!place->depends_on_slots || place->mapping.depths == mapping.depths);
  if (!is_known) place = std::make_unique<Known>(mapped, machine);
  return place->times;
}

void KnownMoving::forget() {
  for (std::size_t number = 0; number < places_.size(); ++number) {
    if (number != last_) places_[number].reset();
  }
}

}  // namespace npuflow::mapped
