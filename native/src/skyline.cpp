#include "skyline.h"

#include <algorithm>

namespace npuflow::packing {

namespace {
constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max() / 4;
}  // namespace

Skyline::Skyline(const Problem& problem)
    : failures(problem.live.size(), 0.0),
      problem_(problem),
      floor_(problem.live.size(), 0),
      slack_(problem.slack),
      lowest_(problem.buffers.size(), 0),
      crossing_(problem.live.size(), 0),
      is_placed_(problem.buffers.size(), false),
      floor_change_(problem.live.size(), nothing),
      lowest_change_(problem.buffers.size(), nothing),
      is_touched_(problem.live.size(), false) {
  for (const std::vector<Index>& live : problem.live) unplaced_.push_back(static_cast<Index>(live.size()));
  for (const Buffer& buffer : problem.buffers) {
    for (Index s = buffer.first; s < buffer.last; ++s) ++crossing_[s];
  }
}

std::int64_t Skyline::aligned(std::int64_t address, Index buffer) const {
  const std::int64_t step = problem_.buffers[buffer].alignment;
  return (address + step - 1) / step * step;
}

std::size_t Skyline::decide(Span span) {
  trail_.push_back({Kind::decided, 0, nothing, 0, nothing});
  spans_.push_back(span);
  return trail_.size() - 1;
}

bool Skyline::place(Index index) {
  const Buffer& buffer = problem_.buffers[index];
  const std::size_t decision = decide({});
  trail_.push_back({Kind::placed, index, decision, 0, nothing});
  is_placed_[index] = true;
  for (Index s = buffer.first; s < buffer.last; ++s) --crossing_[s];
  for (Index s = buffer.first; s <= buffer.last; ++s) {
    trail_.push_back({Kind::stacked, s, decision, floor_[s], floor_change_[s]});
    floor_change_[s] = trail_.size() - 1;
    floor_[s] = lowest_[index] + buffer.size;
    --unplaced_[s];
  }
  touch(buffer);
  for (Index s = buffer.first; s <= buffer.last; ++s) {
    if (!push_all_above(s)) return false;
  }
  return propagate();
}

bool Skyline::leave_gap(Index section) {
  const std::int64_t floor = floor_[section];
  std::vector<Index> candidates;
  Span span{section, section};
  for (const Index b : problem_.live[section]) {
    if (!is_candidate(b, section)) continue;
    candidates.push_back(b);
    span.first = std::min(span.first, problem_.buffers[b].first);
    span.last = std::max(span.last, problem_.buffers[b].last);
  }
  const std::size_t decision = decide(span);
  if (!deny(candidates, section, decision)) return false;
  for (const Index b : candidates) {
    if (has_blocker(b, floor)) continue;
    // Nothing can lie in this buffer's way to the floor: the packing could be lower.
    contradiction = {decision};
    for (Index s = span.first; s <= span.last; ++s) {
      contradiction.push_back(floor_change_[s]);
      for (const Index other : problem_.live[s]) {
        if (!is_placed_[other]) contradiction.push_back(lowest_change_[other]);
      }
    }
    forget_touched();
    return false;
  }
  return propagate();
}

// A candidate that isn't at the floor lies on something that isn't placed yet: on no candidate, or on one that does.
bool Skyline::deny(const std::vector<Index>& candidates, Index section, std::size_t decision) {
  std::vector<std::int64_t> supports;
  for (const Index b : candidates) supports.push_back(lowest_support(b, section));
  std::int64_t least = nowhere, second = nowhere;  // the lowest tops of candidates
  Index lowest_candidate = none;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::int64_t top = supports[i] + problem_.buffers[candidates[i]].size;
    if (top < least) {
      second = least;
      least = top;
      lowest_candidate = candidates[i];
    } else {
      second = std::min(second, top);
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Index b = candidates[i];
    const std::int64_t support = std::min(supports[i], b == lowest_candidate ? second : least);
    if (!push(b, aligned(std::min(support, nowhere), b), Kind::denied, decision)) return false;
  }
  return true;
}

// The lowest top of what may lie under a candidate of a section without being one.
std::int64_t Skyline::lowest_support(Index index, Index section) const {
  const Buffer& buffer = problem_.buffers[index];
  std::int64_t found = nowhere;
  for (Index s = buffer.first; s <= buffer.last; ++s) {
    for (const Index other : problem_.live[s]) {
      const Buffer& below = problem_.buffers[other];
      const bool lives_there = below.first <= section && section <= below.last;
      if (is_placed_[other] || (lives_there && is_candidate(other, section))) continue;
      found = std::min(found, lowest_[other] + below.size);
    }
  }
  return found;
}

bool Skyline::has_blocker(Index index, std::int64_t floor) const {
  const Buffer& buffer = problem_.buffers[index];
  for (Index s = buffer.first; s <= buffer.last; ++s) {
    for (const Index other : problem_.live[s]) {
      if (other != index && !is_placed_[other] && lowest_[other] < floor + buffer.size) return true;
    }
  }
  return false;
}

bool Skyline::fail_at(std::size_t change) {
  contradiction = {change};
  forget_touched();
  return false;
}

bool Skyline::push(Index index, std::int64_t lowest, Kind kind, std::size_t cause) {
  trail_.push_back({kind, index, cause, lowest_[index], lowest_change_[index]});
  lowest_change_[index] = trail_.size() - 1;
  lowest_[index] = lowest;
  const Buffer& buffer = problem_.buffers[index];
  if (lowest > buffer.latest) return fail_at(lowest_change_[index]);
  touch(buffer);
  return true;
}

bool Skyline::push_all_above(Index section) {
  for (const Index b : problem_.live[section]) {
    if (is_placed_[b] || lowest_[b] >= floor_[section]) continue;
    if (!push(b, aligned(floor_[section], b), Kind::pushed, section)) return false;
  }
  return true;
}

bool Skyline::raise_floor(Index section, std::int64_t floor) {
  trail_.push_back({Kind::raised, section, nothing, floor_[section], floor_change_[section]});
  floor_change_[section] = trail_.size() - 1;
  slack_[section] -= floor - floor_[section];
  floor_[section] = floor;
  if (slack_[section] < 0) {
    failures[section] += 1;
    return fail_at(floor_change_[section]);
  }
  return push_all_above(section);
}

// The floor of a section rises to the lowest place of what is yet to be placed there, until nothing changes.
bool Skyline::propagate() {
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    const Index section = touched_[i];
    is_touched_[section] = false;
    if (unplaced_[section] == 0) continue;
    std::int64_t next = nowhere;
    for (const Index b : problem_.live[section]) {
      if (!is_placed_[b]) next = std::min(next, lowest_[b]);
    }
    if (next > floor_[section] && !raise_floor(section, next)) return false;
  }
  touched_.clear();
  return true;
}

void Skyline::touch(const Buffer& buffer) {
  for (Index s = buffer.first; s <= buffer.last; ++s) {
    if (is_touched_[s]) continue;
    is_touched_[s] = true;
    touched_.push_back(s);
  }
}

void Skyline::forget_touched() {
  for (const Index s : touched_) is_touched_[s] = false;
  touched_.clear();
}

bool Skyline::undo_refuted(std::size_t mark) {
  is_needed_.resize(std::max(is_needed_.size(), trail_.size()), false);
  std::vector<std::size_t> roots;
  roots.swap(contradiction);
  for (const std::size_t change : roots) need(change);
  bool is_refuted = false;
  while (trail_.size() > mark) {
    const Change change = trail_.back();
    trail_.pop_back();
    revert(change);
    const std::size_t index = trail_.size();
    if (is_needed_[index]) {
      is_needed_[index] = false;
      is_refuted = is_refuted || change.kind == Kind::decided;
      need_reasons(change);
    }
    if (change.kind == Kind::decided) spans_.pop_back();
  }
  std::erase_if(contradiction, [&](std::size_t change) { return change >= mark; });
  for (const std::size_t change : contradiction) is_needed_[change] = false;
  return is_refuted;
}

void Skyline::revert(const Change& change) {
  const Index subject = change.subject;
  switch (change.kind) {
    case Kind::decided:
      break;
    case Kind::placed:
      is_placed_[subject] = false;
      for (Index s = problem_.buffers[subject].first; s < problem_.buffers[subject].last; ++s) ++crossing_[s];
      break;
    case Kind::stacked:
      ++unplaced_[subject];
      floor_[subject] = change.before;
      floor_change_[subject] = change.previous;
      break;
    case Kind::raised:
      slack_[subject] += floor_[subject] - change.before;
      floor_[subject] = change.before;
      floor_change_[subject] = change.previous;
      break;
    case Kind::pushed:
    case Kind::denied:
      lowest_[subject] = change.before;
      lowest_change_[subject] = change.previous;
      break;
  }
}

void Skyline::need(std::size_t change) {
  if (change == nothing || is_needed_[change]) return;
  is_needed_[change] = true;
  contradiction.push_back(change);
}

// What a change follows from, in the state just before it.
void Skyline::need_reasons(const Change& change) {
  switch (change.kind) {
    case Kind::decided:
    case Kind::placed:
      break;
    case Kind::stacked:
      need(change.previous);
      need(change.cause);
      break;
    case Kind::raised:
      need_surroundings({change.subject, change.subject});
      break;
    case Kind::pushed:
      need(floor_change_[change.cause]);
      break;
    case Kind::denied:
      need(change.cause);
      need_surroundings(spans_.back());
      break;
  }
}

// Where everything in these sections lies at least, and that what is placed there lies below.
void Skyline::need_surroundings(Span span) {
  for (Index s = span.first; s <= span.last; ++s) {
    need(floor_change_[s]);
    for (const Index b : problem_.live[s]) {
      if (!is_placed_[b]) need(lowest_change_[b]);
    }
  }
}

}  // namespace npuflow::packing
