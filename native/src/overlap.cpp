#include "overlap.h"

#include <algorithm>
#include <utility>

namespace npuflow {

namespace {

// Beyond this many elements two accesses overlap if their extents do.
constexpr std::int64_t most_elements = 1 << 20;

using Interval = std::pair<std::int64_t, std::int64_t>;

bool is_contiguous(const Placed& placed) {
  return !placed.limited && placed.run_bytes == placed.high_byte - placed.low_byte;
}

// The bytes of an access as sorted intervals.
std::vector<Interval> intervals(const Placed& placed) {
  std::vector<Interval> result;
  if (is_contiguous(placed)) return {{placed.low_byte, placed.high_byte}};
  Walker walker(placed);
  for (std::int64_t left = placed.elements; left > 0;) {
    const Run run = walker.next(left);
    left -= run.elements;
    if (run.inside) result.emplace_back(run.byte, run.byte + run.elements * placed.access->element_bytes);
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

bool overlap(const Placed& a, const Placed& b) {
  if (a.memory != b.memory || a.elements == 0 || b.elements == 0) return false;
  if (a.high_byte <= b.low_byte || b.high_byte <= a.low_byte) return false;
  if (is_contiguous(a) && is_contiguous(b)) return true;
  if (std::max(a.elements, b.elements) > most_elements) return true;
  const std::vector<Interval> first = intervals(a);
  const std::vector<Interval> second = intervals(b);
  for (std::size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    if (first[i].first < second[j].second && second[j].first < first[i].second) return true;
    first[i].second <= second[j].second ? ++i : ++j;
  }
  return false;
}

}  // namespace npuflow
