// How long a mapped group takes if its pipeline is played out, all channels of a tensor and all cores as one.
//
// Parts of tensors come into L2 as far as there are slots, share DRAM as flows of equal rates do, go on into L1 call by
// call, and are computed; results leave the other way. The control processor sets up in the order of its program, and
// waits for room in channels' queues. That is what a simulation of every engine has, without what makes one channel or
// core differ from another.

#pragma once

#include <limits>
#include <vector>

#include "estimate.h"
#include "outer_transfers.h"

namespace npuflow::mapped {

class Played {
 public:
  Played(const Mapped& mapped, const Machine& machine, const EngineCycles& cycles);

  // Infinite where nothing can go on.
  double seconds();

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  // Divisions of what are whole numbers.
  static constexpr double rounding = 1e-6;

  // The parts along a loop, the innermost loops first: the last one may have less than the others, for all channels or
  // for some of them alone. Both are what a channel has of it, as shares of the average.
  struct Along {
    std::size_t parts = 1;
    double full = 1.0;
    double last = 1.0;
    double last_channels = 1.0;
  };

  // A tensor on its way between DRAM and L2, a part after the other.
  struct Way {
    bool is_input = true;
    bool is_behind = false;  // whether only what comes behind a block's steps reads it
    bool is_apart = false;   // whether no channel waits for what others bring
    double turns = 1.0;      // parts in all
    double bytes = 0.0;      // of a part on average, through each of its channels if all have the same
    std::vector<Along> along;
    double channels = 1.0;  // that move at once
    double set_up_channels = 1.0;
    double weight = 1.0;  // of DRAM's time, in bytes for each byte
    std::size_t slots = 1;
    double set_up_turns = 1.0;
    double late = 0.0;  // by which the last channel is set up later than the first
    // On from L2: how often, in which lane, how many bytes, and to how many cores of a column other ones.
    double onward = 1.0;
    std::size_t lane = 0;
    double onward_bytes = 0.0;
    double streams = 1.0;

    std::vector<double> set_up;  // when the first channel's descriptors are there, of those that are set up so far
    std::vector<double> ends;    // when parts are there
    std::vector<double> frees;   // when L2 has none of them any more
    bool is_moving = false;
    double begins = never;
    double left = 0.0;        // bytes of a channel
    double rate = 0.0;        // of a channel that is set up
    double active = 0.0;      // channels that are set up
    double moving = 0.0;      // channels that have anything of it
    double all_set_up = 0.0;  // when all of them are

    bool is_done() const { return static_cast<double>(ends.size()) >= turns; }
    // Which of the turns that it is set up in a part is of.
    std::size_t group_of(std::size_t turn) const;
    // The first part of those.
    std::size_t first_of(std::size_t group) const;
    // What each channel has of a part, of those that have anything.
    double bytes_of(std::size_t turn) const;
    double channels_of(std::size_t turn) const;
    // Of all channels on average.
    double pace() const { return rate * active / moving; }
  };

  // What DRAM has left, or what is wanted of it for a byte a second of every flow.
  struct Rates {
    double read = 0.0;
    double write = 0.0;
    double total = 0.0;
  };

  // What a lane moves at once: bytes of each of so many streams.
  struct Lane {
    double bytes = 0.0;
    double streams = 1.0;
  };

  // What has come into L1 through a lane, of each step: its first call's part and all of it.
  struct Brought {
    std::vector<double> first;
    std::vector<double> all;
    bool stays = false;  // whether some of it stays for several steps
  };

  Way way_of(const Mapped& mapped, const OuterTransfer& transfer, double turns, double rate) const;
  Way way_in(const Mapped& mapped, const OuterTransfer& transfer) const;
  Way way_out(const Mapped& mapped, const OuterTransfer& transfer) const;
  // Of the loops in whose turns a tensor moves.
  static std::vector<Along> parts_along(const Mapped& mapped, const OuterTransfer& transfer);
  static Along along(const Mapped& mapped, const OuterTransfer& transfer, std::size_t loop, Size block);
  void divide(const EngineCycles& cycles, bool side_by_side);

  // How long it takes if the blocks that are left take as long as those of the second half so far.
  double with_what_is_left() const;
  double behind_set_up_seconds() const;
  double work_from(const Way& way, std::size_t turn) const;
  void set_up_more();
  Way* next_to_set_up();
  void begin_more();
  double room_for(const Way& way, std::size_t turn) const;
  void share();
  bool share_out(Rates& left);
  double next_active(const Way& way) const;
  void move_on();
  void end_part(Way& way, double at) const;

  void compute_more();
  // Brings all of a step into L1 through a lane that need not wait for others, if it can.
  bool bring(std::size_t lane);
  bool compute_step();
  // Whether all that a step reads is in L2, or all that what is behind it reads; and since when.
  bool has_come(bool behind, double& ready) const;
  bool has_come(const Way& way, std::size_t step, double& ready) const;
  bool has_room(std::size_t block, double& room) const;
  double compute(double ready);
  double compute_brought();
  void free_behind(Way& way, std::size_t step, double freed) const;
  std::size_t turn_of(const Way& way, std::size_t step) const;
  double arrival_seconds(std::size_t step, bool stays);
  double lanes_seconds();

  const Machine& machine_;
  std::vector<Way> ways_;
  std::vector<std::size_t> set_up_order_;
  std::vector<Lane> lanes_;
  std::vector<Brought> brought_;
  std::size_t inputs_ = 0;
  std::size_t results_ = 1;  // slots
  bool is_single_ = false;   // whether L1 has a single slot of an operand
  std::size_t ahead_ = 0;    // of how many steps L1 has room for all parts

  // Blocks, their steps, of which each computes a piece that comes into L2 at once, and a step's calls.
  std::size_t blocks_ = 1;
  std::size_t pieces_ = 1;
  std::size_t steps_ = 1;
  double calls_ = 1.0;
  double starting_seconds_ = 0.0;
  double step_seconds_ = 0.0;
  double ending_seconds_ = 0.0;
  double arrival_ = 0.0;  // of a step's parts in L1, of those that come with every step
  double leaving_ = 0.0;

  double now_ = 0.0;
  double control_ = 0.0;  // until when the control processor has something to do
  std::size_t step_ = 0;
  double computed_ = 0.0;            // when the last step's products are there
  std::vector<double> computed_of_;  // and when each step's are
  double core_free_ = 0.0;           // and when the core goes on
  double into_l1_ = 0.0;             // when the last step's parts are in L1
  std::vector<double> left_;
};

}  // namespace npuflow::mapped
