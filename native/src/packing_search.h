// Exact search for a packing: given the time, it finds one or shows that there is none.

#pragma once

#include <functional>
#include <vector>

#include "packing_problem.h"

namespace npuflow::packing {

enum class Verdict : std::uint8_t { packed, impossible, undecided };

struct Outcome {
  Verdict verdict = Verdict::undecided;
  std::vector<std::int64_t> offsets;  // in bytes, of what is packed
  std::int64_t steps = 0;             // decisions tried
};

// `is_over` is asked now and then whether to give up, and may throw.
Outcome search(const Problem& problem, const std::function<bool()>& is_over);

}  // namespace npuflow::packing
