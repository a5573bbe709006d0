#include "bind_order.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "order_loads.h"
#include "order_search.h"
#include "poll_signals.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace npuflow {

namespace {

using TileParts = std::pair<int, int>;
using FoundParts = std::tuple<int, std::vector<TileParts>>;

OrderProblem problem_of(int rows, int columns, int capacity, bool is_lru) {
  if (rows < 1 || columns < 1) throw nb::value_error("a grid has a row and a column at least");
  if (capacity < 2) throw nb::value_error("a tile takes two panels");
  return {{rows, columns}, capacity, is_lru ? Replacement::lru : Replacement::best};
}

std::vector<int> order_loads(int rows, int columns, int capacity, bool is_lru, const std::vector<TileParts>& parts) {
  const OrderProblem problem = problem_of(rows, columns, capacity, is_lru);
  std::vector<Tile> order;
  for (const auto& [row, column] : parts) {
    if (row < 0 || row >= rows || column < 0 || column >= columns) throw nb::value_error("a tile is not in the grid");
    order.push_back({row, column});
  }
  const std::vector<std::uint8_t> loads = loads_of(problem, order);
  return {loads.begin(), loads.end()};
}

FoundParts best_order(int rows, int columns, int capacity, bool is_lru, int known_loads, std::int64_t most_states) {
  const OrderProblem problem = problem_of(rows, columns, capacity, is_lru);
  OrderFound found;
  {
    const nb::gil_scoped_release released;
    found = search_order(problem, known_loads, most_states, poll_signals);
  }
  std::vector<TileParts> order;
  for (const Tile tile : found.order) order.emplace_back(tile.row, tile.column);
  return {found.least_loads, order};
}

}  // namespace

void bind_order(nb::module_& m) {
  m.def("order_loads", &order_loads, "rows"_a, "columns"_a, "capacity"_a, "is_lru"_a, "order"_a,
        "How many panels each tile of an order loads.");
  m.def("search_order", &best_order, "rows"_a, "columns"_a, "capacity"_a, "is_lru"_a, "known_loads"_a, "most_states"_a,
        "The fewest loads that are possible as far as the search got, and an order with fewer than `known_loads`.");
}

}  // namespace npuflow
