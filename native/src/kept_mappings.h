// What a search has looked at: each mapping's cost, found once, and the best of those that fit.

#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "estimate.h"
#include "mapping_space.h"

namespace npuflow::mapped {

struct RankedMapping {
  double cost = 0.0;
  Mapping mapping;
};

class KeptMappings {
 public:
  // Keeps so many of the best; those that cost `known` or more are of no interest.
  KeptMappings(Estimator& estimator, const Space& space, std::size_t keep, double known, std::function<void()> poll);

  // What a search makes small: the estimate's cost, and somewhat more on a part of the array.
  double cost(const Mapping& mapping);
  // About what it costs at least, which asks for no kernel's cycles; the cost where that is known.
  double least_cost(const Mapping& mapping);
  bool fits(const Mapping& mapping);
  // Whether it costs less than that and fits; if it does, it may be kept.
  bool is_better(const Mapping& mapping, double than);
  // The least that is of no interest any more.
  double limit() const;
  std::int64_t looked_at() const { return looked_at_; }
  // How much more is counted on a spread.
  double weight(const Spread& spread) const;
  std::vector<RankedMapping> best() const;

 private:
  // Whether it is among the best so far, if it fits.
  bool is_wanted(const RankedMapping& ranked) const;
  void keep(const Mapping& mapping, double cost);
  void count();

  Estimator& estimator_;
  const Space& space_;
  std::size_t keep_;
  double known_;
  std::function<void()> poll_;
  std::int64_t looked_at_ = 0;
  // What is known of a mapping's cost: it, or what it is about at least.
  struct KnownCost {
    double cost = 0.0;
    bool is_exact = false;
  };

  std::unordered_map<Mapping, KnownCost, MappingHash> costs_;
  std::unordered_map<Mapping, bool, MappingHash> fits_;
  std::vector<RankedMapping> kept_;  // the best first
};

}  // namespace npuflow::mapped
