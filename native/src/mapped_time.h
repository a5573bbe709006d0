// How long a mapped group takes, by a formula over what it computes, moves and sets up.

#pragma once

#include <array>

#include "estimate.h"
#include "moving_times.h"

namespace npuflow::mapped {

// About as long as the slowest of what works side by side takes, and longer where others take nearly that; with a power
// of 1, their sum.
double together(const std::array<double, 3>& times, double power);
EstimateParts parts_of(const Mapped& mapped, const MovingTimes& moving, const Machine& machine,
                       const EngineCycles& cycles);

}  // namespace npuflow::mapped
