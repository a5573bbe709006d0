#include "mapping_parts.h"

#include <algorithm>

namespace nb = nanobind;

namespace npuflow::mapped {

namespace {

// What is larger than this fits no memory, and its products would not fit a number.
constexpr Size most = Size{1} << 40;

void check(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

bool are_sizes(const Sizes& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](Size size) { return 1 <= size && size <= most; });
}

std::optional<Slots> slots_of(const Pair& pair) {
  if (!pair) return std::nullopt;
  return Slots{pair->first, pair->second};
}

Pair pair_of(const std::optional<Slots>& slots) {
  if (!slots) return std::nullopt;
  return std::pair(slots->l2, slots->l1);
}

Tensor tensor_of(const TensorParts& parts, std::size_t loops) {
  const auto& [role, operand, dims, element_bytes, is_gathered, users, is_handed_over, is_at_home, is_padded] = parts;
  check(0 <= role && role <= static_cast<int>(Role::output), "a tensor has an unknown role");
  check(0 <= operand && operand <= static_cast<int>(Operand::tail), "a tensor is an unknown operand");
  check(element_bytes > 0, "elements have bytes");
  Tensor found;
  found.role = static_cast<Role>(role);
  found.operand = static_cast<Operand>(operand);
  found.element_bytes = element_bytes;
  found.is_gathered = is_gathered;
  found.user = users.first;
  found.last_user = users.second;
  found.is_handed_over = is_handed_over;
  found.is_at_home = is_at_home;
  found.is_padded = is_padded;
  for (const auto& [terms, size] : dims) {
    Dim dim;
    dim.size = size;
    for (const auto& [loop, coefficient] : terms) {
      check(loop < loops, "a tensor follows a loop that isn't there");
      dim.terms.push_back({loop, coefficient});
    }
    found.dims.push_back(dim);
  }
  return found;
}

}  // namespace

Spread spread_of(const SpreadParts& parts) {
  const auto& [rows, columns, row_loop, column_loop] = parts;
  return {rows, columns, row_loop, column_loop};
}

Mapping mapping_of(const MappingParts& parts, const Group& group) {
  const auto& [tiles, spread, depths, order, in_l2, whole] = parts;
  const auto& [l2, l1, result, tail, between, hold, lhs, rhs] = depths;
  Mapping found{
      tiles, spread_of(spread), {{l2, l1}, result, tail, between, hold, slots_of(lhs), slots_of(rhs)}, order, in_l2,
      whole};
  check(tiles.size() == group.sizes.size() && are_sizes(tiles), "a mapping has a tile for each loop");
  check(in_l2.empty() || in_l2.size() == group.streamed.size(), "a streamed loop has a piece in L2");
  for (const Size slots : {l2, l1, result, tail, between}) check(1 <= slots && slots <= most, "buffers have slots");
  check(are_sizes(in_l2) && are_sizes({found.spread.rows, found.spread.columns}), "sizes are positive");
  check(std::max(found.spread.row_loop, found.spread.column_loop) < tiles.size(), "a spread follows loops");
  Order sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t loop = 0; loop < sorted.size(); ++loop) check(sorted[loop] == loop, "an order has each loop once");
  check(order.size() == group.space, "an order has the loops of the space");
  return found;
}

MappingParts parts_of(const Mapping& mapping) {
  const Spread& spread = mapping.spread;
  const Depths& depths = mapping.depths;
  return {mapping.tiles,
          {spread.rows, spread.columns, spread.row_loop, spread.column_loop},
          {depths.inward.l2, depths.inward.l1, depths.result, depths.tail, depths.between, depths.hold,
           pair_of(depths.lhs), pair_of(depths.rhs)},
          mapping.order,
          mapping.in_l2,
          mapping.whole};
}

Group group_of(const Sizes& sizes, std::size_t space, const std::vector<std::size_t>& streamed,
               const std::vector<TensorParts>& tensors, const std::vector<WorkParts>& work, bool pads_streamed,
               bool is_packed) {
  check(are_sizes(sizes) && space <= sizes.size(), "loops have sizes");
  Group found;
  found.sizes = sizes;
  found.space = space;
  found.streamed = streamed;
  found.pads_streamed = pads_streamed;
  found.is_packed = is_packed;
  const auto is_loop = [&](std::size_t loop) { return loop < sizes.size(); };
  check(std::all_of(streamed.begin(), streamed.end(), is_loop), "streamed loops are loops");
  for (const TensorParts& parts : tensors) found.tensors.push_back(tensor_of(parts, sizes.size()));
  for (const auto& [loops, is_pieced, is_starting] : work) {
    check(std::all_of(loops.begin(), loops.end(), is_loop), "an op goes through loops");
    found.work.push_back({loops, is_pieced, is_starting});
  }
  found.complete();
  return found;
}

}  // namespace npuflow::mapped
