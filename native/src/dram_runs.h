// The contiguous runs that a part of a tensor is in DRAM, and what each costs beside its bytes.

#pragma once

#include "mapped_machine.h"

namespace npuflow::mapped {

// Runs of `run_bytes`, of which the next begins `pitch_bytes` behind one. They begin at every multiple of what the
// steps of blocks, columns and pieces have in common with a burst, `common_bytes`. Between zeros lie `torn_bytes` of
// one.
struct DramRuns {
  Size run_bytes = 0;
  Size torn_bytes = 0;
  Size pitch_bytes = 0;
  Size common_bytes = 0;
};

// The runs of such parts of a tensor, wherever blocks, columns and pieces have theirs; torn apart where they come
// `with_zeros` between.
DramRuns runs_of(const Group& group, const Tensor& tensor, const Sizes& part, bool with_zeros = false);

double run_overhead_bytes(const DramRuns& runs, const Dram& dram, bool is_written);

}  // namespace npuflow::mapped
