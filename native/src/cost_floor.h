// What mappings cost at least of which only the tiles in L1 and the spread are known: floors for branch and bound.
//
// A mapping takes at least as long as DRAM does for every byte once; and as what is set up in front of the first block,
// that block's way in, what its cores compute, and the last block's way out. Pieces in L2, the order of blocks and
// slots change none of these for the better.

#pragma once

#include "estimate.h"
#include "mapping_space.h"

namespace npuflow::mapped {

class CostFloor {
 public:
  CostFloor(Estimator& estimator, const Space& space);

  // By what ops take at least; and by what their kernels take.
  double roughly(const Mapping& mapping) const;
  double exactly(const Mapping& mapping) const;

 private:
  double floor_of(const Mapped& mapped, const EngineCycles& cycles) const;
  bool is_direct() const { return estimator_.machine().direct.are_taken; }
  // An input's channels, and how often the same of it leaves DRAM.
  Size copies(const Mapped& mapped, const Tensor& tensor) const;
  double moved_bytes(const Mapped& mapped, const Tensor& tensor) const;
  double moved_elements(const Mapped& mapped, const Dim& dim) const;
  double run_share(const Mapped& mapped, const Tensor& tensor) const;

  Estimator& estimator_;
  bool opens_order_;
  bool is_side_by_side_;  // whether engines may work so
};

}  // namespace npuflow::mapped
