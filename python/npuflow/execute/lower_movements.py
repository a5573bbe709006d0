"""Copies, packs and unpacks of memrefs as loops over elements, which MLIR has no lowering for (or only a library call).

    linalg.pack %a inner_dims_pos = [0] inner_tiles = [4] into %b : memref<8xf32> -> memref<2x4xf32>

becomes

    linalg.generic outs(%b : memref<2x4xf32>) {
      %o = linalg.index 0
      %i = linalg.index 1
      %s = affine.apply (%o * 4 + %i)
      %x = memref.load %a[%s]
      linalg.yield %x
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npuflow.bindings import affine, arith, ir, linalg, memref
from npuflow.core.build import at, dynamic_marker, element_type_of
from npuflow.core.passes import fail, ops_of

Element = Callable[[Sequence["ir.Value"]], "ir.Value"]


def lower_movements(module: ir.Module) -> None:
    """Lowers every memref.copy, and linalg.pack and linalg.unpack on memrefs."""
    lowerings = {"memref.copy": _lower_copy, "linalg.pack": _lower_pack, "linalg.unpack": _lower_unpack}
    with module.context:
        for op in ops_of(module.operation, *lowerings):
            with at(op):
                lowerings[op.name](op)
            op.erase()


def _lower_copy(copy: ir.Operation) -> None:
    store_each(copy.operands[1], lambda indices: memref.LoadOp(copy.operands[0], indices).result)


def _lower_pack(pack: ir.Operation) -> None:
    """Element (outer..., inner...) of the packed array is source[outer * tile + inner], or padding beyond its end."""
    view = pack.opview
    positions, tiles = list(view.inner_dims_pos), _static_tiles(pack)
    rank = ir.MemRefType(view.source.type).rank
    outer = _outer_positions(pack, rank)

    def element(indices: Sequence[ir.Value]) -> ir.Value:
        places = [indices[outer[dim]] for dim in range(rank)]
        for number, (dim, tile) in enumerate(zip(positions, tiles, strict=True)):
            places[dim] = _apply(lambda o, i, tile=tile: o * tile + i, places[dim], indices[rank + number])
        if view.padding_value is None:
            return memref.LoadOp(view.source, places).result
        return _load_or(view.source, places, positions, view.padding_value)

    store_each(view.dest, element)


def _lower_unpack(unpack: ir.Operation) -> None:
    """Element d of the plain array is source[d / tile, d mod tile]."""
    view = unpack.opview
    positions, tiles = list(view.inner_dims_pos), _static_tiles(unpack)
    rank = ir.MemRefType(view.dest.type).rank
    outer = _outer_positions(unpack, rank)

    def element(indices: Sequence[ir.Value]) -> ir.Value:
        quotients = list(indices)
        inner = []
        for dim, tile in zip(positions, tiles, strict=True):
            quotients[dim] = _apply(lambda d, tile=tile: ir.AffineExpr.get_floor_div(d, tile), indices[dim])
            inner.append(_apply(lambda d, tile=tile: ir.AffineExpr.get_mod(d, tile), indices[dim]))
        places = [quotients[0]] * rank
        for dim in range(rank):
            places[outer[dim]] = quotients[dim]
        return memref.LoadOp(view.source, [*places, *inner]).result

    store_each(view.dest, element)


def store_each(target: ir.Value, element: Element) -> None:
    """A `linalg.generic` that stores `element(indices)` at all indices of a memref."""
    kind = ir.MemRefType(target.type)
    identity = ir.AffineMap.get_identity(kind.rank)
    generic = linalg.GenericOp(
        [],
        [],
        [target],
        ir.ArrayAttr.get([ir.AffineMapAttr.get(identity)]),
        ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * kind.rank),
    )
    body = generic.regions[0].blocks.append(kind.element_type, arg_locs=[generic.location])
    with ir.InsertionPoint(body):
        indices = [linalg.IndexOp(dim).result for dim in range(kind.rank)]
        linalg.YieldOp([element(indices)])


def _static_tiles(op: ir.Operation) -> list[int]:
    tiles = [int(tile) for tile in op.opview.static_inner_tiles]
    if dynamic_marker() in tiles:
        raise fail(op, f"{op.name} has a tile size that is not static", "only static tiles can be executed")
    return tiles


def _outer_positions(op: ir.Operation, rank: int) -> list[int]:
    """Where each dimension of the plain array is among the outer dimensions of the packed one."""
    permutation = list(op.opview.outer_dims_perm or ()) or list(range(rank))
    return [permutation.index(dim) for dim in range(rank)]


def _apply(expression: Callable[..., ir.AffineExpr], *operands: ir.Value) -> ir.Value:
    symbols = [ir.AffineExpr.get_dim(i) for i in range(len(operands))]
    map_ = ir.AffineMap.get(len(operands), 0, [expression(*symbols)])
    return affine.AffineApplyOp(map_, list(operands)).result


def _load_or(source: ir.Value, places: Sequence[ir.Value], dims: Sequence[int], padding: ir.Value) -> ir.Value:
    """source[places], or `padding` where a place in one of `dims` is beyond the end; nothing is read from there."""
    clamped = list(places)
    inside = arith.ConstantOp(ir.IntegerType.get_signless(1), 1).result
    one = arith.ConstantOp(ir.IndexType.get(), 1).result
    for dim in dims:
        size = memref.DimOp(source, arith.ConstantOp(ir.IndexType.get(), dim).result).result
        within = arith.CmpIOp(arith.CmpIPredicate.slt, places[dim], size).result
        inside = arith.AndIOp(inside, within).result
        clamped[dim] = arith.MinSIOp(places[dim], arith.SubIOp(size, one).result).result
    assert element_type_of(source) == padding.type
    return arith.SelectOp(inside, memref.LoadOp(source, clamped).result, padding).result
