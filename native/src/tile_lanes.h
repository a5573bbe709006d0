// Descriptors of a memory tile: what its channels take of each group, and the lanes that spread them best.

#pragma once

#include <span>
#include <unordered_map>

#include "mapped_machine.h"

namespace npuflow::mapped {

// A buffer on its way in: descriptors that fill it, and that empty it once; `by_rows`, for each row on its own.
struct MovedBuffer {
  Size filled = 0;
  Size emptied = 0;
  bool by_rows = false;
};

// All results on their way out: descriptors that gather them from one row of cores, and that let them leave.
struct LeavingResults {
  Size gathered = 0;
  Size left = 0;
};

// What a lane takes: descriptors to be filled, and those of each of its out-channels.
struct Lane {
  std::size_t number = 0;
  Size filled = 0;
  Size emptied = 0;
  Size channels = 1;
};

// The lane of each buffer, and for each lane whether it has a channel for each row.
struct LaneChoice {
  ShortVector<std::size_t, 8> lanes;
  ShortVector<std::uint8_t, 8> separate;
};

// The descriptors of the group that needs most, where a tile serves so many rows.
Size fullest_group(std::span<const Lane> lanes, const LeavingResults& results, Size rows, const TileLanes& dma);

// The lanes whose fullest group needs the fewest descriptors, the same for the same buffers in any order.
LaneChoice evenest(std::span<const MovedBuffer> moved, const LeavingResults& results, Size rows, const TileLanes& dma);

// What the lanes take of buffers that are assigned so.
ShortVector<Lane, 4> lanes_of(std::span<const MovedBuffer> moved, const LaneChoice& choice, Size rows,
                              const TileLanes& dma);

// Fullest groups with the evenest lanes, on one kind of memory tile: what a search asks for is the same over and over.
class KnownGroups {
 public:
  Size fullest(std::span<const MovedBuffer> moved, const LeavingResults& results, Size rows, const TileLanes& dma);

 private:
  std::unordered_map<ShortVector<Size, 24>, Size, ShortVectorHash> known_;
};

}  // namespace npuflow::mapped
