// MLIR's strided memref descriptor, of any rank: two pointers, an offset, sizes and strides, each one machine word.
//
// Elements that are next to each other are one dimension to an access, and may be several to a kernel. That one knows
// their sizes and strides, which are in its memref's type, but loads a descriptor of its rank all the same: so there
// are words for many dimensions.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "access.h"

namespace npuflow {

class MemRef {
 public:
  MemRef(const Placed& placed, std::uint8_t* first) {
    const auto address = reinterpret_cast<std::intptr_t>(first);
    words_[0] = words_[1] = address;
    std::copy_n(placed.sizes.begin(), placed.rank, words_.begin() + 3);
    std::copy_n(placed.access->strides.begin(), placed.rank, words_.begin() + 3 + placed.rank);
  }

  void* data() { return words_.data(); }

 private:
  static constexpr std::size_t most_dimensions = 32;
  static_assert(max_dims <= most_dimensions);

  std::array<std::intptr_t, 3 + 2 * most_dimensions> words_{};
};

}  // namespace npuflow
