// How long a mapped group takes, by a formula over what it computes, moves and sets up.

#pragma once

#include "estimate.h"

namespace npuflow::mapped {

EstimateParts parts_of(const Mapped& mapped, const Machine& machine, const EngineCycles& cycles);

}  // namespace npuflow::mapped
