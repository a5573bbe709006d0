// What a mapping moves between DRAM and L2: bytes, DRAM's time, channels, and what is set up for it.

#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "dram_runs.h"
#include "mapped_machine.h"
#include "mapping.h"

namespace npuflow::mapped {

// Of one tensor.
struct OuterTransfer {
  const Tensor* tensor = nullptr;
  Sizes in_l2;  // the tiles of what comes into L2 at a time
  Sizes part;   // the tiles of what one channel moves
  bool by_rows = false;
  std::size_t lane = 0;  // which of a core's ways in an input takes: what goes by rows the first one
  double visits = 1.0;   // how often its part comes into L2
  double bytes = 0.0;
  double onward_bytes = 0.0;  // what goes on to a core in all, of an input
  double dram_seconds = 0.0;
  double part_seconds = 0.0;     // of these, what its part takes each time
  double channel_seconds = 0.0;  // how long one of its channels takes to move its share
  Size channels = 1;
  Size moving = 1;               // of these, those that have anything to move
  double at_work = 1.0;          // by how many all of it is moved in the time that the busiest of these takes
  Size onward_rows = 1;          // for how many rows, each with its own part, one channel goes on from a memory tile
  Order around;                  // the loops over blocks in whose turns it moves, innermost first
  bool is_hoisted = false;       // whether it moves in front of all blocks
  bool is_first = false;         // whether it is set up first: what the first op reads, or stands before that
  std::size_t set_up_loops = 0;  // the loops in whose turns its transfers are set up
  double turns = 1.0;            // in how many turns it is set up: the product of these loops'

  // What that takes of all channels.
  double descriptors() const;
  // What each of its channels takes along the loop that these divide it by; nothing where none does.
  Part divided(const Spread& spread) const;
};

// Through how many outermost channels a tensor moves.
Size outer_channels(const Mapped& mapped, const Machine& machine, const Tensor& tensor);

class OuterTransfers {
 public:
  OuterTransfers(const Mapped& mapped, const Machine& machine);

  // Inputs first, then results.
  const std::pmr::vector<OuterTransfer>& all() const { return all_; }
  std::size_t inputs() const { return inputs_; }
  std::size_t lanes() const { return lanes_; }
  // Inputs in the order in which they are set up.
  const Order& set_up_order() const { return set_up_order_; }
  double blocks() const { return blocks_; }
  // How long DRAM is busy: with what is read or written at the rate of that, runs included, or with all bytes at its
  // own.
  double busy_dram_seconds() const;
  // What DRAM takes for what comes first of those that are set up first, and for what the last block makes.
  double first_dram_seconds() const;
  double last_dram_seconds() const;
  // When what comes first of operands is there, of all or of those that are set up first: they come while the next are
  // set up.
  double arrival_seconds(bool of_all) const;
  // The busiest of the outermost channels: for a block's results, and for everything; and what a block's results take
  // through the channel that is set up last, when all others are done.
  double last_channel_seconds() const;
  double last_alone_seconds() const;
  double channel_seconds() const;
  // How many descriptors are set up with an operand's turn, which is counted from 0, and before that.
  double set_up_with(std::size_t input, double turn) const;
  // Whether how many slots there are made a difference: to what inserts zeros, where these tear runs apart.
  bool depends_on_slots() const { return depends_on_slots_; }
  // What setting up takes in all.
  double setting_up_seconds() const;

 private:
  // One more transfer, but for lanes and setting up, for which all are known.
  void add(const Tensor& tensor);
  // The largest load first, each to the lane that has least; of several, to the last. What goes by rows has the first.
  void choose_lanes();
  // Gives rows channels of their own out of memory tiles where that is faster, as long as there are any: lanes that
  // move most for single rows first, and none where something goes by rows.
  void separate_rows();
  // What goes into a memory tile, or out of it for all of its rows.
  double load_of(const OuterTransfer& transfer) const;
  // Those that move in front of all blocks, and then the fewer turns the earlier; a matmul's tail reads its operands
  // ahead.
  void order_set_up();
  // The busiest of the outermost channels, at one of so many times that each of these is moved.
  double busiest_channel_seconds(std::size_t from, std::size_t to, double times) const;
  // How long one of its channels takes to move its share of a tensor.
  double channel_share_seconds(const OuterTransfer& transfer) const;
  // How long a channel takes to move a tensor, and to begin with each tile of it.
  double direct_seconds(const OuterTransfer& transfer) const;
  double dram_seconds_of(const OuterTransfer& transfer);
  // Contiguous bytes in DRAM: torn apart by zeros that are inserted there, where memory tiles have no descriptors to.
  DramRuns transferred_runs(const OuterTransfer& transfer);
  // The loops in whose turns a transfer is set up: the first around it that a descriptor doesn't cover, and all around
  // that.
  void find_set_up_loops(std::size_t number);
  // Whether any other transfer that goes the same way, and shares channels, is so.
  template <typename IsSo>
  bool is_any_beside(std::size_t number, IsSo is_so) const;
  // Whether a descriptor may step along a loop by such pieces.
  bool steps_evenly(const Tensor& tensor, std::size_t loop, Size piece) const;

  const Mapped& mapped_;
  const Machine& machine_;
  // Those of most groups are in here: what is made for each of very many candidates needs no memory then.
  std::array<std::byte, 8 * sizeof(OuterTransfer)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<OuterTransfer> all_{&memory_};
  Order set_up_order_;
  std::size_t inputs_ = 0;
  std::size_t lanes_ = 1;
  double blocks_ = 1.0;
  bool depends_on_slots_ = false;
};

}  // namespace npuflow::mapped
