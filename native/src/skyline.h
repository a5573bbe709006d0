// A packing in the making, from address 0 upwards, with what follows from its decisions and why.
//
// A packing that exists can be had in a form where no buffer could lie lower, next to the others or in a gap between
// them. Decisions and conclusions are about such a packing: each decision is a claim about it, and a contradiction
// refutes the decisions that it follows from, which are found backwards through the trail of all changes.

#pragma once

#include <vector>

#include "packing_problem.h"

namespace npuflow::packing {

class Skyline {
 public:
  explicit Skyline(const Problem& problem);

  // What isn't placed yet in a section lies at its floor or above.
  std::int64_t floor(Index section) const { return floor_[section]; }
  // Units of a section that may still remain empty.
  std::int64_t slack(Index section) const { return slack_[section]; }
  Index unplaced(Index section) const { return unplaced_[section]; }
  // How many buffers that aren't placed live in both a section and the next one.
  Index crossing(Index section) const { return crossing_[section]; }
  // Where a placed buffer lies, or the lowest place of one that isn't placed.
  std::int64_t lowest(Index buffer) const { return lowest_[buffer]; }
  // Whether a buffer may be the next one of a section, without a gap.
  bool is_candidate(Index buffer, Index section) const {
    return !is_placed_[buffer] && lowest_[buffer] == floor_[section];
  }

  // The claim that a buffer lies at its lowest place, which is the floor of all its sections. False: a contradiction.
  bool place(Index buffer);
  // The claim that nothing begins at a section's floor; no neighbour's floor is lower. False: a contradiction.
  bool leave_gap(Index section);

  std::size_t mark() const { return trail_.size(); }
  // Takes back the decision at `mark` and what followed; whether the contradiction follows from that decision.
  // What it follows from in the trail that is left becomes `contradiction`.
  bool undo_refuted(std::size_t mark);

  // The changes that lead to the last contradiction; the search adds up those of a decision's alternatives.
  std::vector<std::size_t> contradiction;
  // How often each section had too little left.
  std::vector<double> failures;

 private:
  enum class Kind : std::uint8_t { decided, placed, stacked, raised, pushed, denied };
  static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();

  // A change of a section's floor (stacked, raised) or a buffer's lowest place (pushed, denied): what it was, and the
  // change before. `cause` is a decision or, of what a floor has pushed, a section.
  struct Change {
    Kind kind;
    Index subject;
    std::size_t cause;
    std::int64_t before;
    std::size_t previous;
  };

  // Sections that a gap's candidates live in.
  struct Span {
    Index first = 0;
    Index last = 0;
  };

  std::size_t decide(Span span);
  bool fail_at(std::size_t change);
  bool raise_floor(Index section, std::int64_t floor);
  bool push(Index buffer, std::int64_t lowest, Kind kind, std::size_t cause);
  bool push_all_above(Index section);
  bool deny(const std::vector<Index>& candidates, Index section, std::size_t decision);
  bool has_blocker(Index buffer, std::int64_t floor) const;
  std::int64_t lowest_support(Index buffer, Index section) const;
  bool propagate();
  void touch(const Buffer& buffer);
  void forget_touched();
  void revert(const Change& change);
  void need(std::size_t change);
  void need_reasons(const Change& change);
  void need_surroundings(Span span);
  std::int64_t aligned(std::int64_t address, Index buffer) const;

  const Problem& problem_;
  std::vector<std::int64_t> floor_, slack_, lowest_;
  std::vector<Index> unplaced_, crossing_;
  std::vector<bool> is_placed_;
  std::vector<std::size_t> floor_change_, lowest_change_;  // the last of each, or nothing
  std::vector<Change> trail_;
  std::vector<Span> spans_;  // by decision, in the order of the trail
  std::vector<Index> touched_;
  std::vector<bool> is_touched_;
  std::vector<bool> is_needed_;  // by change, while a contradiction is traced
};

}  // namespace npuflow::packing
