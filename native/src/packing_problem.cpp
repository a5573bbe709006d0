#include "packing_problem.h"

#include <algorithm>
#include <numeric>

namespace npuflow::packing {

namespace {

// Times at which a buffer begins and no other one ends before the next that does: there the live sets are largest.
std::vector<std::int64_t> section_times(std::span<const Demand> demands) {
  std::vector<std::int64_t> begins, ends, times;
  for (const Demand& demand : demands) {
    begins.push_back(demand.lower);
    ends.push_back(demand.upper);
  }
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  auto end = ends.begin();
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const bool is_last_before_an_end = i + 1 == begins.size() || *end <= begins[i + 1];
    if (!is_last_before_an_end) continue;
    times.push_back(begins[i]);
    if (i + 1 < begins.size()) end = std::upper_bound(end, ends.end(), begins[i + 1]);
  }
  return times;
}

}  // namespace

Problem make_problem(std::span<const Demand> demands, std::int64_t capacity) {
  Problem problem;
  problem.unit = 0;
  for (const Demand& demand : demands) problem.unit = std::gcd(problem.unit, demand.alignment);
  problem.unit = std::max<std::int64_t>(problem.unit, 1);
  const auto units = [&](std::int64_t bytes) { return (bytes + problem.unit - 1) / problem.unit; };

  const std::vector<std::int64_t> times = section_times(demands);
  problem.live.resize(times.size());
  // Of a capacity that is no multiple of the unit, the rest serves buffers that end in it: `latest` says which do.
  problem.slack.assign(times.size(), units(capacity));
  for (const Demand& demand : demands) {
    const auto first = std::ranges::lower_bound(times, demand.lower) - times.begin();
    const auto behind = std::ranges::lower_bound(times, demand.upper) - times.begin();
    const std::int64_t room = capacity - demand.size;
    const std::int64_t latest = room < 0 ? -1 : room / problem.unit;
    const auto index = static_cast<Index>(problem.buffers.size());
    problem.buffers.push_back({units(demand.size), demand.alignment / problem.unit, latest, demand.upper - demand.lower,
                               static_cast<Index>(first), static_cast<Index>(behind - 1)});
    for (auto s = static_cast<std::size_t>(first); s < static_cast<std::size_t>(behind); ++s) {
      problem.live[s].push_back(index);
      problem.slack[s] -= problem.buffers.back().size;
    }
  }
  return problem;
}

}  // namespace npuflow::packing
