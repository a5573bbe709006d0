// What a run tells.

#pragma once

#include <array>
#include <string>
#include <vector>

#include "program.h"

namespace npuflow {

struct EngineTime {
  std::array<Cycles, spent_kinds> spent{};
  Cycles finished = 0;
};

struct Traffic {
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
};

// One operation that took time: a wait, at its acquire; a kernel; a transfer from its first byte on.
struct TraceEvent {
  Index engine = 0;
  Index op = 0;
  Cycles begin = 0;
  Cycles end = 0;
};

enum class HazardKind : std::uint8_t {
  race,       // two operations touch the same bytes, one of them writes, and nothing orders them
  unwritten,  // a kernel reads bytes that nothing has written
  lost,       // data is overwritten that nothing has read
};

struct Hazard {
  HazardKind kind = HazardKind::race;
  Index op = none;
  Index other = none;  // race: the operation that touched the bytes before
  Index memory = 0;
  std::int64_t low_byte = 0;
  std::int64_t high_byte = 0;
  Cycles cycle = 0;
};

struct Results {
  Cycles cycles = 0;
  std::int64_t operations = 0;  // carried out by engines; loop steps don't count
  std::vector<EngineTime> engines;
  std::vector<double> resource_bytes;      // what transfers took of each resource, overheads included
  std::vector<std::int64_t> stream_bytes;  // sent, once for all receivers
  std::vector<Traffic> buffers;            // by transfers
  std::vector<Cycles> semaphore_waits;
  std::vector<std::int64_t> semaphore_values;  // at the end
  std::vector<TraceEvent> trace;
  bool trace_is_cut = false;
  std::vector<Hazard> hazards;
};

}  // namespace npuflow
