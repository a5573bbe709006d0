// What mappings cost at least of which only the tiles in L1 and the spread are known: floors for branch and bound.
//
// A mapping takes at least as long as setting up does; and as what is set up in front of the first block, that block's
// way in, what its cores compute beside all else that DRAM moves, each byte once, and the last block's way out. Pieces
// in L2, the order of blocks and slots change none of these for the better.

#pragma once

#include "estimate.h"
#include "mapping_space.h"

namespace npuflow::mapped {

// What such a floor is made of, in seconds: until every core can begin, what cores compute, the last block's way out;
// what DRAM takes for all, and setting up; into L1, and how often something comes into L2 at most.
struct FloorParts {
  double before = 0.0;
  double core = 0.0;
  double last = 0.0;
  double dram = 0.0;
  double setting_up = 0.0;
  double arrival = 0.0;
  double visits = 1.0;
};

class CostFloor {
 public:
  CostFloor(Estimator& estimator, const Space& space);

  // By what ops take at least, or no less than a limit; and by what their kernels take.
  double roughly(const Mapping& mapping, double limit) const;
  double exactly(const Mapping& mapping) const;
  // Of the latter.
  FloorParts parts(const Mapping& mapping) const;
  // Whether engines may work side by side.
  bool is_side_by_side() const { return is_side_by_side_; }

 private:
  FloorParts parts_of(const Mapped& mapped, const EngineCycles& cycles) const;
  double core_seconds(const Mapped& mapped, const EngineCycles& cycles) const;
  bool is_direct() const { return estimator_.machine().direct.are_taken; }
  // An input's channels, and how often the same of it leaves DRAM.
  Size copies(const Mapped& mapped, const Tensor& tensor) const;
  double moved_bytes(const Mapped& mapped, const Tensor& tensor) const;
  double moved_elements(const Mapped& mapped, const Dim& dim) const;
  double run_share(const Mapped& mapped, const Tensor& tensor) const;
  // What comes to a core of the tensor of which most comes, where the order of blocks is known.
  double arrival_bytes(const Mapped& mapped) const;

  Estimator& estimator_;
  bool opens_order_;
  bool is_side_by_side_;
};

}  // namespace npuflow::mapped
