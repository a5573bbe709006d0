#include "tile_lanes.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace npuflow::mapped {

namespace {

// For so many buffers all ways to take the lanes are compared; of more the largest are, the others even things out.
constexpr std::size_t compared = 6;

Size weight(const MovedBuffer& buffer, Size rows) {
  return buffer.filled + buffer.emptied * (buffer.by_rows ? rows : 1);
}

class LaneSearch {
 public:
  LaneSearch(std::vector<MovedBuffer> moved, const LeavingResults& results, Size rows, const TileLanes& dma)
      : moved_(std::move(moved)),
        results_(results),
        rows_(rows),
        dma_(dma),
        count_(static_cast<std::size_t>(dma.lanes)),
        none_(count_, std::uint8_t{0}) {}

  LaneChoice best() {
    const std::size_t first = std::min(compared, moved_.size());
    LaneChoice choice{{}, none_};
    for (std::size_t number = 0; number < first; ++number) choice.lanes.push_back(0);
    do {
      try_separations(choice);
    } while (next(choice.lanes));
    for (std::size_t more = first; more < moved_.size(); ++more) add_next();
    return best_;
  }

 private:
  // All lanes in turn, the last buffer's first.
  bool next(ShortVector<std::size_t, 8>& lanes) const {
    for (auto lane = lanes.rbegin(); lane != lanes.rend(); ++lane) {
      if (++*lane < count_) return true;
      *lane = 0;
    }
    return false;
  }

  void try_separations(LaneChoice& choice) {
    ShortVector<std::uint8_t, 8> taken = none_;
    ShortVector<std::uint8_t, 8> parted = none_;
    for (std::size_t i = 0; i < choice.lanes.size(); ++i) {
      taken[choice.lanes[i]] = 1;
      if (moved_[i].by_rows && rows_ > 1) parted[choice.lanes[i]] = 1;
    }
    const Size spare = dma_.channels_out - dma_.leaving - std::accumulate(taken.begin(), taken.end(), Size{0});
    choice.separate = none_;
    keep_if_better(choice);
    for (std::size_t lane = 0; lane < count_; ++lane) {
      if (parted[lane] == 0 || rows_ - 1 > spare) continue;
      choice.separate = none_;
      choice.separate[lane] = 1;
      keep_if_better(choice);
    }
    const bool all = std::all_of(parted.begin(), parted.end(), [](std::uint8_t is) { return is != 0; });
    if (!all || dma_.lanes * (rows_ - 1) > spare) return;
    choice.separate = parted;
    keep_if_better(choice);
  }

  void keep_if_better(const LaneChoice& choice) {
    const Size need = fullest_group(lanes_of(assigned(choice), choice, rows_, dma_), results_, rows_, dma_);
    if (need >= least_) return;
    least_ = need;
    best_ = choice;
  }

  // One more buffer, in the lane that suits it best.
  void add_next() {
    const LaneChoice before = best_;
    least_ = std::numeric_limits<Size>::max();
    for (std::size_t lane = 0; lane < count_; ++lane) {
      LaneChoice more = before;
      more.lanes.push_back(lane);
      keep_if_better(more);
    }
  }

  std::span<const MovedBuffer> assigned(const LaneChoice& choice) const {
    return std::span(moved_).first(choice.lanes.size());
  }

  std::vector<MovedBuffer> moved_;
  LeavingResults results_;
  Size rows_;
  const TileLanes& dma_;
  std::size_t count_;
  ShortVector<std::uint8_t, 8> none_;  // of the lanes
  LaneChoice best_;
  Size least_ = std::numeric_limits<Size>::max();
};

}  // namespace

Size fullest_group(std::span<const Lane> lanes, const LeavingResults& results, Size rows, const TileLanes& dma) {
  Sizes needs(static_cast<std::size_t>(dma.groups), 0);
  const auto need = [&](Size channel) -> Size& { return needs[static_cast<std::size_t>(channel % dma.groups)]; };
  Size first = 0;
  for (const Lane& lane : lanes) {
    need(static_cast<Size>(lane.number)) += lane.filled;
    for (Size channel = first; channel < first + lane.channels; ++channel) need(channel) += lane.emptied;
    first += lane.channels;
  }
  for (Size row = 0; row < rows; ++row) need(dma.lanes + row) += results.gathered;
  need(first) += results.left;
  return *std::max_element(needs.begin(), needs.end());
}

ShortVector<Lane, 4> lanes_of(std::span<const MovedBuffer> moved, const LaneChoice& choice, Size rows,
                              const TileLanes& dma) {
  ShortVector<Lane, 4> found;
  for (std::size_t number = 0; number < static_cast<std::size_t>(dma.lanes); ++number) {
    const bool alone = choice.separate[number] != 0;
    Lane lane{number, 0, 0, alone ? rows : 1};
    bool is_taken = false;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (choice.lanes[i] != number) continue;
      is_taken = true;
      lane.filled += moved[i].filled;
      lane.emptied += moved[i].emptied * (moved[i].by_rows && !alone ? rows : 1);
    }
    if (is_taken) found.push_back(lane);
  }
  return found;
}

LaneChoice evenest(std::span<const MovedBuffer> moved, const LeavingResults& results, Size rows, const TileLanes& dma) {
  std::vector<std::size_t> order(moved.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Size heavy = weight(moved[a], rows);
    const Size other = weight(moved[b], rows);
    if (heavy != other) return heavy > other;
    if (moved[a].filled != moved[b].filled) return moved[a].filled < moved[b].filled;
    return moved[a].by_rows < moved[b].by_rows;
  });
  std::vector<MovedBuffer> heaviest;
  for (const std::size_t number : order) heaviest.push_back(moved[number]);
  const LaneChoice best = LaneSearch(std::move(heaviest), results, rows, dma).best();
  LaneChoice found{ShortVector<std::size_t, 8>(moved.size(), 0), best.separate};
  for (std::size_t place = 0; place < order.size(); ++place) found.lanes[order[place]] = best.lanes[place];
  return found;
}

Size KnownGroups::fullest(std::span<const MovedBuffer> moved, const LeavingResults& results, Size rows,
                          const TileLanes& dma) {
  ShortVector<Size, 24> asked{rows, results.gathered, results.left};
  for (const MovedBuffer& buffer : moved) {
    for (const Size number : {buffer.filled, buffer.emptied, Size{buffer.by_rows}}) asked.push_back(number);
  }
  const auto [known, is_new] = known_.try_emplace(asked);
  if (is_new) {
    known->second = fullest_group(lanes_of(moved, evenest(moved, results, rows, dma), rows, dma), results, rows, dma);
  }
  return known->second;
}

}  // namespace npuflow::mapped
