"""npuflow-unify-copies: every plain movement is a memref.copy."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir, memref
from npuflow.core.build import at
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass


@register_pass
@dataclass(frozen=True)
class UnifyCopies(Pass):
    """Turns linalg.copy on memrefs into memref.copy, and drops copies of a buffer onto itself.

        linalg.copy ins(%a : memref<64x64xf32>) outs(%b : memref<64x64xf32, 1>)

    becomes

        memref.copy %a, %b : memref<64x64xf32> to memref<64x64xf32, 1>
    """

    name = "npuflow-unify-copies"
    group = "bufferize"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for copy in ops_of(op, "linalg.copy", "memref.copy"):
            source, target = copy.operands[0], copy.operands[1]
            if not isinstance(source.type, ir.MemRefType):
                continue
            if source != target and copy.name == "linalg.copy":
                with at(copy):
                    memref.CopyOp(source, target)
            if source == target or copy.name == "linalg.copy":
                copy.erase()
