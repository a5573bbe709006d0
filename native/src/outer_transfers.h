// What a mapping moves between DRAM and L2: bytes, DRAM's time, channels, and what is set up for it.

#pragma once

#include "mapped_machine.h"
#include "mapping.h"

namespace npuflow::mapped {

// Of one tensor.
struct OuterTransfer {
  const Tensor* tensor = nullptr;
  Sizes in_l2;  // the tiles of what comes into L2 at a time
  Sizes part;   // the tiles of what one channel moves
  bool by_rows = false;
  double visits = 1.0;  // how often its part comes into L2
  double bytes = 0.0;
  double dram_seconds = 0.0;
  Size channels = 1;
  std::vector<std::size_t> around;  // the loops over blocks in whose turns it moves, innermost first
  Sizes set_up_turns;               // of the loops in which its transfers are set up

  double descriptors() const;
};

// Through how many outermost channels without memory tiles a tensor moves, for one core after the other that differ in
// it.
Size direct_channels(const Mapping& mapping, const Tensor& tensor);

class OuterTransfers {
 public:
  OuterTransfers(const Mapped& mapped, const Machine& machine);

  // Inputs first, then results.
  const std::vector<OuterTransfer>& all() const { return all_; }
  std::size_t inputs() const { return inputs_; }
  double blocks() const { return blocks_; }
  // How long DRAM is busy: with what is read or written at the rate of that, or with all of it at its own.
  double busy_dram_seconds() const;
  // What DRAM takes for what the first block needs, and for what the last one makes.
  double first_dram_seconds() const;
  double last_dram_seconds() const;
  // The busiest of the outermost channels: for the first block's operands, for a block's results, and for everything.
  double first_channel_seconds() const;
  double last_channel_seconds() const;
  double channel_seconds() const;
  // Whether a tensor is set up in front of the first block: what its first op reads, and what a descriptor covers more
  // of. Operands of which a descriptor covers all loops stand in front of those that are set up in a loop.
  std::vector<bool> set_up_first() const;
  // What setting up takes in all.
  double setting_up_seconds() const;

 private:
  OuterTransfer transfer_of(const Tensor& tensor) const;
  Size channels_of(const OuterTransfer& transfer) const;
  // The busiest of the outermost channels, at one of so many times that each of these is moved.
  template <typename Times>
  double busiest_channel_seconds(std::size_t from, std::size_t to, Times times) const;
  // How long a channel takes to move a tensor, and to begin with each tile of it.
  double direct_seconds(const OuterTransfer& transfer) const;
  double dram_seconds_of(const OuterTransfer& transfer) const;
  Sizes set_up_turns_of(std::size_t number) const;
  // Turns of the loops around a transfer, and whether a descriptor may cover them; innermost first.
  std::vector<std::pair<Size, bool>> loops_around(std::size_t number) const;
  bool share_channels(std::size_t one, std::size_t other) const;
  bool steps_evenly(const Tensor& tensor, std::size_t loop, Size piece) const;

  const Mapped& mapped_;
  const Machine& machine_;
  std::vector<OuterTransfer> all_;
  std::size_t inputs_ = 0;
  std::size_t largest_ = 0;  // the input with the largest tile
  double blocks_ = 1.0;
  bool any_by_rows_ = false;
};

}  // namespace npuflow::mapped
