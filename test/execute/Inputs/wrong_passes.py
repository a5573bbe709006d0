"""Passes with a bug each, for tests that they are found."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow import Pass, PassContext, ops_of, register_pass
from npuflow.bindings import ir, memref
from npuflow.core.build import at


@register_pass
@dataclass(frozen=True)
class DropCopy(Pass):
    """Drops the first copy."""

    name = "wrong-drop-copy"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        ops_of(op, "memref.copy")[0].erase()


@register_pass
@dataclass(frozen=True)
class DropFill(Pass):
    """Leaves accumulators as they were allocated."""

    name = "wrong-drop-fill"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for fill in ops_of(op, "linalg.fill"):
            if fill.results:
                fill.results[0].replace_all_uses_with(fill.operands[1])
            fill.erase()


@register_pass
@dataclass(frozen=True)
class ShiftSlice(Pass):
    """Lets the first slice with a moving offset stand still."""

    name = "wrong-shift-slice"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        loop = ops_of(op, "scf.for")[0]
        counter = loop.regions[0].blocks[0].arguments[0]
        counter.replace_all_uses_with(loop.operands[0])


@register_pass
@dataclass(frozen=True)
class WriteOutside(Pass):
    """Writes behind the end of the first argument."""

    name = "wrong-write-outside"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        function = ops_of(op, "func.func")[0]
        block = function.regions[0].blocks[0]
        buffer = block.arguments[0]
        size = 1
        for extent in ir.MemRefType(buffer.type).shape:
            size *= extent
        with at(block.operations[-1].operation):
            flat = ir.MemRefType.get([size + 8], ir.MemRefType(buffer.type).element_type)
            wide = memref.ReinterpretCastOp(flat, buffer, [], [], [], [0], [size + 8], [1]).result
            one = memref.LoadOp(buffer, [_index(0)] * ir.MemRefType(buffer.type).rank).result
            memref.StoreOp(one, wide, [_index(size + 3)])


@register_pass
@dataclass(frozen=True)
class ReadNowhere(Pass):
    """Reads from an address that isn't there."""

    name = "wrong-read-nowhere"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        function = ops_of(op, "func.func")[0]
        block = function.regions[0].blocks[0]
        buffer = block.arguments[0]
        kind = ir.MemRefType(buffer.type)
        with at(block.operations[0].operation):
            flat = ir.MemRefType.get([1], kind.element_type, ir.StridedLayoutAttr.get(2**50, [1]))
            away = memref.ReinterpretCastOp(flat, buffer, [], [], [], [2**50], [1], [1]).result
            value = memref.LoadOp(away, [_index(0)]).result
            memref.StoreOp(value, buffer, [_index(0)] * kind.rank)


@register_pass
@dataclass(frozen=True)
class LoopForever(Pass):
    """Loops without an end."""

    name = "wrong-loop-forever"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        text = """
            func.func private @forever() {
              cf.br ^again
            ^again:
              cf.br ^again
            }
            func.func private @caller() { func.call @forever() : () -> () return }
        """
        module = ir.Module.parse(text, op.context)
        forever, caller = module.body.operations
        function = ops_of(op, "func.func")[0]
        call = caller.regions[0].blocks[0].operations[0].operation
        call.clone(ir.InsertionPoint(function.regions[0].blocks[0].operations[-1]))
        forever.operation.clone(ir.InsertionPoint(function))


@register_pass
@dataclass(frozen=True)
class AddBarrier(Pass):
    """Adds an op that only a GPU has; not wrong, but nothing that runs on a CPU."""

    name = "gpu-add-barrier"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        block = ops_of(op, "func.func")[0].regions[0].blocks[0]
        with at(block.operations[0].operation):
            ir.Operation.create("gpu.barrier")


@register_pass
@dataclass(frozen=True)
class DropBarrier(Pass):
    """Removes it again."""

    name = "gpu-drop-barrier"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        ops_of(op, "gpu.barrier")[0].erase()


@register_pass
@dataclass(frozen=True)
class ChangeType(Pass):
    """Makes the function return nothing."""

    name = "wrong-change-type"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        function = ops_of(op, "func.func")[0]
        kinds = ir.FunctionType(function.opview.type)
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds.inputs, []))
        terminator = function.regions[0].blocks[0].operations[-1].operation
        with at(terminator):
            ir.Operation.create("func.return")
        terminator.erase()


def _index(value: int) -> ir.Value:
    kind = ir.IndexType.get()
    return ir.Operation.create("arith.constant", [kind], attributes={"value": ir.IntegerAttr.get(kind, value)}).results[
        0
    ]
