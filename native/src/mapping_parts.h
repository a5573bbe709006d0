// Mappings, groups and spreads as they cross to and from Python.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "mapping.h"
#include "short_vector_caster.h"

namespace npuflow::mapped {

using Pair = std::optional<std::pair<Size, Size>>;
// Rows, columns, and the loops that these follow.
using SpreadParts = std::tuple<Size, Size, std::size_t, std::size_t>;
// Slots in L2 and L1, of results, of what a tail reads, of what engines hand to each other; whether L2 holds; a
// matmul's operands' own.
using DepthsParts = std::tuple<Size, Size, Size, Size, Size, bool, Pair, Pair>;
// Tiles, spread, depths, order, pieces in L2, and whether L2 has all of these at a time.
using MappingParts = std::tuple<Sizes, SpreadParts, DepthsParts, Order, Sizes, bool>;
// Role, operand, dimensions as terms and a size, bytes of an element, whether it is gathered, its first and last
// user, whether engines hand it to each other, whether it is at home on the chip, whether an engine pads it.
using DimParts = std::pair<std::vector<std::pair<std::size_t, Size>>, Size>;
using TensorParts = std::tuple<int, int, std::vector<DimParts>, Size, bool, std::pair<int, int>, bool, bool, bool>;
// An op's loops, and whether it runs for every piece.
using WorkParts = std::tuple<std::vector<std::size_t>, bool, bool>;

Spread spread_of(const SpreadParts& parts);
// Throws where it doesn't go with the group.
Mapping mapping_of(const MappingParts& parts, const Group& group);
MappingParts parts_of(const Mapping& mapping);
// Throws where something names a loop that isn't there.
Group group_of(const Sizes& sizes, std::size_t space, const std::vector<std::size_t>& streamed,
               const std::vector<TensorParts>& tensors, const std::vector<WorkParts>& work, bool pads_streamed,
               bool is_packed);

}  // namespace npuflow::mapped
