"""Ops in a row that read each other through windows: along which axes, and what a tile needs. Reads IR only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain as in_turn
from operator import ge

from npuflow.bindings import ir
from npuflow.ops.contraction import producer
from npuflow.ops.images import ImageOp, ImageRead, images_of
from npuflow.ops.linear import input_count
from npuflow.ops.outline import Outline, outline_of
from npuflow.ops.products import sums_products
from npuflow.split.steps import Steps
from npuflow.split.windows import SlidingWindow
from npuflow.strategy.strategy import Strategy

Problem = str
NO_WINDOW: Problem = "no op reads another through a window"


@dataclass(frozen=True)
class ChainAxis:
    """An axis of an image through all ops of a chain: the loop of each along it; `size` is that of the last op's."""

    loops: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class WindowChain:
    """Ops of which all but the last are read by others of them alone, some through windows along the `axes`.

    Without axes each reads others element by element, so that tiles have no halos: sums side by side.
    """

    images: tuple[ImageOp, ...]
    axes: tuple[ChainAxis, ...]

    @cached_property
    def outline(self) -> Outline:
        return outline_of([image.op for image in self.images])

    def is_divided_by(self, tiles: Sequence[int]) -> bool:
        """Whether tiles of these sizes make up the chain's result."""
        return len(tiles) == len(self.axes) and all(axis.size % tile == 0 for axis, tile in zip(self.axes, tiles))

    @property
    def begins_with_tensor(self) -> bool:
        """Whether a sum of one of the ops begins with what another one of them makes, as a bias that is repeated."""
        return any(image.begun_by is not None for image in self.images)

    @cached_property
    def can_keep_rows(self) -> bool:
        """Whether steps along the first axis can keep rows: where windows read one row after the other.

        Nothing keeps rows of what sums begin with.
        """
        if self.begins_with_tensor:
            return False
        windows = [
            window_along(image, read, self.axes[0].loops[number])
            for number, image in enumerate(self.images)
            for read in image.reads
            if read.maker is not None
        ]
        return all(window.stride == 1 for window in windows) and any(window.extent > 1 for window in windows)

    @property
    def moved(self) -> int:
        """How many tensors are moved into and out of a core, whatever the tiles are: masks of some come to that."""
        read = {
            each.value
            for image in self.images
            for number, each in enumerate(image.reads)
            if each.maker is None and any(True for _ in image.op.regions[0].blocks[0].arguments[number].uses)
        }
        return len(read) + 1

    def tiled(self, tiles: Sequence[int], rows: int = 0) -> TiledChain:
        """The chain in tiles of so many indices along each axis of its result, which they divide.

        With `rows`, which divide a tile's along the first axis, it is gone through in steps of so many.
        """
        steps = tuple(self._steps(axis, tile) for axis, tile in zip(self.axes, tiles))
        return TiledChain(self, tuple(tiles), steps, rows)

    def _steps(self, axis: ChainAxis, tile: int) -> tuple[Steps, ...]:
        found = {len(self.images) - 1: Steps(tile, 0, tile)}
        for number in reversed(range(len(self.images))):
            for read in self.images[number].reads:
                if read.maker is not None:
                    needed = found[number].read(window_along(self.images[number], read, axis.loops[number]))
                    assert found.setdefault(read.maker, needed) == needed
        return tuple(found[number] for number in range(len(self.images)))


@dataclass(frozen=True)
class TiledChain:
    """A chain with what a tile has of each op's result, by axis.

    Steps make so many `rows` of a tile and keep what is read again, or, with 0, it is made in one go.
    """

    chain: WindowChain
    tiles: tuple[int, ...]
    steps: tuple[tuple[Steps, ...], ...]
    rows: int = 0

    def is_around(self, other: TiledChain) -> bool:
        """Whether another's tiles, and the rows of its steps, are nowhere larger than these."""
        return all(map(ge, (*self.tiles, self.rows), (*other.tiles, other.rows)))

    def in_steps(self, rows: int | None = None) -> Iterator[TiledChain]:
        """The same in steps of so many rows, or of any number that divides a tile's, the fewest steps first."""
        tile = self.tiles[0]
        for step in range(tile // 2, 0, -1) if self.chain.can_keep_rows else ():
            if tile % step == 0 and rows in (None, step):
                yield replace(self, rows=step)

    def pieces(self) -> Strategy:
        """What a strategy says of steps, if there are any."""
        return Strategy(stream=(self.rows,)) if self.rows else Strategy()

    def counts(self) -> tuple[int, ...]:
        """How many tiles there are along each axis."""
        return tuple(axis.size // tile for axis, tile in zip(self.chain.axes, self.tiles))


def window_along(image: ImageOp, read: ImageRead, loop: int) -> SlidingWindow:
    """The window that an op reads through along one of its loops."""
    place = next(p for p, dim in enumerate(read.dims) if any(each == loop for each, _ in dim.terms))
    terms = dict(read.dims[place].terms)
    stride = terms.pop(loop)
    taps = next(iter(terms.items()), None)
    size, dilation = (1, 1) if taps is None else (image.sizes[taps[0]], taps[1])
    return SlidingWindow(size, stride, read.low[place], read.high[place], dilation)


def chain_of(ops: Sequence[ir.Operation]) -> WindowChain | Problem:
    """The chain that ops in program order are, or what keeps them from being one."""
    images = images_of(ops)
    if images is None:
        return "the ops don't go through images alike"
    last = images[-1]
    axes = []
    for loop in last.made:
        loops = _loops_along(images, loop)
        if not isinstance(loops, Problem) and _is_windowed(images, loops):
            if len(loops) < len(images):
                return "an op doesn't follow the axis of a window"
            axes.append(ChainAxis(tuple(loops[number] for number in range(len(images))), last.sizes[loop]))
        elif isinstance(loops, Problem):
            return loops
    chain = WindowChain(images, tuple(axes))
    problem = _problem_of(chain)
    if not axes and (problem or not _have_no_halos(images)):
        return NO_WINDOW
    return problem or chain


def _have_no_halos(images: Sequence[ImageOp]) -> bool:
    """Whether there are sums of products, and every op goes along all loops of the last one's result."""
    found = [_loops_along(images, loop) for loop in images[-1].made]
    are_whole = all(not isinstance(loops, Problem) and len(loops) == len(images) for loops in found)
    return are_whole and any(sums_products(image.op) for image in images)


def _loops_along(images: Sequence[ImageOp], loop: int) -> dict[int, int] | Problem:
    """The loop of each op, from the last back, that a loop of the last one's goes along."""
    found = {len(images) - 1: loop}
    for number in reversed(range(len(images))):
        for read in images[number].reads if number in found else ():
            places = [p for p, dim in enumerate(read.dims) if any(each == found[number] for each, _ in dim.terms)]
            if read.maker is None or not places:
                continue
            if len(places) > 1 or not _is_window(images[number], read, places[0], found[number]):
                return "an op reads another by something else than a window"
            made = images[read.maker].made[places[0]]
            if found.setdefault(read.maker, made) != made:
                return "two ops read a third along different axes"
    return found


def _is_window(image: ImageOp, read: ImageRead, place: int, loop: int) -> bool:
    others = [each for each, _ in read.dims[place].terms if each != loop]
    return len(others) <= 1 and all(image.kinds[each] == "reduction" for each in others)


def _is_windowed(images: Sequence[ImageOp], loops: dict[int, int]) -> bool:
    """Whether any op reads another through more than one element at a time along these loops."""
    windows = (
        window_along(images[number], read, loop)
        for number, loop in loops.items()
        for read in images[number].reads
        if read.maker is not None and any(each == loop for dim in read.dims for each, _ in dim.terms)
    )
    return any(window.size > 1 or window.stride > 1 for window in windows)


def _problem_of(chain: WindowChain) -> Problem | None:
    """What of a chain can't be cut into tiles along its axes."""
    reads = (_problem_of_read(chain, number, read) for number, image in enumerate(chain.images) for read in image.reads)
    along = (_problem_along(chain.images, axis) for axis in chain.axes)
    starts = (_problem_of_start(image) for image in chain.images)
    # In this order: only what is read along all axes has windows along them.
    return next((problem for problem in in_turn(reads, along, starts) if problem is not None), None)


def _problem_of_read(chain: WindowChain, number: int, read: ImageRead) -> Problem | None:
    loops = {axis.loops[number] for axis in chain.axes}
    along = [sum(loop in loops for loop, _ in dim.terms) for dim in read.dims]
    if max(along, default=0) > 1:
        return "an op reads along two axes at once"
    if read.maker is None:
        return None
    if any((low or high) and not axes for low, high, axes in zip(read.low, read.high, along)):
        return "padding between two ops is along no axis of a window"
    return "an op reads all of an axis of another" if sum(along) < len(chain.axes) else None


def _problem_of_start(image: ImageOp) -> Problem | None:
    """Why an op can't begin anew in each tile: what a sum begins with is one number everywhere, or made there too."""
    op, first = image.op, input_count(image.op)
    begun = any(True for _ in op.regions[0].blocks[0].arguments[first].uses)
    if not begun or image.begun_by is not None or producer(op.operands[first], "linalg.fill") is not None:
        return None
    return "a sum begins with a tensor"


def _problem_along(images: Sequence[ImageOp], axis: ChainAxis) -> Problem | None:
    needs = {len(images) - 1: Steps(1, 0, 1)}
    for number in reversed(range(len(images))):
        for read in images[number].reads:
            if read.maker is not None:
                need = needs[number].read(window_along(images[number], read, axis.loops[number]))
                if needs.setdefault(read.maker, need) != need:
                    return "two ops read different rows of a third"
    return None
