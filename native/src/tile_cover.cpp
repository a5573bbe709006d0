#include "tile_cover.h"

#include <algorithm>
#include <numeric>

namespace npuflow {

namespace {

constexpr int refinements = 3;

using Numbers = std::vector<std::uint64_t>;

// Spreads a number over all bits, so that sums of such numbers tell sets apart (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30u)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27u)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31u);
}

constexpr unsigned rank_shift = 56;

Numbers numbers_of(const std::vector<std::uint8_t>& ranks) {
  Numbers numbers;
  for (const std::uint8_t rank : ranks) numbers.push_back(std::uint64_t{rank} << rank_shift);
  return numbers;
}

// A line's number, its rank in front, with what it and the numbers of its open tiles' other lines are.
std::uint64_t refined(std::uint64_t own, Lines open, const Numbers& others) {
  std::uint64_t sum = mixed(own);
  for (; open != 0; open = static_cast<Lines>(open & (open - 1))) {
    sum += mixed(others[static_cast<std::size_t>(std::countr_zero(open))] ^ 0x5bd1e995u);
  }
  return own >> rank_shift << rank_shift | sum >> (64 - rank_shift);
}

Lines renamed(Lines open, const std::vector<int>& order) {
  Lines made = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (has(open, order[k])) made = static_cast<Lines>(made | line(static_cast<int>(k)));
  }
  return made;
}

template <typename OpenIn>
void sort_lines(std::vector<int>& lines, const Numbers& numbers, const std::vector<int>& others, OpenIn open_in) {
  std::array<Lines, most_lines> seen{};
  for (const int index : lines) seen[static_cast<std::size_t>(index)] = renamed(open_in(index), others);
  std::stable_sort(lines.begin(), lines.end(), [&](int a, int b) {
    const auto left = static_cast<std::size_t>(a), right = static_cast<std::size_t>(b);
    return numbers[left] != numbers[right] ? numbers[left] < numbers[right] : seen[left] < seen[right];
  });
}

}  // namespace

TileCover::TileCover(GridSize size) : size_(size), open_(size.rows * size.columns) {
  for (int i = 0; i < size.rows; ++i) by_row_[static_cast<std::size_t>(i)] = first_lines(size.columns);
  for (int j = 0; j < size.columns; ++j) by_column_[static_cast<std::size_t>(j)] = first_lines(size.rows);
}

void TileCover::close(Tile tile) {
  auto& row = by_row_[static_cast<std::size_t>(tile.row)];
  auto& column = by_column_[static_cast<std::size_t>(tile.column)];
  row = static_cast<Lines>(row & ~line(tile.column));
  column = static_cast<Lines>(column & ~line(tile.row));
  --open_;
}

Labels sorted_labels(const TileCover& cover, const std::vector<std::uint8_t>& row_ranks,
                     const std::vector<std::uint8_t>& column_ranks) {
  Numbers rows = numbers_of(row_ranks), columns = numbers_of(column_ranks);
  for (int round = 0; round < refinements; ++round) {
    const Numbers before = rows;
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] = refined(rows[i], cover.open_in_row(static_cast<int>(i)), columns);
    for (std::size_t j = 0; j < columns.size(); ++j)
      columns[j] = refined(columns[j], cover.open_in_column(static_cast<int>(j)), before);
  }
  Labels labels{std::vector<int>(rows.size()), std::vector<int>(columns.size())};
  std::iota(labels.rows.begin(), labels.rows.end(), 0);
  std::iota(labels.columns.begin(), labels.columns.end(), 0);
  sort_lines(labels.rows, rows, {}, [](int) { return Lines{0}; });
  for (int round = 0; round < 2; ++round) {
    sort_lines(labels.columns, columns, labels.rows, [&](int j) { return cover.open_in_column(j); });
    sort_lines(labels.rows, rows, labels.columns, [&](int i) { return cover.open_in_row(i); });
  }
  return labels;
}

std::uint64_t tiles_in(const TileCover& cover, const Labels& labels) {
  std::uint64_t tiles = 0;
  for (const int row : labels.rows) {
    tiles = (tiles << static_cast<unsigned>(labels.columns.size())) | renamed(cover.open_in_row(row), labels.columns);
  }
  return tiles;
}

}  // namespace npuflow
