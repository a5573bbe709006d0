#pragma once

#include <nanobind/nanobind.h>

namespace npuflow {

// Adds orders of tiles to the module: what one loads, and the search for the one that loads the fewest panels.
void bind_order(nanobind::module_& m);

}  // namespace npuflow
