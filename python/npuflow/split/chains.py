"""Ops fused along one axis, walked backwards: what each tile of the last result needs of every value before. Pure.

A value that several read is needed from the first index that any of them reads to the last one. Tiles recompute what
they share, their halos; each reader takes its own slice of what there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.errors import InputError, unknown_name, with_hint
from npuflow.split.spans import Span, split_axis
from npuflow.split.windows import SlidingWindow, WindowRead

ARGUMENT = "argument"


@dataclass(frozen=True)
class ChainStep:
    """An op of a chain: a window over one value, or element by element over several."""

    name: str
    reads: tuple[str, ...]
    window: SlidingWindow = field(default_factory=SlidingWindow)


@dataclass(frozen=True)
class ValueSlice:
    """What a step reads of a value; `offset` counts from the first index of it that its tile has."""

    step: str
    value: str
    read: WindowRead
    offset: int


@dataclass(frozen=True)
class ChainTile:
    """A tile of a chain: what it has of every value, the argument included, and what each step reads of these."""

    values: Mapping[str, Span]
    slices: tuple[ValueSlice, ...]


def chain_sizes(size: int, steps: Sequence[ChainStep]) -> dict[str, int]:
    """The sizes of all values of a chain whose argument has `size` indices; raises InputError for what is wrong."""
    sizes = {ARGUMENT: size}
    for step in steps:
        if step.name in sizes:
            raise InputError(with_hint(f"two values are called '{step.name}'", "give each step a name of its own"))
        if not step.reads:
            raise InputError(with_hint(f"'{step.name}' reads nothing", f"let it read '{ARGUMENT}' or a step before"))
        for value in step.reads:
            if value not in sizes:
                raise InputError(unknown_name(f"value that '{step.name}' reads", value, sizes))
        made = {value: step.window.output_size(sizes[value]) for value in step.reads}
        if len(set(made.values())) > 1:
            shown = ", ".join(f"{each} of '{value}'" for value, each in made.items())
            raise InputError(with_hint(f"'{step.name}' makes {shown}", "read values of one size"))
        sizes[step.name] = next(iter(made.values()))
    return sizes


def chain_tiles(size: int, steps: Sequence[ChainStep], tiles: int, alignment: int = 1) -> tuple[ChainTile, ...]:
    """The tiles of a chain, its last step's result split; values that it doesn't need are in none.

    With one tile, all values are whole.
    """
    sizes = chain_sizes(size, steps)
    if not steps:
        raise InputError(with_hint("a chain without steps", "give one at least"))
    last = steps[-1].name
    return tuple(_tile(sizes, steps, last, span) for span in split_axis(sizes[last], tiles, alignment))


def _tile(sizes: Mapping[str, int], steps: Sequence[ChainStep], last: str, span: Span) -> ChainTile:
    is_split = span.size < sizes[last]
    needed = {last: span}
    read: list[tuple[str, str, WindowRead]] = []
    for step in reversed(steps):
        if step.name not in needed:
            continue
        for value in reversed(step.reads):
            window, before = step.window, sizes[value]
            found = window.reads(needed[step.name], before) if is_split else window.whole(before)
            needed[value] = found.span.joined(needed[value]) if value in needed else found.span
            read.append((step.name, value, found))
    slices = (
        ValueSlice(step, value, found, found.span.begin - needed[value].begin) for step, value, found in reversed(read)
    )
    return ChainTile({name: needed[name] for name in sizes if name in needed}, tuple(slices))
