// A group of ops as flat numbers: its loops, the tensors that they index, and which of its ops run for every piece.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "short_vector.h"

namespace npuflow::mapped {

using Size = std::int64_t;
using Sizes = ShortVector<Size, 8>;
// A flag for each loop.
using Loops = std::vector<std::uint8_t>;

enum class Role : std::uint8_t { input, local, output };

// What a tensor is to a matmul; `start` is a sum that is continued.
enum class Operand : std::uint8_t { none, lhs, rhs, start, sum, tail };

struct Term {
  std::size_t loop = 0;
  Size coefficient = 1;
};

// One dimension of a tensor, indexed by a sum of multiples of loops.
struct Dim {
  ShortVector<Term, 4> terms;
  Size size = 1;
  Size pitch = 1;           // bytes from one place to the next
  Size whole = 1;           // what all of the loops reach over
  bool is_cut_off = false;  // whether that is more than there is

  Size extent(const Sizes& tiles) const;
};

// What the caller says of a tensor; the rest follows from it.
struct Tensor {
  Role role = Role::input;
  Operand operand = Operand::none;
  std::vector<Dim> dims;
  Size element_bytes = 1;
  bool is_gathered = false;
  int user = 0;                 // the first op that reads it
  int last_user = 0;            // the last
  bool is_handed_over = false;  // between sums of products and ops that are none
  bool is_at_home = false;      // stays on the chip from one group to the next, and takes nothing of DRAM
  bool is_padded = false;       // zeros around it are made up by the engine whose windows read it

  Loops follows;
  Loops cut_off;  // loops along which windows reach over its edge
  Sizes strides;  // bytes that each loop moves on by
  bool streams = false;

  bool follows_loop(std::size_t loop) const { return loop < follows.size() && follows[loop] != 0; }
  // What a tile touches of it, halo included; and without the zeros around it.
  double bytes(const Sizes& tiles) const;
  double stored_bytes(const Sizes& tiles) const;
  double l1_bytes(const Sizes& tiles) const;
  // The contiguous bytes of a tile in a row-major tensor.
  Size run_bytes(const Sizes& tiles) const;
};

struct Work {
  std::vector<std::size_t> loops;
  bool is_pieced = false;
  bool is_starting = false;  // whether it reads nothing
};

struct Group {
  Sizes sizes;
  std::size_t space = 0;
  std::vector<std::size_t> streamed;
  std::vector<Tensor> tensors;
  std::vector<Work> work;
  bool pads_streamed = false;
  bool is_packed = false;

  // Tensors by role, in their order.
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;

  // Fills in what follows from the rest.
  void complete();
};

inline Size parts_of(Size size, Size unit) { return (size + unit - 1) / unit; }
inline Size padded(Size size, Size unit) { return parts_of(size, unit) * unit; }

}  // namespace npuflow::mapped
