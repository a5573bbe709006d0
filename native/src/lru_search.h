// Orders under LRU, where what is evicted follows from the order: the panel that was used the longest time ago, a
// tile's column counting as used after its row. So a state is the panels in the order of their last use.

#pragma once

#include <vector>

#include "gain_bound.h"
#include "order_search.h"

namespace npuflow {

class LruSearch {
 public:
  LruSearch(const OrderProblem& problem, const GainBound& bound, TriedStates& tried);

  // An order that takes at most so many loads; empty if there is none, or `tried` is exhausted.
  std::vector<Tile> with_loads(int loads);

 private:
  struct Panel {
    bool is_row = false;
    int index = 0;

    bool operator==(const Panel&) const = default;
  };
  struct State {
    TileCover cover;
    std::vector<Panel> recent;  // the one that goes next first
  };
  struct Step {
    Tile tile;
    int loads = 0;
    State next;
  };

  bool finish(const State& state, int loads);
  std::vector<Step> steps(const State& state) const;
  // What it loads.
  int use(State& state, Tile tile) const;
  Resident resident(const State& state) const;
  StateKey key_of(const State& state) const;

  OrderProblem problem_;
  const GainBound& bound_;
  TriedStates& tried_;
  std::vector<Tile> order_;
};

}  // namespace npuflow
