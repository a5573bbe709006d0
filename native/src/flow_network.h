// Transfers in flight and the rates they get: max-min fair shares of the resources they use, in whole-cycle events.

#pragma once

#include <vector>

#include "event_heap.h"
#include "program.h"

namespace npuflow {

// A flow that moves x bytes takes weight * x of the resource.
struct Use {
  Index resource = 0;
  double weight = 1;
};

class FlowNetwork {
 public:
  // A flow's event in the heap is `first_entity` + its number.
  FlowNetwork(const std::vector<Resource>& resources, Index flows, Index first_entity);

  // Starts a flow of at most `limit` bytes per cycle; its rate and event follow with the next `update`.
  void start(Index flow, double bytes, double limit, const std::vector<Use>& uses, Cycles now);
  void stop(Index flow);

  bool needs_update() const { return !dirty_.empty() || !fresh_.empty(); }
  // Gives new rates to all flows that a start or stop since the last update can have touched, and moves their events.
  void update(Cycles now, EventHeap& heap);

  // Whether the same flows are under way as at an earlier moment, all of them so much later.
  bool repeats(const FlowNetwork& before, Cycles later) const;
  // What is under way comes so much later, when the resources have been used as much as since an earlier moment,
  // `times` more.
  void postpone(const FlowNetwork& before, Cycles by, std::int64_t times);

  // The rate a flow of these uses gets when it is alone.
  double rate_alone(double limit, const std::vector<Use>& uses) const;
  const std::vector<double>& used_bytes() const { return used_bytes_; }

 private:
  struct Flow {
    std::vector<Use> uses;
    double limit = 0;
    double bytes = 0;
    double left = 0;
    double rate = 0;
    double new_rate = 0;
    Cycles since = 0;
    bool seen = false;
    bool fixed = false;
  };
  struct User {
    Index flow = 0;
    double weight = 0;
  };
  struct Share {
    const Resource* resource = nullptr;
    std::vector<User> users;
    double left = 0;    // what fixed flows leave over
    double weight = 0;  // of the flows that aren't fixed yet
    Index rising = 0;   // how many those are
    bool seen = false;
  };

  double demand(const Share& share) const;
  void see(Index flow);
  void collect();
  void fill();
  void fix(Index flow, double rate);
  void apply(Index flow, Cycles now, EventHeap& heap);

  std::vector<Flow> flows_;
  std::vector<Share> shares_;
  std::vector<double> used_bytes_;
  std::vector<Index> dirty_;    // resources whose flows changed
  std::vector<Index> fresh_;    // flows that just started
  std::vector<Index> touched_;  // scratch of `update`: the flows and contended resources of the affected part
  std::vector<Index> contended_;
  Index first_entity_;
};

}  // namespace npuflow
