// The channels that what moves takes, its lanes on from memory tiles, and which rows of cores have channels of their
// own there.

#include <algorithm>

#include "outer_transfers.h"

namespace npuflow::mapped {

namespace {

// Without memory tiles between: for one core after the other that differ in a tensor.
Size direct_channels(const Mapping& mapping, const Tensor& tensor) {
  const Spread& spread = mapping.spread;
  Size found = tensor.follows_loop(spread.row_loop) ? spread.cores(spread.row_loop) : 1;
  if (spread.column_loop != spread.row_loop && tensor.follows_loop(spread.column_loop)) {
    found *= spread.cores(spread.column_loop);
  }
  return found;
}

}  // namespace

Size outer_channels(const Mapped& mapped, const Machine& machine, const Tensor& tensor) {
  const Spread& spread = mapped.mapping().spread;
  if (machine.direct.are_taken) return direct_channels(mapped.mapping(), tensor);
  if (tensor.role == Role::input) return mapped.goes_by_rows(tensor) ? spread.rows : spread.columns;
  if (!tensor.follows_loop(spread.column_loop)) return 1;
  const Size part = mapped.column_of(mapped.mapping().tiles)[spread.column_loop];
  return std::min(spread.columns, parts_of(mapped.group().sizes[spread.column_loop], part));
}

void OuterTransfers::choose_lanes() {
  const bool any_by_rows =
      std::any_of(all_.begin(), all_.end(), [](const OuterTransfer& each) { return each.by_rows; });
  const Size lanes = machine_.direct.are_taken ? machine_.direct.lanes : machine_.tile.lanes.lanes;
  ShortVector<double, 8> totals(static_cast<std::size_t>(std::max<Size>(lanes, any_by_rows ? 2 : 1)), 0.0);
  ShortVector<std::pair<double, std::size_t>, 8> loads;
  for (std::size_t number = 0; number < inputs_; ++number) {
    if (!all_[number].by_rows) loads.push_back({-load_of(all_[number]), number});
  }
  std::sort(loads.begin(), loads.end());
  for (const auto& [load, number] : loads) {
    const auto least = std::min_element(totals.rbegin(), totals.rend() - (any_by_rows ? 1 : 0));
    *least -= load;
    all_[number].lane = static_cast<std::size_t>(totals.rend() - least) - 1;
  }
  lanes_ = totals.size();
}

void OuterTransfers::separate_rows() {
  const Spread& spread = mapped_.mapping().spread;
  const Size rows = spread.rows;
  if (rows == 1) return;
  ShortVector<double, 8> for_rows(lanes_, 0.0);
  ShortVector<double, 8> for_all(lanes_, 0.0);
  bool by_rows = false;
  for (std::size_t number = 0; number < inputs_; ++number) {
    const OuterTransfer& each = all_[number];
    by_rows |= each.by_rows;
    (each.tensor->follows_loop(spread.row_loop) ? for_rows : for_all)[each.lane] += each.onward_bytes;
  }
  const TileLanes& ways = machine_.tile.lanes;
  Size spare = ways.channels_out - ways.leaving;
  ShortVector<std::pair<double, std::size_t>, 8> order;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (for_rows[lane] + for_all[lane] > 0) --spare;
    order.push_back({-for_rows[lane], lane});
  }
  std::sort(order.begin(), order.end());
  ShortVector<std::uint8_t, 8> separate(lanes_, 0);
  for (const auto& [own, lane] : order) {
    if (by_rows || -own * static_cast<double>(rows) <= for_all[lane] || rows - 1 > spare) continue;
    separate[lane] = 1;
    spare -= rows - 1;
  }
  for (std::size_t number = 0; number < inputs_; ++number) {
    OuterTransfer& each = all_[number];
    const bool is_shared = !each.by_rows && each.tensor->follows_loop(spread.row_loop) && separate[each.lane] == 0;
    if (is_shared) each.onward_rows = rows;
  }
}

double OuterTransfers::load_of(const OuterTransfer& transfer) const {
  const double into = transfer.bytes / static_cast<double>(transfer.channels);
  if (machine_.direct.are_taken) return into;
  const Spread& spread = mapped_.mapping().spread;
  const Size rows = transfer.tensor->follows_loop(spread.row_loop) ? spread.rows : 1;
  return std::max(into, transfer.onward_bytes * static_cast<double>(rows));
}

}  // namespace npuflow::mapped
