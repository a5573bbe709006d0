#include "lru_search.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace npuflow {

namespace {
constexpr std::uint8_t absent = 255;
}  // namespace

LruSearch::LruSearch(const OrderProblem& problem, const GainBound& bound, TriedStates& tried)
    : problem_(problem), bound_(bound), tried_(tried) {}

std::vector<Tile> LruSearch::with_loads(int loads) {
  order_.clear();
  if (!finish({TileCover(problem_.size), {}}, loads)) return {};
  return order_;
}

bool LruSearch::finish(const State& state, int loads) {
  if (state.cover.open_tiles() == 0) return true;
  if (!bound_.allows(state.cover, resident(state), loads) || !tried_.visit()) return false;
  const StateKey key = key_of(state);
  if (tried_.is_known(key, loads)) return false;
  for (const Step& step : steps(state)) {
    if (step.loads > loads) continue;
    order_.push_back(step.tile);
    if (finish(step.next, loads - step.loads)) return true;
    order_.pop_back();
  }
  if (!tried_.is_exhausted()) tried_.add(key, loads);
  return false;
}

// Every open tile, of those that make states alike the first one; what loads nothing before what loads something.
std::vector<LruSearch::Step> LruSearch::steps(const State& state) const {
  std::vector<Step> found;
  std::set<std::pair<int, StateKey>> seen;
  for (int i = 0; i < problem_.size.rows; ++i) {
    for (int j = 0; j < problem_.size.columns; ++j) {
      if (!state.cover.is_open(i, j)) continue;
      Step step{{i, j}, 0, state};
      step.loads = use(step.next, step.tile);
      if (seen.insert({step.loads, key_of(step.next)}).second) found.push_back(std::move(step));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Step& a, const Step& b) { return a.loads < b.loads; });
  return found;
}

// Does a tile: its panels become those used last, the column's after the row's, and neither goes for the other.
int LruSearch::use(State& state, Tile tile) const {
  const std::array<Panel, 2> used{Panel{true, tile.row}, Panel{false, tile.column}};
  std::vector<Panel>& recent = state.recent;
  const auto there = std::erase_if(recent, [&](const Panel& one) { return one == used[0] || one == used[1]; });
  const auto room = static_cast<std::size_t>(problem_.capacity) - used.size();
  if (recent.size() > room) recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(room));
  recent.insert(recent.end(), used.begin(), used.end());
  state.cover.close(tile);
  return static_cast<int>(used.size() - there);
}

Resident LruSearch::resident(const State& state) const {
  Resident found;
  for (const Panel panel : state.recent) {
    Lines& lines = panel.is_row ? found.rows : found.columns;
    lines = static_cast<Lines>(lines | line(panel.index));
  }
  return found;
}

StateKey LruSearch::key_of(const State& state) const {
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(problem_.size.rows), absent);
  std::vector<std::uint8_t> columns(static_cast<std::size_t>(problem_.size.columns), absent);
  std::uint64_t kinds = 1;
  for (std::size_t rank = 0; rank < state.recent.size(); ++rank) {
    const Panel panel = state.recent[rank];
    (panel.is_row ? rows : columns)[static_cast<std::size_t>(panel.index)] = static_cast<std::uint8_t>(rank);
    kinds = kinds << 1u | static_cast<std::uint64_t>(panel.is_row);
  }
  return {tiles_in(state.cover, sorted_labels(state.cover, rows, columns)), kinds};
}

}  // namespace npuflow
