#pragma once

#include <nanobind/nanobind.h>

namespace npuflow {

// Adds the simulator to the module: Program, simulate, Results, and the errors they raise.
void bind_simulator(nanobind::module_& m);

}  // namespace npuflow
