// How long a mapped group takes, by a formula over what it computes, moves and sets up.

#pragma once

#include <array>

#include "estimate.h"

namespace npuflow::mapped {

// About as long as the slowest of what works side by side takes, and longer where others take nearly that; with a power
// of 1, their sum.
double together(const std::array<double, 3>& times, double power);
// How sharply the slowest decides: the more, the more often something comes into L2.
double power_of(double visits);
// How long so many bytes take into a core's L1.
double into_l1_seconds(double bytes, const Machine& machine);

// Of what a mapping moves, slots don't matter but for those that hold what streams.
EstimateParts parts_of(const Mapped& mapped, const OuterTransfers& outer, const Machine& machine,
                       const EngineCycles& cycles);

}  // namespace npuflow::mapped
