#include "deadlock.h"

#include <algorithm>

namespace npuflow {

namespace {

constexpr std::size_t most_engines = 12;  // that a message names

class Explanation {
 public:
  Explanation(const Program& program, std::span<const Blocked> blocked, std::span<const std::int64_t> values)
      : program_(program), blocked_(blocked), values_(values) {}

  std::string operator()(Cycles now) {
    std::string text = "deadlock at cycle " + std::to_string(now) + ": ";
    std::vector<std::size_t> order = circle();
    if (!order.empty()) text += "a circle of " + std::to_string(order.size()) + ": ";
    for (std::size_t b = 0; b < blocked_.size(); ++b) {
      if (std::find(order.begin(), order.end(), b) == order.end()) order.push_back(b);
    }
    for (std::size_t i = 0; i < std::min(order.size(), most_engines); ++i) {
      text += (i ? "; " : "") + sentence(blocked_[order[i]]);
    }
    if (order.size() > most_engines) text += "; and " + std::to_string(order.size() - most_engines) + " more";
    return text + "; hint: check that each acquire has its release, and the buffers' depths";
  }

 private:
  // Whether an engine may still come to `op` of its program from where it stands.
  bool can_reach(const Blocked& from, Index op) const {
    if (op > from.op) return true;
    for (Index begin = program_.engines[from.engine].first_op; begin <= op; ++begin) {
      const Op& loop = program_.ops[begin];
      const bool around = loop.kind == OpKind::loop_begin && loop.target > from.op;
      if (around && from.counters[loop.depth] + 1 < loop.amount) return true;
    }
    return false;
  }

  bool can_release(const Blocked& from, Index semaphore) const {
    const Engine& engine = program_.engines[from.engine];
    for (Index op = engine.first_op; op < engine.first_op + engine.op_count; ++op) {
      const Op& step = program_.ops[op];
      if (step.kind == OpKind::release && step.target == semaphore && can_reach(from, op)) return true;
    }
    return false;
  }

  bool is_at_stream(const Blocked& other, Index stream) const {
    const Op& op = program_.ops[other.op];
    return (op.kind == OpKind::send || op.kind == OpKind::receive) && op.target == stream;
  }

  bool is_end(Index engine, const Stream& stream) const {
    return stream.sender == engine ||
           std::find(stream.receivers.begin(), stream.receivers.end(), engine) != stream.receivers.end();
  }

  // The blocked engines that could let this one go on.
  std::vector<std::size_t> awaited(const Blocked& waiting) const {
    const Op& op = program_.ops[waiting.op];
    std::vector<std::size_t> result;
    for (std::size_t b = 0; b < blocked_.size(); ++b) {
      const Blocked& other = blocked_[b];
      if (other.engine == waiting.engine) continue;
      const bool can_help = op.kind == OpKind::acquire
                                ? can_release(other, op.target)
                                : is_end(other.engine, program_.streams[op.target]) && !is_at_stream(other, op.target);
      if (can_help) result.push_back(b);
    }
    return result;
  }

  // Follows the first awaited engine from each start until an engine comes up again.
  std::vector<std::size_t> circle() const {
    std::vector<std::size_t> next(blocked_.size(), blocked_.size());
    for (std::size_t b = 0; b < blocked_.size(); ++b) {
      const std::vector<std::size_t> others = awaited(blocked_[b]);
      if (!others.empty()) next[b] = others.front();
    }
    for (std::size_t start = 0; start < blocked_.size(); ++start) {
      std::vector<std::size_t> path;
      for (std::size_t at = start; at != blocked_.size(); at = next[at]) {
        const auto seen = std::find(path.begin(), path.end(), at);
        if (seen != path.end()) return {seen, path.end()};
        path.push_back(at);
      }
    }
    return {};
  }

  std::string sentence(const Blocked& waiting) const {
    const Op& op = program_.ops[waiting.op];
    const std::string who =
        "'" + program_.engines[waiting.engine].name + "' waits at '" + program_.op_names[waiting.op] + "' for ";
    return who + (op.kind == OpKind::acquire ? semaphore_text(waiting, op) : stream_text(waiting, op));
  }

  std::string semaphore_text(const Blocked& waiting, const Op& op) const {
    return std::to_string(op.amount) + " of semaphore '" + program_.semaphores[op.target].name + "' (has " +
           std::to_string(values_[op.target]) + "), which " + names(awaited(waiting), "nobody") + " can still release";
  }

  std::string stream_text(const Blocked& waiting, const Op& op) const {
    return names(awaited(waiting), "an engine that has ended") + " at stream '" + program_.streams[op.target].name +
           "'";
  }

  std::string names(const std::vector<std::size_t>& engines, const std::string& otherwise) const {
    std::string text;
    for (const std::size_t b : engines)
      text += (text.empty() ? "'" : ", '") + program_.engines[blocked_[b].engine].name + "'";
    return text.empty() ? otherwise : text;
  }

  const Program& program_;
  std::span<const Blocked> blocked_;
  std::span<const std::int64_t> values_;
};

}  // namespace

std::string explain_deadlock(const Program& program, std::span<const Blocked> blocked,
                             std::span<const std::int64_t> semaphore_values, Cycles now) {
  return Explanation(program, blocked, semaphore_values)(now);
}

}  // namespace npuflow
