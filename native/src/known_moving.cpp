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
  std::unique_ptr<Known>& place = places_[moving_hash(mapping) % places];
  if (!place || !place->is_of(mapping)) place = std::make_unique<Known>(mapped, machine);
  return place->times;
}

void KnownMoving::forget() { places_.clear(); }

}  // namespace npuflow::mapped
