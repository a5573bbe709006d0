// When to look whether a run repeats itself: where the busiest engine begins another turn of a loop.

#pragma once

#include <vector>

#include "program.h"

namespace npuflow {

class RepeatSearch {
 public:
  explicit RepeatSearch(const Program& program);

  // An engine begins another turn of its loop at this depth.
  void turned(Index engine, Index depth) {
    if (engine == engine_ && depth < depth_) depth_ = depth;
  }

  // Whether to look at the present moment: a loop of the engine has just turned, and what looking at turns of that
  // depth took so far is little beside the operations done so far.
  bool looks(std::int64_t operations) {
    if (depth_ != none && turns_[depth_].spent > operations / operations_per_spent) depth_ = none;
    return depth_ != none;
  }

  // The loop to look at, by its depth.
  Index depth() const { return depth_; }

  // The search is over for this moment. Whether it is to be kept, for later ones to be compared with: those after 1, 2,
  // 4, 8, ... turns of a loop are, so that a period of any length is found. Turns of the loops inside are counted anew.
  bool keeps();

 private:
  // Looking may take a 40th of what the run takes itself.
  static constexpr std::int64_t operations_per_spent = 40;

  struct Turns {
    void begin() { since_kept = until_kept = 0; }

    std::int64_t since_kept = 0;
    std::int64_t until_kept = 0;
    std::int64_t spent = 0;  // on looking, in what an operation takes
  };

  Index engine_ = none;
  Index depth_ = none;
  std::int64_t things_;
  std::vector<Turns> turns_;  // by depth
};

}  // namespace npuflow
