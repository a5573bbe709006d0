#include "bind_room.h"

#include <new>

#include "mapping_parts.h"
#include "pattern_fit.h"
#include "room.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace npuflow {

namespace {

using namespace mapped;

// A tensor's number, a slot's bytes, slots, and a slot's bytes in the fullest memory tile.
using BufferParts = std::tuple<std::size_t, double, Size, double>;

std::vector<BufferParts> parts_of_buffers(const std::vector<Buffer>& buffers) {
  std::vector<BufferParts> found;
  for (const Buffer& buffer : buffers) {
    found.emplace_back(buffer.tensor, buffer.slot_bytes, buffer.depth, buffer.fullest_bytes);
  }
  return found;
}

// A dimension's size and stride in elements.
using StepParts = std::pair<Size, Size>;

Pattern pattern_of(const std::vector<StepParts>& dims) {
  Pattern found;
  for (const auto& [size, stride] : dims) found.push_back({size, stride});
  return found;
}

// Descriptors that fill a buffer and empty it once, and whether that is for each row on its own.
using MovedParts = std::tuple<Size, Size, bool>;
// For each buffer its lane; for each lane whether it has a channel for each row.
using ChoiceParts = std::pair<std::vector<std::size_t>, std::vector<bool>>;

std::vector<MovedBuffer> moved_of(const std::vector<MovedParts>& parts) {
  std::vector<MovedBuffer> found;
  for (const auto& [filled, emptied, by_rows] : parts) found.push_back({filled, emptied, by_rows});
  return found;
}

ChoiceParts evenest_lanes(const std::vector<MovedParts>& moved, const std::pair<Size, Size>& results, Size rows,
                          const TileLanes& lanes) {
  const LaneChoice found = evenest(moved_of(moved), {results.first, results.second}, rows, lanes);
  return {std::vector<std::size_t>(found.lanes.begin(), found.lanes.end()),
          std::vector<bool>(found.separate.begin(), found.separate.end())};
}

Size fullest_of(const std::vector<MovedParts>& moved, const ChoiceParts& choice, const std::pair<Size, Size>& results,
                Size rows, const TileLanes& lanes) {
  const auto& [taken, separate] = choice;
  if (taken.size() != moved.size() || separate.size() != static_cast<std::size_t>(lanes.lanes)) {
    throw nb::value_error("each buffer has a lane");
  }
  const LaneChoice own{ShortVector<std::size_t, 8>(taken.begin(), taken.end()),
                       ShortVector<std::uint8_t, 8>(separate.begin(), separate.end())};
  const LeavingResults leaving{results.first, results.second};
  return fullest_group(lanes_of(moved_of(moved), own, rows, lanes), leaving, rows, lanes);
}

}  // namespace

void bind_room(nb::module_& m) {
  m.def("row_tiles", &row_tiles, "rows"_a, "columns"_a, "Memory tiles that hold what is divided by rows of cores.");
  m.def(
      "fit_pattern",
      [](const std::vector<StepParts>& dims, Size element_bytes, const PatternLimits& limits) {
        const Fit found = fit(pattern_of(dims), element_bytes, limits);
        return std::pair(found.descriptors, found.is_sub_granule);
      },
      "dims"_a, "element_bytes"_a, "limits"_a, "The descriptors for dimensions, and whether granules are parted.");
  m.def(
      "merged_pattern",
      [](const std::vector<StepParts>& dims) {
        std::vector<StepParts> found;
        for (const Step& step : merged(pattern_of(dims))) found.emplace_back(step.size, step.stride);
        return found;
      },
      "dims"_a, "Dimensions, of which neighbours that continue each other are one.");
  m.def("evenest_lanes", &evenest_lanes, "moved"_a, "results"_a, "rows"_a, "lanes"_a,
        "The lanes whose fullest group needs the fewest descriptors.");
  m.def("fullest_group", &fullest_of, "moved"_a, "choice"_a, "results"_a, "rows"_a, "lanes"_a,
        "The descriptors of the group that needs most.");
  nb::class_<Group>(m, "FlatGroup")
      .def(
          "__init__",
          [](Group* self, const Sizes& sizes, std::size_t space, const std::vector<std::size_t>& streamed,
             const std::vector<TensorParts>& tensors, const std::vector<WorkParts>& work, bool pads_streamed,
             bool is_packed) {
            new (self) Group(group_of(sizes, space, streamed, tensors, work, pads_streamed, is_packed));
          },
          "sizes"_a, "space"_a, "streamed"_a, "tensors"_a, "work"_a, "pads_streamed"_a, "is_packed"_a)
      .def(
          "l1_buffers",
          [](const Group& group, const MappingParts& parts) {
            const Mapping mapping = mapping_of(parts, group);
            const Mapped mapped(group, mapping);
            return parts_of_buffers(Room(mapped).l1_buffers());
          },
          "mapping"_a)
      .def(
          "l2_buffers",
          [](const Group& group, const MappingParts& parts, Size columns, bool clips) {
            const Mapping mapping = mapping_of(parts, group);
            const Mapped mapped(group, mapping);
            return parts_of_buffers(Room(mapped).l2_buffers(columns, clips));
          },
          "mapping"_a, "columns"_a, "clips"_a)
      .def(
          "l1_descriptors",
          [](const Group& group, const MappingParts& parts) {
            const Mapping mapping = mapping_of(parts, group);
            const Mapped mapped(group, mapping);
            return Room(mapped).l1_descriptors();
          },
          "mapping"_a)
      .def(
          "l2_descriptors",
          [](const Group& group, const MappingParts& parts, Size serving, const TileLanes& lanes, bool clips) {
            if (serving < 1) throw nb::value_error("some memory tile serves the rows");
            const Mapping mapping = mapping_of(parts, group);
            const Mapped mapped(group, mapping);
            return Room(mapped).l2_descriptors(serving, lanes, clips);
          },
          "mapping"_a, "serving"_a, "lanes"_a, "clips"_a)
      .def(
          "fits_l1",
          [](const Group& group, const MappingParts& parts, const Machine& machine) {
            const Mapping mapping = mapping_of(parts, group);
            const Mapped mapped(group, mapping);
            return Room(mapped).fits_l1(machine.core);
          },
          "mapping"_a, "machine"_a)
      .def(
          "fits_l2",
          [](const Group& group, const MappingParts& parts, const Machine& machine) {
            const Mapping mapping = mapping_of(parts, group);
            const Mapped mapped(group, mapping);
            return Room(mapped).fits_l2(machine.tile);
          },
          "mapping"_a, "machine"_a)
      .def(
          "fits",
          [](const Group& group, const MappingParts& parts, const Machine& machine) {
            const Mapping mapping = mapping_of(parts, group);
            const Mapped mapped(group, mapping);
            return Room(mapped).fits(machine);
          },
          "mapping"_a, "machine"_a);
}

}  // namespace npuflow
