// Good mappings, found by changing one thing at a time, or two where one makes room for the other.

#pragma once

#include <optional>

#include "kept_mappings.h"

namespace npuflow::mapped {

// Begins at tiles of every spread that are about as long along all loops. The better ones go on, with more and less of
// streamed loops and with what L2 holds, a few of these to the end.
class Descent {
 public:
  Descent(const Space& space, KeptMappings& kept) : space_(space), kept_(kept) {}

  void run();
  // A good one or two, soon found.
  void begin();

 private:
  // What a step may change: sizes to the largest, its half and so on; orders as well; or to any size or order. Where
  // many are on their way, the coarse ones find as good mappings, and are a fifth as many.
  enum class Step : std::uint8_t { coarse, coarse_ordered, any };

  // A mapping on each spread: its smallest tiles with each size doubled in turn, the smallest first, while that fits.
  std::vector<Mapping> starts();
  std::optional<Mapping> smallest_on(const Spread& spread);
  Mapping balanced(Mapping mapping);
  // Each, and what it might be grown from as well: the smallest tiles with as much of streamed loops as fits, or
  // little, and what L2 holds.
  std::vector<Mapping> with_variants(const std::vector<Mapping>& live);
  // Each after some steps; so many of the best of those that hold in L2, and of those that don't, few of a spread.
  std::vector<Mapping> best_grown(const std::vector<Mapping>& live, int steps, Step step, std::size_t count);
  Mapping with_streamed(Mapping mapping, bool is_long);
  // The mapping after so many steps, or as many as help.
  Mapping grown(Mapping mapping, int steps, Step step);
  // The mapping after more of one thing, room for which is made elsewhere, or other spreads, as long as that helps.
  Mapping traded(Mapping mapping);
  // All that differ in one thing but what L2 holds; and all that have more of one thing, or hold otherwise.
  std::vector<Mapping> changes(const Mapping& mapping, Step step) const;
  // The last of these, with as much of a streamed loop in L2.
  void add_with_piece(std::vector<Mapping>& found, std::size_t loop, Size piece) const;
  std::vector<Mapping> larger(const Mapping& mapping) const;
  // The last of these, which has more at a place, with as much less of another loop.
  void add_with_less(std::vector<Mapping>& found, const Mapping& mapping, Place place) const;
  // The order of blocks that costs least, by what each costs at least.
  Order best_order(Mapping mapping);
  // Blocks of about that size on each other spread, and of twice that along each loop.
  void add_on_other_spreads(std::vector<Mapping>& found, const Mapping& mapping) const;
  // The best of these that fits, if it is better than a mapping; else that. Where one doesn't fit, pieces in L2 are
  // cut, or anything is.
  Mapping best_of(const std::vector<Mapping>& changed, const Mapping& than, bool cuts_anything);

  const Space& space_;
  KeptMappings& kept_;
  std::uint32_t steps_ = 0;
};

}  // namespace npuflow::mapped
