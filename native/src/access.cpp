#include "access.h"

#include <algorithm>

#include "fault.h"

namespace npuflow {

std::int64_t evaluate(const Affine& affine, std::span<const std::int64_t> counters) {
  std::int64_t value = affine.constant;
  for (std::size_t d = 0; d < affine.coefficients.size(); ++d) value += affine.coefficients[d] * counters[d];
  return value;
}

std::int64_t largest(const Access& access, const Limit& limit) {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < access.sizes.size(); ++d) {
    if (limit.coefficients[d] > 0) sum += limit.coefficients[d] * (access.sizes[d] - 1);
  }
  return sum;
}

namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The indices i in [0, size) with coefficient * i < bound, as [first, last).
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Range range_below(std::int64_t coefficient, std::int64_t bound, std::int64_t size) {
  Range range{0, size};
  if (coefficient > 0) range.last = std::clamp(floor_divide(bound - 1, coefficient) + 1, std::int64_t{0}, size);
  if (coefficient < 0) range.first = std::clamp(floor_divide(bound, coefficient) + 1, std::int64_t{0}, size);
  if (coefficient == 0 && bound <= 0) range.last = 0;
  return range;
}

Range common(const Range& a, const Range& b) { return {std::max(a.first, b.first), std::min(a.last, b.last)}; }

// How many indices fulfil all limits: an odometer over the dimensions that limits mention, but for the last of them,
// whose range has a closed form.
class InsideCount {
 public:
  InsideCount(const Placed& placed, Budget& budget) : placed_(placed), budget_(budget) {
    for (std::size_t d = 0; d < placed.rank; ++d) {
      const auto mentions = [d](const Limit& limit) { return limit.coefficients[d] != 0; };
      const auto& limits = placed.access->limits;
      if (std::any_of(limits.begin(), limits.end(), mentions)) {
        limited_[count_++] = d;
      } else {
        free_ *= placed.sizes[d];
      }
    }
  }

  // A limit that mentions no dimension and yet cuts something off leaves nothing.
  std::int64_t operator()() { return count_ == 0 ? 0 : free_ * count(0, placed_.bounds); }

 private:
  std::int64_t count(std::size_t at, const std::array<std::int64_t, max_limits>& bounds) {
    const auto& limits = placed_.access->limits;
    const std::size_t d = limited_[at];
    if (at + 1 == count_) return count_last(d, bounds);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < placed_.sizes[d]; ++i) {
      budget_.spend(1);
      std::array<std::int64_t, max_limits> rest = bounds;
      for (std::size_t l = 0; l < limits.size(); ++l) rest[l] -= limits[l].coefficients[d] * i;
      sum += count(at + 1, rest);
    }
    return sum;
  }

  std::int64_t count_last(std::size_t d, const std::array<std::int64_t, max_limits>& bounds) const {
    const auto& limits = placed_.access->limits;
    Range range{0, placed_.sizes[d]};
    for (std::size_t l = 0; l < limits.size(); ++l) {
      range = common(range, range_below(limits[l].coefficients[d], bounds[l], placed_.sizes[d]));
    }
    return std::max(std::int64_t{0}, range.last - range.first);
  }

  const Placed& placed_;
  Budget& budget_;
  std::array<std::size_t, max_dims> limited_{};
  std::size_t count_ = 0;
  std::int64_t free_ = 1;
};

// `skip`: the pattern is cut down to the box that all limits leave. Each has one coefficient (validate.cpp).
void cut(Placed& placed) {
  const auto& limits = placed.access->limits;
  for (std::size_t d = 0; d < placed.rank; ++d) {
    Range range{0, placed.sizes[d]};
    for (std::size_t l = 0; l < limits.size(); ++l) {
      if (limits[l].coefficients[d] == 0) continue;
      range = common(range, range_below(limits[l].coefficients[d], placed.bounds[l], placed.sizes[d]));
    }
    placed.first_byte += range.first * placed.strides[d];
    placed.sizes[d] = std::max(std::int64_t{0}, range.last - range.first);
  }
}

void apply_limits(Placed& placed, std::span<const std::int64_t> counters) {
  bool cuts = false;
  for (std::size_t l = 0; l < placed.access->limits.size(); ++l) {
    const Limit& limit = placed.access->limits[l];
    placed.bounds[l] = evaluate(limit.bound, counters);
    cuts = cuts || largest(*placed.access, limit) >= placed.bounds[l];
  }
  if (cuts && placed.access->outside == Outside::skip) return cut(placed);
  placed.limited = cuts;
}

// Lowest and highest byte of the box of all indices.
void find_extent(Placed& placed) {
  std::int64_t low = placed.first_byte;
  std::int64_t high = placed.first_byte + placed.access->element_bytes;
  for (std::size_t d = 0; d < placed.rank; ++d) {
    const std::int64_t reach = placed.strides[d] * (placed.sizes[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  placed.low_byte = low;
  placed.high_byte = high;
}

std::int64_t contiguous_bytes(const Placed& placed) {
  std::int64_t bytes = placed.access->element_bytes;
  for (std::size_t d = placed.rank; d-- > 0;) {
    if (placed.sizes[d] == 1) continue;
    if (placed.strides[d] != bytes) break;
    bytes *= placed.sizes[d];
  }
  return bytes;
}

[[noreturn]] void leaves_slot(const Program& program, const Placed& placed, std::int64_t slot_byte, Index op) {
  const Buffer& buffer = program.buffers[placed.access->buffer];
  throw Fault(quoted_name(program, op) + " touches bytes " + std::to_string(placed.low_byte - slot_byte) + " to " +
              std::to_string(placed.high_byte - slot_byte - 1) + " of a slot of '" + buffer.name + "', which has " +
              std::to_string(buffer.slot_bytes) +
              "; hint: check its offset, sizes and strides, or limit it at the edges");
}

}  // namespace

Placed place(const Program& program, Index index, std::span<const std::int64_t> counters, Index op, Budget& budget) {
  const Access& access = program.accesses[index];
  const Buffer& buffer = program.buffers[access.buffer];
  Placed placed;
  placed.access = &access;
  placed.memory = buffer.memory;
  placed.rank = access.sizes.size();
  const std::int64_t slot = buffer.depth == 1 ? 0 : evaluate(access.slot, counters) % buffer.depth;
  if (slot < 0)
    throw Fault(quoted_name(program, op) + " uses slot " + std::to_string(slot) + " of '" + buffer.name + "'");
  const std::int64_t slot_byte = buffer.address_bytes + slot * buffer.slot_bytes;
  placed.first_byte = slot_byte + evaluate(access.offset, counters) * access.element_bytes;
  for (std::size_t d = 0; d < placed.rank; ++d) {
    placed.sizes[d] = access.sizes[d];
    placed.strides[d] = access.strides[d] * access.element_bytes;
  }
  apply_limits(placed, counters);
  placed.elements = 1;
  for (std::size_t d = 0; d < placed.rank; ++d) placed.elements *= placed.sizes[d];
  placed.inside = placed.limited ? InsideCount(placed, budget)() : placed.elements;
  if (placed.elements == 0) return placed;
  find_extent(placed);
  const bool fits = placed.low_byte >= slot_byte && placed.high_byte <= slot_byte + buffer.slot_bytes;
  if (!fits && !placed.limited) leaves_slot(program, placed, slot_byte, op);
  // With zeros outside the limits the box is an over-estimate; what is inside is checked where bytes really move.
  placed.low_byte = std::max(placed.low_byte, slot_byte);
  placed.high_byte = std::min(placed.high_byte, slot_byte + buffer.slot_bytes);
  placed.run_bytes = contiguous_bytes(placed);
  return placed;
}

Walker::Walker(const Placed& placed) : placed_(&placed), byte_(placed.first_byte) {
  for (std::size_t d = 0; d < placed.rank; ++d) {
    const std::int64_t size = placed.sizes[d];
    const std::int64_t stride = placed.strides[d];
    const bool merges = !placed.limited && rank_ > 0 && strides_[rank_ - 1] == size * stride;
    if (!merges) ++rank_;
    sizes_[rank_ - 1] = merges ? sizes_[rank_ - 1] * size : size;
    strides_[rank_ - 1] = stride;
  }
}

bool Walker::is_inside() const {
  const auto& limits = placed_->access->limits;
  for (std::size_t l = 0; l < limits.size(); ++l) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < rank_; ++d) at += limits[l].coefficients[d] * index_[d];
    if (at >= placed_->bounds[l]) return false;
  }
  return true;
}

Run Walker::next(std::int64_t most_elements) {
  Run run{byte_, 1, !placed_->limited || is_inside()};
  const bool contiguous = rank_ > 0 && strides_[rank_ - 1] == placed_->access->element_bytes;
  if (contiguous && !placed_->limited) run.elements = std::min(most_elements, sizes_[rank_ - 1] - index_[rank_ - 1]);
  advance(run.elements);
  return run;
}

void Walker::advance(std::int64_t elements) {
  if (rank_ == 0) return;
  std::size_t d = rank_ - 1;
  index_[d] += elements;
  byte_ += elements * strides_[d];
  while (index_[d] == sizes_[d] && d > 0) {
    byte_ -= index_[d] * strides_[d];
    index_[d] = 0;
    --d;
    ++index_[d];
    byte_ += strides_[d];
  }
}

}  // namespace npuflow
