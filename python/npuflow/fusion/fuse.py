"""Making ops one bundle, whoever decides that. Edits IR."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.core.copies import erase_unused
from npuflow.core.passes import fail, ops_of, parents_of
from npuflow.fusion.overlap_tiles import overlapped
from npuflow.fusion.window_chain import TiledChain, WindowChain, chain_of
from npuflow.ops.bundle import free_numbers, mark_bundle
from npuflow.ops.contraction import users
from npuflow.ops.refused import mark_made_of


def fuse(ops: Sequence[ir.Operation], tiles: Sequence[int] = ()) -> None:
    """Makes ops one bundle, whatever that takes; with `tiles`, rows and columns, in tiles that overlap.

    Ops are `linalg` ops of one function, normalised, of which others read the last one's result alone. Raises
    InputError, located, for those that can't be fused so. Passes behind it keep bundles as they are.
    """
    place = {op: number for number, op in enumerate(ops_of(_function_of(ops[0])))}
    ordered = sorted(ops, key=lambda op: place[op])
    root = ordered[-1]
    if tiles:
        fuse_tiled(_chain_in(ordered, tiles).tiled(tiles))
    elif (named := next((op for op in ordered if op.name != "linalg.generic"), None)) is not None:
        raise fail(named, f"{named.name} can't be fused as it is", "make it a linalg.generic, or say tiles")
    elif any(user not in ordered for op in ordered[:-1] for value in op.results for user in users(value)):
        raise fail(root, "ops to be fused are read by others", "fuse those as well, or leave these out")
    else:
        _mark(ordered)


def fuse_tiled(tiled: TiledChain, groups: Sequence[str] = ()) -> None:
    """Puts a chain in overlapping tiles in its own place, marked as a bundle, and as made of these groups."""
    root = tiled.chain.images[-1].op
    made = overlapped(tiled)
    mark_made_of(made.ops, groups)
    _mark(made.ops)
    root.results[0].replace_all_uses_with(made.result)
    erase_unused([root])


def _chain_in(ops: Sequence[ir.Operation], tiles: Sequence[int]) -> WindowChain:
    chain, shape = chain_of(ops), "x".join(map(str, tiles))
    if not isinstance(chain, WindowChain):
        raise fail(ops[-1], f"ops can't be fused in tiles of {shape}: {chain}", "leave out the tiles, or other ops")
    if not chain.is_divided_by(tiles):
        sizes = "x".join(str(axis.size) for axis in chain.axes)
        raise fail(ops[-1], f"tiles of {shape} don't divide {sizes}", "take sizes that divide the result")
    return chain


def _mark(ops: Sequence[ir.Operation]) -> None:
    """Marks ops as a bundle, by a number that is free."""
    mark_bundle(ops, next(free_numbers(_function_of(ops[0]))))


def _function_of(op: ir.Operation) -> ir.Operation:
    return next(parent for parent in parents_of(op) if parent.name == "func.func")
