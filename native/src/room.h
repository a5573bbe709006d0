// What a mapping takes: buffers in L1 and L2, and descriptors of DMA engines.

#pragma once

#include "mapped_machine.h"
#include "mapping.h"
#include "tile_lanes.h"

namespace npuflow::mapped {

// A tensor's buffer of `depth` slots; `fullest_bytes` are what a slot takes of the memory tile that has most of it.
struct Buffer {
  std::size_t tensor = 0;
  double slot_bytes = 0.0;
  Size depth = 1;
  double fullest_bytes = 0.0;
};

// What a mapped group takes.
class Room {
 public:
  explicit Room(const Mapped& mapped, KnownGroups* known = nullptr)
      : mapped_(mapped), group_(mapped.group()), mapping_(mapped.mapping()), known_(known) {}

  // The buffers of a core; the last piece of a streamed loop has one of its own where it is smaller.
  std::vector<Buffer> l1_buffers() const;
  // The buffers of the grid in memory tiles, of which there are so many; clipped, they hold no zeros of inputs.
  std::vector<Buffer> l2_buffers(Size columns, bool clips) const;
  // The descriptors beside a core: one for each slot of what comes in and goes out.
  Size l1_descriptors() const;
  // The descriptors of a memory tile, of which so many serve the rows: those of the fullest group.
  Size l2_descriptors(Size serving, const TileLanes& ways, bool clips) const;

  bool fits(const Machine& machine) const {
    return fits_l1(machine.core) && fits_l2(machine.tile) && reads_what_is_left();
  }
  bool fits_l1(const CoreDma& core) const;
  bool fits_l2(const TileDma& tile) const;
  // Whether zeros around inputs are inserted on the way out of memory tiles: they are wherever descriptors allow it.
  bool is_clipped(const TileDma& tile) const;

 private:
  bool may_clip(const TileDma& tile) const;
  bool has_descriptors(const TileDma& tile, bool clips) const;
  Size l1_slots(const Tensor& tensor) const;
  // What a slot takes in L1 of a tensor that comes as such tiles.
  double l1_bytes(const Tensor& tensor, const Sizes& tiles) const;
  // Whether an engine makes up all zeros around a tensor's tiles: along windows alone, which it has whole.
  bool is_padded_by_engine(const Tensor& tensor) const;
  Size l2_slots(const Tensor& tensor, const Sizes& in_l2) const;
  bool is_in_l2(const Tensor& tensor) const;
  // Streamed loops of which something is left behind such tiles, around the innermost that the tensor follows.
  Order left_over(const Tensor& tensor, const Sizes& tiles) const;
  // Takes a buffer's tiles, and those of others for what is left of streamed loops.
  template <typename Take>
  void each_left_over(const Tensor& tensor, const Sizes& tiles, Take take) const;
  // How many buffers a tensor has.
  Size buffers(const Tensor& tensor) const;
  // In how many ways at most a tensor's blocks are cut off.
  Size cuts(const Tensor& tensor) const;
  // The descriptors that a tile of L2's block takes, pieces of streamed loops among them one after the other.
  Size patterns(const Tensor& tensor, const PatternLimits& limits) const;
  // Whether what is left of streamed loops reads something: nothing can be moved of what lies within zeros altogether.
  bool reads_what_is_left() const;

  const Mapped& mapped_;
  const Group& group_;
  const Mapping& mapping_;
  KnownGroups* known_;  // those of many mappings, if there are any
};

// Memory tiles that hold what is divided by the array's rows: as many as divide them evenly.
Size row_tiles(Size rows, Size columns);

double total_l1_bytes(const std::vector<Buffer>& buffers, Size alignment);

}  // namespace npuflow::mapped
