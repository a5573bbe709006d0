#include "bind_mapped.h"

#include <nanobind/stl/function.h>

#include <algorithm>
#include <new>

#include "beside.h"
#include "bind_room.h"
#include "estimate.h"
#include "least_time.h"
#include "mapping_parts.h"
#include "mapping_search.h"
#include "poll_signals.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace npuflow {

namespace {

using namespace mapped;

void bind_machine(nb::module_& m) {
  nb::class_<PatternLimits>(m, "DescriptorLimits")
      .def(
          "__init__",
          [](PatternLimits* self, Size dims, Size granule_bytes, Size size_max, Size stride_max, Size length_max,
             Size iteration_max) {
            if (std::min({dims, granule_bytes, size_max, stride_max, length_max}) < 1) {
              throw nb::value_error("a descriptor addresses something");
            }
            new (self) PatternLimits{dims, granule_bytes, size_max, stride_max, length_max, iteration_max};
          },
          "dims"_a, "granule_bytes"_a, "size_max"_a, "stride_max"_a, "length_max"_a, "iteration_max"_a);
  nb::class_<Dram>(m, "DramRates")
      .def(
          "__init__",
          [](Dram* self, double read_rate, double write_rate, double total_rate, double read_overhead,
             double write_overhead, double page_overhead, double edge_overhead, Size page_bytes, Size burst_bytes,
             bool joins_runs) {
            new (self) Dram{read_rate,     write_rate,    total_rate, read_overhead, write_overhead,
                            page_overhead, edge_overhead, page_bytes, burst_bytes,   joins_runs};
          },
          "read_rate"_a, "write_rate"_a, "total_rate"_a, "read_overhead"_a, "write_overhead"_a, "page_overhead"_a,
          "edge_overhead"_a, "page_bytes"_a, "burst_bytes"_a, "joins_runs"_a);
  nb::class_<CoreDma>(m, "CoreRoom")
      .def(
          "__init__",
          [](CoreDma* self, double bytes_per_second, double capacity, Size alignment, Size descriptors, Size lock_max) {
            new (self) CoreDma{bytes_per_second, capacity, alignment, descriptors, lock_max};
          },
          "bytes_per_second"_a, "capacity"_a, "alignment"_a, "descriptors"_a, "lock_max"_a);
  nb::class_<TileLanes>(m, "TileLanes")
      .def(
          "__init__",
          [](TileLanes* self, Size channels_out, Size groups, Size lanes, Size leaving, const PatternLimits& pattern) {
            if (std::min({channels_out, groups, lanes}) < 1) throw nb::value_error("a memory tile has channels");
            new (self) TileLanes{channels_out, groups, lanes, leaving, pattern};
          },
          "channels_out"_a, "groups"_a, "lanes"_a, "leaving"_a, "pattern"_a);
  nb::class_<TileDma>(m, "BlockRoom")
      .def(
          "__init__",
          [](TileDma* self, double capacity, Size columns, Size descriptors, Size lock_max, const TileLanes& lanes,
             bool pads_with_zeros) {
            new (self) TileDma{capacity, columns, descriptors, lock_max, lanes, pads_with_zeros};
          },
          "capacity"_a, "columns"_a, "descriptors"_a, "lock_max"_a, "lanes"_a, "pads_with_zeros"_a);
  nb::class_<DirectWays>(m, "DirectWays")
      .def(
          "__init__",
          [](DirectWays* self, bool are_taken, Size lanes, double start_seconds) {
            new (self) DirectWays{are_taken, lanes, start_seconds};
          },
          "are_taken"_a, "lanes"_a, "start_seconds"_a);
  nb::class_<Machine>(m, "MachineRates")
      .def(
          "__init__",
          [](Machine* self, double clock_hz, double descriptor_seconds, double channel_rate, double latency_seconds,
             double begin_l2_seconds, double begin_l1_seconds, double link_rate, Size queue,
             const PatternLimits& outermost, const Dram& dram, const CoreDma& core, const TileDma& tile,
             const DirectWays& direct) {
            if (queue < 1) throw nb::value_error("a channel has room for a descriptor");
            new (self) Machine{clock_hz,
                               descriptor_seconds,
                               channel_rate,
                               latency_seconds,
                               begin_l2_seconds,
                               begin_l1_seconds,
                               link_rate,
                               queue,
                               outermost,
                               dram,
                               core,
                               tile,
                               direct};
          },
          "clock_hz"_a, "descriptor_seconds"_a, "channel_rate"_a, "latency_seconds"_a, "begin_l2_seconds"_a,
          "begin_l1_seconds"_a, "link_rate"_a, "queue"_a, "outermost"_a, "dram"_a, "core"_a, "tile"_a, "direct"_a);
}

// Bytes, how often its part comes, channels, descriptors, DRAM's seconds, and whether it is set up first.
using TransferParts = std::tuple<double, double, Size, double, double, bool>;

// Of inputs, and then of results.
std::vector<TransferParts> parts_of_transfers(const OuterTransfers& transfers) {
  std::vector<TransferParts> found;
  for (const OuterTransfer& each : transfers.all()) {
    found.emplace_back(each.bytes, each.visits, each.channels, each.descriptors(), each.dram_seconds, each.is_first);
  }
  return found;
}

// A mapping with what it costs.
using RankedParts = std::pair<double, MappingParts>;

void bind_space(nb::module_& m) {
  nb::class_<SpaceParts>(m, "FlatSpace")
      .def(
          "__init__",
          [](SpaceParts* self, const Group& group, const MappingParts& start, const std::vector<SpreadParts>& spreads,
             const std::vector<SpreadParts>& parts, const std::vector<std::size_t>& open, const Sizes& units,
             const std::vector<int>& slots, bool opens_order, bool opens_l2, bool has_idle_cores) {
            SpaceParts found{mapping_of(start, group), {}, {}, open, units, {}, opens_order, opens_l2, has_idle_cores};
            for (const SpreadParts& each : spreads) found.spreads.push_back(spread_of(each));
            for (const SpreadParts& each : parts) found.parts.push_back(spread_of(each));
            for (const int each : slots) found.slots.push_back(static_cast<PlaceKind>(each));
            new (self) SpaceParts(std::move(found));
          },
          "group"_a, "start"_a, "spreads"_a, "parts"_a, "open_loops"_a, "units"_a, "slots"_a, "opens_order"_a,
          "opens_l2"_a, "has_idle_cores"_a);
}

// The best, and the best on each spread; how many were looked at, and whether that proves the best.
using FoundParts = std::tuple<std::vector<RankedParts>, std::vector<RankedParts>, std::int64_t, bool>;

std::vector<RankedParts> parts_of(const std::vector<RankedMapping>& found) {
  std::vector<RankedParts> parts;
  for (const RankedMapping& each : found) parts.emplace_back(each.cost, parts_of(each.mapping));
  return parts;
}

FoundParts search(Estimator& estimator, const SpaceParts& parts, std::size_t keep, double known, std::int64_t most) {
  const Space space(estimator.group(), parts);
  const SearchWish wish{keep, known, most};
  const FoundMappings found = search_mappings(estimator, space, wish, poll_signals);
  estimator.end_search();
  return {parts_of(found.best), parts_of(found.of_spreads), found.looked_at, found.is_proved};
}

// Seconds in all; until cores can begin, in kernels, waiting in between, on the way into L1, of DRAM, and of setting
// up; and a mapping that is bound by no more.
using LeastTimeParts = std::tuple<double, double, double, double, double, double, double, MappingParts>;

// What an op takes for each result, the loops that make them, and loops of which instructions take multiples.
using ResultParts =
    std::tuple<double, std::vector<std::size_t>, std::vector<std::pair<std::vector<std::size_t>, Size>>>;

std::optional<LeastTimeParts> least_time(Estimator& estimator, const SpaceParts& parts,
                                         const std::vector<ResultParts>& results, std::int64_t most) {
  if (results.size() != estimator.group().work.size()) throw nb::value_error("each op has cycles of its results");
  std::vector<ResultCycles> made;
  for (const auto& [each, loops, units] : results) made.push_back({each, loops, units});
  const Space space(estimator.group(), parts);
  const auto found = LeastTimeSearch(estimator, space, std::move(made), most, poll_signals).run();
  if (!found) return std::nullopt;
  const FloorParts& own = found->parts;
  return LeastTimeParts{found->seconds, own.before, own.core,       found->waiting,
                        found->arrival, own.dram,   own.setting_up, parts_of(found->mapping)};
}

void bind_estimate(nb::module_& m) {
  nb::class_<EstimateParts>(m, "EstimateParts")
      .def_ro("seconds", &EstimateParts::seconds)
      .def_ro("core_seconds", &EstimateParts::core_seconds)
      .def_ro("busy_dram_seconds", &EstimateParts::busy_dram_seconds)
      .def_ro("setting_up_seconds", &EstimateParts::setting_up_seconds)
      .def_prop_ro("cost", &EstimateParts::cost);
  nb::class_<Estimator>(m, "Estimator")
      .def(
          "__init__",
          [](Estimator* self, const Group& group, const Machine& machine, KernelCycles cycles,
             const std::vector<std::tuple<double, double, bool>>& least) {
            if (least.size() != group.work.size()) throw nb::value_error("each op has least cycles");
            std::vector<LeastCycles> found;
            for (const auto& [call, step, multiplies] : least) found.push_back({call, step, multiplies});
            new (self) Estimator(group, machine, std::move(cycles), std::move(found));
          },
          "group"_a, "machine"_a, "cycles"_a, "least_cycles"_a)
      .def(
          "parts",
          [](Estimator& self, const MappingParts& parts) { return self.parts(mapping_of(parts, self.group())); },
          "mapping"_a)
      .def(
          "played_cost",
          [](Estimator& self, const MappingParts& parts) { return self.played_cost(mapping_of(parts, self.group())); },
          "mapping"_a)
      .def(
          "transfers",
          [](const Estimator& self, const MappingParts& parts) {
            const Mapping mapping = mapping_of(parts, self.group());
            return parts_of_transfers(OuterTransfers(Mapped(self.group(), mapping), self.machine()));
          },
          "mapping"_a)
      .def(
          "beside",
          [](Estimator& self, const SpaceParts& space, const MappingParts& parts) {
            std::vector<MappingParts> found;
            const Mapping mapping = mapping_of(parts, self.group());
            for (const Mapping& each : beside(Space(self.group(), space), self, mapping)) {
              found.push_back(parts_of(each));
            }
            return found;
          },
          "space"_a, "mapping"_a)
      .def("search", &search, "space"_a, "keep"_a, "known"_a, "most"_a)
      .def("least_time", &least_time, "space"_a, "results"_a, "most"_a);
}

}  // namespace

void bind_mapped(nb::module_& m) {
  bind_machine(m);
  bind_room(m);
  bind_space(m);
  bind_estimate(m);
}

}  // namespace npuflow
