// MLIR's strided memref descriptor, of any rank: two pointers, an offset, sizes and strides, each one machine word.
//
// Elements that are next to each other are one dimension to an access, and may be several to a kernel. That one knows
// their sizes and strides, which are in its memref's type, but loads a descriptor of its rank all the same: so there
// are words for many dimensions.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "access.h"

namespace npuflow {

class MemRef {
 public:
  MemRef(const Placed& placed, std::uint8_t* first) {
    const auto address = reinterpret_cast<std::intptr_t>(first);
    words_ = {address, address, 0};
    const auto rank = static_cast<std::ptrdiff_t>(placed.rank);
    words_.insert(words_.end(), placed.sizes.begin(), placed.sizes.begin() + rank);
    for (std::size_t d = 0; d < placed.rank; ++d) words_.push_back(placed.access->strides[d]);
    words_.resize(3 + 2 * std::max(placed.rank, most_dimensions));
  }

  void* data() { return words_.data(); }

 private:
  static constexpr std::size_t most_dimensions = 32;

  std::vector<std::intptr_t> words_;
};

}  // namespace npuflow
