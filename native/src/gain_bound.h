// How many tiles a number of loads can make possible at most: loading a row's panel no more than there are columns'
// panels beside it, and the other way round. Whether those tiles are still open is left out, so no order does better.

#pragma once

#include <cstdint>
#include <vector>

#include "tile_cover.h"

namespace npuflow {

class GainBound {
 public:
  GainBound(GridSize size, int capacity, int most_loads);

  // Whether what is open may be closed by so many loads, as far as this bound and the panels that are missing say.
  bool allows(const TileCover& cover, const Resident& resident, int loads) const;
  // The fewest loads that a whole grid may take.
  int least_loads() const;

 private:
  int gain(int rows, int columns, int row_loads, int column_loads) const {
    return gains_[index_of(rows, columns, row_loads, column_loads)];
  }
  std::size_t index_of(int rows, int columns, int row_loads, int column_loads) const;
  int best_gain(int rows, int columns, int row_loads, int column_loads) const;
  int gain_of_row(int rows, int columns, int row_loads, int column_loads) const;
  int gain_of_column(int rows, int columns, int row_loads, int column_loads) const;

  GridSize size_;
  int capacity_;
  int most_loads_;
  std::vector<std::int16_t> gains_;
};

}  // namespace npuflow
