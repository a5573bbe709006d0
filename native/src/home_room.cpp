#include "home_room.h"

#include <algorithm>

namespace npuflow::homes {

namespace {

std::size_t place_of(const Move& move) { return 2 * std::size_t{move.phase} + (move.writes ? 1 : 0); }

// Of a column and a number there; 0 where nothing was said of it.
std::int64_t at(const std::vector<std::vector<std::int64_t>>& values, Index column, std::size_t number) {
  return column < values.size() && number < values[column].size() ? values[column][number] : 0;
}

std::int64_t& grown(std::vector<std::vector<std::int64_t>>& values, Index column, std::size_t number) {
  if (column >= values.size()) values.resize(std::size_t{column} + 1);
  if (number >= values[column].size()) values[column].resize(number + 1);
  return values[column][number];
}

}  // namespace

void Room::need(Index phase, Index column, std::int64_t bytes) { grown(needed_, column, phase) = bytes; }

void Room::leave(Index phase, Index column, bool writes, std::int64_t channels) {
  grown(channels_, column, place_of({phase, writes})) = channels;
}

std::int64_t Room::least_address(const Way& way, Index column) const {
  if (column >= needed_.size()) return 0;
  const std::vector<std::int64_t>& needed = needed_[column];
  std::int64_t most = 0;
  for (std::size_t phase = way.first; phase <= way.last && phase < needed.size(); ++phase) {
    most = std::max(most, needed[phase]);
  }
  return most;
}

std::int64_t Room::channels(const Move& move, Index column) const { return at(channels_, column, place_of(move)); }

std::optional<Slabs> TakenRoom::fit(const Way& way, std::span<const Index> columns) const {
  if (!std::ranges::all_of(columns, [&](Index column) { return has_channels(way, column); })) return std::nullopt;
  Slabs found{&way, columns, {}};
  for (const Index column : columns) {
    const std::optional<std::int64_t> own = address(way, column);
    if (!own) return std::nullopt;
    found.addresses.push_back(*own);
  }
  return found;
}

std::optional<std::pair<Index, Slabs>> TakenRoom::first_fit(const Way& way) const {
  for (Index place = 0; place < way.places.size(); ++place) {
    if (std::optional<Slabs> found = fit(way, way.places[place])) return std::pair(place, *std::move(found));
  }
  return std::nullopt;
}

bool TakenRoom::has_channels(const Way& way, Index column) const {
  return std::ranges::all_of(
      way.moves, [&](const Move& move) { return at(moving_, column, place_of(move)) < room_.channels(move, column); });
}

// The highest that neither a tensor's phases need nor what lies there at the same time: below whatever is in the way.
std::optional<std::int64_t> TakenRoom::address(const Way& way, Index column) const {
  const std::int64_t size = room_.padded(way.slab_bytes);
  const std::int64_t least = room_.least_address(way, column);
  for (std::int64_t top = room_.bytes(); top >= size;) {
    const std::int64_t address = room_.aligned(top - size);
    if (address < least) return std::nullopt;
    std::int64_t lowest = address + size;
    if (column < lying_.size()) {
      for (const Lying& other : lying_[column]) {
        const bool is_there = other.first <= way.last && way.first <= other.last;
        if (is_there && other.begin < address + size && address < other.end) lowest = std::min(lowest, other.begin);
      }
    }
    if (lowest == address + size) return address;
    top = lowest;
  }
  return std::nullopt;
}

void TakenRoom::change(const Slabs& slabs, std::int64_t sign) {
  const Way& way = *slabs.way;
  for (std::size_t slab = 0; slab < slabs.columns.size(); ++slab) {
    const Index column = slabs.columns[slab];
    for (const Move& move : way.moves) grown(moving_, column, place_of(move)) += sign;
    if (column >= lying_.size()) lying_.resize(std::size_t{column} + 1);
    std::vector<Lying>& there = lying_[column];
    const std::int64_t begin = slabs.addresses[slab];
    const Lying own{way.first, way.last, begin, begin + room_.padded(way.slab_bytes)};
    if (sign > 0) {
      there.push_back(own);
    } else {
      there.erase(std::ranges::find(there, own));
    }
  }
}

}  // namespace npuflow::homes
