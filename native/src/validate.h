// Everything a program must fulfil before it runs.

#pragma once

#include <string>
#include <vector>

#include "program.h"

namespace npuflow {

// Each problem in words; empty for a program that the simulator can run. Stops after a few dozen.
std::vector<std::string> problems_of(const Program& program);

}  // namespace npuflow
