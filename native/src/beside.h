// What is beside a mapping: all that differs from it in one thing.

#pragma once

#include "kept_mappings.h"

namespace npuflow::mapped {

// Those that fit: the next larger and smaller of each size, other slots, other spreads, other orders of blocks.
std::vector<Mapping> beside(const Space& space, Estimator& estimator, const Mapping& mapping);

}  // namespace npuflow::mapped
