// How long a mapped group takes, roughly: what ranks the candidates of a search.
//
// Cores, with the ways into and out of their L1, DRAM, the channels of the outermost DMA engines and the control
// processor work side by side: the slowest counts most. Before them stands what the first block needs to be set up and
// to arrive, behind them the last block's way out.

#pragma once

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "known_moving.h"
#include "mapped_machine.h"
#include "mapping.h"
#include "tile_lanes.h"

namespace npuflow::mapped {

// Cycles of a call of the op of that number, on a tile of such sizes of its loops.
using KernelCycles = std::function<double(std::size_t, const Sizes&)>;

// What an op takes at least: cycles of a call, and of each step of its loops; and whether the matrix engine runs it.
struct LeastCycles {
  double call = 0.0;
  double step = 0.0;
  bool multiplies = false;
};

// What a core computes for a block: sums of products, and all else.
struct EngineCycles {
  double products = 0.0;
  double others = 0.0;
  double starting = 0.0;  // of these, what reads nothing: the first block's is done before anything has come
  double pieced = 0.0;    // of these, what every piece of streamed loops takes
  double reading = 0.0;   // of these, from the first op to the last that read an input, of the input read longest

  // As long as the slower engine takes where they work side by side.
  double block(bool is_side_by_side) const { return is_side_by_side ? std::max(products, others) : products + others; }
};

// Parts of an estimate that are of interest on their own.
struct EstimateParts {
  double seconds = 0.0;
  double core_seconds = 0.0;
  double busy_dram_seconds = 0.0;
  double setting_up_seconds = 0.0;

  // What a search makes small: the time, and a little of DRAM's, so that what moves less is best of equals.
  double cost() const;
};

// Estimates for one group on one machine.
class Estimator {
 public:
  // `least` are for each op.
  Estimator(Group group, const Machine& machine, KernelCycles cycles, std::vector<LeastCycles> least);

  const Group& group() const { return group_; }
  const Machine& machine() const { return machine_; }
  const std::vector<LeastCycles>& least() const { return least_; }
  // Whether L1 has room for a slot of everything; less of any loop takes less.
  bool has_room(const Sizes& tiles) const;

  EstimateParts parts(const Mapping& mapping);
  // The cost if the time is what the pipeline takes played out, where there are memory tiles between.
  double played_cost(const Mapping& mapping);
  double cost(const Mapping& mapping) { return parts(mapping).cost(); }
  // The cost if ops took no longer than the least, which asks for no kernel's cycles.
  double least_cost(const Mapping& mapping);
  // What that is at least, found at once: by what cores compute alone.
  double floor_of_least(const Mapping& mapping) const;
  bool fits(const Mapping& mapping);
  // Gives back the room of what is of use to one search only.
  void end_search() { known_moving_.forget(); }
  // How many kernels' cycles were asked for.
  std::int64_t asked() const { return asked_; }
  // What a core computes for a block if pieces in L2 have nothing behind the end of a streamed loop: by kernels'
  // cycles, and by the least.
  EngineCycles block_cycles(const Mapped& mapped);
  EngineCycles least_block_cycles(const Mapped& mapped) const;

 private:
  EstimateParts parts_of(const Mapped& mapped, const EngineCycles& cycles);
  // The sum over ops, those for every piece so many times.
  template <typename Cycles>
  EngineCycles summed(double pieces, Cycles cycles) const;
  double cycles(std::size_t number, const Sizes& tiles);

  Group group_;
  Machine machine_;
  KernelCycles kernel_cycles_;
  std::vector<LeastCycles> least_;
  KnownMoving known_moving_;
  KnownGroups known_groups_;
  std::int64_t asked_ = 0;
  std::vector<std::unordered_map<Sizes, double, ShortVectorHash>> known_cycles_;
};

}  // namespace npuflow::mapped
