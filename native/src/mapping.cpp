#include "mapping.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace npuflow::mapped {

namespace {

constexpr std::size_t no_loop = std::numeric_limits<std::size_t>::max();

void mix(std::size_t& hash, std::uint64_t value) {
  hash = (hash ^ static_cast<std::size_t>(value)) * static_cast<std::size_t>(0xff51afd7ed558ccdULL);
  hash ^= hash >> 29;
}

}  // namespace

Slots Depths::of(Operand operand) const {
  if (operand == Operand::start) return {1, 0};
  if (operand == Operand::tail) return {tail, tail};
  if (operand == Operand::lhs && lhs) return *lhs;
  if (operand == Operand::rhs && rhs) return *rhs;
  return inward;
}

bool moves_like(const Mapping& one, const Mapping& other) {
  return one.tiles == other.tiles && one.in_l2 == other.in_l2 && one.order == other.order &&
         one.spread == other.spread && one.depths.hold == other.depths.hold && one.whole == other.whole;
}

std::size_t moving_hash(const Mapping& mapping) {
  std::size_t hash = mapping.depths.hold ? 1 : 0;
  for (const Size tile : mapping.tiles) mix(hash, static_cast<std::uint64_t>(tile));
  for (const Size piece : mapping.in_l2) mix(hash, static_cast<std::uint64_t>(piece));
  for (const std::size_t loop : mapping.order) mix(hash, loop);
  const Spread& spread = mapping.spread;
  for (const Size number : {spread.rows, spread.columns}) mix(hash, static_cast<std::uint64_t>(number));
  for (const std::size_t loop : {spread.row_loop, spread.column_loop}) mix(hash, loop);
  return hash;
}

std::size_t MappingHash::operator()(const Mapping& mapping) const {
  std::size_t hash = moving_hash(mapping);
  const Depths& depths = mapping.depths;
  for (const Size slots : {depths.inward.l2, depths.inward.l1, depths.result, depths.tail, depths.between}) {
    mix(hash, static_cast<std::uint64_t>(slots));
  }
  return hash;
}

Mapped::Mapped(const Group& group, const Mapping& mapping)
    : group_(group), mapping_(mapping), block_(block_of(mapping.tiles)), innermost_(no_loop) {
  for (std::size_t loop = 0; loop < group.space; ++loop) counts_.push_back(parts_of(group.sizes[loop], block_[loop]));
  for (const std::size_t loop : mapping.order) {
    if (counts_[loop] > 1) innermost_ = loop;
  }
}

double Mapped::blocks() const {
  double found = 1;
  for (const Size count : counts_) found *= static_cast<double>(count);
  return found;
}

Sizes Mapped::block_of(const Sizes& tiles) const {
  Sizes found = tiles;
  found[mapping_.spread.row_loop] *= mapping_.spread.rows;
  found[mapping_.spread.column_loop] *= mapping_.spread.columns;
  return found;
}

Sizes Mapped::column_of(const Sizes& tiles) const {
  Sizes found = tiles;
  found[mapping_.spread.row_loop] *= mapping_.spread.rows;
  return found;
}

Sizes Mapped::tiles_in_l2(const Tensor& tensor) const {
  Sizes tiles = mapping_.tiles;
  if (!tensor.streams) return tiles;
  if (tensor.role != Role::input) {
    // A result that leaves a core piece by piece is put together here.
    for (const std::size_t loop : group_.streamed) tiles[loop] = group_.sizes[loop];
    return tiles;
  }
  for (std::size_t place = 0; place < mapping_.in_l2.size(); ++place) {
    tiles[group_.streamed[place]] = mapping_.in_l2[place];
  }
  if (!mapping_.depths.hold || tensor.follows_loop(innermost_)) return tiles;
  for (const std::size_t loop : group_.streamed) {
    tiles[loop] = group_.pads_streamed ? padded(group_.sizes[loop], tiles[loop]) : group_.sizes[loop];
  }
  return tiles;
}

Sizes Mapped::held_in_l2(const Tensor& tensor, const Sizes& tiles) const {
  Sizes held = tiles;
  if (!mapping_.whole || tensor.role != Role::input) return held;
  for (const std::size_t loop : group_.streamed) held[loop] = padded(group_.sizes[loop], tiles[loop]);
  return held;
}

bool Mapped::goes_by_rows(const Tensor& tensor) const {
  const Spread& spread = mapping_.spread;
  if (tensor.role != Role::input || (spread.columns > 1 && tensor.follows_loop(spread.column_loop))) return false;
  if (spread.rows > 1) return tensor.follows_loop(spread.row_loop);
  const auto by_columns = std::count_if(group_.inputs.begin(), group_.inputs.end(), [&](std::size_t number) {
    return group_.tensors[number].follows_loop(spread.column_loop);
  });
  return spread.columns > 1 && by_columns < 2;
}

Size Mapped::copies(const Tensor& tensor) const {
  const bool shares =
      tensor.role == Role::output || tensor.follows_loop(mapping_.spread.column_loop) || goes_by_rows(tensor);
  return shares ? 1 : mapping_.spread.columns;
}

bool Mapped::comes_once(const Tensor& tensor, const Sizes& tiles) const {
  const auto is_all = [&](std::size_t loop) {
    return !tensor.follows_loop(loop) || tiles[loop] * mapping_.spread.cores(loop) >= group_.sizes[loop];
  };
  for (std::size_t loop = 0; loop < group_.space; ++loop) {
    if (!is_all(loop)) return false;
  }
  return std::all_of(group_.streamed.begin(), group_.streamed.end(), is_all);
}

std::size_t Mapped::stays(const Tensor& tensor) const {
  std::size_t number = 0;
  for (auto loop = mapping_.order.rbegin(); loop != mapping_.order.rend(); ++loop, ++number) {
    if (counts_[*loop] > 1 && tensor.follows_loop(*loop)) break;
  }
  return number;
}

Size Mapped::pieces(const Sizes& tiles) const {
  Size found = 1;
  for (const std::size_t loop : group_.streamed) found *= parts_of(group_.sizes[loop], tiles[loop]);
  return found;
}

Size Mapped::streams(const Tensor& tensor, const Sizes& tiles) const {
  return tensor.role == Role::input && tensor.streams ? pieces(tiles) : 1;
}

std::size_t Mapped::around(const Tensor& tensor, Size streams) const {
  return mapping_.order.size() - (streams > 1 ? 0 : stays(tensor));
}

double Mapped::visits(const Tensor& tensor, Size streams) const {
  const std::size_t loops = around(tensor, streams);
  auto found = static_cast<double>(streams);
  for (std::size_t place = 0; place < loops; ++place) found *= static_cast<double>(counts_[mapping_.order[place]]);
  return found;
}

double Mapped::calls() const {
  if (mapping_.in_l2.empty()) return static_cast<double>(pieces(mapping_.tiles));
  double found = 1;
  for (std::size_t place = 0; place < mapping_.in_l2.size(); ++place) {
    const std::size_t loop = group_.streamed[place];
    const Size piece = mapping_.in_l2[place];
    found *= static_cast<double>(parts_of(group_.sizes[loop], piece) * (piece / mapping_.tiles[loop]));
  }
  return found;
}

Size Mapped::turns_of(std::size_t loop, const Sizes& tiles) const {
  return loop < group_.space ? counts_[loop] : parts_of(group_.sizes[loop], tiles[loop]);
}

double Mapped::steps_of(const Dim& dim, const Sizes& tiles) const {
  double steps = 1;
  for (const Term& term : dim.terms) steps *= static_cast<double>(turns_of(term.loop, tiles));
  return steps;
}

double Mapped::traffic_bytes(const Tensor& tensor, const Sizes& tiles, double turns, Size copies, Part part) const {
  double elements = 1;
  double covered = 1;
  for (const Dim& dim : tensor.dims) {
    covered *= steps_of(dim, tiles);
    elements *= moved_elements(dim, tiles, part);
  }
  return std::floor(elements * turns / covered) * static_cast<double>(tensor.element_bytes * copies);
}

double Mapped::moved_elements(const Dim& dim, const Sizes& tiles, Part part) const {
  Size extent = 1;
  Size turns = 1;
  Size advance =
      0;  // of the loop that moves on most; where others step as well, all of it comes once for each of these
  double others = 1;
  for (const Term& term : dim.terms) {
    const bool is_shared = term.loop == part.loop;
    const Size block = is_shared ? part.size : tiles[term.loop] * mapping_.spread.cores(term.loop);
    extent += term.coefficient * (block - 1);
    Size own = is_shared ? parts_of(group_.sizes[term.loop], part.size) : turns_of(term.loop, tiles);
    if (own > 1 && term.coefficient * block > advance) {
      advance = term.coefficient * block;
      std::swap(turns, own);
    }
    others *= static_cast<double>(own);
  }
  if (turns == 1) return others * static_cast<double>(std::min(extent, dim.size));
  const Size overlap = std::max<Size>(0, extent - advance);
  return others * static_cast<double>(std::min(turns * extent, dim.size + (turns - 1) * overlap));
}

}  // namespace npuflow::mapped
