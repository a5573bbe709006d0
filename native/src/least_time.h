// How long a group takes at least on a machine, whatever tiles, spread, order and slots it has.
//
// A core computes for as long as its calls take, and cores can't begin before what they read first has been set up and
// has come; what has a single slot in L1 comes while they wait; all of it comes by a core's channels; and DRAM moves
// every byte once at least. All tiles that L1 has room for are gone through, with the slots that take least, so that
// what is found is a bound: of this machine, with its kernels.

#pragma once

#include <functional>
#include <optional>

#include "cost_floor.h"

namespace npuflow::mapped {

// What an op takes for each result of a call, beside its steps, and the loops that make results of their own; and of
// which loops together instructions take multiples of a unit.
struct ResultCycles {
  double each = 0.0;
  std::vector<std::size_t> loops;
  std::vector<std::pair<std::vector<std::size_t>, Size>> units;
};

struct LeastTime {
  double seconds = 0.0;
  FloorParts parts;
  double waiting = 0.0;  // for what has a single slot in L1
  double arrival = 0.0;  // in L1, of all
  Mapping mapping;       // tiles and spread of one that is bound by no more
};

// Goes through the tiles twice: for the least by what ops take at least, and then for all that take no longer by that.
class LeastTimeSearch {
 public:
  LeastTimeSearch(Estimator& estimator, const Space& space, std::vector<ResultCycles> results, std::int64_t most,
                  std::function<void()> poll);

  // None if that takes more steps, a tile or a part of a kernel each, or nothing fits.
  std::optional<LeastTime> run();

 private:
  // Each of the tiles from a place on, the largest first, whose cores' rough time is wanted; what is summed comes last.
  template <typename Wanted, typename Look>
  void each_of(Mapping& mapping, std::size_t place, Wanted is_wanted, Look look);
  Mapping with_all_summed(Mapping mapping, std::size_t place) const;
  // What cores compute at least, however blocks are spread: in calls' least cycles, and in their cycles.
  double roughly(const Mapping& mapping) const;
  double exactly(const Mapping& mapping);
  double seconds_of(const EngineCycles& cycles, double blocks) const;
  double rounds(const Mapping& mapping) const;
  bool is_spent() const;
  bool is_open(double floor) const { return !best_ || floor < best_->seconds; }
  void look_at(Mapping& mapping);
  // What blocks of a matmul take of DRAM at least, with the pieces in L2 that there is room for.
  double dram(Mapping mapping) const;
  // How long each input takes into a core's L1 behind its first tile, at least; without memory tiles nothing is said.
  ShortVector<double, 8> arrivals(const Mapped& mapped) const;
  // What is waited for of these at least: one has a single slot where L1 has no room for two of everything.
  double waiting(const Mapping& mapping, const ShortVector<double, 8>& arrivals) const;

  Estimator& estimator_;
  const Space& space_;
  CostFloor floor_;
  std::vector<ResultCycles> results_;
  std::vector<Spread> spreads_;
  std::vector<Values> sizes_;  // of the loops that are open
  Size cores_ = 1;
  std::int64_t most_;
  std::int64_t looked_at_ = 0;
  std::function<void()> poll_;
  std::optional<LeastTime> best_;
};

}  // namespace npuflow::mapped
