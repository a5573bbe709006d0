#include "first_fit.h"

#include <algorithm>

namespace npuflow::packing {

std::vector<std::int64_t> first_fit(std::span<const Demand> demands, std::span<const Index> order) {
  std::vector<std::int64_t> offsets(demands.size(), 0);
  std::vector<Index> placed;  // by offset
  for (const Index b : order) {
    const Demand& demand = demands[b];
    std::int64_t free = 0;
    for (const Index other : placed) {
      const Demand& there = demands[other];
      if (there.upper <= demand.lower || demand.upper <= there.lower) continue;
      if (free + demand.size <= offsets[other]) break;
      const std::int64_t behind = offsets[other] + there.size;
      free = std::max(free, (behind + demand.alignment - 1) / demand.alignment * demand.alignment);
    }
    offsets[b] = free;
    placed.insert(std::ranges::upper_bound(placed, free, {}, [&](Index p) { return offsets[p]; }), b);
  }
  return offsets;
}

}  // namespace npuflow::packing
