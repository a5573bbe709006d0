// The search for the best mappings: good ones by descent, then branch and bound over all of a space.

#pragma once

#include <deque>

#include "cost_floor.h"
#include "kept_mappings.h"

namespace npuflow::mapped {

struct SearchWish {
  std::size_t keep = 1;   // how many of the best are wanted
  double known = 0.0;     // what costs as much is of no interest
  std::int64_t most = 0;  // steps of branch and bound: estimates, floors, and kernels that are asked for
};

struct FoundMappings {
  std::vector<RankedMapping> best;
  std::vector<RankedMapping> of_spreads;  // the best on each, of what was looked at
  std::int64_t looked_at = 0;
  bool is_proved = false;
};

// `is_proved` says that nothing in the space costs less than the last that is kept.
FoundMappings search_mappings(Estimator& estimator, const Space& space, const SearchWish& wish,
                              const std::function<void()>& poll);

// Branch and bound: all tiles and spreads by their floors, the lowest first, with all pieces, orders and slots of each.
class Enumeration {
 public:
  Enumeration(Estimator& estimator, const Space& space, KeptMappings& kept, const SearchWish& wish)
      : estimator_(estimator), space_(space), floor_(estimator, space), kept_(kept), wish_(wish) {}

  // Whether all of the space was looked at, or has floors above what is kept.
  bool run();
  // All pieces of streamed loops, in L2 and in L1, of the best few.
  void look_around();

 private:
  struct Node {
    double floor = 0.0;
    Mapping mapping;
  };

  // Whether tiles from these on, on all spreads, are few enough to be weighed; if so, they are added.
  bool add_all_tiles(const Mapping& from);
  // How many tiles of places from one on there are, up to a few more than may be weighed.
  std::int64_t count_tiles(Mapping& mapping, std::size_t place) const;
  // How many of its sizes, the smallest of so many, a loop has room for.
  std::int64_t count_sizes(Mapping& mapping, std::size_t loop, std::int64_t most) const;
  void add_tiles(const Mapping& mapping, std::size_t place);
  void look_at(const Node& node);
  void look_at_pieces(const Mapping& mapping, std::size_t number, double floor);
  void look_at_orders(const Mapping& mapping, double floor);
  void look_at_slots(const Mapping& mapping, double floor);
  void look_at_fewer_slots(const Mapping& mapping, std::size_t slot);
  void check(double floor, double cost);
  bool is_spent() const { return spent() - begun_ >= wish_.most; }
  std::int64_t spent() const;

  Estimator& estimator_;
  const Space& space_;
  CostFloor floor_;
  KeptMappings& kept_;
  SearchWish wish_;
  std::deque<Node> nodes_;
  std::int64_t begun_ = 0;
  bool is_sound_ = true;
};

}  // namespace npuflow::mapped
