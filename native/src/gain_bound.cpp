#include "gain_bound.h"

#include <algorithm>

namespace npuflow {

namespace {
// Less than any sum of gains makes up for: these are tiles, of 16 rows and 16 columns at most.
constexpr int impossible = -1000;
}  // namespace

GainBound::GainBound(GridSize size, int capacity, int most_loads)
    : size_(size), capacity_(std::min(capacity, size.rows + size.columns)), most_loads_(most_loads) {
  gains_.assign(index_of(size_.rows, size_.columns, most_loads_, most_loads_) + 1, impossible);
  for (int loads = 0; loads <= most_loads_; ++loads) {
    for (int row_loads = 0; row_loads <= loads; ++row_loads) {
      for (int rows = 0; rows <= size_.rows; ++rows) {
        for (int columns = 0; columns <= size_.columns && rows + columns <= capacity_; ++columns) {
          const int column_loads = loads - row_loads;
          gains_[index_of(rows, columns, row_loads, column_loads)] =
              static_cast<std::int16_t>(best_gain(rows, columns, row_loads, column_loads));
        }
      }
    }
  }
}

std::size_t GainBound::index_of(int rows, int columns, int row_loads, int column_loads) const {
  const int kinds = rows * (size_.columns + 1) + columns;
  return static_cast<std::size_t>((kinds * (most_loads_ + 1) + row_loads) * (most_loads_ + 1) + column_loads);
}

int GainBound::best_gain(int rows, int columns, int row_loads, int column_loads) const {
  if (row_loads + column_loads == 0) return 0;
  return std::max(gain_of_row(rows, columns, row_loads, column_loads),
                  gain_of_column(rows, columns, row_loads, column_loads));
}

int GainBound::gain_of_row(int rows, int columns, int row_loads, int column_loads) const {
  if (row_loads == 0) return impossible;
  if (rows + columns < capacity_) {
    return rows < size_.rows ? columns + gain(rows + 1, columns, row_loads - 1, column_loads) : impossible;
  }
  int best = impossible;
  if (rows > 0) best = columns + gain(rows, columns, row_loads - 1, column_loads);
  if (columns > 0 && rows < size_.rows) {
    best = std::max(best, columns - 1 + gain(rows + 1, columns - 1, row_loads - 1, column_loads));
  }
  return best;
}

int GainBound::gain_of_column(int rows, int columns, int row_loads, int column_loads) const {
  if (column_loads == 0) return impossible;
  if (rows + columns < capacity_) {
    return columns < size_.columns ? rows + gain(rows, columns + 1, row_loads, column_loads - 1) : impossible;
  }
  int best = impossible;
  if (columns > 0) best = rows + gain(rows, columns, row_loads, column_loads - 1);
  if (rows > 0 && columns < size_.columns) {
    best = std::max(best, rows - 1 + gain(rows - 1, columns + 1, row_loads, column_loads - 1));
  }
  return best;
}

bool GainBound::allows(const TileCover& cover, const Resident& resident, int loads) const {
  int missing_rows = 0, missing_columns = 0, to_gain = cover.open_tiles();
  for (int i = 0; i < size_.rows; ++i) {
    const Lines open = cover.open_in_row(i);
    if (has(resident.rows, i)) {
      to_gain -= count(static_cast<Lines>(open & resident.columns));
    } else {
      missing_rows += open != 0;
    }
  }
  for (int j = 0; j < size_.columns; ++j) missing_columns += cover.open_in_column(j) != 0 && !has(resident.columns, j);
  const int rows = count(resident.rows), columns = count(resident.columns);
  for (int row_loads = missing_rows; row_loads + missing_columns <= loads; ++row_loads) {
    if (gain(rows, columns, row_loads, loads - row_loads) >= to_gain) return true;
  }
  return false;
}

int GainBound::least_loads() const {
  const TileCover whole(size_);
  int loads = 0;
  while (loads < most_loads_ && !allows(whole, {}, loads)) ++loads;
  return loads;
}

}  // namespace npuflow
