"""bf16 between its ops is the 16 bits that it is, in the LLVM dialect.

    %x = llvm.load %p : !llvm.ptr -> bf16            %x = llvm.load %p : !llvm.ptr -> i16
    llvm.br ^next(%x : bf16)                         llvm.br ^next(%x : i16)

Processors without instructions for bf16 would keep it as f32 from block to block, and call a function that this process
lacks to round it again.
"""

from __future__ import annotations

import struct

from npuflow.bindings import ir
from npuflow.core.build import at
from npuflow.core.passes import ops_of

# To these ops a number is bits; in front of all others it becomes a number.
_MADE = ("llvm.load", "llvm.select", "llvm.bitcast", "llvm.mlir.constant", "llvm.mlir.poison", "llvm.mlir.undef")
_MOVED = ("llvm.store", "llvm.select", "llvm.br", "llvm.cond_br", "llvm.switch")


def hold_bf16_as_bits(root: ir.Operation) -> None:
    """Changes values' types below `root` in place."""
    ops = ops_of(root)
    bits = ir.IntegerType.get_signless(16)
    held = [value for op in ops if op.name in _MADE for value in op.results if _is_bf16(value)]
    held += [value for op in ops for value in _arguments(op) if _is_bf16(value)]
    known = set(held)
    for op in ops:
        for number, operand in enumerate(op.operands):
            if _is_bf16(operand) and op.name != "llvm.bitcast" and (operand in known) != (op.name in _MOVED):
                with at(op):
                    kind = bits if op.name in _MOVED else operand.type
                    op.operands[number] = ir.Operation.create("llvm.bitcast", [kind], [operand]).result
        if op.name == "llvm.mlir.constant" and _is_bf16(op.results[0]):
            op.attributes["value"] = ir.IntegerAttr.get(bits, _bits_of(ir.FloatAttr(op.attributes["value"]).value))
    for value in held:
        value.set_type(bits)


def _is_bf16(value: ir.Value) -> bool:
    return isinstance(value.type, ir.BF16Type)


def _arguments(op: ir.Operation) -> list[ir.Value]:
    """What blocks hand to each other; those of a function's first block are its own."""
    return [value for region in op.regions for block in list(region.blocks)[1:] for value in block.arguments]


def _bits_of(number: float) -> int:
    """The upper half of the f32 that every bf16 is, as a signed integer."""
    return int(struct.unpack(">h", struct.pack(">f", number)[:2])[0])
