// A group mapped onto an array: tiles, the grid over them, the order of blocks, slots.

#pragma once

#include <limits>
#include <optional>

#include "mapped_group.h"

namespace npuflow::mapped {

// The grid, and the loops of the space that its rows and columns follow.
struct Spread {
  Size rows = 1;
  Size columns = 1;
  std::size_t row_loop = 0;
  std::size_t column_loop = 0;

  Size cores(std::size_t loop) const { return (loop == row_loop ? rows : 1) * (loop == column_loop ? columns : 1); }
  bool operator==(const Spread&) const = default;
};

struct Slots {
  Size l2 = 1;
  Size l1 = 1;

  bool operator==(const Slots&) const = default;
};

// Slots of what comes in, of results, and of what engines hand to each other, which work side by side where these are
// two; a matmul's operands may have their own.
struct Depths {
  Slots inward;
  Size result = 1;
  Size tail = 1;
  Size between = 1;
  bool hold = false;
  std::optional<Slots> lhs;
  std::optional<Slots> rhs;

  Slots of(Operand operand) const;
  bool operator==(const Depths&) const = default;
};

// Loops over blocks, the outermost first.
using Order = ShortVector<std::size_t, 8>;

struct Mapping {
  Sizes tiles;
  Spread spread;
  Depths depths;
  Order order;
  Sizes in_l2;
  bool whole = false;

  bool operator==(const Mapping&) const = default;
};

// Whether two mappings move alike: all that differ in slots alone do. Such have the same hash.
bool moves_like(const Mapping& one, const Mapping& other);
std::size_t moving_hash(const Mapping& mapping);

struct MappingHash {
  std::size_t operator()(const Mapping& mapping) const;
};

// What a channel takes of a tile along a loop that several share; along none where nobody shares.
struct Part {
  std::size_t loop = std::numeric_limits<std::size_t>::max();
  Size size = 0;
};

// A mapping of a group, with what follows from the two.
class Mapped {
 public:
  Mapped(const Group& group, const Mapping& mapping);

  const Group& group() const { return group_; }
  const Mapping& mapping() const { return mapping_; }
  // The tiles of a whole block, and how often each loop of the space steps from block to block.
  const Sizes& block() const { return block_; }
  const Sizes& counts() const { return counts_; }
  double blocks() const;

  // The tiles of what comes into L2 of a tensor at a time.
  Sizes tiles_in_l2(const Tensor& tensor) const;
  // The tiles of what L2 has at a time of a tensor that comes in such tiles.
  Sizes held_in_l2(const Tensor& tensor, const Sizes& tiles) const;
  // Such tiles of a whole block, or of a column of the array.
  Sizes block_of(const Sizes& tiles) const;
  Sizes column_of(const Sizes& tiles) const;
  // Whether a memory tile has a tensor for a row of cores.
  bool goes_by_rows(const Tensor& tensor) const;
  // How many memory tiles get the same of a tensor, each on its own.
  Size copies(const Tensor& tensor) const;
  // Whether a tensor, of which so much comes at a time, doesn't come again with another block or piece.
  bool comes_once(const Tensor& tensor, const Sizes& tiles) const;
  // How many of the innermost loops over blocks a tensor stays in L2 for.
  std::size_t stays(const Tensor& tensor) const;
  // In how many pieces of streamed loops a tensor comes in such tiles, one after the other; and how many of the loops
  // over blocks, the outermost, such pieces of it move again with.
  Size streams(const Tensor& tensor, const Sizes& tiles) const;
  std::size_t around(const Tensor& tensor, Size streams) const;
  // How often a tensor's block, in so many pieces or in such tiles, moves between L3 and L2.
  double visits(const Tensor& tensor, Size streams) const;
  double visits(const Tensor& tensor, const Sizes& tiles) const { return visits(tensor, streams(tensor, tiles)); }
  // How many pieces of streamed loops a core goes through for a block.
  double calls() const;
  // What crosses between L3 and L2 for a tensor that comes as such tiles in so many turns, all of it as so many copies
  // for those who share nothing. Where channels take parts along a loop, each has a halo of its own.
  double traffic_bytes(const Tensor& tensor, const Sizes& tiles, double turns, Size copies, Part part = {}) const;
  // What all the blocks that differ have of a dimension in sum, overlaps included; or all parts.
  double moved_elements(const Dim& dim, const Sizes& tiles, Part part = {}) const;
  // How often a loop steps: from block to block, or from piece to piece.
  Size turns_of(std::size_t loop, const Sizes& tiles) const;
  Size pieces(const Sizes& tiles) const;

 private:
  double steps_of(const Dim& dim, const Sizes& tiles) const;

  const Group& group_;
  const Mapping& mapping_;
  Sizes block_;
  Sizes counts_;
  std::size_t innermost_;  // the innermost loop over blocks that steps
};

}  // namespace npuflow::mapped
