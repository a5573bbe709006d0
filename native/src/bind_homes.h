#pragma once

#include <nanobind/nanobind.h>

namespace npuflow {

// Adds to the module what finds homes for tensors: SlabRoom, HomeWay, search_homes and home_beside.
void bind_homes(nanobind::module_& m);

}  // namespace npuflow
