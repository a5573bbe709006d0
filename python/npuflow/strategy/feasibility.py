"""Whether a strategy can be carried out: what stands against it as data, with need, limit and what helps. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from npuflow.errors import needs_text
from npuflow.strategy.flat import MOST_SIZE
from npuflow.strategy.group import Group, Role
from npuflow.strategy.mapping import Mapping, mapping_of
from npuflow.strategy.room import (
    Slots,
    fits_l2,
    fullest_l2_bytes,
    l1_buffers,
    l1_descriptors,
    l2_buffers,
    tile_descriptors,
    total_l1_bytes,
)
from npuflow.strategy.strategy import Sizes, Strategy
from npuflow.target import Device


class Constraint(Enum):
    """What a strategy must keep to."""

    SAID = "fields say what the group has"
    GRID = "cores that the device has"
    INSTRUCTION = "a shape of its matrix instructions"
    NESTING = "tiles within each other"
    L1 = "memory of a core"
    L2 = "memory tiles"
    CORE_DESCRIPTORS = "descriptors beside a core"
    TILE_DESCRIPTORS = "descriptors of a memory tile"


@dataclass(frozen=True)
class Obstacle:
    """What is wrong, with numbers, and what to change; `nearest` does that and has what was lacking, if anything does.

    `hint` says the first lever of several; `users` are whose bytes these are.
    """

    constraint: Constraint
    message: str
    hint: str
    need: int = 0
    have: int = 0
    users: tuple[Slots, ...] = ()
    nearest: Strategy | None = None


def obstacles(group: Group, strategy: Strategy, device: Device, *, whole_k: bool = False) -> tuple[Obstacle, ...]:
    """Everything that stands against a complete strategy, independent of each other."""
    found = [*grid_obstacles(strategy, device), *_beyond_count(strategy)]
    if group.packed:
        found += [*_instruction(group, strategy, device), *_nesting(strategy)]
    own = group.with_gather() if strategy.gather else group
    if not found and own is not None:
        found = [*_memories(own, strategy, device, whole_k)] or [*_descriptors(own, strategy, device, whole_k)]
    return tuple(found)


def first_causes(found: tuple[Obstacle, ...], said: Strategy) -> tuple[Obstacle, ...]:
    """Without blocks in L2 that nobody said: they are made of a core's tiles, which stand in the way themselves."""
    if said.tile_l2 or said.stream_l2 or all(one.constraint is not Constraint.L1 for one in found):
        return found
    return tuple(one for one in found if one.constraint is not Constraint.L2)


def grid_obstacles(strategy: Strategy, device: Device) -> Iterator[Obstacle]:
    """What stands against a strategy's grid."""
    rows, columns = strategy.array
    if not device.has_grid(rows, columns):
        what = f"grid {rows}x{columns} is larger than the {device.rows}x{device.columns} cores of {device.name}"
        hint = f"use at most {device.rows} rows and {device.columns} columns"
        yield Obstacle(Constraint.GRID, what, hint, rows * columns, device.rows * device.columns)


def is_beyond_count(strategy: Strategy) -> bool:
    """Whether a strategy says sizes or slots that nothing has room for, and no count goes up to."""
    return any(True for _ in _beyond_count(strategy))


def _beyond_count(strategy: Strategy) -> Iterator[Obstacle]:
    for name, said in strategy.said().items():
        largest = max(said) if isinstance(said, tuple) else said
        if largest > MOST_SIZE:
            what = f"{name} says {largest}, sizes and slots are counted up to {MOST_SIZE}"
            yield Obstacle(Constraint.SAID, what, "say less", largest, MOST_SIZE)


def _instruction(group: Group, strategy: Strategy, device: Device) -> Iterator[Obstacle]:
    assert group.types is not None
    lhs, rhs, acc = group.types
    if device.accepts_any_shape(lhs, rhs, acc):
        return
    shapes = [(s.m, s.n, s.k) for s in device.matmul_shapes(lhs, rhs, acc)]
    if strategy.pack not in shapes:
        what = f"pack {_text(strategy.pack)} is no matmul instruction of {device.name} for {lhs} x {rhs} -> {acc}"
        yield Obstacle(Constraint.INSTRUCTION, what, f"use pack={' or '.join(map(_text, shapes))}")


def _nesting(strategy: Strategy) -> Iterator[Obstacle]:
    for name, size, pack in zip("mnk", strategy.tile_l1, strategy.pack):
        if size % pack:
            what = f"tile-l1 {name}={size} is no multiple of pack {name}={pack}"
            hint = f"use a multiple of {pack}, such as {-(-size // pack) * pack}"
            yield Obstacle(Constraint.NESTING, what, hint)
    for name, l2, l1, cores, side in zip("mn", strategy.tile_l2, strategy.tile_l1, strategy.grid, ("rows", "columns")):
        if l2 != l1 * cores:
            what = f"tile-l2 {name}={l2} is not {cores} grid {side} times tile-l1 {name}={l1}"
            also = f" or tile-l1 {name} to {l2 // cores}" if l2 % cores == 0 else ""
            yield Obstacle(Constraint.NESTING, what, f"set tile-l2 {name} to {l1 * cores}{also}")
    l2, l1 = strategy.tile_l2[2], strategy.tile_l1[2]
    if l2 % l1:
        what = f"tile-l2 k={l2} is no multiple of tile-l1 k={l1}"
        yield Obstacle(Constraint.NESTING, what, f"set tile-l2 k to {-(-l2 // l1) * l1}")


def _memories(group: Group, strategy: Strategy, device: Device, whole_k: bool) -> Iterator[Obstacle]:
    """What L1 and L2 have too little room for."""
    columns, alignment = strategy.array[1], device.level(device.kernel_level).alignment_bytes

    def in_l1(changed: Strategy) -> list[Slots]:
        return l1_buffers(group, mapping_of(group, changed))

    def in_l2(changed: Strategy) -> list[Slots]:
        if not group.packed:
            mapping = mapping_of(group, changed)
            return l2_buffers(group, mapping, device.columns, clips=device.dma(device.block_level).pads_with_zeros)
        m, n, _ = changed.tile_l2
        tile = (m // changed.grid[0], n // changed.grid[1], changed.tile_l1[2])
        return l2_buffers(group, mapping_of(group, replace(changed, tile_l1=tile), whole_k=whole_k), device.columns)

    have_l1, have_l2 = (
        device.capacity_bytes(level, *strategy.array) for level in (device.kernel_level, device.block_level)
    )
    step_l1: Sizes = strategy.pack
    step_l2: Sizes = ()
    last_l1, last_l2 = "not even one instruction's operands fit", "use more columns"
    if group.packed:
        step_l2 = (strategy.grid[0] * strategy.pack[0], strategy.grid[1] * strategy.pack[1], strategy.tile_l1[2])
        if whole_k:
            last_l2 = f"all of K={group.sizes[3]} stays in L2 here: use npuflow-stream-k"
    else:
        step_l1 = (1,) * (group.space + len(group.streamed))
        step_l2 = (*step_l1[: group.space], *strategy.stream) if strategy.stream_l2 else step_l1
        last_l1 = last_l2 = "cut the dimensions that stay whole inside of a tile"
    l1 = _Level(Constraint.L1, "L1 of a core", "l1", step_l1, have_l1, in_l1, lambda b: total_l1_bytes(b, alignment))
    where = f"L2 of {columns} columns"
    l2 = _Level(Constraint.L2, where, "l2", step_l2, have_l2, in_l2, lambda b: columns * fullest_l2_bytes(b))
    yield from _overflow(l1, strategy, last_l1)
    yield from _overflow(l2, strategy, last_l2)


def _descriptors(group: Group, strategy: Strategy, device: Device, whole_k: bool) -> Iterator[Obstacle]:
    mapping, moved = mapping_of(group, strategy, whole_k=whole_k), sum(t.role is not Role.LOCAL for t in group.tensors)
    need, have = l1_descriptors(group, mapping), device.dma(device.kernel_level).descriptors
    if need > have:
        what, hint = f"a core's channels need {need} descriptors, have {have}", "use fewer slots in L1"
        if moved > have:
            what = f"{moved} tensors take a descriptor each, and a core has {have}"
            hint = "run npuflow-split-wide-ops first"
        yield Obstacle(Constraint.CORE_DESCRIPTORS, what, hint, need, have)
    elif not group.packed and not fits_l2(group, mapping, device):
        yield _tile_descriptors(group, mapping, device, moved)


def _tile_descriptors(group: Group, mapping: Mapping, device: Device, moved: int) -> Obstacle:
    rows, dma = mapping.spread.grid[0], device.dma(device.block_level)
    need = tile_descriptors(group, mapping, device)
    have = dma.descriptors // dma.descriptor_groups
    what = f"{moved} tensors take {need} descriptors of a memory tile for {rows} rows of cores, of which {have} serve a"
    return Obstacle(
        Constraint.TILE_DESCRIPTORS, f"{what} group of its channels", "choose a grid of fewer rows", need, have
    )


@dataclass(frozen=True)
class _Level:
    """A memory: what it has, what a strategy needs of it, and the steps in which its tile can shrink.

    Sizes are those of the space and then those of streamed loops: of a matmul the level's tile, of a bundle the tile in
    L1, of which blocks in L2 are made, and the level's pieces.
    """

    constraint: Constraint
    where: str
    name: str
    steps: Sizes
    have: int
    buffers: Callable[[Strategy], list[Slots]]
    total: Callable[[Sequence[Slots]], int]

    def fits(self, strategy: Strategy) -> bool:
        return self.total(self.buffers(strategy)) <= self.have

    def sizes(self, strategy: Strategy) -> Sizes:
        if strategy.pack:
            return strategy.tile_l1 if self.name == "l1" else strategy.tile_l2
        return (*strategy.tile_l1, *(strategy.stream_l2 if self.has_own_pieces(strategy) else strategy.stream))

    def has_own_pieces(self, strategy: Strategy) -> bool:
        """Whether a bundle's pieces of streamed loops here are said apart from those in L1."""
        return self.name == "l2" and bool(strategy.stream_l2)

    def with_sizes(self, strategy: Strategy, sizes: Sizes) -> Strategy:
        if strategy.pack:
            return replace(strategy, tile_l1=sizes) if self.name == "l1" else replace(strategy, tile_l2=sizes)
        space = len(strategy.tile_l1)
        tile, pieces = sizes[:space], sizes[space:]
        if self.has_own_pieces(strategy):
            return replace(strategy, tile_l1=tile, stream_l2=pieces)
        in_l2 = tuple(max(l1, l2 // l1 * l1) for l2, l1 in zip(strategy.stream_l2, pieces))
        return replace(strategy, tile_l1=tile, stream=pieces, stream_l2=in_l2)

    def space(self, strategy: Strategy) -> int:
        """How many of the sizes are of the space."""
        return 2 if strategy.pack else len(strategy.tile_l1)

    def with_single_buffers(self, strategy: Strategy) -> Strategy:
        changed = replace(strategy, depth_l1=1) if self.name == "l1" else replace(strategy, depth_l2=1)
        return replace(changed, depth_lhs=(), depth_rhs=())

    def said(self, strategy: Strategy, of: str, before: Sizes, after: Sizes) -> str:
        pieces = "stream_l2" if self.has_own_pieces(strategy) else "stream"
        words = {"k": pieces, "m,n": "tile_l1"}.get(of, f"tile_l1, {pieces}")
        field = f"tile-{self.name} {of}" if strategy.pack else words
        return f"lower {field.strip()} from {_text(before)} to {_text(after)}"


def _overflow(level: _Level, strategy: Strategy, last_resort: str) -> Iterator[Obstacle]:
    if level.fits(strategy):
        return
    buffers = sorted(level.buffers(strategy), key=lambda b: -b.bytes)
    need = level.total(buffers)
    hint, nearest = next(_levers(level, strategy), (last_resort, None))
    what = needs_text(level.where, need, "bytes", level.have, [str(buffer) for buffer in buffers])
    yield Obstacle(level.constraint, what, hint, need, level.have, tuple(buffers), nearest)


def _levers(level: _Level, strategy: Strategy) -> Iterator[tuple[str, Strategy]]:
    """What makes it fit: smaller pieces of a streamed loop if that is enough, else of the space, else fewer slots."""
    sizes, space = level.sizes(strategy), level.space(strategy)
    for place in sorted(range(space, len(sizes)), key=lambda place: -sizes[place]):
        if smaller := _largest(level, strategy, sizes, place):
            cut = (*sizes[:place], smaller, *sizes[place + 1 :])
            yield level.said(strategy, "k", sizes[space:], cut[space:]), level.with_sizes(strategy, cut)
    cut = sizes
    while any(size > step for size, step in zip(cut[:space], level.steps)):
        cut = _halved(cut, level.steps, space)
        if level.fits(nearest := level.with_sizes(strategy, cut)):
            yield level.said(strategy, "m,n", sizes[:space], cut[:space]), nearest
            break
    depth = _most_slots(strategy, 1 if level.name == "l1" else 0)
    if level.fits(single := level.with_single_buffers(strategy)):
        yield f"lower depth_{level.name} from {depth} to 1", single
    smallest = level.with_sizes(level.with_single_buffers(strategy), level.steps)
    if level.fits(smallest):
        also = f" and depth_{level.name} from {depth} to 1" if depth > 1 else ""
        yield f"{level.said(strategy, '', sizes, level.steps)}{also}", smallest


def _largest(level: _Level, strategy: Strategy, sizes: Sizes, place: int) -> int:
    """The largest size below that at a place that fits, by bisection; 0 if none does."""
    step = level.steps[place]
    low, high = 0, (sizes[place] - 1) // step
    while low < high:
        middle = (low + high + 1) // 2
        if level.fits(level.with_sizes(strategy, (*sizes[:place], middle * step, *sizes[place + 1 :]))):
            low = middle
        else:
            high = middle - 1
    return low * step


def _halved(sizes: Sizes, steps: Sizes, space: int) -> Sizes:
    """The largest size of the space that can be halved is, in steps."""
    place = max((i for i in range(space) if sizes[i] > steps[i]), key=lambda i: (sizes[i], -i))
    half = max(steps[place], sizes[place] // 2 // steps[place] * steps[place])
    return (*sizes[:place], half, *sizes[place + 1 :])


def _most_slots(strategy: Strategy, place: int) -> int:
    """The slots of the operand that has more of them, in L2 (0) or L1 (1)."""
    shared = (strategy.depth_l2 or 1, strategy.depth_l1 or 1)
    return max((strategy.depth_lhs or shared)[place], (strategy.depth_rhs or shared)[place])


def _text(sizes: Sizes) -> str:
    return ",".join(map(str, sizes))
