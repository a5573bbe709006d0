"""Which engines carry a statement, and through which lane. Pure.

Inward data has two lanes, one per input channel of a core (`lanes`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Stage
from npuflow.schedule.nest.nest import COLUMN, L1, L2, L3, ROW, BufferInfo, Nest, Transfer, walk
from npuflow.schedule.project.clip import Clip, clip_of
from npuflow.schedule.project.lanes import Lanes, assign_lanes
from npuflow.schedule.project.layout import Part, divide, localise, part_of
from npuflow.strategy.footprint import row_tiles

TILE, PART = "tile", "part"


@dataclass(frozen=True)
class EngineKey:
    """A kind of engine: its stage and lane."""

    stage: Stage
    lane: int = 0

    @property
    def name(self) -> str:
        return f"{self.stage.value}{self.lane}" if self.stage in _LANED else self.stage.value


_LANED = (Stage.SHIM_OUT, Stage.MEMORY_IN, Stage.MEMORY_OUT, Stage.CORE_IN)


@dataclass(frozen=True)
class Route:
    """How one transfer travels: from a sending to a receiving engine, over a stream of its kind and element type."""

    transfer: Transfer
    sender: EngineKey
    receiver: EngineKey
    kind: str
    stream: str


def _route(transfer: Transfer, sender: EngineKey, receiver: EngineKey, kind: str) -> Route:
    return Route(transfer, sender, receiver, kind, f"{kind}_{transfer.source.buffer.element_type}")


@dataclass
class Routes:
    """The routes of a nest, the parts of its L2 buffers, and how many memory tiles serve the rows.

    The array has so many `columns`, and each memory tile so many `channels_out`; `clips` says that these insert zeros.
    Lanes that are not `given` are chosen.
    """

    nest: Nest
    columns: int
    channels_out: int
    clips: bool = False
    given: Lanes | None = None
    parts: dict[int, Part] = field(default_factory=dict)
    lanes: Lanes = field(init=False)
    _clips: dict[int, Clip] = field(default_factory=dict)
    _routes: dict[int, Route] = field(default_factory=dict)

    def __post_init__(self) -> None:
        transfers = [s for s, _ in walk(self.nest.body) if isinstance(s, Transfer)]
        for end in (end for t in transfers for end in (t.source, t.target)):
            if end.buffer.space == L2 and id(end.buffer) not in self.parts:
                part = self.parts[id(end.buffer)] = part_of(end.buffer, self.nest)
                clip = clip_of(end.buffer, self.nest, part) if self.clips else None
                if clip is not None:
                    self._clips[id(end.buffer)] = clip
        self.lanes = self.given or assign_lanes(self.nest, self.parts, self.channels_out)
        for transfer in transfers:
            self._routes[id(transfer)] = self._route(transfer)

    @property
    def row_tiles(self) -> int:
        """Memory tiles that hold what is divided by rows: as many as divide the rows evenly."""
        return row_tiles(self.nest.grid[0], self.columns)

    def of(self, transfer: Transfer) -> Route:
        return self._routes[id(transfer)]

    @property
    def has_clips(self) -> bool:
        return bool(self._clips)

    def part(self, buffer: BufferInfo) -> Part:
        return self.parts[id(buffer)]

    def shape(self, buffer: BufferInfo) -> tuple[int, ...]:
        """What a slot of an L2 buffer holds in each place."""
        clip = self._clips.get(id(buffer))
        return self.part(buffer).shape if clip is None else clip.shape

    def _route(self, transfer: Transfer) -> Route:
        source, target = transfer.source.buffer, transfer.target.buffer
        way = (source.space, target.space)
        if way == (L3, L2):
            lane = self._lane(target)
            divided = divide(transfer, target, self.part(target))
            clip = self._clips.get(id(target))
            divided = divided if clip is None else clip.written(divided)
            return _route(
                divided, EngineKey(Stage.SHIM_OUT, lane), EngineKey(Stage.MEMORY_IN, lane), f"l3_to_l2_lane{lane}"
            )
        if way == (L2, L1):
            lane = self._lane(source)
            local = localise(transfer, source, self.part(source))
            clip = self._clips.get(id(source))
            local = local if clip is None else clip.read(local)
            sender = EngineKey(Stage.MEMORY_OUT, lane)
            alone = self.span(sender) == (COLUMN,) and local.source.offset.coefficient(ROW) != 0
            stream = f"l2_to_l1_lane{lane}" + ("_each" if alone else "")
            return _route(local, sender, EngineKey(Stage.CORE_IN, lane), stream)
        if way == (L1, L2):
            local = localise(transfer, target, self.part(target))
            return _route(local, EngineKey(Stage.CORE_OUT), EngineKey(Stage.RESULT_IN), "l1_to_l2")
        if way == (L2, L3):
            divided = divide(transfer, source, self.part(source))
            return _route(divided, EngineKey(Stage.RESULT_OUT), EngineKey(Stage.SHIM_IN), "l2_to_l3")
        text = f"no engine moves data from {_LEVELS[way[0]]} to {_LEVELS[way[1]]}; hint: move it level by level"
        raise InputError(Diagnostic(Severity.ERROR, text, transfer.location))

    def _lane(self, buffer: BufferInfo) -> int:
        return self.lanes.of.get(id(buffer), 1)

    def span(self, engine: EngineKey) -> tuple[str, ...]:
        """The coordinates that tell like engines apart."""
        if engine.stage in (Stage.CORE_IN, Stage.CORE, Stage.CORE_OUT, Stage.RESULT_IN):
            return (ROW, COLUMN)
        if engine.stage is Stage.CONTROL:
            return ()
        by_rows = engine.lane == 0 and self.lanes.by_rows
        if by_rows and engine.stage in (Stage.SHIM_OUT, Stage.MEMORY_IN):
            return (TILE,)
        if engine.stage is Stage.MEMORY_OUT:
            return (ROW,) if by_rows else (ROW, COLUMN) if engine.lane in self.lanes.separate else (COLUMN,)
        return (COLUMN,)

    def stream_span(self, route: Route) -> tuple[str, ...]:
        """The coordinates that tell streams of a kind apart: the sender's, or those of cores that it serves in turn."""
        return (ROW, COLUMN) if route.kind.endswith("_each") else self.span(route.sender)

    def extents(self) -> dict[str, int]:
        rows, columns = self.nest.grid
        return {ROW: rows, COLUMN: columns, TILE: self.row_tiles, PART: rows // self.row_tiles}

    def address(self, engine: EngineKey, coordinate: str) -> tuple[Affine, tuple[str, ...]]:
        """A coordinate as an engine sees it, and the coordinates it must go through to reach all of them."""
        span = self.span(engine)
        if coordinate in span:
            return Affine.counter(coordinate), ()
        if coordinate == ROW and TILE in span:
            each = (PART,) if self.extents()[PART] > 1 else ()
            return Affine.counter(TILE) + Affine.counter(PART, self.row_tiles if each else 0), each
        return Affine.counter(coordinate), (coordinate,)


_LEVELS = {L3: "L3", L2: "L2", L1: "L1"}
