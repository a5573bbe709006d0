#include "deadlock.h"

#include <algorithm>

namespace npuflow {

namespace {

constexpr std::size_t most_engines = 12;  // that a message names

class Explanation {
 public:
  Explanation(const Program& program, std::span<const Blocked> blocked, std::span<const std::int64_t> values)
      : program_(program), blocked_(blocked), values_(values), place_(program.engines.size(), blocked.size()) {
    for (std::size_t b = 0; b < blocked.size(); ++b) place_[blocked[b].engine] = b;
    find_releases();
  }

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

  // Every release of a program, by semaphore: looked up for each waiting engine.
  void find_releases() {
    releases_.resize(program_.semaphores.size());
    for (Index op = 0; op < program_.ops.size(); ++op) {
      if (program_.ops[op].kind == OpKind::release) releases_[program_.ops[op].target].push_back(op);
    }
  }

  bool is_at_stream(const Blocked& other, Index stream) const {
    const Op& op = program_.ops[other.op];
    return (op.kind == OpKind::send || op.kind == OpKind::receive) && op.target == stream;
  }

  // The blocked engines that could let this one go on, in order.
  std::vector<std::size_t> awaited(const Blocked& waiting) const {
    const Op& op = program_.ops[waiting.op];
    std::vector<std::size_t> result;
    const auto add = [&](Index engine, const auto& can_help) {
      const std::size_t b = place_[engine];
      if (b == blocked_.size() || engine == waiting.engine || !can_help(blocked_[b])) return;
      if (result.empty() || result.back() != b) result.push_back(b);
    };
    if (op.kind == OpKind::acquire) {
      for (const Index release : releases_[op.target]) {
        add(program_.engine_of(release), [&](const Blocked& other) { return can_reach(other, release); });
      }
      return result;
    }
    const Stream& stream = program_.streams[op.target];
    const auto is_away = [&](const Blocked& other) { return !is_at_stream(other, op.target); };
    add(stream.sender, is_away);
    for (const Index receiver : stream.receivers) add(receiver, is_away);
    return result;
  }

  // Follows the first awaited engine from each start until an engine comes up again.
  std::vector<std::size_t> circle() const {
    std::vector<std::size_t> next(blocked_.size(), blocked_.size());
    for (std::size_t b = 0; b < blocked_.size(); ++b) {
      const std::vector<std::size_t> others = awaited(blocked_[b]);
      if (!others.empty()) next[b] = others.front();
    }
    std::vector<std::size_t> seen_from(blocked_.size(), blocked_.size());
    for (std::size_t start = 0; start < blocked_.size(); ++start) {
      std::size_t at = start;
      for (; at != blocked_.size() && seen_from[at] == blocked_.size(); at = next[at]) seen_from[at] = start;
      if (at == blocked_.size() || seen_from[at] != start) continue;
      std::vector<std::size_t> found{at};
      for (std::size_t b = next[at]; b != at; b = next[b]) found.push_back(b);
      return found;
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
  std::vector<std::size_t> place_;            // by engine: where it is among the blocked, or past their end
  std::vector<std::vector<Index>> releases_;  // by semaphore
};

}  // namespace

std::string explain_deadlock(const Program& program, std::span<const Blocked> blocked,
                             std::span<const std::int64_t> semaphore_values, Cycles now) {
  return Explanation(program, blocked, semaphore_values)(now);
}

}  // namespace npuflow
