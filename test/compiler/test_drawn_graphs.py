"""Drawn graphs (chains, diamonds, attention, norms, slices, joins) in parts: right, nothing in another's place."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from profiles import drawn

import npuflow
from npuflow.compiler.compiled import Sequence as PartSequence
from npuflow.compiler.home_phases import needed_bytes
from npuflow.network.plan import PlannedValue

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program, tensor

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
# What results are cut off to, so that sums of products of small whole numbers stay exact in f32.
_MOST = 3
_WIDEST = 96


@dataclass
class Graph:
    """A program as it grows, and what each of its values is."""

    random: np.random.Generator
    rows: int
    program: Program = field(default_factory=lambda: Program("graph"))
    arguments: list[Matrix] = field(default_factory=list)
    values: dict[str, Matrix] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    is_exact: bool = True

    def argument(self, rows: int, columns: int) -> str:
        made: Matrix = self.random.integers(-2, 3, (rows, columns)).astype(np.float32)
        self.arguments.append(made)
        return self.program.argument(rows, columns)

    def add_input(self, columns: int) -> None:
        name = self.argument(self.rows, columns)
        self.values[name] = self.arguments[-1]

    def put(self, name: str, value: Matrix, *read: str) -> None:
        self.values[name] = value
        self.read.update(read)

    def clamped(self, name: str, value: Matrix, *read: str) -> None:
        body = f"%l = arith.constant -{_MOST}.0 : f32 %h = arith.constant {_MOST}.0 : f32"
        body += " %a = arith.maximumf %i0, %l : f32 %r = arith.minimumf %a, %h : f32"
        self.put(self.program.elementwise(body, name), np.clip(value, -_MOST, _MOST), *read)

    def multiply(self, one: str, columns: int) -> None:
        weights = self.argument(self.values[one].shape[1], columns)
        self.clamped(self.program.matmul(one, weights), self.values[one] @ self.arguments[-1], one)

    def add(self, one: str, other: str) -> None:
        self.clamped(self.program.add(one, other), self.values[one] + self.values[other], one, other)

    def relu(self, one: str) -> None:
        self.put(self.program.relu(one), np.maximum(self.values[one], 0), one)

    def attend(self, one: str, other: str, scale: float) -> None:
        """Sums of the rows of one value, weighted by a softmax of what another's rows score."""
        keys, self.is_exact = self.argument(self.values[one].shape[1], self.rows), False
        products, scores = self.program.matmul(one, keys), self.values[one] @ self.arguments[-1] * np.float32(scale)
        if scale != 1:
            body = f"%s = arith.constant {scale:.6e} : f32 %r = arith.mulf %i0, %s : f32"
            products = self.program.elementwise(body, products)
        grown = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = grown / grown.sum(axis=1, keepdims=True)
        made = self.program.matmul(self.program.softmax(products), other)
        self.put(made, weights @ self.values[other], one, other)

    def norm(self, one: str) -> None:
        """Rows over the root of their mean square."""
        gain: Matrix = np.ones((1, self.values[one].shape[1]), np.float32)
        self.arguments.append(gain[0])
        self.is_exact = False
        scale = np.sqrt((self.values[one] ** 2).mean(axis=1, keepdims=True) + 0.5)
        self.put(self.program.norm(one, self.program.argument(len(gain[0])), 0.5), self.values[one] / scale, one)

    def cut(self, one: str, first: int, columns: int) -> None:
        shape = (self.rows, columns)
        places = f"[0, {first}] [{shape[0]}, {shape[1]}] [1, 1]"
        text = f"tensor.extract_slice {one}{places} : {self.program.typed(one)} to {tensor(shape)}"
        self.put(self.program.line(text, shape), self.values[one][:, first : first + shape[1]], one)

    def join(self, one: str, other: str) -> None:
        made: Matrix = np.concatenate([self.values[one], self.values[other]], axis=1)
        types = ", ".join(map(self.program.typed, (one, other)))
        text = f"tensor.concat dim(1) {one}, {other} : ({types}) -> {tensor(made.shape)}"
        self.put(self.program.line(text, made.shape), made, one, other)

    @property
    def results(self) -> list[str]:
        """What nobody reads, but for arguments."""
        return [name for name in self.values if name not in self.read and name.startswith("%v")]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    graph = Graph(np.random.default_rng(draw(st.integers(0, 99))), draw(_ROWS))
    for _ in range(draw(st.integers(1, 2))):
        graph.add_input(draw(_COLUMNS))
    for _ in range(draw(st.integers(2, 7))):
        _draw_op(draw, graph)
    return graph


# Half of them are what cores divide evenly.
_ROWS = st.one_of(st.integers(1, 4).map(lambda tiles: 8 * tiles), st.integers(1, 35))
_COLUMNS = st.one_of(st.integers(1, 3).map(lambda tiles: 16 * tiles), st.integers(1, 51))


def _draw_op(draw: st.DrawFn, graph: Graph) -> None:
    names = list(graph.values)
    one = draw(st.sampled_from(names))
    width = graph.values[one].shape[1]
    alike = [name for name in names if graph.values[name].shape[1] == width]
    beside = [name for name in names if graph.values[name].shape[1] + width <= _WIDEST]
    ways: list[Callable[[], None]] = [
        lambda: graph.multiply(one, draw(_COLUMNS)),
        lambda: graph.add(one, draw(st.sampled_from(alike))),
        lambda: graph.relu(one),
        lambda: graph.attend(one, draw(st.sampled_from(names)), draw(st.sampled_from([1, 0.125]))),
        lambda: graph.norm(one),
    ]
    if width >= 2:
        columns = draw(st.sampled_from([width // 2, draw(st.integers(1, width - 1))]))
        ways.append(lambda: graph.cut(one, draw(st.integers(0, width - columns)), columns))
    if beside:
        ways.append(lambda: graph.join(one, draw(st.sampled_from(beside))))
    draw(st.sampled_from(ways))()


def compiled(graph: Graph, device: str) -> npuflow.Compiled:
    text = graph.program.text(*graph.results)
    return npuflow.compile(text, "npuflow-stream-k{bundle-matmuls=true}", device=device, split=True)


@drawn(few=10, many=1000)
@given(graphs(), st.sampled_from(["toy", "npu1", "npu2", "npu4.0"]))
def test_graphs_in_parts_compute_what_numpy_computes(graph: Graph, device: str) -> None:
    made = compiled(graph, device)
    require_right(graph, made)
    for sequence in made.sequences:
        event(f"{len(sequence.parts)} parts, {sum(v.home is not None for v in sequence.plan.between)} stay on the chip")
    again = compiled(graph, device)
    assert [one.plan for one in again.sequences] == [one.plan for one in made.sequences]
    assert str(again.module) == str(made.module)


@drawn(few=10, many=300)
@given(graph=graphs(), name=st.sampled_from(["npu1", "npu2", "npu4.0"]))
def test_so_they_do_where_what_they_read_comes_ahead(
    graph: Graph, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = compiled(graph, slow_dram(name, tmp_path_factory.mktemp("devices")))
    require_right(graph, made)
    parts = [part.compiled for sequence in made.sequences for part in sequence.parts]
    event(f"{sum(len(part.ahead.brings) for part in parts)} prefetches")


def slow_dram(name: str, folder: Path) -> str:
    """A device on which even small tensors are worth a task of their own, in phases before: its DRAM is slow."""
    text = (files("npuflow.target") / "devices" / f"{name}.toml").read_text()
    text = re.sub(r"(?m)^(read|write|total)_bytes_per_second = \S+", r"\1_bytes_per_second = 2e9", text)
    text = re.sub(r"(?m)^(descriptor|start)_seconds = \S+", r"\1_seconds = 0.02e-6", text)
    device = folder / f"{name}.toml"
    device.write_text(text)
    return str(device)


def require_right(graph: Graph, made: npuflow.Compiled) -> None:
    """It computes what numpy does, in order, and nothing is in another's place."""
    run = made.sequence("graph") if made.sequences else made["graph"]
    for found, name in zip(run.execute(*graph.arguments), graph.results, strict=True):
        if graph.is_exact:
            np.testing.assert_array_equal(found, graph.values[name])
        else:
            np.testing.assert_allclose(found, graph.values[name], rtol=1e-4, atol=1e-4)
    for sequence in made.sequences:
        require_order(sequence)
        require_places(sequence)


def require_order(sequence: PartSequence) -> None:
    """Nothing is read before it is made."""
    calls = sequence.compiled.calls
    made = [number for call in calls.calls for number in call.outputs]
    known = set(range(len(calls.sizes))).difference(made)
    for call in calls.calls:
        assert known.issuperset(call.inputs)
        known.update(call.outputs)


def require_places(sequence: PartSequence) -> None:
    """What lives in a phase has bytes of its own, in DRAM and in memory tiles, beside what the phase needs there."""
    for phase, part in enumerate(sequence.parts):
        level = part.compiled.device.home_level
        ends: dict[object, int] = {} if level is None else {**needed_bytes(part.compiled, level)}
        values = (place for value in sequence.plan.values for place in places(value, phase))
        for place, begin, end in sorted(values, key=lambda one: one[1]):
            assert begin >= ends.get(place, 0)
            ends[place] = end


def places(value: PlannedValue, phase: int) -> Iterator[tuple[object, int, int]]:
    """The bytes that a tensor has in a phase, by memory."""
    if value.at_home[0] <= phase <= value.at_home[1]:
        yield from ((slab.column, slab.address, slab.address + own) for slab, own in value.slabs)
    if value.address is not None and value.first <= phase <= value.last:
        yield "DRAM", value.address, value.address + value.bytes
