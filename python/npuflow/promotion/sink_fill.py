"""npuflow-sink-fill: the accumulator is filled where the first sum starts."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import only_user


@register_pass
@dataclass(frozen=True)
class SinkFill(Pass):
    """Moves each fill with one user in the same block right in front of it: into the first part of a peeled K loop.

        %f = linalg.fill ins(%zero) outs(%acc)
        %a = linalg.pack ...
        %r = scf.for ... iter_args(%x = %f)

    becomes

        %a = linalg.pack ...
        %f = linalg.fill ins(%zero) outs(%acc)
        %r = scf.for ... iter_args(%x = %f)
    """

    name = "npuflow-sink-fill"
    group = "promotion"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for fill in ops_of(op, "linalg.fill"):
            user = only_user(fill.results[0]) if fill.results else None
            if user is not None and user.block == fill.block:
                fill.move_before(user)
                context.count("fills sunk")
