#include "repeat_search.h"

#include <algorithm>

namespace npuflow {

namespace {

// Keeping a moment copies every engine, stream and semaphore, each in about an operation's time; a comparison mostly
// ends at an early difference, after a share of that.
constexpr std::int64_t compared_share = 8;

// How often the engine carries out an operation in all, as far as that can be counted.
double operations_of(const Program& program, const Engine& engine) {
  double times = 1;
  double sum = 0;
  std::vector<double> around;
  for (Index op = engine.first_op; op < engine.first_op + engine.op_count; ++op) {
    const Op& here = program.ops[op];
    if (here.kind == OpKind::loop_begin) {
      around.push_back(times);
      times *= static_cast<double>(here.amount);
    } else if (here.kind == OpKind::loop_end) {
      times = around.back();
      around.pop_back();
    } else {
      sum += times;
    }
  }
  return sum;
}

}  // namespace

RepeatSearch::RepeatSearch(const Program& program) {
  double most = -1;
  for (std::size_t e = 0; e < program.engines.size(); ++e) {
    const double operations = operations_of(program, program.engines[e]);
    if (operations <= most) continue;
    most = operations;
    engine_ = static_cast<Index>(e);
  }
  const std::size_t things = program.engines.size() + program.streams.size() + program.semaphores.size();
  things_ = static_cast<std::int64_t>(things);
  if (engine_ != none) turns_.resize(program.engines[engine_].loop_depth);
}

bool RepeatSearch::keeps() {
  for (std::size_t inside = depth_ + 1; inside < turns_.size(); ++inside) turns_[inside].begin();
  Turns& turns = turns_[depth_];
  depth_ = none;
  turns.spent += things_ / compared_share;
  if (++turns.since_kept < turns.until_kept) return false;
  turns.spent += things_;
  turns.since_kept = 0;
  turns.until_kept = std::max(std::int64_t{1}, 2 * turns.until_kept);
  return true;
}

}  // namespace npuflow
