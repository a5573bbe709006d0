// What a search has looked at: each mapping's cost, found once, and the best of those that fit.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory_resource>

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

  // What is known of a mapping: what it costs, or costs at least, or a floor of that; and whether it fits.
  struct Known {
    enum class Cost : std::uint8_t { unknown, floor, least, exact };
    enum class Fit : std::uint8_t { unknown, no, yes };

    double cost = 0.0;
    Cost of = Cost::unknown;
    Fit fit = Fit::unknown;
    std::uint32_t candidate_of = 0;  // the last step of a descent that it was a candidate of
  };
  // A mapping that was looked at, which stays where it is.
  using Entry = std::pair<const Mapping, Known>;
  Entry& entry_of(const Mapping& mapping);

  // What a search makes small: the estimate's cost, and somewhat more on a part of the array.
  double cost(Entry& entry);
  double cost(const Mapping& mapping) { return cost(entry_of(mapping)); }
  // About what it costs at least, which asks for no kernel's cycles; the cost where that is known. Where it is more
  // than a limit, perhaps only that is known.
  double least_cost(Entry& entry, double limit);
  double least_cost(const Mapping& mapping, double limit) { return least_cost(entry_of(mapping), limit); }
  bool fits(Entry& entry);
  bool fits(const Mapping& mapping) { return fits(entry_of(mapping)); }
  // Whether it costs less than that and fits; if it does, it may be kept.
  bool is_better(Entry& entry, double than);
  bool is_better(const Mapping& mapping, double than) { return is_better(entry_of(mapping), than); }
  // The least that is of no interest any more.
  double limit() const;
  std::int64_t looked_at() const { return looked_at_; }
  // How much more is counted on a spread.
  double weight(const Spread& spread) const;
  std::vector<RankedMapping> best() const;
  // On each spread the best whose cost was found.
  std::vector<RankedMapping> best_of_spreads();

 private:
  // Where a mapping is, with its hash: what is known is more than a cache has, and so isn't read to tell it apart.
  struct Place {
    std::size_t hash = 0;
    Entry* entry = nullptr;
  };

  // Whether it is among the best so far, if it fits.
  bool is_wanted(double cost, const Mapping& mapping) const;
  void keep(const Mapping& mapping, double cost);
  void count();
  // The place of a mapping that has such a hash, or the empty one where it would be.
  Place& place_of(std::size_t hash, const Mapping* mapping);
  void grow();

  Estimator& estimator_;
  const Space& space_;
  std::size_t keep_;
  double limit_;
  std::function<void()> poll_;
  std::int64_t looked_at_ = 0;
  // Those are in few large pieces of memory, since there are very many.
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::deque<Entry> known_{&memory_};
  std::vector<Place> places_;        // a power of two, half of which are empty at least
  std::vector<RankedMapping> kept_;  // the best first
};

}  // namespace npuflow::mapped
