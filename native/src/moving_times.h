// What of a mapping's time follows from what it moves alone, whatever its kernels take and however many slots it has.

#pragma once

#include "mapped_machine.h"
#include "outer_transfers.h"

namespace npuflow::mapped {

// An input that is set up in turns: when its part of the second and of the last has come, if nothing else is waited
// for.
struct SetUpTurns {
  double second = 0.0;
  double last = 0.0;
  double turns = 1.0;
};

// Seconds, but for what is counted.
struct MovingTimes {
  double blocks = 1.0;
  double calls = 1.0;        // for each block, of kernels that run for every piece
  double most_visits = 1.0;  // of what comes into L2 most often
  double power = 1.0;        // how sharply the slowest decides
  double busy_dram = 0.0;
  double setting_up = 0.0;    // in all
  double set_up_once = 0.0;   // a transfer of everything in every channel
  double arrival = 0.0;       // into L1
  double before = 0.0;        // until the first kernels can begin
  double between = 0.0;       // moving, but for what comes first and leaves last
  double last = 0.0;          // of the last block's results out of L2
  double last_alone = 0.0;    // the same where nothing else moves any more
  double first_of_all = 0.0;  // until what comes first of all operands is there
  double often = 0.0;         // DRAM's, of what comes most often
  double seldom = 0.0;        // and what of the others keeps that waiting
  double result = 0.0;        // of a block's results, or a piece of them, out of L1
  double result_pieces = 1.0;
  double leaving = 0.0;  // of the last of these, where they go on from L2
  bool tails_come_once = false;
  ShortVector<SetUpTurns, 8> in_turns;
};

MovingTimes moving_times(const Mapped& mapped, const OuterTransfers& outer, const Machine& machine);

// How sharply the slowest decides: the more, the more often something comes into L2.
double power_of(double visits);
// How long so many bytes take into a core's L1.
double into_l1_seconds(double bytes, const Machine& machine);

}  // namespace npuflow::mapped
