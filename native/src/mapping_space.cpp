#include "mapping_space.h"

#include <algorithm>

namespace npuflow::mapped {

namespace {

const Values single_or_double{1, 2};
const Values no_or_yes{0, 1};
constexpr std::size_t ordered_loops = 4;  // orders are compared for so many loops that step; more keep their order

}  // namespace

Values sizes_of(Size size, Size unit) {
  const Size units = parts_of(size, unit);
  Values found;
  // Numbers of parts that give the same smallest size are skipped.
  for (Size parts = 1; parts <= units;) {
    const Size each = parts_of(units, parts);
    found.push_back(each * unit);
    if (each == 1) break;
    parts = parts_of(units, each - 1);
  }
  for (Size doubled = 1; doubled <= units; doubled *= 2) found.push_back(doubled * unit);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Size at_least(const Values& values, Size size) {
  const auto found = std::lower_bound(values.begin(), values.end(), size);
  return found == values.end() ? values.back() : *found;
}

Values halves(const Values& values) {
  Values found{values.back()};
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    if (2 * *value <= found.back()) found.push_back(*value);
  }
  return found;
}

Space::Space(const Group& group, SpaceParts parts) : group_(group), parts_(std::move(parts)) {
  for (const std::size_t loop : parts_.open) places_.push_back({PlaceKind::tile, loop});
  for (std::size_t number = 0; parts_.opens_l2 && number < group.streamed.size(); ++number) {
    places_.push_back({PlaceKind::in_l2, number});
  }
  for (const PlaceKind kind : parts_.slots) slots_.push_back({kind, 0});
  places_.insert(places_.end(), slots_.begin(), slots_.end());
}

std::vector<Spread> Space::all_spreads() const {
  std::vector<Spread> found;
  for (const auto* some : {&parts_.spreads, &parts_.parts}) {
    for (const Spread& spread : *some) {
      if (std::find(found.begin(), found.end(), spread) == found.end()) found.push_back(spread);
    }
  }
  return found;
}

bool Space::opens(std::size_t loop) const {
  return std::find(parts_.open.begin(), parts_.open.end(), loop) != parts_.open.end();
}

Mapping Space::smallest() const {
  Mapping found = parts_.start;
  for (const std::size_t loop : parts_.open) found.tiles[loop] = std::min(found.tiles[loop], parts_.units[loop]);
  return found;
}

Size Space::value(const Mapping& mapping, Place place) const {
  switch (place.kind) {
    case PlaceKind::tile:
      return mapping.tiles[place.index];
    case PlaceKind::in_l2:
      return mapping.in_l2[place.index];
    case PlaceKind::l2:
      return mapping.depths.inward.l2;
    case PlaceKind::l1:
      return mapping.depths.inward.l1;
    case PlaceKind::result:
      return mapping.depths.result;
    case PlaceKind::tail:
      return mapping.depths.tail;
    case PlaceKind::hold:
      return mapping.depths.hold ? 1 : 0;
    case PlaceKind::between:
      return mapping.depths.between;
  }
  return 0;
}

Mapping Space::with(const Mapping& mapping, Place place, Size value) const {
  Mapping found = mapping;
  switch (place.kind) {
    case PlaceKind::tile:
      found.tiles[place.index] = value;
      for (std::size_t number = 0; parts_.opens_l2 && number < group_.streamed.size(); ++number) {
        if (group_.streamed[number] != place.index) continue;
        const Size whole = group_.sizes[place.index];
        found.in_l2[number] = padded(parts_of(whole, parts_of(whole, mapping.in_l2[number])), value);
      }
      break;
    case PlaceKind::in_l2:
      found.in_l2[place.index] = value;
      break;
    case PlaceKind::l2:
      found.depths.inward.l2 = value;
      break;
    case PlaceKind::l1:
      found.depths.inward.l1 = value;
      break;
    case PlaceKind::result:
      found.depths.result = value;
      break;
    case PlaceKind::tail:
      found.depths.tail = value;
      break;
    case PlaceKind::hold:
      found.depths.hold = value != 0;
      break;
    case PlaceKind::between:
      found.depths.between = value;
      break;
  }
  return found;
}

const Values& Space::values(const Mapping& mapping, Place place) const {
  if (place.kind == PlaceKind::tile) return tiles(place.index, mapping);
  if (place.kind == PlaceKind::hold) return no_or_yes;
  if (place.kind != PlaceKind::in_l2) return single_or_double;
  const std::size_t loop = group_.streamed[place.index];
  return pieces(loop, mapping.tiles[loop]);
}

const Values& Space::tiles(std::size_t loop, const Mapping& mapping) const {
  const auto streamed = std::find(group_.streamed.begin(), group_.streamed.end(), loop);
  if (streamed != group_.streamed.end() && !mapping.in_l2.empty() && !parts_.opens_l2) {
    const auto number = static_cast<std::size_t>(streamed - group_.streamed.begin());
    return sizes_of(mapping.in_l2[number], parts_.units[loop]);
  }
  const Size cores = loop < group_.space ? mapping.spread.cores(loop) : 1;
  return sizes_of(parts_of(group_.sizes[loop], cores), parts_.units[loop]);
}

const Values& Space::pieces(std::size_t loop, Size tile) const { return sizes_of(group_.sizes[loop], tile); }

const Values& Space::sizes_of(Size size, Size unit) const {
  const auto [known, is_new] = known_sizes_.try_emplace({size, unit});
  if (is_new) known->second = mapped::sizes_of(size, unit);
  return known->second;
}

std::vector<Order> Space::orders(const Mapping& mapping) const {
  if (!parts_.opens_order) return {mapping.order};
  const Mapped mapped(group_, mapping);
  Order resting;
  Order stepping;
  for (std::size_t loop = 0; loop < group_.space; ++loop) {
    (mapped.counts()[loop] > 1 ? stepping : resting).push_back(loop);
  }
  std::vector<Order> found;
  do {
    found.push_back(resting);
    for (const std::size_t loop : stepping) found.back().push_back(loop);
  } while (stepping.size() <= ordered_loops && std::next_permutation(stepping.begin(), stepping.end()));
  return found;
}

bool Space::nests(const Mapping& mapping) const {
  for (std::size_t number = 0; number < mapping.in_l2.size(); ++number) {
    if (mapping.in_l2[number] % mapping.tiles[group_.streamed[number]] != 0) return false;
  }
  return true;
}

}  // namespace npuflow::mapped
