// What mappings that were looked at lately move: many that come one after the other, or soon again, move alike.

#pragma once

#include <memory>
#include <vector>

#include "moving_times.h"

namespace npuflow::mapped {

class KnownMoving {
 public:
  KnownMoving() = default;
  KnownMoving(KnownMoving&&) = default;
  KnownMoving& operator=(KnownMoving&&) = default;

  // Mappings of one group on one machine.
  const MovingTimes& times_of(const Mapped& mapped, const Machine& machine);
  // Gives back the room, which is of use only as long as a search goes on.
  void forget();

 private:
  struct Known {
    Mapping mapping;
    bool depends_on_slots = false;
    MovingTimes times;

    Known(const Mapped& mapped, const Machine& machine);
    bool is_of(const Mapping& other) const {
      return moves_like(mapping, other) && (!depends_on_slots || mapping.depths == other.depths);
    }
  };

  // One for each remainder of a hash: what takes its place is forgotten.
  std::vector<std::unique_ptr<Known>> places_;
};

}  // namespace npuflow::mapped
