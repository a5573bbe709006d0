#pragma once

#include <nanobind/nanobind.h>

namespace npuflow {

// Adds to the module what packs buffers into a memory: pack and first_fit.
void bind_packing(nanobind::module_& m);

}  // namespace npuflow
