"""A fused group as the tree people draw: levels down, loops and ops as nodes, what is moved along each edge. Pure.

The tree is read off the schedule, what cores do of it, whatever made that: so it is the same for a matmul with its
tail, an attention and a convolution behind another, and for schedules by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from npuflow.report.measures import DataflowEdge, DataflowNode, LevelTraffic
from npuflow.schedule.data.model import Compute, Each, Engine, Operand, Receive, Repeat, Schedule, Send, Step

_FILL = "fill"


def dataflow_of(schedule: Schedule, traffic: Sequence[LevelTraffic], tensor_of: dict[str, str]) -> DataflowNode | None:
    """The tree of a schedule; None where no op hands another anything on a core.

    `tensor_of` says which tensor in DRAM a buffer on chip holds a part of.
    """
    engines = [engine for engine in schedule.engines.values() if any(True for _ in _calls(engine.program))]
    inside = _inside(schedule, engines)
    if not inside:
        return None
    trees = [
        _Tree(schedule, inside, tensor_of, one, tuple(other.name for other in engines if other is not one))
        for one in engines
    ]
    node = DataflowNode("cores", (), (), tuple(tree.root() for tree in trees))
    for level in reversed(traffic):
        reads = tuple(DataflowEdge(one.tensor, one.read_bytes) for one in level.tensors if one.read_bytes)
        writes = tuple(DataflowEdge(one.tensor, one.write_bytes) for one in level.tensors if one.write_bytes)
        below = node.children if node.what == "cores" else (node,)
        node = DataflowNode(level.level, reads, writes, below)
    return node


def _calls(steps: Sequence[Step]) -> Iterator[Compute]:
    for step in steps:
        if isinstance(step, Compute):
            yield step
        elif isinstance(step, (Repeat, Each)):
            yield from _calls(step.body)


def _moved(steps: Sequence[Step]) -> Iterator[str]:
    """The buffers that transfers read or write."""
    for step in steps:
        if isinstance(step, (Send, Receive)):
            yield step.access.buffer.name
        elif isinstance(step, (Repeat, Each)):
            yield from _moved(step.body)


def _inside(schedule: Schedule, engines: Sequence[Engine]) -> frozenset[str]:
    """The buffers that one op fills for another, of which no transfer knows anything."""
    moved = {name for engine in schedule.engines.values() for name in _moved(engine.program)}
    writers: Counter[str] = Counter()
    readers: set[str] = set()
    for call in (call for engine in engines for call in _calls(engine.program) if call.kind != _FILL):
        writers.update({each.access.buffer.name for each in call.operands if each.writes})
        readers |= {each.access.buffer.name for each in call.operands if each.reads and not each.writes}
    return frozenset(name for name in writers if name in readers and name not in moved)


@dataclass(frozen=True)
class _Tree:
    """Makes the tree of one kind of engines; `others` work beside it, on different tiles."""

    schedule: Schedule
    inside: frozenset[str]
    tensor_of: dict[str, str]
    engine: Engine
    others: tuple[str, ...]

    def root(self) -> DataflowNode:
        count = prod(self.schedule.extents[name] for name in self.engine.span)
        beside = f", beside {', '.join(self.others)}" if self.others else ""
        nodes = tuple(self._nodes(self.engine.program, count))
        return DataflowNode(f"{count} x {self.engine.name}{beside}", (), (), nodes)

    def _nodes(self, steps: Sequence[Step], times: int) -> Iterator[DataflowNode]:
        for step in steps:
            if isinstance(step, Repeat):
                yield from self._loop(f"{step.trips} turns", step.body, times * step.trips)
            elif isinstance(step, Each):
                yield from self._loop(f"each {step.coordinate}", step.body, times * step.count)
            elif isinstance(step, Compute) and step.kind != _FILL:
                reads = tuple(self._edge(each, times) for each in step.operands if each.reads and not each.writes)
                writes = tuple(self._edge(each, times) for each in step.operands if each.writes)
                yield DataflowNode(f"{step.kind}, {step.cycles} cycles", reads, writes, ())

    def _loop(self, what: str, body: Sequence[Step], times: int) -> Iterator[DataflowNode]:
        inner = tuple(self._nodes(body, times))
        if inner:
            yield DataflowNode(what, (), (), inner)

    def _edge(self, operand: Operand, times: int) -> DataflowEdge:
        name = operand.access.buffer.name
        buffer = self.schedule.buffers[name]
        moved = prod(operand.access.sizes) * buffer.element_bytes * times
        return DataflowEdge(self.tensor_of.get(name, name), moved, name in self.inside, buffer.depth)
