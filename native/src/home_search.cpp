#include "home_search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace npuflow::homes {

namespace {

// What a choice, or a change, has to win.
constexpr double least_seconds = 1e-9;
constexpr std::int64_t steps_between_polls = 128;

class Search {
 public:
  Search(const std::vector<std::vector<Option>>& tensors, const Room& room, const Limits& limits,
         const std::function<void()>& poll);

  // Depth-first: each tensor in each way and place, or nowhere; what can't win more than the best so far is left.
  void look(Index tensor, double gained, double late);
  // Gives tensors the first place that is left, in many orders: those that found none come first in the next.
  void reorder();
  // Gives tensors other places as long as that wins something, and one that is in the way another, or none.
  void improve();

  std::int64_t choices() const { return choices_; }
  std::vector<Home>& best() { return best_; }

 private:
  // What the tensors from one on may gain at most, and the time that they may make others take.
  struct Left {
    double most = 0.0;
    double won = 0.0;
  };

  // A tensor in a place of one of its options.
  struct Change {
    Index tensor = 0;
    Index option = 0;
    Index place = 0;
  };

  void count_step();
  std::vector<Home> in_order(const std::vector<Index>& order);
  std::optional<Home> first_home(Index tensor, double most_late) const;
  std::optional<std::vector<Home>> better(Index tensor);
  std::optional<std::vector<Home>> better_with(const Change& change, const Home* now);
  std::vector<Home> changed(const Change& change, const Home* now, const Home* away);
  bool is_near(const Home& home, const Change& change) const;
  const Option& option_of(const Home& home) const { return tensors_[home.tensor][home.option]; }
  double most_gained(Index tensor) const { return std::max(0.0, tensors_[tensor].front().gained); }
  double won(Index tensor) const;
  double gained(const std::vector<Home>& homes) const;
  double late_seconds(const std::vector<Home>& homes) const;
  void take(const std::vector<Home>& homes);
  void give_back(const std::vector<Home>& homes);

  const std::vector<std::vector<Option>>& tensors_;
  const Limits& limits_;
  const std::function<void()>& poll_;
  TakenRoom taken_;
  std::vector<Left> left_;
  std::vector<Home> chosen_;
  std::vector<Home> best_;
  double gained_ = -1.0;
  std::int64_t choices_ = 0;
  std::int64_t steps_ = 0;
};

Search::Search(const std::vector<std::vector<Option>>& tensors, const Room& room, const Limits& limits,
               const std::function<void()>& poll)
    : tensors_(tensors), limits_(limits), poll_(poll), taken_(room) {
  const auto count = static_cast<Index>(tensors.size());
  // Each sum is one of its own: it is what the same choice gains, to the last bit.
  for (Index from = 0; from <= count; ++from) {
    Left& left = left_.emplace_back();
    for (Index tensor = from; tensor < count; ++tensor) {
      left.most += most_gained(tensor);
      left.won += won(tensor);
    }
  }
}

void Search::count_step() {
  if (steps_++ % steps_between_polls == 0) poll_();
}

void Search::look(Index tensor, double gained, double late) {
  const auto [most, won] = left_[tensor];
  if (gained + most <= gained_ + least_seconds || choices_ >= limits_.choices || late + won > 0) return;
  ++choices_;
  count_step();
  if (tensor == tensors_.size()) {
    best_ = chosen_;
    gained_ = gained;
    return;
  }
  for (Index number = 0; number < tensors_[tensor].size(); ++number) {
    const Option& option = tensors_[tensor][number];
    for (Index place = 0; place < option.way->places.size(); ++place) {
      std::optional<Slabs> slabs = taken_.fit(*option.way, option.way->places[place]);
      if (!slabs) continue;
      chosen_.push_back({tensor, number, place, *std::move(slabs)});
      taken_.take(chosen_.back().slabs);
      look(tensor + 1, gained + option.gained, late + option.late_seconds);
      taken_.give_back(chosen_.back().slabs);
      chosen_.pop_back();
    }
  }
  look(tensor + 1, gained, late);
}

void Search::reorder() {
  std::vector<Index> order(tensors_.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::set<std::vector<Index>> tried;
  while (static_cast<std::int64_t>(tried.size()) < limits_.orders && tried.insert(order).second) {
    count_step();
    std::vector<Home> homes = in_order(order);
    std::vector<bool> stays(tensors_.size(), false);
    for (const Home& home : homes) stays[home.tensor] = true;
    if (gained(homes) > gained_ && late_seconds(homes) <= 0) {
      gained_ = gained(homes);
      best_ = std::move(homes);
    }
    std::ranges::stable_partition(order, [&](Index tensor) { return !stays[tensor]; });
  }
}

// Each tensor in the first place that others leave it, where all together need take no longer.
std::vector<Home> Search::in_order(const std::vector<Index>& order) {
  double late = 0.0;
  for (const Index tensor : order) late += won(tensor);
  std::vector<Home> homes;
  for (const Index tensor : order) {
    late -= won(tensor);
    std::optional<Home> home = first_home(tensor, -late);
    if (!home) continue;
    late += option_of(*home).late_seconds;
    taken_.take(home->slabs);
    homes.push_back(*std::move(home));
  }
  give_back(homes);
  return homes;
}

// In the first option that has room, of those that make phases take no more than so much longer.
std::optional<Home> Search::first_home(Index tensor, double most_late) const {
  for (Index number = 0; number < tensors_[tensor].size(); ++number) {
    const Option& option = tensors_[tensor][number];
    if (option.late_seconds > most_late) continue;
    if (auto found = taken_.first_fit(*option.way)) return Home{tensor, number, found->first, std::move(found->second)};
  }
  return std::nullopt;
}

void Search::improve() {
  std::vector<Index> all(tensors_.size());
  std::iota(all.begin(), all.end(), Index{0});
  take(best_);
  std::size_t next = 0;
  for (std::int64_t looked = 0; next < all.size() && looked < limits_.changes; ++looked) {
    std::optional<std::vector<Home>> found = better(all[next++]);
    if (!found) continue;
    give_back(best_);
    best_ = *std::move(found);
    take(best_);
    gained_ = gained(best_);
    next = 0;
  }
  give_back(best_);
}

// What wins more than the best so far, with a tensor in another place than there.
std::optional<std::vector<Home>> Search::better(Index tensor) {
  const auto own = std::ranges::find(best_, tensor, &Home::tensor);
  const Home* now = own == best_.end() ? nullptr : &*own;
  if (now != nullptr) taken_.give_back(now->slabs);
  std::optional<std::vector<Home>> found;
  for (Index number = 0; !found && number < tensors_[tensor].size(); ++number) {
    const auto places = static_cast<Index>(tensors_[tensor][number].way->places.size());
    for (Index place = 0; !found && place < places; ++place) found = better_with({tensor, number, place}, now);
  }
  if (now != nullptr) taken_.take(now->slabs);
  return found;
}

// With none of those that may be in the way elsewhere, and then with each of them.
std::optional<std::vector<Home>> Search::better_with(const Change& change, const Home* now) {
  std::vector<const Home*> tried{nullptr};
  for (const Home& home : best_) {
    if (&home != now && is_near(home, change)) tried.push_back(&home);
  }
  for (const Home* away : tried) {
    const double most =
        tensors_[change.tensor][change.option].gained + (away == nullptr ? 0.0 : most_gained(away->tensor));
    double before = now == nullptr ? 0.0 : option_of(*now).gained;
    if (away != nullptr) before += option_of(*away).gained;
    if (most <= before + least_seconds) continue;
    count_step();
    std::vector<Home> found = changed(change, now, away);
    if (late_seconds(found) <= 0 && gained(found) > gained_ + least_seconds) return found;
  }
  return std::nullopt;
}

// The best so far with one tensor in a place and another wherever that leaves it one; none where it has no room there.
std::vector<Home> Search::changed(const Change& change, const Home* now, const Home* away) {
  const Way& way = *tensors_[change.tensor][change.option].way;
  if (away != nullptr) taken_.give_back(away->slabs);
  std::vector<Home> found;
  if (std::optional<Slabs> slabs = taken_.fit(way, way.places[change.place])) {
    std::ranges::copy_if(best_, std::back_inserter(found),
                         [&](const Home& home) { return &home != now && &home != away; });
    found.push_back({change.tensor, change.option, change.place, *std::move(slabs)});
    if (away != nullptr) {
      const Slabs placed = found.back().slabs;
      taken_.take(placed);
      std::optional<Home> again = first_home(away->tensor, std::numeric_limits<double>::infinity());
      if (again) found.push_back(*std::move(again));
      taken_.give_back(placed);
    }
  }
  if (away != nullptr) taken_.take(away->slabs);
  return found;
}

// Whether a tensor may be in the way of another in a place: at the same time in the same memories.
bool Search::is_near(const Home& home, const Change& change) const {
  const Way& other = *home.slabs.way;
  const Way& way = *tensors_[change.tensor][change.option].way;
  if (other.first > way.last || way.first > other.last) return false;
  const std::vector<Index>& columns = way.places[change.place];
  return std::ranges::find_first_of(home.slabs.columns, columns) != home.slabs.columns.end();
}

double Search::won(Index tensor) const {
  double least = 0.0;
  for (const Option& option : tensors_[tensor]) least = std::min(least, option.late_seconds);
  return least;
}

double Search::gained(const std::vector<Home>& homes) const {
  double sum = 0.0;
  for (const Home& home : homes) sum += option_of(home).gained;
  return sum;
}

double Search::late_seconds(const std::vector<Home>& homes) const {
  double sum = 0.0;
  for (const Home& home : homes) sum += option_of(home).late_seconds;
  return sum;
}

void Search::take(const std::vector<Home>& homes) {
  for (const Home& home : homes) taken_.take(home.slabs);
}

void Search::give_back(const std::vector<Home>& homes) {
  for (const Home& home : homes) taken_.give_back(home.slabs);
}

}  // namespace

Homes search(const std::vector<std::vector<Option>>& tensors, const Room& room, const Limits& limits,
             const std::function<void()>& poll) {
  Search found(tensors, room, limits, poll);
  found.look(0, 0.0, 0.0);
  if (found.choices() >= limits.choices) found.reorder();
  found.improve();
  return {std::move(found.best()), found.choices()};
}

}  // namespace npuflow::homes
