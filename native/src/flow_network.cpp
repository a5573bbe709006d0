#include "flow_network.h"

#include <algorithm>
#include <cmath>

#include "fault.h"

namespace npuflow {

namespace {
// Rates are binary fractions of decimal numbers: a duration this close above a whole cycle is that cycle.
constexpr double rounding_slack_cycles = 1e-6;
}  // namespace

FlowNetwork::FlowNetwork(const std::vector<Resource>& resources, Index flows, Index first_entity)
    : flows_(flows), shares_(resources.size()), used_bytes_(resources.size(), 0.0), first_entity_(first_entity) {
  for (std::size_t r = 0; r < resources.size(); ++r) shares_[r].resource = &resources[r];
}

double FlowNetwork::rate_alone(double limit, const std::vector<Use>& uses) const {
  double rate = limit;
  for (const Use& use : uses) rate = std::min(rate, shares_[use.resource].resource->bytes_per_cycle / use.weight);
  return rate;
}

bool FlowNetwork::repeats(const FlowNetwork& before, Cycles later) const {
  for (std::size_t r = 0; r < shares_.size(); ++r) {
    const std::vector<User>& users = shares_[r].users;
    const std::vector<User>& then = before.shares_[r].users;
    const auto same = [&](const User& now, const User& old) {
      const Flow& a = flows_[now.flow];
      const Flow& b = before.flows_[old.flow];
      return now.flow == old.flow && now.weight == old.weight && a.limit == b.limit && a.bytes == b.bytes &&
             a.left == b.left && a.rate == b.rate && a.since - b.since == later;
    };
    if (!std::equal(users.begin(), users.end(), then.begin(), then.end(), same)) return false;
  }
  return true;
}

void FlowNetwork::postpone(const FlowNetwork& before, Cycles by, std::int64_t times) {
  for (Flow& flow : flows_) flow.since += by;
  for (std::size_t r = 0; r < used_bytes_.size(); ++r)
    used_bytes_[r] += static_cast<double>(times) * (used_bytes_[r] - before.used_bytes_[r]);
}

void FlowNetwork::start(Index index, double bytes, double limit, const std::vector<Use>& uses, Cycles now) {
  Flow& flow = flows_[index];
  flow.uses = uses;
  flow.limit = limit;
  flow.bytes = flow.left = bytes;
  flow.rate = 0;
  flow.since = now;
  for (const Use& use : uses) {
    shares_[use.resource].users.push_back({index, use.weight});
    dirty_.push_back(use.resource);
  }
  fresh_.push_back(index);
}

void FlowNetwork::stop(Index index) {
  for (const Use& use : flows_[index].uses) {
    std::vector<User>& users = shares_[use.resource].users;
    users.erase(std::find_if(users.begin(), users.end(), [index](const User& user) { return user.flow == index; }));
    used_bytes_[use.resource] += flows_[index].bytes * use.weight;
    dirty_.push_back(use.resource);
  }
}

void FlowNetwork::update(Cycles now, EventHeap& heap) {
  collect();
  fill();
  for (const Index flow : touched_) apply(flow, now, heap);
  for (const Index resource : contended_) shares_[resource].seen = false;
  touched_.clear();
  contended_.clear();
  dirty_.clear();
  fresh_.clear();
}

// Finds the flows that a change can reach: those on changed resources, then on through every resource that is wanted
// more than it can give. A resource with enough for all couples nothing.
void FlowNetwork::collect() {
  for (const Index flow : fresh_) see(flow);
  for (const Index resource : dirty_) {
    for (const User& user : shares_[resource].users) see(user.flow);
  }
  for (std::size_t next = 0; next < touched_.size(); ++next) {
    for (const Use& use : flows_[touched_[next]].uses) {
      Share& share = shares_[use.resource];
      if (share.seen || demand(share) <= share.resource->bytes_per_cycle) continue;
      share.seen = true;
      contended_.push_back(use.resource);
      for (const User& user : share.users) see(user.flow);
    }
  }
}

void FlowNetwork::see(Index index) {
  Flow& flow = flows_[index];
  if (flow.seen) return;
  flow.seen = true;
  flow.fixed = false;
  touched_.push_back(index);
}

double FlowNetwork::demand(const Share& share) const {
  double sum = 0;
  for (const User& user : share.users) sum += flows_[user.flow].limit * user.weight;
  return sum;
}

// Progressive filling: all rates rise together; a flow stops at its limit, or where a resource of it is used up.
void FlowNetwork::fill() {
  for (const Index resource : contended_) {
    Share& share = shares_[resource];
    share.left = share.resource->bytes_per_cycle;
    share.weight = 0;
    for (const User& user : share.users) share.weight += user.weight;
    share.rising = static_cast<Index>(share.users.size());
  }
  std::sort(touched_.begin(), touched_.end(), [this](Index a, Index b) {
    return flows_[a].limit != flows_[b].limit ? flows_[a].limit < flows_[b].limit : a < b;
  });
  for (std::size_t next = 0; next < touched_.size();) {
    if (flows_[touched_[next]].fixed) {
      ++next;
      continue;
    }
    const Share* tightest = nullptr;
    double level = flows_[touched_[next]].limit;
    for (const Index resource : contended_) {
      const Share& share = shares_[resource];
      if (share.rising == 0 || share.left / share.weight >= level) continue;
      level = std::max(share.left / share.weight, 0.0);
      tightest = &share;
    }
    if (tightest == nullptr) {
      fix(touched_[next], level);
      continue;
    }
    for (const User& user : tightest->users) {
      if (!flows_[user.flow].fixed) fix(user.flow, level);
    }
  }
}

void FlowNetwork::fix(Index index, double rate) {
  Flow& flow = flows_[index];
  flow.fixed = true;
  flow.new_rate = rate;
  for (const Use& use : flow.uses) {
    Share& share = shares_[use.resource];
    if (!share.seen) continue;
    share.left -= rate * use.weight;
    share.weight -= use.weight;
    --share.rising;
  }
}

void FlowNetwork::apply(Index index, Cycles now, EventHeap& heap) {
  Flow& flow = flows_[index];
  flow.seen = false;
  if (flow.new_rate == flow.rate) return;
  flow.left = std::max(0.0, flow.left - flow.rate * static_cast<double>(now - flow.since));
  flow.since = now;
  flow.rate = flow.new_rate;
  const double duration = std::ceil(flow.left / flow.rate - rounding_slack_cycles);
  if (!(duration < static_cast<double>(max_time - now)))
    throw Fault("a transfer never ends: its share of a resource is 0");
  heap.set(first_entity_ + index, now + std::max(Cycles{0}, static_cast<Cycles>(duration)));
}

}  // namespace npuflow
