"""npuflow-move-in-l1: what moves within a core's memory is a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import at, memory_space_of, mixed, move, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import producer, users

_L1 = 2


@register_pass
@dataclass(frozen=True)
class MoveInL1(Pass):
    """Turns copies from L1 to L1 into linalg.generics, which a core runs; between memories, engines move.

    Where parts of a buffer that have nothing in common are moved by way of another one, that one is left out:
    bufferization puts it there, as it doesn't look at which parts of a tensor they are.

        memref.copy %line[4, 0] [2, 8], %copy : memref<2x8xi8, 2>
        memref.copy %copy, %line[0, 0] [2, 8] : memref<2x8xi8, 2>

    becomes

        linalg.generic ins(%line[4, 0] [2, 8]) outs(%line[0, 0] [2, 8]) { linalg.yield }
    """

    name = "npuflow-move-in-l1"
    group = "bufferize"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for copy in ops_of(op, "memref.copy"):
            if all(memory_space_of(ir.MemRefType(value.type)) == _L1 for value in copy.operands):
                _without_copy_between(copy)
        for copy in ops_of(op, "memref.copy"):
            source, target = copy.operands
            if all(memory_space_of(ir.MemRefType(value.type)) == _L1 for value in copy.operands):
                identity = ir.AffineMap.get_identity(len(shape_of(source)))
                with at(copy):
                    move(source, target, identity, identity)
                copy.erase()
                context.count("moves within L1")


def _without_copy_between(copy: ir.Operation) -> None:
    """Lets a copy read what the buffer that it reads was copied from, where that is the only thing in between."""
    between, target = copy.operands
    if producer(between, "memref.alloc") is None:
        return
    filling = [user for user in users(between) if user.name == "memref.copy" and user.operands[1] == between]
    if len(filling) != 1 or len(users(between)) != 2 or not _follows(copy, filling[0]):
        return
    if _are_apart(filling[0].operands[0], target):
        copy.operands[0] = filling[0].operands[0]
        filling[0].erase()
        between.owner.erase()


def _follows(op: ir.Operation, before: ir.Operation) -> bool:
    """Whether an op is the next one in its block behind another that touches memory."""
    body = [inner.operation for inner in before.block.operations]
    if op not in body or body.index(op) < body.index(before):
        return False
    between = body[body.index(before) + 1 : body.index(op)]
    return all(each.name == "memref.subview" for each in between)


def _are_apart(one: ir.Value, other: ir.Value) -> bool:
    """Whether two parts of one buffer have nothing in common; both have unit strides."""
    views = [producer(value, "memref.subview") for value in (one, other)]
    first, second = views
    if first is None or second is None or first.operands[0] != second.operands[0]:
        return False
    places = (_box(first), _box(second))
    return any(
        isinstance(begin, int) and isinstance(start, int) and (begin + size <= start or start + extent <= begin)
        for (begin, size), (start, extent) in zip(*places)
    )


def _box(view: ir.Operation) -> list[tuple[object, int]]:
    """Where a part begins along each dimension, and how much it is."""
    offsets = mixed(list(ir.DenseI64ArrayAttr(view.opview.static_offsets)), list(view.opview.offsets))
    return [*zip(offsets, list(ir.DenseI64ArrayAttr(view.opview.static_sizes)))]
