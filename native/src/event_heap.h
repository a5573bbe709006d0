// A binary heap of at most one event per entity, so that its size never depends on how long a program runs.

#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "program.h"

namespace npuflow {

class EventHeap {
 public:
  explicit EventHeap(Index entities) : place_(entities, none), time_(entities, 0) { heap_.reserve(entities); }

  bool empty() const { return heap_.empty(); }
  Index top() const { return heap_.front(); }
  Cycles top_time() const { return time_[heap_.front()]; }

  // Adds the entity's event or moves it.
  void set(Index entity, Cycles time) {
    time_[entity] = time;
    if (place_[entity] == none) {
      place_[entity] = static_cast<Index>(heap_.size());
      heap_.push_back(entity);
    }
    sift_up(place_[entity]);
    sift_down(place_[entity]);
  }

  // Whether the same events are there as in the heap of an earlier moment, all of them so much later.
  bool repeats(const EventHeap& before, Cycles later) const {
    if (heap_.size() != before.heap_.size()) return false;
    return std::all_of(heap_.begin(), heap_.end(), [&](Index entity) {
      return before.place_[entity] != none && time_[entity] - before.time_[entity] == later;
    });
  }

  void postpone(Cycles by) {
    for (const Index entity : heap_) time_[entity] += by;
  }

  void pop() {
    const Index gone = heap_.front();
    const Index last = heap_.back();
    heap_.pop_back();
    place_[gone] = none;
    if (last == gone) return;
    put(0, last);
    sift_down(0);
  }

 private:
  // Ties go to the lower entity: the order of events is the same in every run.
  bool before(Index a, Index b) const { return time_[a] != time_[b] ? time_[a] < time_[b] : a < b; }

  void put(Index at, Index entity) {
    heap_[at] = entity;
    place_[entity] = at;
  }

  void sift_up(Index at) {
    const Index entity = heap_[at];
    while (at > 0) {
      const Index parent = (at - 1) / 2;
      if (!before(entity, heap_[parent])) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entity);
  }

  void sift_down(Index at) {
    const Index entity = heap_[at];
    const auto size = static_cast<Index>(heap_.size());
    for (Index child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], entity)) break;
      put(at, heap_[child]);
      at = child;
    }
    put(at, entity);
  }

  std::vector<Index> heap_;
  std::vector<Index> place_;
  std::vector<Cycles> time_;
};

}  // namespace npuflow
