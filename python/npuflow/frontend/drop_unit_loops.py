"""npuflow-drop-unit-loops: what is between two sums of products has the loops of both, and none of one step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import is_static, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.fewer_dims import rewrite_without
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.chains import Chain, chains_of
from npuflow.ops.contraction import producer
from npuflow.ops.linear import Linear, is_reduction, iterators, linear_maps, loop_extents
from npuflow.ops.reshapes import unreshaped


@register_pass
@dataclass(frozen=True)
class DropUnitLoops(Pass):
    """Leaves out loops of one step where reshapes that add such dimensions are between two sums of products.

    Attention is decomposed with dimensions of one element around its softmax, in different places. Without them all of
    its ops share loops, so that it may become one bundle. Where no reshape is between them, ops have loops in common
    already and stay as they are; so do sums of products one of whose factors would have no loop of its own any more.

        %s = linalg.batch_matmul ins(%q, %k : ...) outs(... : tensor<8x64x64xf32>)
        %x = tensor.expand_shape %s [[0, 1], [2], [3]] ... into tensor<1x8x64x64xf32>
        %m = linalg.generic ... ["parallel", "parallel", "parallel", "reduction"]} ins(%x) ... { arith.maximumf }

    becomes

        %s = linalg.batch_matmul ins(%q, %k : ...) outs(... : tensor<8x64x64xf32>)
        %m = linalg.generic ... ["parallel", "parallel", "reduction"]} ins(%s) ... { arith.maximumf }
    """

    name = "npuflow-drop-unit-loops"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        changed = 0
        for function in ops_of(op, "func.func"):
            for chain in chains_of(function, through_reshapes=True):
                if chain.reduces_between and _is_reshaped(chain) and all(_can_do_without(each) for each in chain.ops):
                    found = [(each, sorted(_unit_loops(each)), _unit_dims(each, chain)) for each in chain.ops]
                    for each, loops, dims in [own for own in found if any(own[2])]:
                        rewrite_without(each, loops, dims)
                        changed += 1
        context.count("ops with fewer loops", changed)
        if changed:
            run_upstream(op, "canonicalize,cse")


def _is_reshaped(chain: Chain) -> bool:
    """Whether an op of a chain reads in another shape what one of them makes."""
    values = [value for op in chain.ops for value in op.operands]
    return any(unreshaped(value) != value and _is_made_in(chain, value) for value in values)


def _is_made_in(chain: Chain, value: ir.Value) -> bool:
    source = producer(unreshaped(value))
    return source is not None and source in chain.ops


def _can_do_without(op: ir.Operation) -> bool:
    """Whether an op is left with loops of all kinds that it has, and can be written without those of one step."""
    loops, maps = _unit_loops(op), linear_maps(op)
    if not loops:
        return maps is not None
    if op.name != "linalg.generic" or maps is None or not is_static(op) or ops_of(op, "linalg.index"):
        return False
    is_plain = all(dim.loop in loops or loops.isdisjoint(dict(dim.terms)) for dims in maps for dim in dims)
    return is_plain and _role_of_each(maps, range(len(iterators(op)))) == _role_of_each(
        maps, [loop for loop in range(len(iterators(op))) if loop not in loops]
    )


def _role_of_each(maps: Sequence[tuple[Linear, ...]], loops: Iterable[int]) -> set[tuple[bool, ...]]:
    """Which operands loops go along: which of them there are. A batch's goes along all, and is needed by nobody."""
    along = [{loop for dim in dims for loop, _ in dim.terms} for dims in maps]
    roles = {tuple(loop in own for own in along) for loop in loops}
    return roles - {(True,) * len(maps)}


def _unit_loops(op: ir.Operation) -> set[int]:
    """Parallel loops of one step."""
    return {loop for loop, size in enumerate(loop_extents(op)) if size == 1 and not is_reduction(op, loop)}


def _unit_dims(op: ir.Operation, chain: Chain) -> list[list[int]]:
    """Of each operand the dimensions along loops of one step; of what a chain hands on, those read at 0 as well."""
    loops, found = _unit_loops(op), []
    for value, dims in zip(op.operands, linear_maps(op) or []):
        sizes = shape_of(value) if isinstance(value.type, ir.ShapedType) else []
        at_zero = [d for d, size in enumerate(sizes) if size == 1 and dims[d] == Linear() and _is_made_in(chain, value)]
        found.append(sorted({*at_zero, *(d for d, dim in enumerate(dims) if dim.loop in loops)}))
    return found
