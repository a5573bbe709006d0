#include "bind_packing.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>

#include "first_fit.h"
#include "packing_search.h"
#include "poll_signals.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace npuflow {

namespace {

using DemandParts = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // as Demand's fields

// More than this would not add up within 64 bits.
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

std::vector<packing::Demand> make_demands(const std::vector<DemandParts>& parts) {
  std::vector<packing::Demand> demands;
  std::int64_t total = 0;
  for (const auto& [lower, upper, size, alignment] : parts) {
    const bool is_sound = lower < upper && size > 0 && alignment > 0 && size <= most_bytes && alignment <= most_bytes;
    if (!is_sound) throw nb::value_error("a buffer has no lifetime, no size or no alignment");
    total += size + alignment;
    if (total > most_bytes) throw nb::value_error("the buffers' sizes add up to more than 2^60");
    demands.push_back({lower, upper, size, alignment});
  }
  return demands;
}

const char* name_of(packing::Verdict verdict) {
  switch (verdict) {
    case packing::Verdict::packed:
      return "packed";
    case packing::Verdict::impossible:
      return "impossible";
    case packing::Verdict::undecided:
      return "undecided";
  }
  return "";
}

packing::Outcome pack(const std::vector<DemandParts>& parts, std::int64_t capacity, double seconds) {
  if (capacity < 0 || capacity > most_bytes) throw nb::value_error("a capacity is negative or more than 2^60");
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const packing::Problem problem = packing::make_problem(make_demands(parts), capacity);
  const auto is_over = [&] {
    poll_signals();
    return std::chrono::duration<double>(Clock::now() - start).count() >= seconds;
  };
  const nb::gil_scoped_release released;
  return packing::search(problem, is_over);
}

std::vector<std::int64_t> first_fit(const std::vector<DemandParts>& parts, const std::vector<packing::Index>& order) {
  const std::vector<packing::Demand> demands = make_demands(parts);
  for (const packing::Index b : order) {
    if (b >= demands.size()) throw nb::value_error("an order names a buffer that there isn't");
  }
  return packing::first_fit(demands, order);
}

}  // namespace

void bind_packing(nb::module_& m) {
  nb::class_<packing::Outcome>(m, "PackingOutcome", "What a search for a packing has come to.")
      .def_prop_ro("verdict", [](const packing::Outcome& self) { return name_of(self.verdict); })
      .def_ro("offsets", &packing::Outcome::offsets)
      .def_ro("steps", &packing::Outcome::steps);
  m.def("pack", &pack, "demands"_a, "capacity"_a, "seconds"_a,
        "Searches for offsets of buffers, each given as (lower, upper, size, alignment), below a capacity.");
  m.def("first_fit", &first_fit, "demands"_a, "order"_a,
        "Offsets of buffers that are placed in this order, each as low as can be.");
}

}  // namespace npuflow
