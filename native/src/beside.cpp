#include "beside.h"

#include <algorithm>

namespace npuflow::mapped {

namespace {

// Of sizes that are larger, and of those that are smaller, so many.
constexpr std::ptrdiff_t each_way = 2;
constexpr std::size_t most_orders = 64;

}  // namespace

std::vector<Mapping> beside(const Space& space, Estimator& estimator, const Mapping& mapping) {
  std::vector<Mapping> found;
  const auto add = [&](const Mapping& other) {
    if (other != mapping && space.nests(other) && estimator.fits(other)) found.push_back(other);
  };
  for (const Place place : space.places()) {
    const Values& values = space.values(mapping, place);
    const auto own = std::lower_bound(values.begin(), values.end(), space.value(mapping, place));
    const auto first = own - std::min(each_way, own - values.begin());
    const auto last = own + std::min(each_way + 1, values.end() - own);
    for (const Size value : Values(first, last)) add(space.with(mapping, place, value));
  }
  for (const Spread& spread : space.all_spreads()) {
    Mapping other = mapping;
    other.spread = spread;
    add(other);
  }
  auto orders = space.orders(mapping);
  orders.resize(std::min(orders.size(), most_orders));
  for (const auto& order : orders) {
    Mapping other = mapping;
    other.order = order;
    add(other);
  }
  return found;
}

}  // namespace npuflow::mapped
