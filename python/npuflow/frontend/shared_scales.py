"""Tensors whose elements meet in one of i8: they have one scale, so that none of them is rounded again. Reads IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from npuflow.bindings import ir
from npuflow.frontend.integer_pools import pooled_from
from npuflow.frontend.product_layers import origin_of
from npuflow.ops.contraction import only_user, producer

# How many times a tensor's own range its scale may cover: one bit of it is lost so.
_MOST_TIMES = 2.0


def shared_scales(ranges: Mapping[ir.Value, float]) -> dict[ir.Value, float]:
    """How large the tensors get that are to be rounded, and those with whom they have elements in common, by one scale.

    Elements are joined, or the greatest of windows. Who would lose much of its own range has its own scale.
    """
    groups: dict[ir.Value, dict[ir.Value, None]] = {}
    most: dict[ir.Value, float] = {}
    for tensor, range_ in ranges.items():
        groups.setdefault(tensor, {tensor: None})
        for source in _sources(tensor):
            groups.setdefault(source, {source: None})
            own, other = groups[tensor], groups[source]
            known = [most.get(each) or ranges.get(each, 0.0) for each in (tensor, source)]
            if own is other or (min(known) > 0 and max(known) > _MOST_TIMES * min(known)):
                continue
            own |= other
            for each in own:
                groups[each], most[each] = own, max(known)
        most.setdefault(tensor, range_)
    return most


def _sources(tensor: ir.Value) -> Iterator[ir.Value]:
    """The tensors that the elements of one are of; the greatest of windows only where others read that as well."""
    op = producer(tensor)
    if op is None:
        return
    pool = pooled_from(op)
    for part in op.operands if op.name == "tensor.concat" else []:
        yield origin_of(part)
        yield from _sources(origin_of(part))
    if pool is not None and only_user(pool) is None:
        yield origin_of(pool)
        yield from _sources(origin_of(pool))
