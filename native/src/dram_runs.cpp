#include "dram_runs.h"

#include <algorithm>
#include <numeric>

namespace npuflow::mapped {

DramRuns runs_of(const Group& group, const Tensor& tensor, const Sizes& part, bool with_zeros) {
  DramRuns found;
  found.run_bytes = tensor.element_bytes;
  for (auto dim = tensor.dims.rbegin(); dim != tensor.dims.rend(); ++dim) {
    const Size reach = dim->extent(part);
    const Size extent = std::min(reach, dim->size);
    if (found.run_bytes == dim->pitch && !(with_zeros && found.torn_bytes > 0)) {
      found.run_bytes *= extent;
    } else if (extent > 1) {
      if (found.pitch_bytes == 0) found.pitch_bytes = dim->pitch;
      found.common_bytes = std::gcd(found.common_bytes, dim->pitch);
    }
    if (found.torn_bytes == 0 && reach > dim->size) found.torn_bytes = found.run_bytes;
    // Windows that reach over an edge are cut off there, and begin at any place along it.
    if (dim->is_cut_off) found.common_bytes = std::gcd(found.common_bytes, dim->pitch);
  }
  for (std::size_t loop = 0; loop < tensor.follows.size(); ++loop) {
    if (tensor.follows[loop] == 0 || part[loop] >= group.sizes[loop]) continue;
    found.common_bytes = std::gcd(found.common_bytes, tensor.strides[loop] * part[loop]);
  }
  if (found.torn_bytes == 0) found.torn_bytes = found.run_bytes;
  return found;
}

double run_overhead_bytes(const DramRuns& runs, const Dram& dram, bool is_written) {
  const double overhead = is_written ? dram.write_overhead : dram.read_overhead;
  const double pages = static_cast<double>(runs.pitch_bytes) / static_cast<double>(dram.page_bytes);
  // The edges of bursts that a run's two ends meet, on average over where it can begin.
  const Size common = std::gcd(dram.burst_bytes, runs.common_bytes);
  const double aligned = runs.run_bytes % common == 0 ? 2.0 : 1.0;
  const double off = 2.0 - aligned * static_cast<double>(common) / static_cast<double>(dram.burst_bytes);
  return overhead + std::min(1.0, pages) * dram.page_overhead + off * dram.edge_overhead;
}

}  // namespace npuflow::mapped
