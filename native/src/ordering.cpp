#include "ordering.h"

#include <algorithm>

#include "fault.h"

namespace npuflow {

namespace {
// More tokens than this in one semaphore are merged: their acquirers then count as knowing a little more than they do.
constexpr std::size_t most_tokens = 1024;
}  // namespace

Ordering::Ordering(const Program& program)
    : engines_(program.engines.size()), clocks_(engines_ * engines_, 0), tokens_(program.semaphores.size()) {
  for (Index e = 0; e < engines_; ++e) {
    clock(e)[e] = 1;
    engine_of_.insert(engine_of_.end(), program.engines[e].op_count, e);
  }
  for (std::size_t s = 0; s < tokens_.size(); ++s) {
    if (program.semaphores[s].initial > 0) tokens_[s].push_back({program.semaphores[s].initial, {}});
  }
}

void Ordering::released(Index engine, Index semaphore, std::int64_t count) {
  std::deque<Token>& tokens = tokens_[semaphore];
  const std::span<const std::uint32_t> now = clock(engine);
  if (tokens.size() < most_tokens) {
    tokens.push_back({count, {now.begin(), now.end()}});
  } else {
    tokens.back().count += count;
    join(tokens.back().clock, now);
  }
  tick(engine);
}

void Ordering::acquired(Index engine, Index semaphore, std::int64_t count) {
  std::deque<Token>& tokens = tokens_[semaphore];
  while (count > 0 && !tokens.empty()) {
    Token& token = tokens.front();
    const std::int64_t taken = std::min(count, token.count);
    if (!token.clock.empty()) join(clock(engine), token.clock);
    count -= taken;
    token.count -= taken;
    if (token.count == 0) tokens.pop_front();
  }
}

void Ordering::receiving(Index receiver, Index sender) { join(clock(receiver), clock(sender)); }

void Ordering::received(Index receiver, Index sender) {
  receiving(receiver, sender);
  tick(sender);
}

void Ordering::tick(Index engine) {
  if (++clock(engine)[engine] == 0) throw Fault("an engine synchronises more than 2^32 times; use a timing run");
}

void Ordering::join(std::span<std::uint32_t> into, std::span<const std::uint32_t> from) {
  for (std::size_t e = 0; e < into.size(); ++e) into[e] = std::max(into[e], from[e]);
}

}  // namespace npuflow
