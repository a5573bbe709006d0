// Slabs in memory tiles: which bytes and channels of a column's tile they take in which phases, and where there is
// room.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace npuflow::homes {

using Index = std::uint32_t;

// What moves a slab: a channel of its tile in a phase, to it or from it.
struct Move {
  Index phase = 0;
  bool writes = false;
};

// A way for a tensor to stay: slabs in the columns of one of its places, which lie there from one phase to another.
struct Way {
  std::int64_t slab_bytes = 0;
  Index first = 0;
  Index last = 0;
  std::vector<std::vector<Index>> places;  // the best first, each column once
  std::vector<Move> moves;                 // of each slab
};

// A tensor's slabs: their columns, and the address of each.
struct Slabs {
  const Way* way = nullptr;
  std::span<const Index> columns;
  std::vector<std::int64_t> addresses;
};

// What phases themselves need of tiles is below an address in each, and so many channels are left beside it.
class Room {
 public:
  Room(std::int64_t bytes, std::int64_t alignment_bytes) : bytes_(bytes), alignment_(alignment_bytes) {}

  void need(Index phase, Index column, std::int64_t bytes);
  void leave(Index phase, Index column, bool writes, std::int64_t channels);

  // The end of what phases from one to another need in a column's tile.
  std::int64_t least_address(const Way& way, Index column) const;
  std::int64_t channels(const Move& move, Index column) const;
  std::int64_t bytes() const { return bytes_; }
  std::int64_t aligned(std::int64_t address) const { return address / alignment_ * alignment_; }
  std::int64_t padded(std::int64_t bytes) const { return aligned(bytes + alignment_ - 1); }

 private:
  std::int64_t bytes_;
  std::int64_t alignment_;
  std::vector<std::vector<std::int64_t>> needed_;    // by column and phase
  std::vector<std::vector<std::int64_t>> channels_;  // by column, phase and whether they write
};

// What tensors' slabs take of that.
class TakenRoom {
 public:
  explicit TakenRoom(const Room& room) : room_(room) {}

  void take(const Slabs& slabs) { change(slabs, 1); }
  void give_back(const Slabs& slabs) { change(slabs, -1); }
  // A tensor's slabs in a place; none where there is no room.
  std::optional<Slabs> fit(const Way& way, std::span<const Index> columns) const;
  // Its slabs in the first of its places that has room, and which that is.
  std::optional<std::pair<Index, Slabs>> first_fit(const Way& way) const;

 private:
  // A slab from one phase to another.
  struct Lying {
    Index first = 0;
    Index last = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;

    bool operator==(const Lying&) const = default;
  };

  void change(const Slabs& slabs, std::int64_t sign);
  bool has_channels(const Way& way, Index column) const;
  std::optional<std::int64_t> address(const Way& way, Index column) const;

  const Room& room_;
  std::vector<std::vector<std::int64_t>> moving_;  // by column, phase and whether they write
  std::vector<std::vector<Lying>> lying_;          // by column
};

}  // namespace npuflow::homes
