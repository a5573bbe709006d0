#include "packing_search.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "skyline.h"

namespace npuflow::packing {

namespace {

// Which section is decided next, among those whose neighbours are higher: the one with the least such pair.
enum class Choice : std::uint8_t { low_tight, low_few, few_tight, tight_few, failing, few_failing };
constexpr std::array choices{Choice::low_tight, Choice::low_few, Choice::few_tight,
                             Choice::tight_few, Choice::failing, Choice::few_failing};

// Which of its candidates is tried first: the largest by this.
enum class Rank : std::uint8_t { area, lifetime, size, crowded_lifetime, crowded_area, sections };
constexpr std::array ranks{Rank::area,         Rank::lifetime, Rank::size, Rank::crowded_lifetime,
                           Rank::crowded_area, Rank::sections};

constexpr std::int64_t first_attempt_steps = 1000;
constexpr std::int64_t steps_between_polls = 128;

// A linear congruential generator: the same numbers everywhere.
class Random {
 public:
  // From 0 to below 1.
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 40U) / static_cast<double>(1ULL << 24U);
  }

 private:
  std::uint64_t state_ = 1;
};

// One search from the beginning, in one order of trying, up to a number of steps.
class Attempt {
 public:
  Attempt(const Problem& problem, Choice choice, const std::vector<double>& order, std::vector<double> failures)
      : problem_(problem), choice_(choice), order_(order), skyline_(problem) {
    skyline_.failures = std::move(failures);
  }

  Verdict run(std::int64_t most_steps, const std::function<bool()>& is_over);
  std::int64_t steps() const { return steps_; }
  std::int64_t offset(Index buffer) const { return skyline_.lowest(buffer) * problem_.unit; }
  std::vector<double>& failures() { return skyline_.failures; }

 private:
  using Score = std::pair<double, double>;

  // A section to decide: each of its candidates next, then none of them. What has failed so far follows from `reasons`.
  struct Node {
    Index section = 0;
    std::size_t mark = 0;
    std::size_t tried = 0;
    std::vector<Index> candidates;
    std::vector<std::size_t> reasons;
  };

  struct Range {
    Index first = 0;
    Index last = 0;
  };

  bool descend();
  bool try_next(Node& node);
  bool recover();
  std::optional<Range> smallest_part() const;
  void consider_valley(Range valley, std::pair<Score, Index>& best) const;
  Score score(Index section, Index candidates) const;

  const Problem& problem_;
  Choice choice_;
  const std::vector<double>& order_;
  Skyline skyline_;
  std::vector<Node> nodes_;
  std::int64_t steps_ = 0;
};

Verdict Attempt::run(std::int64_t most_steps, const std::function<bool()>& is_over) {
  while (descend()) {
    do {
      if (steps_ >= most_steps || (steps_ % steps_between_polls == 0 && is_over())) return Verdict::undecided;
      ++steps_;
      if (try_next(nodes_.back())) break;
      if (!recover()) return Verdict::impossible;
    } while (true);
  }
  return Verdict::packed;
}

// Opens the next section to decide; false where everything is placed.
bool Attempt::descend() {
  const std::optional<Range> part = smallest_part();
  if (!part) return false;
  std::pair<Score, Index> best{{std::numeric_limits<double>::max(), 0}, none};
  for (Index begin = part->first; begin <= part->last;) {
    Index end = begin;
    while (end < part->last && skyline_.floor(end + 1) == skyline_.floor(begin)) ++end;
    const bool falls = begin > part->first && skyline_.floor(begin - 1) < skyline_.floor(begin);
    const bool drops = end < part->last && skyline_.floor(end + 1) < skyline_.floor(begin);
    if (!falls && !drops) consider_valley({begin, end}, best);
    begin = end + 1;
  }
  Node node{best.second, skyline_.mark(), 0, {}, {}};
  for (const Index b : problem_.live[node.section]) {
    if (skyline_.is_candidate(b, node.section)) node.candidates.push_back(b);
  }
  std::ranges::stable_sort(node.candidates, std::less<>(), [&](Index b) { return order_[b]; });
  nodes_.push_back(std::move(node));
  return true;
}

// Sections that buffers yet to be placed hold together, and no others: whatever is decided elsewhere, they stay as
// they are. The fewest such, so that what cannot be is seen early.
std::optional<Attempt::Range> Attempt::smallest_part() const {
  std::optional<Range> found;
  const auto count = static_cast<Index>(problem_.live.size());
  for (Index begin = 0; begin < count;) {
    Index end = begin;
    while (skyline_.crossing(end) > 0) ++end;
    const bool is_smaller = !found || end - begin < found->last - found->first;
    if (skyline_.unplaced(begin) > 0 && is_smaller) found = {begin, end};
    begin = end + 1;
  }
  return found;
}

void Attempt::consider_valley(Range valley, std::pair<Score, Index>& best) const {
  for (Index s = valley.first; s <= valley.last; ++s) {
    Index candidates = 0;
    for (const Index b : problem_.live[s]) candidates += static_cast<Index>(skyline_.is_candidate(b, s));
    best = std::min(best, {score(s, candidates), s});
  }
}

Attempt::Score Attempt::score(Index section, Index candidates) const {
  const auto low = static_cast<double>(skyline_.floor(section));
  const auto tight = static_cast<double>(skyline_.slack(section));
  const auto few = static_cast<double>(candidates);
  const double failures = skyline_.failures[section];
  switch (choice_) {
    case Choice::low_tight:
      return {low, tight};
    case Choice::low_few:
      return {low, few};
    case Choice::few_tight:
      return {few, tight};
    case Choice::tight_few:
      return {tight, few};
    case Choice::failing:
      return {-failures, low};
    case Choice::few_failing:
      return {few / (1 + failures), low};
  }
  return {};
}

bool Attempt::try_next(Node& node) {
  const std::size_t option = node.tried++;
  return option < node.candidates.size() ? skyline_.place(node.candidates[option]) : skyline_.leave_gap(node.section);
}

// Goes back to the last decision that the contradiction follows from, and has an alternative; false where none does.
bool Attempt::recover() {
  while (!nodes_.empty()) {
    Node& node = nodes_.back();
    if (skyline_.undo_refuted(node.mark)) {
      const std::vector<std::size_t>& more = skyline_.contradiction;
      node.reasons.insert(node.reasons.end(), more.begin(), more.end());
      if (node.tried <= node.candidates.size()) return true;
      std::ranges::sort(node.reasons);
      const auto repeated = std::ranges::unique(node.reasons);
      node.reasons.erase(repeated.begin(), repeated.end());
      skyline_.contradiction.swap(node.reasons);
    }
    nodes_.pop_back();
  }
  return false;
}

// Whether a buffer alone, or what lives in a section together, has more than the capacity.
bool is_too_large(const Problem& problem) {
  return std::ranges::any_of(problem.slack, [](std::int64_t slack) { return slack < 0; }) ||
         std::ranges::any_of(problem.buffers, [](const Buffer& buffer) { return buffer.latest < 0; });
}

std::vector<double> order_by(const Problem& problem, Rank rank) {
  std::vector<double> least_slack;
  for (const Buffer& buffer : problem.buffers) {
    const auto begin = problem.slack.begin() + buffer.first;
    least_slack.push_back(static_cast<double>(*std::min_element(begin, begin + (buffer.last - buffer.first) + 1)));
  }
  const auto key = [&](Index b) -> std::pair<double, double> {
    const Buffer& buffer = problem.buffers[b];
    const auto size = static_cast<double>(buffer.size);
    const auto lifetime = static_cast<double>(buffer.lifetime);
    switch (rank) {
      case Rank::area:
        return {-size * lifetime, 0};
      case Rank::lifetime:
        return {-lifetime, 0};
      case Rank::size:
        return {-size, 0};
      case Rank::crowded_lifetime:
        return {least_slack[b], -lifetime};
      case Rank::crowded_area:
        return {least_slack[b], -size * lifetime};
      case Rank::sections:
        return {-static_cast<double>(buffer.last - buffer.first), 0};
    }
    return {};
  };
  std::vector<Index> sorted(problem.buffers.size());
  std::iota(sorted.begin(), sorted.end(), Index{0});
  std::ranges::stable_sort(sorted, std::less<>(), key);
  std::vector<double> order(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) order[sorted[i]] = static_cast<double>(i);
  return order;
}

}  // namespace

// Many short attempts, each in an order of its own, then longer ones: of those orders that suit a problem, few steps
// are enough, and nobody knows beforehand which do. From the second round on the ranks are shuffled, always alike.
Outcome search(const Problem& problem, const std::function<bool()>& is_over) {
  Outcome outcome;
  if (is_too_large(problem)) {
    outcome.verdict = Verdict::impossible;
    return outcome;
  }
  Random random;
  std::vector<double> failures(problem.live.size(), 0.0);
  auto most_steps = std::max<std::int64_t>(first_attempt_steps, 4 * static_cast<std::int64_t>(problem.buffers.size()));
  for (bool is_first_round = true; true; is_first_round = false, most_steps += most_steps / 2) {
    for (const Choice choice : choices) {
      for (const Rank rank : ranks) {
        std::vector<double> order = order_by(problem, rank);
        for (double& place : order) place *= is_first_round ? 1.0 : 0.5 + random.next();
        Attempt attempt(problem, choice, order, std::move(failures));
        outcome.verdict = attempt.run(most_steps, is_over);
        outcome.steps += attempt.steps();
        if (outcome.verdict == Verdict::packed) {
          for (Index b = 0; b < problem.buffers.size(); ++b) outcome.offsets.push_back(attempt.offset(b));
        }
        if (outcome.verdict != Verdict::undecided || is_over()) return outcome;
        failures = std::move(attempt.failures());
      }
    }
  }
}

}  // namespace npuflow::packing
