#include "bind_homes.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

#include "home_room.h"
#include "home_search.h"
#include "poll_signals.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace npuflow {

namespace {

using homes::Index;
using Addresses = std::vector<std::int64_t>;
using NeededParts = std::tuple<Index, Index, std::int64_t>;         // phase, column, bytes
using ChannelParts = std::tuple<Index, Index, bool, std::int64_t>;  // phase, column, whether they write, channels
using OptionParts = std::tuple<const homes::Way*, double, double>;  // as Option's fields
// A tensor, its option, the place of that, and addresses there.
using HomeParts = std::tuple<Index, Index, Index, Addresses>;
using SlabParts = std::tuple<const homes::Way*, std::vector<Index>, Addresses>;  // as Slabs' fields

// More than this would not add up within 64 bits, or take much memory.
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;
constexpr Index most_phases = 1u << 20;
constexpr Index most_columns = 1u << 12;

void check(bool is_sound, const char* why) {
  if (!is_sound) throw nb::value_error(why);
}

void check_place(Index phase, Index column) {
  check(phase < most_phases && column < most_columns, "a phase or a column is beyond what there may be");
}

void check_columns(std::vector<Index> columns) {
  for (const Index column : columns) check_place(0, column);
  std::ranges::sort(columns);
  check(std::ranges::adjacent_find(columns) == columns.end(), "a place has a column twice");
}

homes::Room make_room(std::int64_t bytes, std::int64_t alignment_bytes, const std::vector<NeededParts>& needed,
                      const std::vector<ChannelParts>& channels) {
  const bool is_sound = bytes >= 0 && bytes <= most_bytes && alignment_bytes > 0 && alignment_bytes <= most_bytes;
  check(is_sound, "tiles have no bytes, or no alignment");
  homes::Room room(bytes, alignment_bytes);
  for (const auto& [phase, column, size] : needed) {
    check_place(phase, column);
    room.need(phase, column, size);
  }
  for (const auto& [phase, column, writes, left] : channels) {
    check_place(phase, column);
    room.leave(phase, column, writes, left);
  }
  return room;
}

homes::Way make_way(std::int64_t slab_bytes, Index first, Index last, const std::vector<std::vector<Index>>& places,
                    const std::vector<std::pair<Index, bool>>& moves) {
  check(slab_bytes >= 0 && slab_bytes <= most_bytes, "a slab has fewer bytes than none, or more than 2^60");
  check(first <= last, "a tensor is read before it is made");
  check_place(last, 0);
  for (const std::vector<Index>& columns : places) check_columns(columns);
  homes::Way way{slab_bytes, first, last, places, {}};
  for (const auto& [phase, writes] : moves) {
    check_place(phase, 0);
    way.moves.push_back({phase, writes});
  }
  return way;
}

std::vector<std::vector<homes::Option>> options_of(const std::vector<std::vector<OptionParts>>& tensors) {
  std::vector<std::vector<homes::Option>> found;
  for (const std::vector<OptionParts>& parts : tensors) {
    check(!parts.empty(), "a tensor has no way to stay");
    std::vector<homes::Option>& options = found.emplace_back();
    for (const auto& [way, gained, late_seconds] : parts) {
      check(way != nullptr, "an option has no way");
      options.push_back({way, gained, late_seconds});
    }
  }
  return found;
}

std::pair<std::vector<HomeParts>, std::int64_t> search_homes(const std::vector<std::vector<OptionParts>>& tensors,
                                                             const homes::Room& room, std::int64_t most_choices,
                                                             std::int64_t most_orders, std::int64_t most_changes) {
  const std::vector<std::vector<homes::Option>> options = options_of(tensors);
  homes::Homes found;
  {
    const nb::gil_scoped_release released;
    found = homes::search(options, room, {most_choices, most_orders, most_changes}, poll_signals);
  }
  std::vector<HomeParts> parts;
  for (const auto& [tensor, option, place, slabs] : found.chosen) {
    parts.emplace_back(tensor, option, place, slabs.addresses);
  }
  return {parts, found.choices};
}

std::optional<std::pair<Index, Addresses>> home_beside(const homes::Way& way, const std::vector<SlabParts>& others,
                                                       const homes::Room& room) {
  homes::TakenRoom taken(room);
  for (const auto& [other, columns, addresses] : others) {
    check(other != nullptr, "slabs have no way");
    check(columns.size() == addresses.size(), "each slab has an address");
    check_columns(columns);
    taken.take({other, columns, addresses});
  }
  const std::optional<std::pair<Index, homes::Slabs>> found = taken.first_fit(way);
  if (!found) return std::nullopt;
  return std::pair(found->first, found->second.addresses);
}

}  // namespace

void bind_homes(nb::module_& m) {
  nb::class_<homes::Room>(m, "SlabRoom", "What phases need of memory tiles, and the channels that they leave.")
      .def(
          "__init__",
          [](homes::Room* self, std::int64_t bytes, std::int64_t alignment_bytes,
             const std::vector<NeededParts>& needed, const std::vector<ChannelParts>& channels) {
            new (self) homes::Room(make_room(bytes, alignment_bytes, needed, channels));
          },
          "tile_bytes"_a, "alignment_bytes"_a, "needed"_a, "channels"_a);
  nb::class_<homes::Way>(m, "HomeWay", "What a tensor takes of memory tiles.")
      .def(
          "__init__",
          [](homes::Way* self, std::int64_t slab_bytes, Index first, Index last,
             const std::vector<std::vector<Index>>& places, const std::vector<std::pair<Index, bool>>& moves) {
            new (self) homes::Way(make_way(slab_bytes, first, last, places, moves));
          },
          "slab_bytes"_a, "first"_a, "last"_a, "places"_a, "moves"_a);
  m.def("search_homes", &search_homes, "tensors"_a, "room"_a, "most_choices"_a, "most_orders"_a, "most_changes"_a,
        "Homes for tensors, each with options as (way, gained, late_seconds), and the choices that were looked at.");
  m.def("home_beside", &home_beside, "way"_a, "others"_a, "room"_a,
        "The first place of a way that others leave room for, and addresses there.");
}

}  // namespace npuflow
