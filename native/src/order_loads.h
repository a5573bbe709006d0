// What an order of tiles loads, tile by tile: a tile needs its row's panel and its column's at the same time.

#pragma once

#include <cstdint>
#include <vector>

#include "order_search.h"

namespace npuflow {

// How many panels each tile of an order loads (0, 1 or 2); every tile lies in the grid.
std::vector<std::uint8_t> loads_of(const OrderProblem& problem, const std::vector<Tile>& order);

}  // namespace npuflow
