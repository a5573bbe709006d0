// What a run may cost: every operation, loop iteration and moved piece of data spends, so that no program runs forever.

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "fault.h"

namespace npuflow {

class Budget {
 public:
  // `poll` is called now and then, and may throw to stop the run.
  Budget(std::int64_t steps, std::function<void()> poll) : total_(steps), left_(steps), poll_(std::move(poll)) {
    next_poll_ = left_ > poll_interval ? left_ - poll_interval : -1;
  }

  void spend(std::int64_t steps) {
    left_ -= steps;
    if (left_ <= next_poll_) pause();
  }

 private:
  static constexpr std::int64_t poll_interval = 1 << 20;

  void pause() {
    if (left_ < 0) {
      throw Fault("the program takes more than " + std::to_string(total_) +
                  " steps; hint: use larger tiles, or allow more steps");
    }
    next_poll_ = left_ > poll_interval ? left_ - poll_interval : -1;
    if (poll_) poll_();
  }

  std::int64_t total_;
  std::int64_t left_;
  std::int64_t next_poll_;
  std::function<void()> poll_;
};

}  // namespace npuflow
