#include "order_loads.h"

#include <array>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

namespace npuflow {

namespace {

using Step = std::int64_t;
using Panels = std::array<std::size_t, 2>;

constexpr Step never = std::numeric_limits<Step>::max();

// Rows' panels are numbered before columns'.
Panels panels_of(const OrderProblem& problem, Tile tile) {
  return {static_cast<std::size_t>(tile.row), static_cast<std::size_t>(problem.size.rows + tile.column)};
}

// For each tile, when its panels are used next; `never` where they aren't.
std::vector<std::array<Step, 2>> next_uses(const OrderProblem& problem, const std::vector<Tile>& order) {
  std::vector<Step> next(static_cast<std::size_t>(problem.size.rows + problem.size.columns), never);
  std::vector<std::array<Step, 2>> found(order.size());
  for (std::size_t step = order.size(); step-- > 0;) {
    const Panels panels = panels_of(problem, order[step]);
    for (std::size_t side = 0; side < panels.size(); ++side) {
      found[step][side] = std::exchange(next[panels[side]], static_cast<Step>(step));
    }
  }
  return found;
}

// The panels that are there, by the number that says which goes first: the smallest one.
class Shelf {
 public:
  Shelf(std::size_t panels, std::size_t capacity) : number_(panels), is_there_(panels, false), capacity_(capacity) {}

  // Takes both panels in hand, and puts them back with new numbers; what is in hand doesn't go. Says what was loaded.
  std::uint8_t use(const Panels& panels, const std::array<Step, 2>& numbers) {
    std::uint8_t loads = 0;
    for (const std::size_t panel : panels) {
      if (is_there_[panel]) {
        by_number_.erase({number_[panel], panel});
      } else {
        ++loads;
      }
    }
    while (by_number_.size() + panels.size() > capacity_) {
      is_there_[by_number_.begin()->second] = false;
      by_number_.erase(by_number_.begin());
    }
    for (std::size_t side = 0; side < panels.size(); ++side) put(panels[side], numbers[side]);
    return loads;
  }

 private:
  void put(std::size_t panel, Step number) {
    by_number_.insert({number, panel});
    number_[panel] = number;
    is_there_[panel] = true;
  }

  std::set<std::pair<Step, std::size_t>> by_number_;
  std::vector<Step> number_;
  std::vector<bool> is_there_;
  std::size_t capacity_;
};

}  // namespace

std::vector<std::uint8_t> loads_of(const OrderProblem& problem, const std::vector<Tile>& order) {
  const bool is_lru = problem.replacement == Replacement::lru;
  const auto next = is_lru ? std::vector<std::array<Step, 2>>{} : next_uses(problem, order);
  Shelf shelf(static_cast<std::size_t>(problem.size.rows + problem.size.columns),
              static_cast<std::size_t>(problem.capacity));
  std::vector<std::uint8_t> loads;
  for (std::size_t step = 0; step < order.size(); ++step) {
    const Step now = static_cast<Step>(step);
    // The least recently used goes first; or the one whose next use is the furthest away.
    const std::array<Step, 2> numbers =
        is_lru ? std::array<Step, 2>{2 * now, 2 * now + 1} : std::array<Step, 2>{-next[step][0], -next[step][1]};
    loads.push_back(shelf.use(panels_of(problem, order[step]), numbers));
  }
  return loads;
}

}  // namespace npuflow
