// Engines, encoded once each, put into programs that have numbers of their own for what these name.

#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "builder.h"

namespace npuflow {

// What an engine names and the program hasn't: the engine's number among those linked, a kind, a name.
using Missing = std::tuple<std::size_t, std::string, std::string>;

// Adds the engines of others, which have of all that these refer to the names. Kernels that aren't known are added,
// too.
std::vector<Missing> link(ProgramBuilder& program, const std::vector<const ProgramBuilder*>& engines);

}  // namespace npuflow
