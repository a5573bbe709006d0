#include "best_search.h"

#include <algorithm>

namespace npuflow {

namespace {

Lines without(Lines lines, Lines others) { return static_cast<Lines>(lines & ~others); }
Lines joined(Lines lines, Lines others) { return static_cast<Lines>(lines | others); }

Resident without(const Resident& panels, const Resident& others) {
  return {without(panels.rows, others.rows), without(panels.columns, others.columns)};
}

Resident joined(const Resident& panels, const Resident& others) {
  return {joined(panels.rows, others.rows), joined(panels.columns, others.columns)};
}

// Of lines that are open alike, the first one.
template <typename OpenIn>
std::vector<int> distinct(Lines lines, int number, OpenIn open_in) {
  std::vector<int> kept;
  for (int index = 0; index < number; ++index) {
    const bool is_new = std::none_of(kept.begin(), kept.end(), [&](int k) { return open_in(k) == open_in(index); });
    if (has(lines, index) && is_new) kept.push_back(index);
  }
  return kept;
}

}  // namespace

BestSearch::BestSearch(const OrderProblem& problem, const GainBound& bound, TriedStates& tried)
    : problem_(problem), bound_(bound), tried_(tried) {}

std::vector<Tile> BestSearch::with_loads(int loads) {
  order_.clear();
  if (!finish({TileCover(problem_.size), {}}, loads)) return {};
  return order_;
}

bool BestSearch::finish(const State& state, int loads) {
  if (state.cover.open_tiles() == 0) return true;
  if (!bound_.allows(state.cover, state.resident, loads) || !tried_.visit()) return false;
  const StateKey key = key_of(state);
  if (tried_.is_known(key, loads)) return false;
  for (const Step& step : steps(state)) {
    if (take(state, step, loads)) return true;
  }
  if (!tried_.is_exhausted()) tried_.add(key, loads);
  return false;
}

bool BestSearch::take(const State& state, const Step& step, int loads) {
  const int left = loads - step.loaded.total();
  if (left < 0) return false;
  State next{state.cover, joined(without(state.resident, step.evicted), step.loaded)};
  const std::vector<Tile> tiles = done(next);
  order_.insert(order_.end(), tiles.begin(), tiles.end());
  if (finish(next, left)) return true;
  order_.resize(order_.size() - tiles.size());
  return false;
}

// Closes what the panels make possible, and says which tiles that are.
std::vector<Tile> BestSearch::done(State& state) const {
  std::vector<Tile> tiles;
  for (int i = 0; i < problem_.size.rows; ++i) {
    if (!has(state.resident.rows, i)) continue;
    for (int j = 0; j < problem_.size.columns; ++j) {
      if (has(state.resident.columns, j) && state.cover.is_open(i, j)) tiles.push_back({i, j});
    }
  }
  for (const Tile tile : tiles) state.cover.close(tile);
  return tiles;
}

// A load waits for the tile that needs it: a panel that makes a tile possible with what is there, or two that make one
// possible together.
std::vector<BestSearch::Step> BestSearch::steps(const State& state) const {
  const auto [rows, columns] = problem_.size;
  const Lines far_rows = without(first_lines(rows), state.resident.rows);
  const Lines far_columns = without(first_lines(columns), state.resident.columns);
  const auto row_rest = distinct(far_rows, rows, [&](int i) { return state.cover.open_in_row(i); });
  const auto column_rest = distinct(far_columns, columns, [&](int j) { return state.cover.open_in_column(j); });
  const std::vector<Resident> one = evictions_for(state, 1), two = evictions_for(state, 2);
  std::vector<Step> found;
  for (const int i : row_rest) add_steps(state, {line(i), 0}, one, found);
  for (const int j : column_rest) add_steps(state, {0, line(j)}, one, found);
  for (const int i : row_rest) {
    const Lines open = static_cast<Lines>(state.cover.open_in_row(i) & far_columns);
    for (const int j : distinct(open, columns, [&](int k) { return state.cover.open_in_column(k); })) {
      add_steps(state, {line(i), line(j)}, two, found);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Step& a, const Step& b) { return a.gain > b.gain; });
  return found;
}

void BestSearch::add_steps(const State& state, const Resident& loaded, const std::vector<Resident>& evictions,
                           std::vector<Step>& steps) const {
  const int panels = loaded.total();
  for (const Resident& evicted : evictions) {
    const Resident kept = without(state.resident, evicted);
    int gain = 0;
    for (int i = 0; i < problem_.size.rows; ++i) {
      if (has(loaded.rows, i)) gain += count(static_cast<Lines>(state.cover.open_in_row(i) & kept.columns));
    }
    for (int j = 0; j < problem_.size.columns; ++j) {
      if (has(loaded.columns, j)) gain += count(static_cast<Lines>(state.cover.open_in_column(j) & kept.rows));
    }
    // Two panels one of which has a use without the other are two steps.
    if (panels == 1 ? gain > 0 : gain == 0) steps.push_back({loaded, evicted, panels == 1 ? gain : 1});
  }
}

// What can go for so many panels that are loaded.
std::vector<Resident> BestSearch::evictions_for(const State& state, int loaded) const {
  return evictions(state, std::max(0, state.resident.total() + loaded - problem_.capacity));
}

std::vector<Resident> BestSearch::evictions(const State& state, int panels) const {
  if (panels == 0) return {{}};
  std::vector<Resident> found;
  for (const Resident& first : evictions_of_one(state)) {
    const State rest{state.cover, without(state.resident, first)};
    for (const Resident& others : evictions(rest, panels - 1)) found.push_back(joined(first, others));
  }
  return found;
}

// One panel that nothing needs any more, if there is one; else any, of those that are open alike one.
std::vector<Resident> BestSearch::evictions_of_one(const State& state) const {
  const auto [rows, columns] = problem_.size;
  std::vector<Resident> found;
  for (const int i : distinct(state.resident.rows, rows, [&](int k) { return state.cover.open_in_row(k); })) {
    if (state.cover.open_in_row(i) == 0) return {{line(i), 0}};
    found.push_back({line(i), 0});
  }
  for (const int j : distinct(state.resident.columns, columns, [&](int k) { return state.cover.open_in_column(k); })) {
    if (state.cover.open_in_column(j) == 0) return {{0, line(j)}};
    found.push_back({0, line(j)});
  }
  return found;
}

StateKey BestSearch::key_of(const State& state) const {
  const auto [rows, columns] = problem_.size;
  std::vector<std::uint8_t> row_ranks, column_ranks;
  for (int i = 0; i < rows; ++i) row_ranks.push_back(!has(state.resident.rows, i));
  for (int j = 0; j < columns; ++j) column_ranks.push_back(!has(state.resident.columns, j));
  const std::uint64_t tiles = tiles_in(state.cover, sorted_labels(state.cover, row_ranks, column_ranks));
  return {tiles, static_cast<std::uint64_t>(count(state.resident.rows) << 8 | count(state.resident.columns))};
}

}  // namespace npuflow
