#include "outer_transfers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "room.h"

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

double OuterTransfer::descriptors() const { return mapped::channels(*this) * turns; }

Part OuterTransfer::divided(const Spread& spread) const {
  const std::size_t loop = by_rows ? spread.row_loop : spread.column_loop;
  return tensor->follows_loop(loop) ? Part{loop, part[loop]} : Part{};
}

namespace {

// Of the channels that a tensor is divided over, those whose parts begin in front of its end.
Size moving_channels(const Mapped& mapped, const OuterTransfer& transfer, Part part) {
  if (part.size == 0) return transfer.channels;
  return std::min(transfer.channels, parts_of(mapped.group().sizes[part.loop], part.size));
}

// By how many of these all of it is moved: of the last block, some may have nothing.
double channels_at_work(const Mapped& mapped, const OuterTransfer& transfer, Part part) {
  const auto moving = static_cast<double>(transfer.moving);
  if (part.size == 0) return moving;
  const Size size = mapped.group().sizes[part.loop];
  const Size block = mapped.block()[part.loop];
  const Size before = parts_of(size, block) - 1;
  const Size busiest = before * part.size + std::min(part.size, size - before * block);
  return std::min(moving, static_cast<double>(size) / static_cast<double>(busiest));
}

}  // namespace

OuterTransfers::OuterTransfers(const Mapped& mapped, const Machine& machine)
    : mapped_(mapped), machine_(machine), blocks_(mapped.blocks()) {
  const Group& group = mapped.group();
  inputs_ = group.inputs.size();
  all_.reserve(inputs_ + group.outputs.size());
  for (const std::size_t number : group.inputs) add(group.tensors[number]);
  for (const std::size_t number : group.outputs) add(group.tensors[number]);
  choose_lanes();
  if (!machine.direct.are_taken) separate_rows();
  for (std::size_t number = 0; number < all_.size(); ++number) find_set_up_loops(number);
  order_set_up();
}

void OuterTransfers::order_set_up() {
  ShortVector<std::tuple<std::size_t, int, std::size_t>, 8> places;
  for (std::size_t number = 0; number < inputs_; ++number) {
    const OuterTransfer& each = all_[number];
    const bool is_ahead = mapped_.group().is_packed && each.tensor->operand == Operand::tail;
    places.push_back({each.is_hoisted ? 0 : 1 + each.set_up_loops, is_ahead ? -1 : each.tensor->user, number});
  }
  std::sort(places.begin(), places.end());
  for (const auto& place : places) set_up_order_.push_back(std::get<2>(place));
  int op = std::numeric_limits<int>::max();
  for (const std::size_t number : set_up_order_) op = std::min(op, all_[number].tensor->user);
  bool is_needed = false;
  for (auto number = set_up_order_.rbegin(); number != set_up_order_.rend(); ++number) {
    is_needed |= all_[*number].tensor->user == op;
    all_[*number].is_first = is_needed;
  }
}

void OuterTransfers::add(const Tensor& tensor) {
  OuterTransfer& found = all_.emplace_back();
  found.tensor = &tensor;
  const bool direct = machine_.direct.are_taken;
  found.in_l2 = direct ? mapped_.mapping().tiles : mapped_.tiles_in_l2(tensor);
  found.by_rows = !direct && mapped_.goes_by_rows(tensor);
  found.part = found.by_rows ? found.in_l2 : mapped_.column_of(found.in_l2);
  const Size streams = mapped_.streams(tensor, found.in_l2);
  found.visits = mapped_.visits(tensor, streams);
  const Size copies = direct ? 1 : mapped_.copies(tensor);
  const Part own = found.divided(mapped_.mapping().spread);
  found.bytes = mapped_.traffic_bytes(tensor, found.in_l2, found.visits, copies, direct ? Part{} : own);
  found.channels = outer_channels(mapped_, machine_, tensor);
  found.moving = moving_channels(mapped_, found, own);
  found.at_work = channels_at_work(mapped_, found, own);
  const Sizes& tiles = mapped_.mapping().tiles;
  if (tensor.role == Role::input) found.onward_bytes = tensor.l1_bytes(tiles) * mapped_.visits(tensor, tiles);
  found.dram_seconds = dram_seconds_of(found);
  found.part_seconds = found.dram_seconds / found.visits;
  found.channel_seconds = channel_share_seconds(found);
  const Order& order = mapped_.mapping().order;
  for (std::size_t place = mapped_.around(tensor, streams); place-- > 0;) {
    if (mapped_.counts()[order[place]] > 1) found.around.push_back(order[place]);
  }
  found.is_hoisted = blocks_ > 1 && streams == 1 && found.around.empty();
}

double OuterTransfers::dram_seconds_of(const OuterTransfer& transfer) {
  if (transfer.tensor->is_at_home) return 0.0;
  const Dram& dram = machine_.dram;
  const bool is_written = transfer.tensor->role == Role::output;
  const DramRuns runs = transferred_runs(transfer);
  // Where neighbours' runs adjoin, they are one; those of windows overlap.
  const Spread& spread = mapped_.mapping().spread;
  const std::size_t loop = transfer.by_rows ? spread.row_loop : spread.column_loop;
  const bool adjoin =
      transfer.tensor->follows_loop(loop) && transfer.tensor->strides[loop] * transfer.part[loop] == runs.run_bytes;
  // Of a whole row, what begins the next one is another run.
  Size run_bytes = runs.run_bytes;
  if (dram.joins_runs && adjoin) {
    const Size block = transfer.tensor->run_bytes(mapped_.block_of(transfer.in_l2));
    run_bytes = std::max(run_bytes, std::min(run_bytes * transfer.moving, block));
  }
  const auto run = static_cast<double>(run_bytes);
  return transfer.bytes * (run + run_overhead_bytes(runs, dram, is_written)) /
         (run * (is_written ? dram.write_rate : dram.read_rate));
}

DramRuns OuterTransfers::transferred_runs(const OuterTransfer& transfer) {
  const Tensor& tensor = *transfer.tensor;
  const DramRuns runs = runs_of(mapped_.group(), tensor, transfer.part);
  if (tensor.role != Role::input || machine_.direct.are_taken) return runs;
  // Longer ones cost about as much whole; who inserts zeros where is counted for few tensors so.
  const bool is_long = runs.torn_bytes >= std::min(runs.run_bytes, machine_.dram.burst_bytes);
  if (is_long) return runs;
  depends_on_slots_ = true;
  if (Room(mapped_).is_clipped(machine_.tile)) return runs;
  return runs_of(mapped_.group(), tensor, transfer.part, true);
}

double OuterTransfers::busy_dram_seconds() const {
  const Dram& dram = machine_.dram;
  double read = 0;
  double written = 0;
  double moved = 0;
  for (std::size_t number = 0; number < all_.size(); ++number) {
    (number < inputs_ ? read : written) += all_[number].dram_seconds;
    if (!all_[number].tensor->is_at_home) moved += all_[number].bytes;
  }
  return std::max({read, written, moved / dram.total_rate});
}

double OuterTransfers::first_dram_seconds() const {
  double found = 0;
  for (std::size_t number = 0; number < inputs_; ++number) {
    if (all_[number].is_first) found += all_[number].part_seconds;
  }
  return found;
}

double OuterTransfers::last_dram_seconds() const {
  double found = 0;
  for (std::size_t number = inputs_; number < all_.size(); ++number) found += all_[number].dram_seconds / blocks_;
  return found;
}

double OuterTransfers::busiest_channel_seconds(std::size_t from, std::size_t to, double times) const {
  // Lanes, and the way outward, work side by side.
  ShortVector<double, 8> ways(lanes_ + 1, 0.0);
  for (std::size_t number = from; number < to; ++number) {
    const std::size_t way = number < inputs_ ? all_[number].lane : lanes_;
    ways[way] += all_[number].channel_seconds / times;
  }
  return *std::max_element(ways.begin(), ways.end());
}

double OuterTransfers::arrival_seconds(bool of_all) const {
  double set_up = 0;
  double dram = 0;
  ShortVector<double, 8> lanes(lanes_, 0.0);
  for (const std::size_t number : set_up_order_) {
    const OuterTransfer& each = all_[number];
    if (!of_all && !each.is_first) continue;
    dram = std::max(dram, set_up + machine_.descriptor_seconds) + each.part_seconds;
    set_up += machine_.descriptor_seconds * channels(each);
    // The last channel shares DRAM with those before it, which go on to what comes next.
    dram = std::max(dram, set_up + (each.visits > 1 ? each.part_seconds : each.dram_seconds / channels(each)));
    double& lane = lanes[each.lane];
    lane = std::max(lane, set_up) + each.channel_seconds / each.visits;
  }
  return std::max({set_up, dram, *std::max_element(lanes.begin(), lanes.end())});
}

double OuterTransfers::channel_share_seconds(const OuterTransfer& transfer) const {
  if (machine_.direct.are_taken) return direct_seconds(transfer);
  return transfer.bytes / (transfer.at_work * machine_.channel_rate);
}

double OuterTransfers::last_channel_seconds() const { return busiest_channel_seconds(inputs_, all_.size(), blocks_); }

double OuterTransfers::last_alone_seconds() const {
  double found = 0;
  for (std::size_t number = inputs_; number < all_.size(); ++number) {
    found += all_[number].dram_seconds / (blocks_ * channels(all_[number]));
  }
  return std::max(found, last_channel_seconds());
}

double OuterTransfers::channel_seconds() const { return busiest_channel_seconds(0, all_.size(), 1.0); }

double OuterTransfers::direct_seconds(const OuterTransfer& transfer) const {
  const double starts = transfer.visits * channels(transfer) * machine_.direct.start_seconds;
  return starts + transfer.bytes / machine_.channel_rate;
}

double OuterTransfers::set_up_with(std::size_t input, double turn) const {
  double found = 0;
  for (std::size_t number = 0; number < all_.size(); ++number) {
    const double own = all_[number].turns;
    const double behind = std::floor(turn * own / all_[input].turns);
    found += channels(all_[number]) * std::min(own, number < inputs_ ? 1 + behind : std::max(1.0, behind));
  }
  return found;
}

double OuterTransfers::setting_up_seconds() const {
  double descriptors = 0;
  for (const OuterTransfer& each : all_) descriptors += each.descriptors();
  return machine_.descriptor_seconds * descriptors;
}

void OuterTransfers::find_set_up_loops(std::size_t number) {
  OuterTransfer& own = all_[number];
  const Group& group = mapped_.group();
  const Tensor& tensor = *own.tensor;
  const bool streams = tensor.role == Role::input && tensor.streams;
  if (!streams && own.around.empty()) return;
  const PatternLimits& limits = machine_.outermost;
  Size dims = pattern_dims(tensor, own.part, limits);
  const auto add = [&](Size turns, auto is_covered) {
    const bool too_many = dims > limits.dims || (dims == limits.dims && turns > limits.iteration_max);
    ++dims;
    if (own.set_up_loops == 0 && !too_many && is_covered()) return;
    ++own.set_up_loops;
    own.turns *= static_cast<double>(turns);
  };
  for (auto loop = group.streamed.rbegin(); streams && loop != group.streamed.rend(); ++loop) {
    const Size turns = parts_of(group.sizes[*loop], own.in_l2[*loop]);
    const auto streams_too = [](const OuterTransfer& other) { return other.tensor->streams; };
    if (turns == 1) continue;
    add(turns, [&] { return steps_evenly(tensor, *loop, own.in_l2[*loop]) && !is_any_beside(number, streams_too); });
  }
  for (const std::size_t loop : own.around) {
    const auto steps_too = [&](const OuterTransfer& other) {
      return std::find(other.around.begin(), other.around.end(), loop) != other.around.end();
    };
    add(mapped_.counts()[loop],
        [&] { return steps_evenly(tensor, loop, mapped_.block()[loop]) && !is_any_beside(number, steps_too); });
  }
}

template <typename IsSo>
bool OuterTransfers::is_any_beside(std::size_t number, IsSo is_so) const {
  const bool is_input = number < inputs_;
  const std::size_t last = is_input ? inputs_ : all_.size();
  for (std::size_t other = is_input ? 0 : inputs_; other < last; ++other) {
    if (other != number && all_[other].lane == all_[number].lane && is_so(all_[other])) return true;
  }
  return false;
}

bool OuterTransfers::steps_evenly(const Tensor& tensor, std::size_t loop, Size piece) const {
  if (!tensor.follows_loop(loop) || tensor.cut_off[loop] != 0) return false;
  if (mapped_.group().sizes[loop] % piece != 0) return false;
  return tensor.strides[loop] * piece <= machine_.outermost.stride_max * machine_.outermost.granule_bytes;
}

}  // namespace npuflow::mapped
