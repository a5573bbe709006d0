// Whether two accesses share a byte.

#pragma once

#include "access.h"

namespace npuflow {

bool overlap(const Placed& a, const Placed& b);

}  // namespace npuflow
