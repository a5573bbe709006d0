// Who waits for whom when nothing can happen any more.

#pragma once

#include <span>
#include <string>

#include "program.h"

namespace npuflow {

// Where an engine that cannot go on stands.
struct Blocked {
  Index engine = 0;
  Index op = 0;
  std::vector<std::int64_t> counters;
};

// The deadlock in words: a circle of waiting engines if there is one, then the others.
std::string explain_deadlock(const Program& program, std::span<const Blocked> blocked,
                             std::span<const std::int64_t> semaphore_values, Cycles now);

}  // namespace npuflow
