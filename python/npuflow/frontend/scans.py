"""Scans, of which linalg has no op: sums over what lies before each element, in blocks where there is much of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from npuflow.bindings import arith, ir, linalg, tensor
from npuflow.core.build import (
    at,
    element_type_of,
    empty,
    extract_slice,
    fill,
    generic_op,
    is_static,
    padded_by,
    shape_of,
)
from npuflow.frontend.read_positions import positions
from npuflow.ops.contraction import producer

SCAN = "tm_tensor.scan"

# What an element is combined with without changing it.
_NEUTRAL = {"arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1}
# Up to that many, one op that goes through all pairs of elements is no slower than several that don't.
_FEW_PAIRS = 1 << 16
# Of blocks: an element costs as many steps as a block is long. Of f32, `npu2` takes 8 at once: shorter ones fill no
# vector, and are more to be scanned themselves.
_LEAST_BLOCK, _MOST_BLOCK = 8, 16
# Scanning so many totals as all pairs costs no more than scanning the blocks that they are of.
_MOST_TOTALS = _LEAST_BLOCK**2


@dataclass(frozen=True)
class _Scan:
    """What combines elements, what it begins with, along which dimension, and whether an element counts for itself."""

    combiner: str
    neutral: ir.Value
    dimension: int
    inclusive: bool


def spell_out_scan(scan: ir.Operation) -> bool:
    """A scan as sums over what lies before each element; one that starts from something else stays as it is."""
    source, _, start = scan.operands
    body = scan.regions[0].blocks[0]
    combined = producer(list(body.operations)[-1].operation.operands[0], *_NEUTRAL)
    filled = producer(start, "linalg.fill")
    constant = None if filled is None else producer(filled.operands[0], "arith.constant")
    is_read = any(True for _ in scan.results[1].uses)
    if combined is None or constant is None or is_read or len(body.operations) > 2 or not is_static(scan):
        return False
    if constant.attributes["value"].value != _NEUTRAL[combined.name]:
        return False
    dimension = int(ir.IntegerAttr(scan.attributes["dimension"]).value)
    inclusive = bool(ir.BoolAttr(scan.attributes["inclusive"]).value)
    with at(scan):
        made = _scanned(source, _Scan(combined.name, constant.results[0], dimension, inclusive), _MOST_BLOCK)
    scan.results[0].replace_all_uses_with(made)
    scan.erase()
    return True


def _scanned(source: ir.Value, scan: _Scan, most: int) -> ir.Value:
    """A scan in one op of up to so many elements each, or of few pairs in all, else in blocks."""
    shape = shape_of(source)
    is_little = prod(shape) * shape[scan.dimension] <= _FEW_PAIRS or shape[scan.dimension] <= most
    return _of_all_pairs(source, scan) if is_little else _in_blocks(source, scan)


def _of_all_pairs(source: ir.Value, scan: _Scan) -> ir.Value:
    """Each element combined with those before it, in one op."""
    shape, dimension = shape_of(source), scan.dimension
    rank = len(shape)
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]
    i32 = ir.IntegerType.get_signless(32)
    places_of = positions(shape[dimension])
    read = [loops[rank] if d == dimension else loops[d] for d in range(rank)]
    places = (read, [loops[dimension]], [loops[rank]], loops[:rank])
    maps = [ir.AffineMap.get(rank + 1, 0, place) for place in places]
    kinds = ["parallel"] * rank + ["reduction"]
    element = element_type_of(source)
    made = generic_op([source, places_of, places_of], [fill(scan.neutral, empty(shape, element))], maps, kinds)
    block = made.regions[0].blocks.append(element, i32, i32, element)
    with ir.InsertionPoint(block):
        one, here, before, sofar = block.arguments
        predicate = arith.CmpIPredicate.sle if scan.inclusive else arith.CmpIPredicate.slt
        is_before = arith.CmpIOp(predicate, before, here).result
        counted = arith.SelectOp(is_before, one, scan.neutral).result
        linalg.YieldOp([_combined(scan, sofar, counted)])
    return made.results[0]


def _in_blocks(source: ir.Value, scan: _Scan) -> ir.Value:
    """Blocks scanned each by itself, and what all blocks before it come to combined with each of them."""
    shape, dimension = shape_of(source), scan.dimension
    size, block = shape[dimension], _block(shape[dimension])
    count = -(-size // block)
    behind = [count * block - size if d == dimension else 0 for d in range(len(shape))]
    padded = padded_by(source, [0] * len(shape), behind, scan.neutral)
    groups = [[d + (d > dimension)] if d != dimension else [d, d + 1] for d in range(len(shape))]
    wide = [*shape[:dimension], count, block, *shape[dimension + 1 :]]
    kind = ir.RankedTensorType.get(wide, element_type_of(source))
    blocks = tensor.ExpandShapeOp(kind, padded, groups, [], wide).result
    inside = _of_all_pairs(blocks, _Scan(scan.combiner, scan.neutral, dimension + 1, scan.inclusive))
    totals = _totals(blocks, scan, dimension + 1)
    before = _scanned(totals, _Scan(scan.combiner, scan.neutral, dimension, inclusive=False), _MOST_TOTALS)
    whole = _with_each(inside, before, scan, dimension + 1)
    flat = ir.RankedTensorType.get(
        [*shape[:dimension], count * block, *shape[dimension + 1 :]], element_type_of(source)
    )
    joined = tensor.CollapseShapeOp(flat, whole, groups).result
    return joined if count * block == size else extract_slice(joined, [0] * len(shape), shape)


def _block(size: int) -> int:
    """How long blocks are: as short as divides the size, or as may be where nothing does."""
    fitting = (block for block in range(_LEAST_BLOCK, _MOST_BLOCK + 1) if size % block == 0)
    return next(fitting, _LEAST_BLOCK)


def _totals(blocks: ir.Value, scan: _Scan, dimension: int) -> ir.Value:
    """All elements along a dimension combined."""
    shape, element = shape_of(blocks), element_type_of(blocks)
    rank = len(shape)
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank)]
    kept = [d for d in range(rank) if d != dimension]
    maps = [ir.AffineMap.get(rank, 0, loops), ir.AffineMap.get(rank, 0, [loops[d] for d in kept])]
    kinds = ["reduction" if d == dimension else "parallel" for d in range(rank)]
    made = generic_op([blocks], [fill(scan.neutral, empty([shape[d] for d in kept], element))], maps, kinds)
    block = made.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        one, sofar = block.arguments
        linalg.YieldOp([_combined(scan, sofar, one)])
    return made.results[0]


def _with_each(inside: ir.Value, before: ir.Value, scan: _Scan, dimension: int) -> ir.Value:
    """What lies before a block combined with each of the block's elements."""
    shape, element = shape_of(inside), element_type_of(inside)
    rank = len(shape)
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank)]
    every = ir.AffineMap.get(rank, 0, loops)
    maps = [every, ir.AffineMap.get(rank, 0, [loops[d] for d in range(rank) if d != dimension]), every]
    made = generic_op([inside, before], [empty(shape, element)], maps, ["parallel"] * rank)
    block = made.regions[0].blocks.append(element, element, element)
    with ir.InsertionPoint(block):
        linalg.YieldOp([_combined(scan, block.arguments[1], block.arguments[0])])
    return made.results[0]


def _combined(scan: _Scan, left: ir.Value, right: ir.Value) -> ir.Value:
    return ir.Operation.create(scan.combiner, [left.type], [left, right]).results[0]
