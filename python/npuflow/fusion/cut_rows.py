"""A bundle in several, each for some of the rows of its result. Edits IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from npuflow.bindings import ir
from npuflow.core.build import at, element_type_of, empty, extract_slice, fill, insert_slice, shape_of
from npuflow.core.copies import erase_unused, remade
from npuflow.ops.bundle import Bundle, free_numbers, mark_bundle
from npuflow.ops.contraction import producer
from npuflow.ops.linear import Linear


@dataclass(frozen=True)
class LoopPart:
    """So many steps of a loop, from `begin` on."""

    begin: int
    size: int


# The steps that are left of loops; of others, all are.
LoopParts = Mapping[int, LoopPart]


def with_sizes(bundle: Bundle, kept: LoopParts) -> Bundle:
    """A bundle with the sizes that its loops would have."""
    sizes = tuple(kept[loop].size if loop in kept else size for loop, size in enumerate(bundle.sizes))
    return replace(bundle, sizes=sizes)


def can_be_cut(bundle: Bundle, loops: Sequence[int]) -> bool:
    """Whether operands can be cut along loops: each of their dimensions follows one alone, or none of them."""
    for index, op in enumerate(bundle.ops):
        for value, dims in zip(op.operands, bundle.maps(index)):
            follows = any(loop in loops for dim in dims for loop, _ in dim.terms)
            if follows and (producer(value, "tensor.pad") is not None or any(_is_mixed(dim, loops) for dim in dims)):
                return False
    return len(bundle.root.results) == 1


def _is_mixed(dim: Linear, loops: Sequence[int]) -> bool:
    return dim.loop is None and any(loop in loops for loop, _ in dim.terms)


def cut_rows(bundle: Bundle, parts: Sequence[LoopParts]) -> None:
    """Puts a bundle for each part in a bundle's place; each inserts what it makes into what the ones before made."""
    root = bundle.root
    numbers = free_numbers(root.parent.operation)
    with at(root):
        made = empty(shape_of(root.results[0]), element_type_of(root.results[0]))
        for kept, number in zip(parts, numbers):
            made = _part(bundle, kept, made, number)
    root.results[0].replace_all_uses_with(made)
    erase_unused([root])


def _part(bundle: Bundle, kept: LoopParts, target: ir.Value, number: int) -> ir.Value:
    """What a bundle makes for some steps of its loops, inserted where it belongs."""
    values: dict[ir.Value, ir.Value] = {}
    parts: dict[tuple[ir.Value, tuple[LoopPart | None, ...]], ir.Value] = {}
    for index, op in enumerate(bundle.ops):
        operands = []
        for value, dims in zip(op.operands, bundle.maps(index)):
            key = value, tuple(None if dim.loop is None else kept.get(dim.loop) for dim in dims)
            if value not in values and key not in parts:
                parts[key] = _cut(value, dims, kept)
            operands.append(values[value] if value in values else parts[key])
        again = remade(op, operands)
        mark_bundle([again], number)
        values.update(zip(op.results, again.results))
    result, dims = values[bundle.root.results[0]], bundle.maps(len(bundle.ops) - 1)[-1]
    return insert_slice(result, target, [_begin(dim, kept) for dim in dims], shape_of(result))


def _cut(value: ir.Value, dims: Sequence[Linear], kept: LoopParts) -> ir.Value:
    """The part of an operand that is left."""
    if not isinstance(value.type, ir.RankedTensorType):
        return value
    parts = [kept.get(dim.loop) if dim.loop is not None else None for dim in dims]
    sizes = [size if part is None else part.size for part, size in zip(parts, shape_of(value))]
    if sizes == shape_of(value):
        return value
    start = producer(value, "linalg.fill", "tensor.empty")
    if start is None:
        return extract_slice(value, [_begin(dim, kept) for dim in dims], sizes)
    made = empty(sizes, element_type_of(value))
    return made if start.name == "tensor.empty" else fill(start.operands[0], made)


def _begin(dim: Linear, kept: LoopParts) -> int:
    return kept[dim.loop].begin if dim.loop is not None and dim.loop in kept else 0
