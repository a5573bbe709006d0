// Mappings of a group: what of one is open, and which sizes, slots and orders it may take.

#pragma once

#include <map>
#include <span>

#include "mapping.h"

namespace npuflow::mapped {

// Those that something may be, in rising order.
using Values = std::vector<Size>;

// What may change in a mapping: a loop's tile, a streamed loop's piece in L2, or slots; `hold` counts as 0 or 1.
enum class PlaceKind : std::uint8_t { tile, in_l2, l2, l1, result, tail, hold, between };

struct Place {
  PlaceKind kind = PlaceKind::tile;
  std::size_t index = 0;  // of the loop, or of the streamed loop
};

// Tiles of loops that are open are the smallest in `start`, and grow in `units`. `spreads` take all cores that there
// are for a group, `parts` fewer.
struct SpaceParts {
  Mapping start;
  std::vector<Spread> spreads;
  std::vector<Spread> parts;
  std::vector<std::size_t> open;
  Sizes units;
  std::vector<PlaceKind> slots;
  bool opens_order = false;
  bool opens_l2 = false;
  bool has_idle_cores = false;
};

class Space {
 public:
  Space(const Group& group, SpaceParts parts);

  const Group& group() const { return group_; }
  const SpaceParts& parts() const { return parts_; }
  const std::vector<Place>& places() const { return places_; }
  const std::vector<Place>& slots() const { return slots_; }
  std::vector<Spread> all_spreads() const;
  bool opens(std::size_t loop) const;

  // The start with the smallest tiles of streamed loops too, all of which it has.
  Mapping smallest() const;
  Size value(const Mapping& mapping, Place place) const;
  // The mapping with another value at a place; pieces in L2 stay made of tiles.
  Mapping with(const Mapping& mapping, Place place, Size value) const;
  // What may stand at a place of a mapping, in rising order.
  const Values& values(const Mapping& mapping, Place place) const;
  // The tiles of a loop over a spread; and the pieces in L2 of a streamed loop, made of such tiles.
  const Values& tiles(std::size_t loop, const Mapping& mapping) const;
  const Values& pieces(std::size_t loop, Size tile) const;
  // Orders of the loops of the space that differ in what they do.
  std::vector<Order> orders(const Mapping& mapping) const;
  // Whether pieces in L2 are made of tiles.
  bool nests(const Mapping& mapping) const;

 private:
  const Values& sizes_of(Size size, Size unit) const;

  const Group& group_;
  SpaceParts parts_;
  std::vector<Place> places_;
  std::vector<Place> slots_;
  mutable std::map<std::pair<Size, Size>, Values> known_sizes_;
};

// The tiles of a loop that has so much: for each number of equal parts the smallest, and doublings of the unit.
Values sizes_of(Size size, Size unit);
// The least of the values that is no smaller than a size; the largest where all are.
Size at_least(const Values& values, Size size);
// The largest of the values, and of the rest always the largest that is no more than half of the one before.
Values halves(const Values& values);

}  // namespace npuflow::mapped
