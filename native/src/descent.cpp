#include "descent.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

namespace npuflow::mapped {

namespace {

// How many go on: from the starts, to the end, and to trades; of the latter so many that hold, and as many that don't.
constexpr std::size_t beginners = 16;
constexpr std::size_t finalists = 6;
constexpr std::size_t traders = 3;
constexpr std::ptrdiff_t most_of_a_spread = 2;
constexpr int steps_at_a_time = 2;
constexpr int all_steps = std::numeric_limits<int>::max();
// Of sizes that are larger, so many are traded for, and twice the size.
constexpr std::ptrdiff_t traded_sizes = 3;
// Candidates for a step are given up after so many.
constexpr int most_looked_at = 1000;

}  // namespace

void Descent::begin() {
  const std::vector<Mapping> live = best_grown(starts(), 1, Step::coarse, 1);
  best_grown(live, all_steps, Step::coarse, 1);
}

void Descent::run() {
  std::vector<Mapping> live = with_variants(best_grown(starts(), 1, Step::coarse, beginners));
  for (std::size_t count = live.size() / 2; count > finalists; count /= 2) {
    live = best_grown(live, steps_at_a_time, Step::coarse_ordered, count);
  }
  live = best_grown(live, all_steps, Step::any, finalists);
  for (const Mapping& mapping : best_grown(live, 0, Step::any, traders)) traded(mapping);
}

std::vector<Mapping> Descent::best_grown(const std::vector<Mapping>& live, int steps, Step step, std::size_t count) {
  std::vector<Mapping> found;
  for (const Mapping& mapping : live) {
    Mapping next = grown(mapping, steps, step);
    if (std::find(found.begin(), found.end(), next) == found.end()) found.push_back(std::move(next));
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](const Mapping& one, const Mapping& other) { return kept_.cost(one) < kept_.cost(other); });
  // Growing changes nothing about spreads, or what L2 holds: the best of each spread go on, and of either kind.
  std::array<std::vector<Spread>, 2> kept;
  std::erase_if(found, [&](const Mapping& mapping) {
    std::vector<Spread>& own = kept[mapping.depths.hold ? 1 : 0];
    own.push_back(mapping.spread);
    return own.size() > count || std::count(own.begin(), own.end(), mapping.spread) > most_of_a_spread;
  });
  return found;
}

std::vector<Mapping> Descent::starts() {
  std::vector<Mapping> found;
  for (const Spread& spread : space_.all_spreads()) {
    const std::optional<Mapping> smallest = smallest_on(spread);
    if (!smallest) continue;
    found.push_back(balanced(*smallest));
    kept_.is_better(found.back(), 0.0);
  }
  return found;
}

std::optional<Mapping> Descent::smallest_on(const Spread& spread) {
  Mapping start = with_streamed(space_.parts().start, false);
  start.spread = spread;
  // As many slots as fit with the smallest tiles.
  for (const Place slot : space_.slots()) {
    if (slot.kind != PlaceKind::result && slot.kind != PlaceKind::tail && slot.kind != PlaceKind::hold)
      start = space_.with(start, slot, 2);
  }
  for (const Place slot : space_.slots()) {
    if (kept_.fits(start)) break;
    start = space_.with(start, slot, slot.kind == PlaceKind::hold ? 0 : 1);
  }
  if (!kept_.fits(start)) return std::nullopt;
  return start;
}

Mapping Descent::with_streamed(Mapping mapping, bool is_long) {
  const Group& group = space_.group();
  for (std::size_t number = 0; number < group.streamed.size(); ++number) {
    const std::size_t loop = group.streamed[number];
    if (!space_.opens(loop)) continue;
    const Values sizes = space_.tiles(loop, mapping);
    const auto take = [&](Size size) {
      mapping = space_.with(mapping, {PlaceKind::tile, loop}, size);
      if (space_.parts().opens_l2) mapping.in_l2[number] = size;
    };
    take(sizes.front());
    for (auto size = sizes.rbegin(); is_long && size != sizes.rend(); ++size) {
      take(*size);
      if (kept_.fits(mapping)) break;
    }
  }
  return mapping;
}

Mapping Descent::balanced(Mapping mapping) {
  std::vector<Place> places;
  for (const Place place : space_.places()) {
    if (place.kind == PlaceKind::tile || place.kind == PlaceKind::in_l2) places.push_back(place);
  }
  while (!places.empty()) {
    const auto place = std::min_element(places.begin(), places.end(), [&](Place one, Place other) {
      return space_.value(mapping, one) < space_.value(mapping, other);
    });
    const Values& values = space_.values(mapping, *place);
    const Size own = space_.value(mapping, *place);
    const Mapping larger = space_.with(mapping, *place, at_least(values, 2 * own));
    if (space_.value(larger, *place) > own && kept_.fits(larger)) {
      mapping = larger;
    } else {
      places.erase(place);
    }
  }
  return mapping;
}

std::vector<Mapping> Descent::with_variants(const std::vector<Mapping>& live) {
  std::vector<Mapping> found;
  const auto add = [&](const Mapping& mapping) {
    if (kept_.fits(mapping)) found.push_back(mapping);
  };
  for (const Mapping& mapping : live) {
    std::vector<Mapping> own{mapping};
    if (const std::optional<Mapping> smallest = smallest_on(mapping.spread)) {
      own.push_back(*smallest);
      own.push_back(with_streamed(*smallest, true));
    }
    for (const Mapping& each : own) {
      add(each);
      for (const Place slot : space_.slots()) {
        if (slot.kind == PlaceKind::hold) add(space_.with(each, slot, 1));
      }
    }
  }
  return found;
}

Mapping Descent::grown(Mapping mapping, int steps, Step step) {
  for (int number = 0; number < steps; ++number) {
    Mapping next = best_of(changes(mapping, step), mapping, false);
    if (next == mapping) break;
    mapping = std::move(next);
  }
  return mapping;
}

Mapping Descent::traded(Mapping mapping) {
  for (;;) {
    std::vector<Mapping> changed = larger(mapping);
    add_on_other_spreads(changed, mapping);
    for (Mapping& each : changed) each.order = best_order(each);
    Mapping next = best_of(changed, mapping, true);
    if (next == mapping) return mapping;
    mapping = grown(std::move(next), all_steps, Step::any);
  }
}

std::vector<Mapping> Descent::changes(const Mapping& mapping, Step step) const {
  std::vector<Mapping> found;
  for (const Place place : space_.places()) {
    if (place.kind == PlaceKind::hold) continue;
    const Size own = space_.value(mapping, place);
    const Values& all = space_.values(mapping, place);
    for (const Size value : step == Step::any ? all : halves(all)) {
      if (value == own) continue;
      found.push_back(space_.with(mapping, place, value));
      if (place.kind == PlaceKind::tile) add_with_piece(found, place.index, value);
    }
  }
  if (step == Step::coarse) return found;
  for (const auto& order : space_.orders(mapping)) {
    found.push_back(mapping);
    found.back().order = order;
  }
  return found;
}

void Descent::add_with_piece(std::vector<Mapping>& found, std::size_t loop, Size piece) const {
  const Group& group = space_.group();
  for (std::size_t number = 0; space_.parts().opens_l2 && number < group.streamed.size(); ++number) {
    if (group.streamed[number] == loop) found.push_back(space_.with(found.back(), {PlaceKind::in_l2, number}, piece));
  }
}

std::vector<Mapping> Descent::larger(const Mapping& mapping) const {
  std::vector<Mapping> found;
  for (const Place place : space_.places()) {
    const Values& values = space_.values(mapping, place);
    const Size own = space_.value(mapping, place);
    const auto next = std::upper_bound(values.begin(), values.end(), own);
    std::vector<Size> tried(next, next + std::min(traded_sizes, values.end() - next));
    const Size twice = at_least(values, 2 * own);
    if (!tried.empty() && twice >= 2 * own && twice > tried.back()) tried.push_back(twice);
    for (const Size value : tried) {
      found.push_back(space_.with(mapping, place, value));
      if (place.kind == PlaceKind::tile) add_with_less(found, mapping, place);
    }
    if (place.kind == PlaceKind::hold) found.push_back(space_.with(mapping, place, 0));
  }
  return found;
}

void Descent::add_with_less(std::vector<Mapping>& found, const Mapping& mapping, Place place) const {
  const Mapping larger = found.back();
  const Size own = space_.value(mapping, place);
  const Size value = space_.value(larger, place);
  for (const Place other : space_.places()) {
    if (other.kind != PlaceKind::tile || other.index == place.index) continue;
    const Values& values = space_.values(larger, other);
    const auto above = std::upper_bound(values.begin(), values.end(), space_.value(larger, other) * own / value);
    if (above != values.begin()) found.push_back(space_.with(larger, other, *std::prev(above)));
  }
}

Order Descent::best_order(Mapping mapping) {
  Order best = mapping.order;
  double least = kept_.least_cost(mapping, std::numeric_limits<double>::infinity());
  for (const auto& order : space_.orders(mapping)) {
    mapping.order = order;
    const double cost = kept_.least_cost(mapping, least);
    if (cost >= least) continue;
    least = cost;
    best = order;
  }
  return best;
}

void Descent::add_on_other_spreads(std::vector<Mapping>& found, const Mapping& mapping) const {
  const Sizes block = Mapped(space_.group(), mapping).block();
  for (const Spread& spread : space_.all_spreads()) {
    if (spread == mapping.spread) continue;
    Mapping other = mapping;
    other.spread = spread;
    for (std::size_t loop = 0; loop < space_.group().space; ++loop) {
      if (!space_.opens(loop)) continue;
      other.tiles[loop] = at_least(space_.tiles(loop, other), parts_of(block[loop], spread.cores(loop)));
    }
    found.push_back(other);
    for (std::size_t loop = 0; loop < space_.group().space; ++loop) {
      if (!space_.opens(loop)) continue;
      const Size twice = at_least(space_.tiles(loop, other), 2 * other.tiles[loop]);
      if (twice >= 2 * other.tiles[loop]) found.push_back(space_.with(other, {PlaceKind::tile, loop}, twice));
    }
  }
}

Mapping Descent::best_of(const std::vector<Mapping>& changed, const Mapping& than, bool cuts_anything) {
  // The cheapest is looked at first, by what it costs at least as long as nobody needs to know better: what is cut
  // costs no less.
  struct Candidate {
    double cost;
    std::int64_t number;
    bool is_exact;
    KeptMappings::Entry* entry;

    bool operator<(const Candidate& other) const {
      return cost != other.cost ? cost > other.cost : number > other.number;
    }
  };
  const double limit = kept_.cost(than);
  std::priority_queue<Candidate> waiting;
  const std::uint32_t step = ++steps_;
  kept_.entry_of(than).second.candidate_of = step;
  std::int64_t number = 0;
  const auto push = [&](const Mapping& mapping) {
    KeptMappings::Entry& entry = kept_.entry_of(mapping);
    const double cost = kept_.least_cost(entry, limit);
    if (cost >= limit || entry.second.candidate_of == step) return;
    entry.second.candidate_of = step;
    waiting.push({cost, number++, false, &entry});
  };
  for (const Mapping& mapping : changed) push(mapping);
  for (int looked_at = 0; !waiting.empty() && looked_at < most_looked_at; ++looked_at) {
    Candidate next = waiting.top();
    waiting.pop();
    if (!next.is_exact) {
      next.cost = kept_.cost(*next.entry);
      next.is_exact = true;
      if (next.cost < limit) waiting.push(next);
      continue;
    }
    const Mapping& mapping = next.entry->first;
    if (kept_.is_better(*next.entry, limit)) return mapping;
    for (const Place place : space_.places()) {
      if (!cuts_anything && place.kind != PlaceKind::in_l2) continue;
      const Values& values = space_.values(mapping, place);
      const auto own = std::lower_bound(values.begin(), values.end(), space_.value(mapping, place));
      if (own != values.begin()) push(space_.with(mapping, place, *std::prev(own)));
    }
  }
  return than;
}

}  // namespace npuflow::mapped
