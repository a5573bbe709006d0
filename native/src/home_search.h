// Which tensors stay on the chip, each in one of its ways: those that win most time, and take no longer in all.

#pragma once

#include <functional>
#include <vector>

#include "home_room.h"

namespace npuflow::homes {

// A way, the time that it wins, and by how much longer its phases take, or less than no time.
struct Option {
  const Way* way = nullptr;
  double gained = 0.0;
  double late_seconds = 0.0;
};

// What is looked at: choices one by one; where these don't settle it, orders; and changes to the best of them.
struct Limits {
  std::int64_t choices = 0;
  std::int64_t orders = 0;
  std::int64_t changes = 0;
};

// A tensor that stays: by which of its options, and in which of the places of that.
struct Home {
  Index tensor = 0;
  Index option = 0;
  Index place = 0;
  Slabs slabs;
};

struct Homes {
  std::vector<Home> chosen;
  std::int64_t choices = 0;  // that were looked at
};

// Tensors are looked at in this order; of each, what wins most is first. `poll` is called now and then, and may throw.
Homes search(const std::vector<std::vector<Option>>& tensors, const Room& room, const Limits& limits,
             const std::function<void()>& poll);

}  // namespace npuflow::homes
