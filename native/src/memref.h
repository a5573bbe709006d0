// MLIR's strided memref descriptor, of any rank: two pointers, an offset, sizes and strides, each one machine word.

#pragma once

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
  }

  void* data() { return words_.data(); }

 private:
  std::vector<std::intptr_t> words_;
};

}  // namespace npuflow
