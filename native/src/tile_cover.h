// Which tiles of a grid are still to be computed, and which panels a fast memory holds: what a search over orders walks
// through. Tile (i, j) is computed while row panel i and column panel j are both there.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace npuflow {

constexpr int most_lines = 16;  // rows, and columns, that a mask has room for
constexpr int most_tiles = 64;  // tiles that a key has room for

using Lines = std::uint16_t;  // a set of rows, or of columns

constexpr Lines line(int index) { return static_cast<Lines>(1u << static_cast<unsigned>(index)); }
constexpr bool has(Lines lines, int index) { return (lines >> static_cast<unsigned>(index)) & 1; }
constexpr int count(Lines lines) { return std::popcount(lines); }
constexpr Lines first_lines(int number) { return static_cast<Lines>((1u << static_cast<unsigned>(number)) - 1); }

struct GridSize {
  int rows = 0;
  int columns = 0;
};

struct Tile {
  int row = 0;
  int column = 0;
};

class TileCover {
 public:
  explicit TileCover(GridSize size);

  GridSize size() const { return size_; }
  Lines open_in_row(int row) const { return by_row_[static_cast<std::size_t>(row)]; }
  Lines open_in_column(int column) const { return by_column_[static_cast<std::size_t>(column)]; }
  bool is_open(int row, int column) const { return has(open_in_row(row), column); }
  int open_tiles() const { return open_; }
  void close(Tile tile);

 private:
  GridSize size_;
  std::array<Lines, most_lines> by_row_{};
  std::array<Lines, most_lines> by_column_{};
  int open_;
};

// Panels that are there.
struct Resident {
  Lines rows = 0;
  Lines columns = 0;

  int total() const { return count(rows) + count(columns); }
};

// What is alike in states that differ in nothing but the names of rows and columns; some such states have several.
struct StateKey {
  std::uint64_t tiles = 0;
  std::uint64_t marks = 0;

  auto operator<=>(const StateKey&) const = default;
};

struct Labels {
  std::vector<int> rows;  // in the order in which the key has them
  std::vector<int> columns;
};

// An order of rows and columns that depends on their names as little as sorting can do: by the ranks that they have,
// then by the tiles that are open in them.
Labels sorted_labels(const TileCover& cover, const std::vector<std::uint8_t>& row_ranks,
                     const std::vector<std::uint8_t>& column_ranks);
std::uint64_t tiles_in(const TileCover& cover, const Labels& labels);

}  // namespace npuflow
