#pragma once

#include <nanobind/nanobind.h>

namespace npuflow {

// Adds groups to the module: what mappings of them take of memories and descriptors.
void bind_room(nanobind::module_& m);

}  // namespace npuflow
