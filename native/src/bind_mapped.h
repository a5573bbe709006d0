#pragma once

#include <nanobind/nanobind.h>

namespace npuflow {

// Adds mapped groups to the module: what they take, how long they take, and the search for the best.
void bind_mapped(nanobind::module_& m);

}  // namespace npuflow
