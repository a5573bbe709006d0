"""Fresh and freed buffers hold garbage that shows: NaN, or the bytes 0xA5, so that reading them gives wrong results.

    %a = memref.alloc() : memref<64x64xf32>

becomes

    %a = memref.alloc() : memref<64x64xf32>
    linalg.fill ins(%nan : f32) outs(%a : memref<64x64xf32>)
"""

from __future__ import annotations

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of
from npuflow.core.passes import ops_of

_PATTERN = 0xA5


def poison_buffers(module: ir.Module) -> None:
    """Fills every buffer after its allocation, and instead of its deallocation."""
    with module.context:
        for alloc in ops_of(module.operation, "memref.alloc", "memref.alloca"):
            with at(alloc, after=True):
                _fill(alloc.results[0])
        for dealloc in ops_of(module.operation, "memref.dealloc"):
            with at(dealloc):
                _fill(dealloc.operands[0])


def drop_deallocations(module: ir.Module) -> None:
    """Removes them, as MLIR's deallocation pass wants to place all of them itself."""
    for op in ops_of(module.operation, "memref.dealloc"):
        op.erase()


def _fill(buffer: ir.Value) -> None:
    garbage = poison_of(element_type_of(buffer))
    if garbage is not None:
        linalg.fill(arith.ConstantOp(garbage.type, garbage).result, outs=[buffer])


def poison_of(element: ir.Type) -> ir.Attribute | None:
    """The garbage of an element type; None for types that have no constants."""
    if isinstance(element, ir.FloatType):
        return ir.FloatAttr.get(element, float("nan"))
    if isinstance(element, ir.IntegerType):
        width = element.width
        pattern = int.from_bytes(bytes([_PATTERN]) * (width // 8 + 1), "little") % 2**width
        return ir.IntegerAttr.get(element, pattern - 2**width if pattern >> (width - 1) and width > 1 else pattern)
    return ir.IntegerAttr.get(element, _PATTERN) if isinstance(element, ir.IndexType) else None
