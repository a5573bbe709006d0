#include "outer_transfers.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "dram_runs.h"

namespace npuflow::mapped {

namespace {

// Dimensions of the pattern in DRAM of such a part of a tensor; whole ones go on in the next.
//
// Where windows reach over an edge in some places and not in others, the sizes differ, and nothing goes on. A run that
// is longer than a dimension may be is two, behind which others stand.
Size pattern_dims(const Tensor& tensor, const Sizes& part, const PatternLimits& limits) {
  Size dims = tensor.run_bytes(part) > limits.size_max * limits.granule_bytes ? 2 : 1;
  bool is_whole = true;
  for (auto dim = tensor.dims.rbegin(); dim != tensor.dims.rend(); ++dim) {
    const Size extent = dim->extent(part);
    const bool is_cut = dim->whole > std::max(dim->size, extent);
    if (extent > 1 && (is_cut || !is_whole)) ++dims;
    is_whole = extent >= dim->size && !is_cut;
  }
  return dims;
}

double channels(const OuterTransfer& transfer) { return static_cast<double>(transfer.channels); }

}  // namespace

double OuterTransfer::descriptors() const {
  double found = mapped::channels(*this);
  for (const Size turns : set_up_turns) found *= static_cast<double>(turns);
  return found;
}

Size direct_channels(const Mapping& mapping, const Tensor& tensor) {
  const Spread& spread = mapping.spread;
  Size found = tensor.follows_loop(spread.row_loop) ? spread.cores(spread.row_loop) : 1;
  if (spread.column_loop != spread.row_loop && tensor.follows_loop(spread.column_loop)) {
    found *= spread.cores(spread.column_loop);
  }
  return found;
}

OuterTransfers::OuterTransfers(const Mapped& mapped, const Machine& machine)
    : mapped_(mapped), machine_(machine), blocks_(mapped.blocks()) {
  const Group& group = mapped.group();
  inputs_ = group.inputs.size();
  all_.reserve(inputs_ + group.outputs.size());
  double most = -1;
  for (const std::size_t number : group.inputs) {
    const double bytes = group.tensors[number].bytes(mapped.mapping().tiles);
    if (bytes > most) {
      most = bytes;
      largest_ = all_.size();
    }
    all_.push_back(transfer_of(group.tensors[number]));
  }
  for (const std::size_t number : group.outputs) all_.push_back(transfer_of(group.tensors[number]));
  any_by_rows_ = std::any_of(all_.begin(), all_.end(), [](const OuterTransfer& each) { return each.by_rows; });
  for (std::size_t number = 0; number < all_.size(); ++number) all_[number].set_up_turns = set_up_turns_of(number);
}

OuterTransfer OuterTransfers::transfer_of(const Tensor& tensor) const {
  OuterTransfer found;
  found.tensor = &tensor;
  const bool direct = machine_.direct.are_taken;
  found.in_l2 = direct ? mapped_.mapping().tiles : mapped_.tiles_in_l2(tensor);
  found.by_rows = !direct && mapped_.goes_by_rows(tensor);
  found.part = found.by_rows ? found.in_l2 : mapped_.column_of(found.in_l2);
  found.visits = mapped_.visits(tensor, found.in_l2);
  found.bytes = mapped_.traffic_bytes(tensor, found.in_l2, found.visits, direct ? 1 : mapped_.copies(tensor));
  found.channels = channels_of(found);
  found.dram_seconds = dram_seconds_of(found);
  const bool streams = tensor.role == Role::input && tensor.streams && mapped_.pieces(found.in_l2) > 1;
  const std::vector<std::size_t>& order = mapped_.mapping().order;
  const std::size_t inner = order.size() - (streams ? 0 : mapped_.stays(tensor));
  for (std::size_t place = inner; place-- > 0;) {
    if (mapped_.counts()[order[place]] > 1) found.around.push_back(order[place]);
  }
  return found;
}

Size OuterTransfers::channels_of(const OuterTransfer& transfer) const {
  const Spread& spread = mapped_.mapping().spread;
  if (machine_.direct.are_taken) return direct_channels(mapped_.mapping(), *transfer.tensor);
  if (transfer.tensor->role == Role::input) return transfer.by_rows ? spread.rows : spread.columns;
  if (!transfer.tensor->follows_loop(spread.column_loop)) return 1;
  const Size part = mapped_.column_of(mapped_.mapping().tiles)[spread.column_loop];
  return std::min(spread.columns, parts_of(mapped_.group().sizes[spread.column_loop], part));
}

double OuterTransfers::dram_seconds_of(const OuterTransfer& transfer) const {
  const Dram& dram = machine_.dram;
  const bool is_written = transfer.tensor->role == Role::output;
  const DramRuns runs = runs_of(mapped_.group(), *transfer.tensor, transfer.part);
  // Where neighbouring columns' runs adjoin, they are one.
  const Size block = dram.joins_runs ? transfer.tensor->run_bytes(mapped_.block_of(transfer.in_l2)) : 0;
  const auto run = static_cast<double>(std::max(runs.run_bytes, block));
  return transfer.bytes * (run + run_overhead_bytes(runs, dram, is_written)) /
         (run * (is_written ? dram.write_rate : dram.read_rate));
}

double OuterTransfers::busy_dram_seconds() const {
  const Dram& dram = machine_.dram;
  double read = 0;
  double written = 0;
  for (std::size_t number = 0; number < all_.size(); ++number) {
    (number < inputs_ ? read : written) += all_[number].dram_seconds;
  }
  const double moved = read * dram.read_rate + written * dram.write_rate;
  return std::max({read, written, moved / dram.total_rate});
}

double OuterTransfers::first_dram_seconds() const {
  double found = 0;
  for (std::size_t number = 0; number < inputs_; ++number) found += all_[number].dram_seconds / all_[number].visits;
  return found;
}

double OuterTransfers::last_dram_seconds() const {
  double found = 0;
  for (std::size_t number = inputs_; number < all_.size(); ++number) found += all_[number].dram_seconds / blocks_;
  return found;
}

template <typename Times>
double OuterTransfers::busiest_channel_seconds(std::size_t from, std::size_t to, Times times) const {
  if (machine_.direct.are_taken) {
    double inward = 0;
    double largest = 0;
    double outward = 0;
    for (std::size_t number = from; number < to; ++number) {
      const double seconds = direct_seconds(all_[number]) / times(all_[number]);
      (number < inputs_ ? inward : outward) += seconds;
      if (number < inputs_) largest = std::max(largest, seconds);
    }
    return std::max({inward / static_cast<double>(machine_.direct.lanes), largest, outward});
  }
  // Those by rows, by columns and outward work side by side.
  std::array<double, 3> bytes{0.0, 0.0, 0.0};
  for (std::size_t number = from; number < to; ++number) {
    const OuterTransfer& each = all_[number];
    const std::size_t way = number >= inputs_ ? 2 : each.by_rows ? 1 : 0;
    bytes[way] += each.bytes / (times(each) * channels(each));
  }
  return *std::max_element(bytes.begin(), bytes.end()) / machine_.channel_rate;
}

double OuterTransfers::first_channel_seconds() const {
  return busiest_channel_seconds(0, inputs_, [](const OuterTransfer& each) { return each.visits; });
}

double OuterTransfers::last_channel_seconds() const {
  return busiest_channel_seconds(inputs_, all_.size(), [&](const OuterTransfer&) { return blocks_; });
}

double OuterTransfers::channel_seconds() const {
  return busiest_channel_seconds(0, all_.size(), [](const OuterTransfer&) { return 1.0; });
}

double OuterTransfers::direct_seconds(const OuterTransfer& transfer) const {
  const double starts = transfer.visits * channels(transfer) * machine_.direct.start_seconds;
  return starts + transfer.bytes / machine_.channel_rate;
}

std::vector<bool> OuterTransfers::set_up_first() const {
  int op = std::numeric_limits<int>::max();
  for (std::size_t number = 0; number < inputs_; ++number) op = std::min(op, all_[number].tensor->user);
  std::size_t loops = 0;
  for (std::size_t number = 0; number < inputs_; ++number) {
    if (all_[number].tensor->user == op) loops = std::max(loops, all_[number].set_up_turns.size());
  }
  std::vector<bool> found(all_.size(), false);
  for (std::size_t number = 0; number < inputs_; ++number) {
    found[number] = all_[number].tensor->user == op || all_[number].set_up_turns.size() < loops;
  }
  return found;
}

double OuterTransfers::setting_up_seconds() const {
  double descriptors = 0;
  for (const OuterTransfer& each : all_) descriptors += each.descriptors();
  return machine_.descriptor_seconds * descriptors;
}

Sizes OuterTransfers::set_up_turns_of(std::size_t number) const {
  const PatternLimits& limits = machine_.outermost;
  const std::vector<std::pair<Size, bool>> loops = loops_around(number);
  Size dims = pattern_dims(*all_[number].tensor, all_[number].part, limits);
  Sizes found;
  for (const auto& [turns, is_covered] : loops) {
    const bool too_many = dims > limits.dims || (dims == limits.dims && turns > limits.iteration_max);
    if (!found.empty() || !is_covered || too_many) found.push_back(turns);
    ++dims;
  }
  return found;
}

std::vector<std::pair<Size, bool>> OuterTransfers::loops_around(std::size_t number) const {
  const Group& group = mapped_.group();
  const OuterTransfer& own = all_[number];
  const Tensor& tensor = *own.tensor;
  const bool is_input = number < inputs_;
  Loops beside(group.sizes.size(), 0);
  bool streams_alone = true;
  for (std::size_t other = is_input ? 0 : inputs_; other < (is_input ? inputs_ : all_.size()); ++other) {
    if (other == number || !share_channels(other, number)) continue;
    for (const std::size_t loop : all_[other].around) beside[loop] = 1;
    if (all_[other].tensor->streams) streams_alone = false;
  }
  std::vector<std::pair<Size, bool>> found;
  if (is_input && tensor.streams) {
    for (auto loop = group.streamed.rbegin(); loop != group.streamed.rend(); ++loop) {
      const Size turns = parts_of(group.sizes[*loop], own.in_l2[*loop]);
      const bool covers = streams_alone && tensor.cut_off[*loop] == 0;
      if (turns > 1) found.emplace_back(turns, covers && steps_evenly(tensor, *loop, own.in_l2[*loop]));
    }
  }
  for (const std::size_t loop : own.around) {
    const bool covers = beside[loop] == 0 && tensor.cut_off[loop] == 0;
    found.emplace_back(mapped_.counts()[loop], covers && steps_evenly(tensor, loop, mapped_.block()[loop]));
  }
  return found;
}

bool OuterTransfers::share_channels(std::size_t one, std::size_t other) const {
  if (one >= inputs_ || any_by_rows_) return all_[one].by_rows == all_[other].by_rows;
  return (one == largest_) == (other == largest_);
}

bool OuterTransfers::steps_evenly(const Tensor& tensor, std::size_t loop, Size piece) const {
  if (!tensor.follows_loop(loop) || mapped_.group().sizes[loop] % piece != 0) return false;
  return tensor.strides[loop] * piece <= machine_.outermost.stride_max * machine_.outermost.granule_bytes;
}

}  // namespace npuflow::mapped
