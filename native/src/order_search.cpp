#include "order_search.h"

#include <algorithm>
#include <string>

#include "best_search.h"
#include "fault.h"
#include "gain_bound.h"
#include "lru_search.h"

namespace npuflow {

namespace {
constexpr std::int64_t poll_interval = 1 << 12;
}  // namespace

std::size_t TriedStates::Hash::operator()(const StateKey& key) const {
  return static_cast<std::size_t>((key.tiles ^ (key.marks << 32u) ^ key.marks) * 0x9e3779b97f4a7c15u >> 8u);
}

bool TriedStates::is_known(const StateKey& key, int loads) const {
  const auto found = tried_.find(key);
  return found != tried_.end() && found->second >= loads;
}

void TriedStates::add(const StateKey& key, int loads) {
  std::int8_t& known = tried_[key];
  known = std::max(known, static_cast<std::int8_t>(loads));
}

bool TriedStates::visit() {
  if (++visited_ % poll_interval == 0 && poll_) poll_();
  return !is_exhausted();
}

OrderFound search_order(const OrderProblem& problem, int known_loads, std::int64_t most_states,
                        const std::function<void()>& poll) {
  const GridSize size = problem.size;
  if (std::max(size.rows, size.columns) > most_lines || size.rows * size.columns > most_tiles) {
    throw Fault("a grid of more than " + std::to_string(most_tiles) + " tiles is not searched");
  }
  const GainBound bound(size, problem.capacity, known_loads);
  TriedStates tried(most_states, poll);
  BestSearch best(problem, bound, tried);
  LruSearch lru(problem, bound, tried);
  OrderFound found{bound.least_loads(), {}};
  const bool is_lru = problem.replacement == Replacement::lru;
  for (; found.least_loads < known_loads; ++found.least_loads) {
    found.order = is_lru ? lru.with_loads(found.least_loads) : best.with_loads(found.least_loads);
    if (!found.order.empty() || tried.is_exhausted()) break;
  }
  return found;
}

}  // namespace npuflow
