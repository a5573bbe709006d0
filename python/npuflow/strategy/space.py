"""What is open of a group's mapping once somebody said some of it: where a search begins, and where it may go. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from npuflow.kernels.matrix_cycles import takes_windows
from npuflow.ops.products import largest_divisor, padded
from npuflow.strategy.group import BATCH, Group, K, M, MatmulOperand, N
from npuflow.strategy.lane_descriptors import served_array, served_arrays
from npuflow.strategy.mapping import Mapping, Spread, slots_of
from npuflow.strategy.strategy import Sizes, Strategy, Tile
from npuflow.strategy.work_cycles import multiplies
from npuflow.target import Device
from npuflow.target.planned import goes_around_l2

ANY_SHAPE_PACK: Tile = (4, 8, 8)
Array = tuple[int, int]


@dataclass(frozen=True)
class Space:
    """Mappings of a group. Tiles of loops that are `open` are the smallest in `start`, and grow in `units`.

    `arrays` are tried first, `parts` of them where there is too little work for all cores or too little room; `loops`
    are those that rows and columns may follow. `slots` are the fields of `Depths` that nobody has said. Pieces of
    streamed loops in L2 grow where `opens_l2`, and so may blocks take any order where `opens_order`.
    """

    group: Group
    start: Mapping
    arrays: tuple[Array, ...]
    parts: tuple[Array, ...]
    loops: tuple[tuple[int, int], ...]
    open: tuple[int, ...]
    units: Sizes
    slots: tuple[str, ...]
    opens_order: bool
    opens_l2: bool

    def spreads(self, arrays: tuple[Array, ...]) -> Iterator[Spread]:
        """The ways to spread loops over arrays; of matmuls, over no more cores than have work unless they are said."""
        for array, loops in product(arrays, self.loops):
            rows, columns = array
            if self.group.packed and self.parts:
                rows, columns = min(rows, self.steps(loops[0])), min(columns, self.steps(loops[1]))
            yield Spread((rows, columns), *loops)

    def on(self, spread: Spread) -> Space:
        """Of these mappings, those on one spread."""
        return replace(self, arrays=(spread.grid,), parts=(), loops=((spread.rows, spread.columns),))

    @property
    def has_idle_cores(self) -> bool:
        """Whether there are more cores than even the smallest tiles."""
        return prod(self.steps(loop) for loop in range(self.group.space)) < prod(self.arrays[0])

    def smallest(self) -> Mapping:
        """The smallest tiles."""
        spread = next(self.spreads(self.arrays))
        return replace(self.start, spread=spread)

    def steps(self, loop: int) -> int:
        """How many of the smallest tiles a loop has."""
        return -(-self.group.sizes[loop] // self.start.tiles[loop])


def space_of(
    group: Group, given: Strategy, device: Device, *, whole_k: bool = False, array: Array | None = None
) -> Space:
    """What is open of a group's mapping; `array` are the rows and columns to be taken where nothing else is said."""
    if group.packed:
        return _space_of_matmul(group, given, device, whole_k, array)
    return _space_of_bundle(group, given, device, array)


def _space_of_matmul(group: Group, given: Strategy, device: Device, whole_k: bool, array: Array | None) -> Space:
    assert group.types is not None
    pack = given.pack or _default_pack(group.types, device)
    is_said = bool(given.grid or given.tile_l2 or given.tile_l1)
    along_m, along_n = grid = _said_grid(group, given, device, pack)
    if given.tile_l1:
        m, n, k = given.tile_l1
    elif given.tile_l2:  # a core's part of the block, at least one instruction's shape
        m, n, k = max(pack[0], given.tile_l2[0] // along_m), max(pack[1], given.tile_l2[1] // along_n), pack[2]
    else:
        m, n, k = pack
    turns = (0, 1) if given.turned is None and not is_said else (given.turned or 0,)
    whole = array or served_array(device)
    first = whole if not is_said else (along_n, along_m) if given.turned else grid
    open_ = () if given.tile_l1 else (K,) if given.tile_l2 else (M, N, K)
    is_one_piece = whole_k and goes_around_l2(device)
    in_l2 = (given.tile_l2[2] if given.tile_l2 else padded(group.sizes[K], k) if is_one_piece else k,)
    start = Mapping((m, n, 1, k), Spread((1, 1), M, N), slots_of(given), (BATCH, M, N), in_l2, pack, whole_k)
    return Space(
        group,
        start,
        (first,) if is_said or array else served_arrays(device),
        () if is_said or array else _parts(whole),
        tuple((N, M) if turned else (M, N) for turned in turns),
        open_,
        (pack[0], pack[1], 1, pack[2]),
        _open_slots(given, "l2", "l1", *_slots_of_results(group, given), *_between(group, device)),
        False,
        not given.tile_l2 and not is_one_piece,
    )


def _slots_of_results(group: Group, given: Strategy) -> Iterator[str]:
    """Those that are open: who says tiles says that there is room for them, not for more."""
    if not given.tile_l2 and not given.tile_l1:
        yield "result"
        if any(tensor.operand is MatmulOperand.TAIL for tensor in group.tensors):
            yield "tail"


def _default_pack(types: tuple[str, str, str], device: Device) -> Tile:
    if device.accepts_any_shape(*types):
        return ANY_SHAPE_PACK
    shape = device.matmul_shapes(*types)[0]
    return (shape.m, shape.n, shape.k)


def _said_grid(group: Group, given: Strategy, device: Device, pack: Sizes) -> tuple[int, int]:
    """Cores along m and n that go with what is given."""
    if given.grid:
        return given.grid[0], given.grid[1]
    if given.tile_l2 and given.tile_l1:
        return max(1, given.tile_l2[0] // given.tile_l1[0]), max(1, given.tile_l2[1] // given.tile_l1[1])
    unit = given.tile_l1 or pack
    array = served_array(device)
    rows, columns = (
        min(most, -(-group.sizes[loop] // unit[loop]))
        for loop, most in zip((M, N), array[::-1] if given.turned else array)
    )
    if not given.tile_l2:
        return rows, columns
    return largest_divisor(given.tile_l2[0] // pack[0], rows), largest_divisor(given.tile_l2[1] // pack[1], columns)


def _space_of_bundle(group: Group, given: Strategy, device: Device, array: Array | None) -> Space:
    tiles = group.whole()
    if given.tile_l1:
        tiles[: group.space] = given.tile_l1
    for loop, piece in zip(group.streamed, given.stream):
        tiles[loop] = piece
    windows = _whole_windows(group, device)
    pieced = () if given.stream else tuple(loop for loop in group.streamed if loop not in windows)
    opens_l2 = group.pads_streamed and bool(pieced) and not given.stream_l2
    in_l2 = tuple(tiles[loop] for loop in group.streamed) if opens_l2 else given.stream_l2
    if group.keeps_rows:
        in_l2 = tuple(group.sizes[loop] for loop in group.streamed)
    wide = [loop for loop in range(group.space) if group.sizes[loop] > 1] or [0]
    whole = served_array(device)
    given_array = given.array if given.grid else array
    is_multiplied = any(multiplies(work, device) for work in group.work)
    # What is made of many pieces of products, by ops that take turns, has long left when there is more.
    slots = ["l2", "l1", *([] if is_multiplied and sum(work.pieced for work in group.work) > 1 else ["result"])]
    slots += _between(group, device)
    return Space(
        group,
        Mapping(tuple(tiles), Spread((1, 1), 0, 0), slots_of(given), given.order or tuple(range(group.space)), in_l2),
        (given_array,) if given_array else served_arrays(device),
        () if given_array else _parts(whole),
        ((given.spread[0], given.spread[1]),) if given.spread else tuple(product(wide, wide)),
        (*(() if given.tile_l1 else range(group.space)), *pieced),
        (1,) * len(group.sizes),
        _open_slots(given, *slots, *(["hold"] if group.streamed and not _is_whole(given) else [])),
        not given.order,
        opens_l2,
    )


def _is_whole(given: Strategy) -> bool:
    """Whether a bundle's strategy was chosen before: what it leaves out has its default."""
    return bool(given.grid and given.tile_l1 and given.spread and given.order)


def _whole_windows(group: Group, device: Device) -> set[int]:
    """The loops of windows that a matrix engine goes through in one call."""
    works = [work for work in group.work if takes_windows(work.windows, device)]
    return {work.loops[tap] for work in works if work.windows for tap in work.windows.taps if tap is not None}


def _parts(array: Array) -> tuple[Array, ...]:
    """Parts of an array: fewer columns, fewer rows, a single core."""
    rows, columns = array
    parts = ((rows, columns // 2), (rows, columns // 4), (rows // 2, columns), (1, columns), (1, 1))
    return tuple(part for part in dict.fromkeys(parts) if min(part) and part != array)


def _open_slots(given: Strategy, *names: str) -> tuple[str, ...]:
    known = ("l2", "l1", "result", "tail", "between")
    fields = {"hold": given.hold, **{name: getattr(given, f"depth_{name}") for name in known}}
    return tuple(name for name in names if fields[name] is None)


def _between(group: Group, device: Device) -> list[str]:
    """The slots of what engines hand to each other, where these differ."""
    classes = {multiplies(work, device) for work in group.work}
    is_one = not device.has_two_engines
    return ["between"] if not is_one and len(classes) > 1 and any(t.handed_over for t in group.tensors) else []
