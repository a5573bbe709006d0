"""npuflow-read-positions: positions of elements are read from a tensor."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.core.build import at
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.add_inputs import add_inputs
from npuflow.ops.linear import input_count, iterators, loop_extents


@register_pass
@dataclass(frozen=True)
class ReadPositions(Pass):
    """Gives a linalg.generic that computes with the positions of elements a tensor of them for each loop.

    A core doesn't know where its tile lies; a slice of that tensor says it, cut as everything else is.

        %r = linalg.generic ... ins(%x : tensor<4x8xf32>) { %i = linalg.index 1 ... }

    becomes

        %p = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
        %r = linalg.generic ... ins(%x, %p : tensor<4x8xf32>, tensor<8xi32>) { %i = arith.index_cast %position ... }

    A loop whose size no operand gives keeps its linalg.index.
    """

    name = "npuflow-read-positions"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for generic in ops_of(op, "linalg.generic"):
            loops = sorted({_loop_of(index) for index in ops_of(generic, "linalg.index")})
            known = [loop for loop in loops if loop_extents(generic)[loop]]
            if known:
                _read(generic, known)
                context.count("loops whose positions are read", len(known))


def _loop_of(index: ir.Operation) -> int:
    return int(ir.IntegerAttr(index.attributes["dim"]).value)


def _read(op: ir.Operation, loops: list[int]) -> None:
    """Has the op read where it is along `loops`."""
    extents, count = loop_extents(op), len(iterators(op))
    with at(op):
        tensors = [positions(extents[loop]) for loop in loops]
        maps = [ir.AffineMap.get(count, 0, [ir.AffineExpr.get_dim(loop)]) for loop in loops]
    made = add_inputs(op, tensors, maps)
    block = made.regions[0].blocks[0]
    arguments = list(block.arguments)[input_count(made) - len(loops) : input_count(made)]
    with ir.InsertionPoint.at_block_begin(block), made.location:
        found = {
            loop: arith.IndexCastOp(ir.IndexType.get(), position).result for loop, position in zip(loops, arguments)
        }
    for index in ops_of(made, "linalg.index"):
        if _loop_of(index) in found:
            index.results[0].replace_all_uses_with(found[_loop_of(index)])
            index.erase()


def positions(size: int) -> ir.Value:
    """0, 1, 2 and so on up to `size`, as a constant tensor."""
    kind = ir.RankedTensorType.get([size], ir.IntegerType.get_signless(32))
    numbers = ir.DenseElementsAttr.get(array("i", range(size)), type=kind.element_type)
    return arith.ConstantOp(kind, numbers).result
