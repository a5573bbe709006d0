// Orders under the best replacement: who chooses the order chooses what is evicted as well. So a state is the panels
// that are there, and every tile that they make possible is done at once, which costs nothing and helps.

#pragma once

#include <vector>

#include "gain_bound.h"
#include "order_search.h"

namespace npuflow {

class BestSearch {
 public:
  BestSearch(const OrderProblem& problem, const GainBound& bound, TriedStates& tried);

  // An order that takes at most so many loads; empty if there is none, or `tried` is exhausted.
  std::vector<Tile> with_loads(int loads);

 private:
  struct State {
    TileCover cover;
    Resident resident;
  };
  // One or two loads, and what goes for them.
  struct Step {
    Resident loaded;
    Resident evicted;
    int gain = 0;
  };

  bool finish(const State& state, int loads);
  bool take(const State& state, const Step& step, int loads);
  std::vector<Step> steps(const State& state) const;
  void add_steps(const State& state, const Resident& loaded, const std::vector<Resident>& evictions,
                 std::vector<Step>& steps) const;
  std::vector<Resident> evictions_for(const State& state, int loaded) const;
  std::vector<Resident> evictions(const State& state, int panels) const;
  std::vector<Resident> evictions_of_one(const State& state) const;
  StateKey key_of(const State& state) const;
  std::vector<Tile> done(State& state) const;

  OrderProblem problem_;
  const GainBound& bound_;
  TriedStates& tried_;
  std::vector<Tile> order_;
};

}  // namespace npuflow
