// The order of a grid's tiles that loads the fewest panels, found by trying all: deeper and deeper, leaving out what a
// bound forbids and what has been tried under other names of rows and columns.

#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tile_cover.h"

namespace npuflow {

enum class Replacement { best, lru };

// States that have been tried in vain, with so many loads; `poll` is called now and then and may throw to stop.
class TriedStates {
 public:
  TriedStates(std::int64_t most_states, std::function<void()> poll) : most_(most_states), poll_(std::move(poll)) {}

  bool is_known(const StateKey& key, int loads) const;
  void add(const StateKey& key, int loads);
  // Counts a state that is looked at; false once there were as many as may be.
  bool visit();
  bool is_exhausted() const { return visited_ > most_; }

 private:
  struct Hash {
    std::size_t operator()(const StateKey& key) const;
  };

  std::int64_t most_;
  std::int64_t visited_ = 0;
  std::function<void()> poll_;
  std::unordered_map<StateKey, std::int8_t, Hash> tried_;
};

// What a search has found out: no order loads less than `least_loads`, and `order`, if there is one, loads just that.
struct OrderFound {
  int least_loads = 0;
  std::vector<Tile> order;
};

struct OrderProblem {
  GridSize size;
  int capacity = 0;
  Replacement replacement = Replacement::best;
};

// Looks for an order with fewer than `known_loads`, in at most so many states; raises Fault for grids with no room in a
// state's key.
OrderFound search_order(const OrderProblem& problem, int known_loads, std::int64_t most_states,
                        const std::function<void()>& poll);

}  // namespace npuflow
