"""Where a tensor is rounded that only has elements of others: these are, which takes fewer bytes. Edits IR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import after_value
from npuflow.frontend.integer_pools import pooled, pooled_from
from npuflow.frontend.product_layers import joined_like, moved_like, moves, origin_of
from npuflow.ops.contraction import only_user, producer


@dataclass(frozen=True)
class Rounding:
    """What becomes of tensors of f32: `rounded` is one in i8, and `shared` one that others read so as well.

    `is_shared` tells of a tensor whether it is so; None where others, if any, read it as it is.
    """

    rounded: Callable[[ir.Value], ir.Value]
    is_shared: Callable[[ir.Value], bool | None]
    shared: Callable[[ir.Value], ir.Value]

    def _has(self, source: ir.Value) -> bool:
        said = self.is_shared(origin_of(source))
        return only_user(source) is not None if said is None else said

    def _of(self, source: ir.Value) -> ir.Value:
        return self.shared(source) if self.is_shared(origin_of(source)) else self.early(source)

    def early(self, value: ir.Value) -> ir.Value:
        """A tensor in i8, rounded where its elements are made, if nobody wants these as they are.

        Elements go on as they are where they are moved about, zeros put between them, or joined. The greatest of
        windows are of i8 where others read so what they are of, or where that is joined: else they are made with that,
        and rounded once.
        """
        op = producer(value)
        if op is None:
            return self.rounded(value)
        with after_value(value):
            if op.name == "tensor.concat" and all(map(self._has, op.operands)):
                return joined_like(op, list(map(self._of, op.operands)))
            if moves(op) and self._has(op.operands[0]):
                return moved_like(value, op.operands[0], self._of(op.operands[0]))
            source = pooled_from(op)
            if source is not None and (self.is_shared(origin_of(source)) or self._is_joined(source)):
                return pooled(op, self._of(source))
        return self.rounded(value)

    def _is_joined(self, source: ir.Value) -> bool:
        """Whether a tensor is joined of what nobody else wants as it is."""
        concat = producer(source, "tensor.concat")
        return concat is not None and only_user(source) is not None and all(map(self._has, concat.operands))
