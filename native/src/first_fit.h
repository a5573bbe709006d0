// Buffers one after the other, each at the lowest address that is free for all of its lifetime.

#pragma once

#include <span>
#include <vector>

#include "packing_problem.h"

namespace npuflow::packing {

// Offsets in the order of `demands`, which are placed in the order of `order`.
std::vector<std::int64_t> first_fit(std::span<const Demand> demands, std::span<const Index> order);

}  // namespace npuflow::packing
