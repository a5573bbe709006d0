// Buffers with lifetimes, to be laid into one memory so that no two of them overlap in both time and address.

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace npuflow::packing {

using Index = std::uint32_t;

inline constexpr Index none = std::numeric_limits<Index>::max();

// What the caller says of a buffer: it lives from `lower` to before `upper`, and begins at a multiple of `alignment`.
struct Demand {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t size = 0;
  std::int64_t alignment = 1;
};

// A buffer in units of the problem: it lives in the sections from `first` to `last`, and begins at `latest` at most.
struct Buffer {
  std::int64_t size = 0;
  std::int64_t alignment = 1;
  std::int64_t latest = 0;
  std::int64_t lifetime = 0;
  Index first = 0;
  Index last = 0;
};

// Time is cut into sections: the largest sets of buffers that live at the same time, in order. Two buffers overlap in
// time exactly if they share a section.
struct Problem {
  std::vector<Buffer> buffers;
  std::vector<std::vector<Index>> live;  // by section
  std::vector<std::int64_t> slack;       // by section: units that nothing needs
  std::int64_t unit = 1;                 // bytes: what all alignments are multiples of
};

// The sizes and times given must add up within 62 bits.
Problem make_problem(std::span<const Demand> demands, std::int64_t capacity);

}  // namespace npuflow::packing
