#include "room.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pattern_fit.h"

namespace npuflow::mapped {

Size row_tiles(Size rows, Size columns) {
  for (Size tiles = columns; tiles > 1; --tiles) {
    if (rows % tiles == 0) return tiles;
  }
  return 1;
}

double total_l1_bytes(const std::vector<Buffer>& buffers, Size alignment) {
  double total = 0;
  for (const Buffer& buffer : buffers) {
    const auto unit = static_cast<double>(alignment);
    total += std::ceil(buffer.slot_bytes / unit) * unit * static_cast<double>(buffer.depth);
  }
  return total;
}

std::vector<Buffer> Room::l1_buffers() const {
  std::vector<Buffer> found;
  found.reserve(group_.tensors.size());
  for (std::size_t number = 0; number < group_.tensors.size(); ++number) {
    const Tensor& tensor = group_.tensors[number];
    if (tensor.operand == Operand::start) continue;
    const Size depth = l1_slots(tensor);
    each_left_over(tensor, mapping_.tiles, [&](const Sizes& tiles) {
      const double bytes = l1_bytes(tensor, tiles);
      found.push_back({number, bytes, depth, bytes});
    });
  }
  return found;
}

double Room::l1_bytes(const Tensor& tensor, const Sizes& tiles) const {
  return tensor.is_gathered || is_padded_by_engine(tensor) ? tensor.l1_bytes(tiles) : tensor.bytes(tiles);
}

bool Room::is_padded_by_engine(const Tensor& tensor) const {
  if (!tensor.is_padded) return false;
  return std::all_of(tensor.dims.begin(), tensor.dims.end(), [&](const Dim& dim) {
    return std::all_of(dim.terms.begin(), dim.terms.end(), [&](const Term& term) {
      const Size size = group_.sizes[term.loop];
      const bool is_space = term.loop < group_.space;
      if (dim.terms.size() > 1) return is_space || mapping_.tiles[term.loop] >= size;
      const Size step = is_space ? mapped_.block()[term.loop] : mapping_.tiles[term.loop];
      return size % step == 0;
    });
  });
}

Size Room::l1_slots(const Tensor& tensor) const {
  if (tensor.role == Role::output) return mapping_.depths.result;
  if (tensor.is_handed_over) return mapping_.depths.between;
  if (tensor.role == Role::local || mapped_.comes_once(tensor, mapping_.tiles)) return 1;
  return mapping_.depths.of(tensor.operand).l1;
}

Size Room::l2_slots(const Tensor& tensor, const Sizes& in_l2) const {
  if (tensor.role != Role::input) return mapping_.depths.result;
  return mapped_.comes_once(tensor, in_l2) ? 1 : mapping_.depths.of(tensor.operand).l2;
}

bool Room::is_in_l2(const Tensor& tensor) const {
  if (tensor.role == Role::local) return false;
  if (tensor.operand != Operand::start) return true;
  return std::any_of(group_.tensors.begin(), group_.tensors.end(),
                     [](const Tensor& other) { return other.role == Role::local; });
}

std::vector<Buffer> Room::l2_buffers(Size columns, bool clips) const {
  std::vector<Buffer> found;
  found.reserve(group_.tensors.size());
  const Spread& spread = mapping_.spread;
  const auto rows_each = static_cast<double>(spread.rows / row_tiles(spread.rows, columns));
  for (std::size_t number = 0; number < group_.tensors.size(); ++number) {
    const Tensor& tensor = group_.tensors[number];
    if (!is_in_l2(tensor)) continue;
    const bool stores = clips && tensor.role == Role::input;
    const auto size = [&](const Sizes& tiles) { return stores ? tensor.stored_bytes(tiles) : tensor.bytes(tiles); };
    const Sizes in_l2 = mapped_.tiles_in_l2(tensor);
    const Size depth = l2_slots(tensor, in_l2);
    const Sizes own = mapped_.held_in_l2(tensor, in_l2);
    const bool by_rows = mapped_.goes_by_rows(tensor);
    each_left_over(tensor, own, [&](const Sizes& tiles) {
      const double fullest = by_rows ? size(tiles) * rows_each : size(mapped_.column_of(tiles));
      found.push_back({number, size(mapped_.block_of(tiles)), depth, fullest});
    });
  }
  return found;
}

Order Room::left_over(const Tensor& tensor, const Sizes& tiles) const {
  Order found;
  if (group_.pads_streamed) return found;
  const auto follows = [&](std::size_t loop) { return tensor.follows_loop(loop); };
  const auto innermost = std::find_if(group_.streamed.rbegin(), group_.streamed.rend(), follows);
  for (auto loop = group_.streamed.begin(); loop != innermost.base(); ++loop) {
    if (group_.sizes[*loop] % tiles[*loop] != 0) found.push_back(*loop);
  }
  return found;
}

template <typename Take>
void Room::each_left_over(const Tensor& tensor, const Sizes& tiles, Take take) const {
  take(tiles);
  const Order loops = left_over(tensor, tiles);
  for (std::uint64_t some = 1; some >> loops.size() == 0; ++some) {
    Sizes left = tiles;
    for (std::size_t place = 0; place < loops.size(); ++place) {
      const std::size_t loop = loops[place];
      if ((some >> place & 1U) != 0) left[loop] = group_.sizes[loop] % tiles[loop];
    }
    take(left);
  }
}

Size Room::buffers(const Tensor& tensor) const { return Size{1} << left_over(tensor, mapping_.tiles).size(); }

Size Room::l1_descriptors() const {
  Size total = 0;
  for (const Tensor& tensor : group_.tensors) {
    if (tensor.role == Role::input && tensor.operand != Operand::start) total += l1_slots(tensor) * buffers(tensor);
    if (tensor.role == Role::output) total += mapping_.depths.result;
  }
  return total;
}

Size Room::l2_descriptors(Size serving, const TileLanes& ways, bool clips) const {
  const Size rows = mapping_.spread.rows;
  const Size together = rows / serving;
  const Depths& depths = mapping_.depths;
  MovedBuffer by_rows;
  std::vector<MovedBuffer> moved;
  moved.reserve(group_.inputs.size());
  LeavingResults results;
  for (const Tensor& tensor : group_.tensors) {
    if (tensor.role == Role::output) {
      results.gathered += depths.result * patterns(tensor, ways.pattern);
      results.left += depths.result * cuts(tensor);
    }
    if (tensor.role != Role::input) continue;
    const Size slots = depths.of(tensor.operand).l2 * (clips ? cuts(tensor) : 1) * buffers(tensor);
    const Size emptied = slots * patterns(tensor, ways.pattern);
    if (mapped_.goes_by_rows(tensor)) {
      by_rows.filled += slots;
      by_rows.emptied += emptied;
    } else {
      moved.push_back({slots, emptied, tensor.follows_loop(mapping_.spread.row_loop)});
    }
  }
  if (by_rows.filled == 0) {
    KnownGroups unknown;
    return (known_ != nullptr ? *known_ : unknown).fullest(moved, results, rows, ways);
  }
  Lane columns{1, 0, 0, 1};
  for (const MovedBuffer& buffer : moved) {
    columns.filled += buffer.filled;
    columns.emptied += buffer.emptied * (buffer.by_rows ? rows : 1);
  }
  const std::vector<Lane> lanes{{0, by_rows.filled * together, by_rows.emptied, together}, columns};
  return fullest_group(lanes, results, rows, ways);
}

Size Room::cuts(const Tensor& tensor) const {
  const Sizes& block = mapped_.block();
  Size ways = 1;
  for (const Dim& dim : tensor.dims) {
    Size steps = 1;
    Size missing = 1 - dim.size;
    Size advance = dim.terms.empty() ? 1 : std::numeric_limits<Size>::max();
    for (const Term& term : dim.terms) {
      const Size count = parts_of(group_.sizes[term.loop], block[term.loop]);
      const bool is_space = term.loop < group_.space;
      steps *= is_space ? count : parts_of(group_.sizes[term.loop], mapping_.tiles[term.loop]);
      missing += term.coefficient * (count * block[term.loop] - 1);
      advance = std::min(advance, term.coefficient * block[term.loop]);
    }
    if (missing <= 0) continue;
    const Size cut = tensor.role == Role::output ? parts_of(missing, advance) : 2 + missing / advance;
    ways *= std::min(steps, 1 + cut);
  }
  return ways;
}

bool Room::fits_l1(const CoreDma& core) const {
  if (l1_descriptors() > core.descriptors) return false;
  for (const Tensor& tensor : group_.tensors) {
    if (l1_slots(tensor) > core.lock_max) return false;
  }
  return total_l1_bytes(l1_buffers(), core.alignment) <= core.capacity;
}

bool Room::fits_l2(const TileDma& tile) const {
  const Depths& depths = mapping_.depths;
  Size most = depths.result;
  for (const std::size_t number : group_.inputs) {
    most = std::max(most, depths.of(group_.tensors[number].operand).l2);
  }
  if (most > tile.lock_max) return false;
  for (const bool clips : {false, true}) {
    if (clips && !may_clip(tile)) break;
    double need = 0;
    for (const Buffer& buffer : l2_buffers(tile.columns, clips)) {
      need += buffer.fullest_bytes * static_cast<double>(buffer.depth);
    }
    if (need <= tile.capacity && has_descriptors(tile, clips)) return true;
  }
  return false;
}

bool Room::is_clipped(const TileDma& tile) const { return may_clip(tile) && has_descriptors(tile, true); }

bool Room::may_clip(const TileDma& tile) const { return tile.pads_with_zeros && !group_.is_packed; }

bool Room::has_descriptors(const TileDma& tile, bool clips) const {
  const Size serving = row_tiles(mapping_.spread.rows, tile.columns);
  return l2_descriptors(serving, tile.lanes, clips) <= tile.descriptors / tile.lanes.groups;
}

Size Room::patterns(const Tensor& tensor, const PatternLimits& limits) const {
  if (group_.is_packed) return 1;
  const Sizes& tiles = mapping_.tiles;
  const Sizes whole = mapped_.tiles_in_l2(tensor);
  const Sizes held = mapped_.goes_by_rows(tensor) ? whole : mapped_.column_of(whole);
  const std::size_t loops = tensor.follows.size();
  Sizes strides(loops, 0);
  Pattern inward;
  Size stride = 1;
  for (auto dim = tensor.dims.rbegin(); dim != tensor.dims.rend(); ++dim) {
    inward.push_back({dim->extent(tiles), stride});
    for (const Term& term : dim->terms) strides[term.loop] += term.coefficient * stride;
    stride *= dim->extent(held);
  }
  Pattern found;
  for (const std::size_t loop : group_.streamed) {
    if (tensor.follows_loop(loop) && tiles[loop] < whole[loop]) {
      found.push_back({parts_of(whole[loop], tiles[loop]), tiles[loop] * strides[loop]});
    }
  }
  if (tensor.is_gathered) {
    for (std::size_t loop = 0; loop < loops; ++loop) {
      if (tensor.follows_loop(loop)) found.push_back({tiles[loop], strides[loop]});
    }
  } else {
    for (auto step = inward.rbegin(); step != inward.rend(); ++step) found.push_back(*step);
  }
  return fit(found, tensor.element_bytes, limits).descriptors;
}

bool Room::reads_what_is_left() const {
  if (group_.pads_streamed) return true;
  for (const std::size_t loop : group_.streamed) {
    const Size left = group_.sizes[loop] % mapping_.tiles[loop];
    if (left == 0) continue;
    Sizes reached = group_.sizes;
    reached[loop] = left;
    for (const std::size_t number : group_.inputs) {
      const Tensor& tensor = group_.tensors[number];
      if (!tensor.follows_loop(loop)) continue;
      for (const Dim& dim : tensor.dims) {
        if (dim.is_cut_off && dim.extent(reached) <= dim.whole - dim.size) return false;
      }
    }
  }
  return true;
}

}  // namespace npuflow::mapped
