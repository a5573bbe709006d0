// Where an access is at one moment: its loop counters put in, its limits applied, its bounds checked.

#pragma once

#include <array>
#include <span>

#include "budget.h"
#include "program.h"

namespace npuflow {

std::int64_t evaluate(const Affine& affine, std::span<const std::int64_t> counters);

// The largest value of a limit's left side.
std::int64_t largest(const Access& access, const Limit& limit);

// An access with its counters put in. Indices run over `sizes`; strides and addresses are in bytes.
struct Placed {
  const Access* access = nullptr;
  Index memory = 0;
  std::size_t rank = 0;
  std::int64_t first_byte = 0;  // of index 0 in every dimension
  std::int64_t low_byte = 0;    // the lowest byte that can be touched
  std::int64_t high_byte = 0;   // one after the highest
  std::int64_t elements = 0;    // that travel
  std::int64_t inside = 0;      // of them, those that are in memory and not made up as zeros
  std::int64_t run_bytes = 0;   // of a contiguous run, as memory sees it
  std::array<std::int64_t, max_dims> sizes{};
  std::array<std::int64_t, max_dims> strides{};
  std::array<std::int64_t, max_limits> bounds{};  // of the limits that can cut something off; max_number otherwise
  bool limited = false;                           // some element may be outside
};

// Puts the counters in. Throws Fault, named after `op`, if the access leaves its slot. Counting what limits leave
// spends from the budget.
Placed place(const Program& program, Index access, std::span<const std::int64_t> counters, Index op, Budget& budget);

struct Run {
  std::int64_t byte = 0;
  std::int64_t elements = 0;
  bool inside = true;
};

// Visits a placed access in travelling order, as runs of elements that are contiguous and all inside or all outside.
class Walker {
 public:
  explicit Walker(const Placed& placed);

  Run next(std::int64_t most_elements);

 private:
  bool is_inside() const;
  void advance(std::int64_t elements);

  const Placed* placed_;
  std::int64_t byte_;
  std::size_t rank_ = 0;  // of the pattern with contiguous dimensions merged, unless limits need them apart
  std::array<std::int64_t, max_dims> sizes_{};
  std::array<std::int64_t, max_dims> strides_{};
  std::array<std::int64_t, max_dims> index_{};
};

}  // namespace npuflow
