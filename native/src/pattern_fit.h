// How many descriptors of a DMA engine an access pattern takes.
//
// A descriptor steps through a few dimensions and, each time it is used, moves its base by an iteration. The outermost
// dimension follows from the transfer's length, so its size has no limit of its own. What doesn't fit is split: a long
// dimension into two, the outermost one into the iteration or into descriptors of their own.

#pragma once

#include "mapped_machine.h"

namespace npuflow::mapped {

// A dimension of a pattern, its stride in elements.
struct Step {
  Size size = 1;
  Size stride = 1;

  bool operator==(const Step&) const = default;
};

// The outermost first.
using Pattern = ShortVector<Step, 8>;

// What a pattern takes: descriptors, and whether it moves pieces smaller than the engine's granule.
struct Fit {
  Size descriptors = 1;
  bool is_sub_granule = false;
};

// The dimensions that are gone through; neighbours that continue each other are one.
Pattern merged(const Pattern& pattern);

// The descriptors for a pattern of positive strides.
Fit fit(const Pattern& pattern, Size element_bytes, const PatternLimits& limits);

}  // namespace npuflow::mapped
