// What a device gives to mapped groups, as flat numbers.

#pragma once

#include "mapped_group.h"

namespace npuflow::mapped {

// What one descriptor of a DMA engine can address.
struct PatternLimits {
  Size dims = 1;
  Size granule_bytes = 1;
  Size size_max = 1;
  Size stride_max = 1;
  Size length_max = 1;
  Size iteration_max = 0;
};

// DRAM's rates, and what its runs cost beside their bytes.
struct Dram {
  double read_rate = 1.0;
  double write_rate = 1.0;
  double total_rate = 1.0;
  double read_overhead = 0.0;
  double write_overhead = 0.0;
  double page_overhead = 0.0;
  double edge_overhead = 0.0;
  Size page_bytes = 1;
  Size burst_bytes = 1;
  bool joins_runs = false;
};

// The DMA engine beside a core, and the memory that it fills.
struct CoreDma {
  double bytes_per_second = 1.0;
  double capacity = 0.0;
  Size alignment = 1;
  Size descriptors = 1;
  Size lock_max = 0;
};

// A memory tile's channels out, the lanes that what comes in and results take, the groups that its descriptors fall
// into, of which channels in turn have one each, and what a descriptor can address.
struct TileLanes {
  Size channels_out = 1;
  Size groups = 1;
  Size lanes = 1;
  Size leaving = 1;
  PatternLimits pattern;
};

// The DMA engine of a memory tile.
struct TileDma {
  double capacity = 0.0;
  Size columns = 1;  // memory tiles
  Size descriptors = 1;
  Size lock_max = 0;
  TileLanes lanes;
  bool pads_with_zeros = false;
};

// Where outermost channels move what cores work on, with no memory tiles between: how many there are inward, and how
// long one takes to begin.
struct DirectWays {
  bool are_taken = false;
  Size lanes = 1;
  double start_seconds = 0.0;
};

struct Machine {
  double clock_hz = 1.0;
  double descriptor_seconds = 0.0;  // what the control processor takes to set one up
  double channel_rate = 1.0;        // bytes per second of an outermost channel
  double latency_seconds = 0.0;     // until the first byte of what a channel asks for that had nothing to do
  double begin_l2_seconds = 0.0;    // before each transfer into L2
  double begin_l1_seconds = 0.0;    // before each transfer between L2 and L1
  double link_rate = 1.0;           // bytes per second into all cores of a column
  Size queue = 1;                   // how many descriptors a channel may have waiting
  PatternLimits outermost;
  Dram dram;
  CoreDma core;
  TileDma tile;
  DirectWays direct;
};

}  // namespace npuflow::mapped
