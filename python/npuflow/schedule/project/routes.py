"""Which engines carry a statement, and through which lane. Pure.

The device says which engines are at the ends of a hop, and how many lanes it has (`lanes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Access, Ref
from npuflow.schedule.nest.nest import COLUMN, L1, L2, L3, ROW, BufferInfo, Kernel, Nest, Transfer, walk
from npuflow.schedule.project.clip import Clip, clip_of
from npuflow.schedule.project.lanes import Lanes, assign_lanes, lanes_from_l3
from npuflow.schedule.project.layout import Part, divide, localise, part_of
from npuflow.schedule.project.padding import padded_clip, read_with_zeros, trips_of
from npuflow.strategy.lane_descriptors import TileDma
from npuflow.strategy.room import row_tiles
from npuflow.target import Device, KernelClass, SharedBy, Stage

TILE, PART = "tile", "part"
# The levels of the nest's memory spaces.
LEVELS = {L3: 3, L2: 2, L1: 1}


@dataclass(frozen=True)
class EngineKey:
    """A kind of engine: its stage and lane."""

    stage: Stage
    lane: int = 0

    @property
    def name(self) -> str:
        return f"{self.stage.name}{self.lane}" if self.stage.lanes > 1 else self.stage.name


@dataclass(frozen=True)
class Route:
    """How one transfer travels: from a sending to a receiving engine, over a stream of its kind and element type.

    Receivers that differ in `apart` get something of their own, one after the other.
    """

    transfer: Transfer
    sender: EngineKey
    receiver: EngineKey
    kind: str
    apart: tuple[str, ...]

    @property
    def stream(self) -> str:
        return f"{self.kind}_{self.transfer.source.buffer.element_type}"


@dataclass
class Routes:
    """The routes of a nest, the parts of its L2 buffers, and how many memory tiles serve the rows.

    `classes` are the kernels', by their keys; the channels out of L2 insert the zeros of buffers that would be `clips`
    times as large with them, of none where that is None. Lanes that are not `given` are chosen.
    """

    nest: Nest
    device: Device
    classes: Mapping[int, KernelClass]
    clips: int | None = None
    given: Lanes | None = None
    parts: dict[BufferInfo, Part] = field(default_factory=dict)
    lanes: Lanes = field(init=False)
    _clips: dict[BufferInfo, Clip] = field(default_factory=dict)
    _routes: dict[int, Route] = field(init=False)

    def __post_init__(self) -> None:
        transfers = [s for s, _ in walk(self.nest.body) if isinstance(s, Transfer)]
        for end in (end for t in transfers for end in (t.source, t.target)):
            if end.buffer.space == L2 and end.buffer not in self.parts:
                part = self.parts[end.buffer] = part_of(end.buffer, self.nest)
                clip = clip_of(end.buffer, self.nest, part) if self.clips else None
                if clip is not None and self.clips and prod(part.shape) >= self.clips * prod(clip.shape):
                    self._clips[end.buffer] = clip
        self._leave_out_zeros(transfers)
        if self.given is not None:
            self.lanes = self.given
        elif self.device.has_level(2):
            self.lanes = assign_lanes(self.nest, self.parts, TileDma.of(self.device, self.nest.grid[0]))
        else:
            self.lanes = lanes_from_l3(self.nest, self.device.ways.hop(3, 1)[1].lanes)
        self._routes = {transfer.key: self._route(transfer) for transfer in transfers}
        assert len(self._routes) == len(transfers), "each transfer of a nest has a key of its own"

    def _leave_out_zeros(self, transfers: list[Transfer]) -> None:
        """Clips what comes into L1 with zeros that the matrix engine makes up."""
        share = self.device.patch_engine.padding_share
        for buffer in (t.target.buffer for t in transfers if t.pads and t.target.buffer.space == L1) if share else ():
            clip = padded_clip(buffer, self.nest, self.classes, share)
            if clip is not None:
                self._clips[buffer] = clip

    @property
    def row_tiles(self) -> int:
        """Memory tiles that hold what is divided by rows: as many as divide the rows evenly."""
        return row_tiles(self.nest.grid[0], self.device.columns)

    def of(self, transfer: Transfer) -> Route:
        return self._routes[transfer.key]

    @property
    def has_clips(self) -> bool:
        return bool(self._clips)

    def part(self, buffer: BufferInfo) -> Part:
        return self.parts[buffer]

    def shape(self, buffer: BufferInfo) -> tuple[int, ...]:
        """What a slot of a buffer on the chip holds in each place."""
        clip = self._clips.get(buffer)
        if clip is not None:
            return clip.shape
        return self.part(buffer).shape if buffer.space == L2 else buffer.shape

    def read_by_kernel(self, buffer: BufferInfo, at: Ref, slot: Affine) -> Access:
        """All of a slot of an L1 buffer, with the zeros that the engine makes up."""
        clip = self._clips.get(buffer)
        if clip is None:
            return Access(at, slot, Affine(), (buffer.elements,), (1,))
        return read_with_zeros(clip, at, slot, trips_of(self.nest))

    def engine_of(self, kernel: Kernel) -> EngineKey:
        """What runs a kernel."""
        return EngineKey(self.device.ways.runner(self.classes[kernel.key]))

    @property
    def control(self) -> EngineKey:
        return EngineKey(self.device.ways.control)

    def _route(self, transfer: Transfer) -> Route:
        source, target = transfer.source.buffer, transfer.target.buffer
        levels = (LEVELS[source.space], LEVELS[target.space])
        if not self.device.ways.has_hop(*levels):
            text = f"no engine moves data from L{levels[0]} to L{levels[1]}; hint: move it level by level"
            raise InputError(Diagnostic(Severity.ERROR, text, transfer.location))
        sender, receiver = self.device.ways.hop(*levels)
        divided = target if target.space == L2 or source.space == L3 else source
        # What comes in and is written back in place has a lane inwards, and none on its way out.
        lane = self.lanes.of.get(divided, sender.lanes - 1) if sender.lanes > 1 else 0
        own = self._divided(transfer, divided) if L2 in (source.space, target.space) else self._stored(transfer)
        kind = f"l{levels[0]}_to_l{levels[1]}" + (f"_lane{lane}" if sender.lanes > 1 else "")
        ends = (EngineKey(sender, lane), EngineKey(receiver, lane))
        apart = self._apart(own, *ends)
        return Route(own, *ends, kind + (_suffix(apart) if sender.spreads else ""), apart)

    def _apart(self, transfer: Transfer, sender: EngineKey, receiver: EngineKey) -> tuple[str, ...]:
        """The coordinates that a sender lacks, by which receivers differ in what they get of a transfer."""
        bounds = {name for dimension in transfer.dimensions for bound in dimension.bounds for name in bound.counters}
        told = bounds | transfer.source.offset.counters
        lacked = [name for name in self.span(receiver) if name not in self.span(sender)]
        return tuple(name for name in (ROW, COLUMN) if name in lacked and name in told)

    def _divided(self, transfer: Transfer, buffer: BufferInfo) -> Transfer:
        """A transfer from or to an L2 buffer, as one with the part in each place."""
        part, clip = self.part(buffer), self._clips.get(buffer)
        if L3 not in (transfer.source.buffer.space, transfer.target.buffer.space):
            local = localise(transfer, buffer, part)
            return local if clip is None or transfer.target.buffer is buffer else clip.read(local)
        own = divide(transfer, buffer, part)
        return own if clip is None or transfer.source.buffer is buffer else clip.written(own)

    def _stored(self, transfer: Transfer) -> Transfer:
        """A transfer between L3 and L1, without zeros that aren't stored."""
        clip = self._clips.get(transfer.target.buffer)
        return transfer if clip is None else clip.written(transfer)

    def span(self, engine: EngineKey) -> tuple[str, ...]:
        """The coordinates that tell like engines apart."""
        stage = engine.stage
        if stage.place is None:
            return ()
        if stage.place.shared_by is SharedBy.ARRAY:
            return ()
        if stage.place.shared_by is SharedBy.CORE or (stage.gathers and not stage.at_dram):
            return (ROW, COLUMN)
        by_rows = stage.lanes > 1 and engine.lane == 0 and self.lanes.by_rows
        if stage.spreads:
            return (ROW,) if by_rows else (ROW, COLUMN) if engine.lane in self.lanes.separate else (COLUMN,)
        return (TILE,) if by_rows else (COLUMN,)

    @property
    def inner_span(self) -> tuple[str, ...]:
        """The coordinates that tell memories of level 1 apart."""
        return self.span(EngineKey(self.device.ways.computing[0]))

    def stream_span(self, route: Route) -> tuple[str, ...]:
        """The coordinates that tell streams of a kind apart: the sender's, or those of cores that it serves in turn."""
        span = self.span(route.sender)
        return tuple(name for name in (ROW, COLUMN) if name in (*span, *route.apart)) if route.apart else span

    def through(self, route: Route, engine: EngineKey) -> int:
        """How many engines at the other end one of a route's engines serves in turn."""
        span, extents = self.span(engine), self.extents()
        return prod(extents[name] for name in self.stream_span(route) if name in (ROW, COLUMN) and name not in span)

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


def _suffix(apart: tuple[str, ...]) -> str:
    """What tells streams apart that go to some of a sender's receivers each."""
    return f"_by_{'_'.join(apart)}" if apart else ""
