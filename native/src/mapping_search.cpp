#include "mapping_search.h"

#include <algorithm>
#include <limits>

#include "descent.h"
#include "room.h"

namespace npuflow::mapped {

namespace {

// What an estimate may be below its floor by: sums of the same numbers in another order.
constexpr double rounding = 1 + 1e-9;
// A kernel's cycles take about as long to be found as so many estimates.
constexpr std::int64_t kernel_steps = 16;
// Where one mapping is wanted, steps that all is proved by in five of six spaces, from a good one on.
constexpr std::int64_t few_steps = 1000;
// So many of the best have others around them looked at where nothing is proved.
constexpr std::size_t most_around = 3;

}  // namespace

FoundMappings search_mappings(Estimator& estimator, const Space& space, const SearchWish& wish,
                              const std::function<void()>& poll) {
  KeptMappings kept(estimator, space, wish.keep, wish.known, poll);
  Descent descent(space, kept);
  if (wish.keep == 1 && wish.most > few_steps) {
    descent.begin();
    // Where nothing goes through memory tiles, all steps prove three of four spaces that few don't.
    std::vector<std::int64_t> tries{few_steps};
    if (estimator.machine().direct.are_taken) tries.push_back(wish.most);
    for (const std::int64_t most : tries) {
      SearchWish less = wish;
      less.most = most;
      if (Enumeration(estimator, space, kept, less).run()) {
        return {kept.best(), kept.best_of_spreads(), kept.looked_at(), true};
      }
    }
  }
  descent.run();
  Enumeration all(estimator, space, kept, wish);
  const bool is_proved = all.run();
  if (!is_proved && wish.keep > 1) all.look_around();
  return {kept.best(), kept.best_of_spreads(), kept.looked_at(), is_proved};
}

bool Enumeration::run() {
  begun_ = spent();
  // All tiles; where these are too many, those that have all of streamed loops, which prove nothing.
  const Mapping& start = space_.parts().start;
  const Mapping smallest = space_.smallest();
  const bool is_all = add_all_tiles(smallest);
  if (!is_all && (smallest == start || !add_all_tiles(start))) return false;
  std::vector<const Node*> order;
  for (const Node& node : nodes_) order.push_back(&node);
  std::stable_sort(order.begin(), order.end(),
                   [](const Node* one, const Node* other) { return one->floor < other->floor; });
  for (const Node* node : order) {
    if (node->floor >= kept_.limit()) break;
    if (is_spent()) return false;
    look_at(*node);
  }
  return is_sound_ && is_all;
}

bool Enumeration::add_all_tiles(const Mapping& from) {
  std::vector<Mapping> starts;
  std::int64_t tiles = 0;
  for (const Spread& spread : space_.all_spreads()) {
    Mapping start = from;
    start.spread = spread;
    if (!estimator_.has_room(start.tiles)) continue;
    tiles += count_tiles(start, 0);
    if (tiles > wish_.most) return false;
    starts.push_back(std::move(start));
  }
  for (const Mapping& start : starts) add_tiles(start, 0);
  begun_ -= tiles;
  return true;
}

void Enumeration::look_around() {
  begun_ = spent();
  const std::vector<RankedMapping> best = kept_.best();
  for (std::size_t number = 0; number < std::min(best.size(), most_around); ++number) {
    for (const std::size_t loop : space_.group().streamed) {
      if (!space_.opens(loop)) continue;
      for (const Size size : space_.tiles(loop, best[number].mapping)) {
        const Mapping other = space_.with(best[number].mapping, {PlaceKind::tile, loop}, size);
        if (estimator_.has_room(other.tiles)) look_at_pieces(other, 0, 0.0);
      }
    }
  }
}

std::int64_t Enumeration::count_tiles(Mapping& mapping, std::size_t place) const {
  const std::vector<std::size_t>& open = space_.parts().open;
  if (place == open.size()) return 1;
  const std::size_t loop = open[place];
  const Size before = mapping.tiles[loop];
  const bool is_next_last = place + 2 == open.size();
  std::int64_t count = 0;
  // The larger one loop's tile, the fewer sizes of the next there is room for: no more are tried.
  std::int64_t sizes = std::numeric_limits<std::int64_t>::max();
  for (const Size size : space_.tiles(loop, mapping)) {
    mapping.tiles[loop] = size;
    if (!estimator_.has_room(mapping.tiles) || count > wish_.most) break;
    if (is_next_last) sizes = count_sizes(mapping, open.back(), sizes);
    count += is_next_last ? sizes : count_tiles(mapping, place + 1);
  }
  mapping.tiles[loop] = before;
  return count;
}

std::int64_t Enumeration::count_sizes(Mapping& mapping, std::size_t loop, std::int64_t most) const {
  const Size before = mapping.tiles[loop];
  const Values& sizes = space_.tiles(loop, mapping);
  auto count = std::min(most, static_cast<std::int64_t>(sizes.size()));
  for (; count > 0; --count) {
    mapping.tiles[loop] = sizes[static_cast<std::size_t>(count - 1)];
    if (estimator_.has_room(mapping.tiles)) break;
  }
  mapping.tiles[loop] = before;
  return count;
}

void Enumeration::add_tiles(const Mapping& mapping, std::size_t place) {
  if (place == space_.parts().open.size()) {
    const double weight = kept_.weight(mapping.spread);
    const double floor = floor_.roughly(mapping, kept_.limit() / weight) * weight;
    if (floor < kept_.limit()) nodes_.push_back({floor, mapping});
    return;
  }
  const std::size_t loop = space_.parts().open[place];
  for (const Size size : space_.tiles(loop, mapping)) {
    const Mapping larger = space_.with(mapping, {PlaceKind::tile, loop}, size);
    if (!estimator_.has_room(larger.tiles)) break;
    add_tiles(larger, place + 1);
  }
}

std::int64_t Enumeration::spent() const { return kept_.looked_at() + kernel_steps * estimator_.asked(); }

void Enumeration::look_at(const Node& node) {
  const double floor = floor_.exactly(node.mapping) * kept_.weight(node.mapping.spread);
  if (floor < kept_.limit()) look_at_pieces(node.mapping, 0, floor);
}

void Enumeration::look_at_pieces(const Mapping& mapping, std::size_t number, double floor) {
  const Group& group = space_.group();
  if (!space_.parts().opens_l2 || number == group.streamed.size()) {
    look_at_orders(mapping, floor);
    return;
  }
  const std::size_t loop = group.streamed[number];
  const Values& pieces = space_.pieces(loop, mapping.tiles[loop]);
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    look_at_pieces(space_.with(mapping, {PlaceKind::in_l2, number}, *piece), number + 1, floor);
  }
}

void Enumeration::look_at_orders(const Mapping& mapping, double floor) {
  const auto hold = std::find_if(space_.slots().begin(), space_.slots().end(),
                                 [](const Place& slot) { return slot.kind == PlaceKind::hold; });
  for (const auto& order : space_.orders(mapping)) {
    Mapping ordered = mapping;
    ordered.order = order;
    if (hold == space_.slots().end()) {
      look_at_slots(ordered, floor);
      continue;
    }
    for (const Size holds : {0, 1}) look_at_slots(space_.with(ordered, *hold, holds), floor);
  }
}

// Of slots, more of any but results' take no more time: the most are a floor for fewer.
void Enumeration::look_at_slots(const Mapping& mapping, double floor) {
  Mapping most = mapping;
  const Place* result = nullptr;
  for (const Place& slot : space_.slots()) {
    if (slot.kind == PlaceKind::result) result = &slot;
    if (slot.kind != PlaceKind::hold) most = space_.with(most, slot, 2);
  }
  for (const Size results : {2, 1}) {
    if (result == nullptr && results == 1) break;
    if (result != nullptr) most = space_.with(most, *result, results);
    if (is_spent()) return;
    const double cost = kept_.cost(most);
    check(floor, cost);
    if (cost >= kept_.limit()) continue;
    kept_.is_better(most, 0.0);
    if (wish_.keep > 1 || !kept_.fits(most)) look_at_fewer_slots(most, 0);
  }
}

void Enumeration::look_at_fewer_slots(const Mapping& mapping, std::size_t slot) {
  if (slot == space_.slots().size()) {
    kept_.is_better(mapping, 0.0);
    return;
  }
  look_at_fewer_slots(mapping, slot + 1);
  const Place place = space_.slots()[slot];
  if (place.kind == PlaceKind::hold || place.kind == PlaceKind::result) return;
  look_at_fewer_slots(space_.with(mapping, place, 1), slot + 1);
}

// A floor that is no floor proves nothing.
void Enumeration::check(double floor, double cost) { is_sound_ = is_sound_ && floor <= cost * rounding; }

}  // namespace npuflow::mapped
