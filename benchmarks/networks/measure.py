"""One layer on one device: compiled, verified, timed, and held against the device's roofline.

The roofline of a layer is the longer of its multiply-accumulates at the device's peak and each operand's and result's
bytes once at the rate of its DRAM. Neither it nor a share of it has the launch in it, which every program pays once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from layers import Layer
from operators import Contraction, Operator
from rows import Rows

import npuflow
from npuflow.bounds.balance import peak_ops_per_second
from npuflow.compiler.compiled import Function
from npuflow.compiler.default import DEFAULT_PIPELINE
from npuflow.compiler.verify_function import Verified, verify_function
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import Expansion, expand
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context
from npuflow.errors import NpuflowError
from npuflow.execute.references import Judge, make_references
from npuflow.execute.verification import Status
from npuflow.ops.contraction import BUNDLE, STRATEGY
from npuflow.report.losses import without_compute, without_control, without_dma, without_dram, without_launch
from npuflow.report.traffic import levels_of_traffic
from npuflow.simulate.program import Program
from npuflow.simulate.run import simulate
from npuflow.strategy.strategy import said_of
from npuflow.target import Device, load_device

# What is verified whole: seconds each. Larger layers are verified on a part of them.
WHOLE_MACS, WHOLE_ELEMENTS = 1 << 31, 1 << 24
_PARTS_OF_TIME: tuple[tuple[str, Callable[[Program], Program]], ...] = (
    ("compute", without_compute),
    ("dram", without_dram),
    ("dma", without_dma),
    ("control", without_control),
)
_Fields = dict[str, "int | tuple[int, ...]"]


@dataclass(frozen=True)
class Choice:
    """How a layer is mapped: the lowering's name, the strategy's fields, and its text."""

    lowering: str
    fields: _Fields
    text: str

    def __str__(self) -> str:
        grid, tile = self.fields["grid"], self.fields["tile_l1"]
        assert isinstance(grid, tuple)
        assert isinstance(tile, tuple)
        return f"{_by(grid)}, {_by(tile)}"


@dataclass(frozen=True)
class Measured:
    """What the table shows of a layer; times are in seconds."""

    layer: Layer
    choice: Choice
    seconds: float
    launch_seconds: float
    compute_seconds: float
    memory_seconds: float
    bound_by: str
    moved_bytes: int
    compulsory_bytes: int
    compile_seconds: float
    verified: str

    @property
    def own_seconds(self) -> float:
        """The time without the launch."""
        return self.seconds - self.launch_seconds

    @property
    def roofline_seconds(self) -> float:
        return max(self.compute_seconds, self.memory_seconds)

    @property
    def is_compute_bound(self) -> bool:
        """Whether the roofline is."""
        return self.compute_seconds > self.memory_seconds

    @property
    def share(self) -> float:
        return self.roofline_seconds / self.own_seconds


@dataclass(frozen=True)
class Failed:
    """A layer that could not be measured, and why."""

    layer: Layer
    why: str


def measure(layer: Layer, device_name: str, *, verify: bool) -> Measured | Failed:
    """Everything about one layer."""
    try:
        return _measured(layer, device_name, verify)
    except NpuflowError as error:
        return Failed(layer, str(error).splitlines()[0])


def _measured(layer: Layer, device_name: str, verify: bool) -> Measured:
    device = load_device(device_name)
    text = layer.operator.text()
    begin = time.process_time()
    compiled = npuflow.compile(text, DEFAULT_PIPELINE, device=device_name)
    compile_seconds = time.process_time() - begin
    function = compiled.functions[0]
    program = function.compiled.program
    results = simulate(program)
    alone = simulate(without_launch(program)).cycles
    saved = {name: alone - simulate(without(without_launch(program))).cycles for name, without in _PARTS_OF_TIME}
    traffic = levels_of_traffic(results, device, {}, ())[0]
    choice = choice_of(text, device_name)
    least = sum(spec.dtype.itemsize * _elements(spec.shape) for spec in _arrays(function))
    return Measured(
        layer,
        choice,
        results.seconds,
        (results.cycles - alone) / program.clock_hz,
        layer.operator.macs / _peak(layer.operator, device),
        least / device.dram.total_bytes_per_second,
        max(saved, key=lambda name: saved[name]),
        traffic.read_bytes + traffic.write_bytes,
        least,
        compile_seconds,
        _verified(layer.operator, function, choice, device_name) if verify else "no",
    )


def _peak(operator: Operator, device: Device) -> float:
    """Multiply-accumulates per second of all cores."""
    return peak_ops_per_second(device, operator.types) / 2


def choice_of(text: str, device_name: str) -> Choice:
    """What is chosen for the layer's matmul or bundle."""
    sink = DiagnosticSink()
    module = parse(text, new_context(), sink.source_name, sink)
    nest = expand(parse_pipeline(DEFAULT_PIPELINE), Expansion(stop_after="assign-strategy", device=device_name))
    Runner(nest, sink=sink).run(module)
    op = next(op for op in reversed(ops_of(module.operation)) if STRATEGY in op.attributes)
    with module.context:
        said = str(op.attributes[STRATEGY])
        if BUNDLE not in op.attributes:
            return Choice("matmul", said_of(op).said(), said)
        fields = said_of(op).said()
        return Choice("gathered" if fields.get("gather") else "direct", fields, said)


# Verification


def _verified(operator: Operator, function: Function, choice: Choice, device_name: str) -> str:
    """Compares the layer's functional run with IREE's; a part of it with the same tiles where it is large."""
    part = part_of(operator, choice)
    if part == operator:
        return _outcome(_check(function, operator.text()), "whole")
    text = part.text(choice.text)
    return _outcome(_check(npuflow.compile(text, DEFAULT_PIPELINE, device=device_name).functions[0], text), part.sizes)


def _check(function: Function, text: str) -> Verified:
    (reference,) = make_references(parse(text, new_context()).operation, function.name, 0, Judge.IREE)
    return verify_function(function.compiled, reference)


def _outcome(verified: Verified, what: str) -> str:
    if verified.status is not Status.OK:
        return f"WRONG ({what}): {'; '.join((verified.message, *verified.hazards[:1]))}"
    return f"{what}, {'bit-exact' if verified.max_error == 0 and not verified.allowed_error else 'within bounds'}"


def part_of(operator: Operator, choice: Choice) -> Operator:
    """The operator, or if it is large one with the same tiles that has a block and the last one along each loop."""
    if isinstance(operator, Contraction) and choice.lowering == "matmul" and operator.macs > WHOLE_MACS:
        tile = choice.fields["tile_l2"]
        assert isinstance(tile, tuple)
        m, n, k = (_two_blocks(size, block) for size, block in zip((operator.m, operator.n, operator.k), tile))
        return replace(operator, m=m, n=n, k=k, batch=min(operator.batch, 2))
    if isinstance(operator, Rows) and operator.rows * operator.width > WHOLE_ELEMENTS:
        grid, spread, tile = (choice.fields[name] for name in ("grid", "spread", "tile_l1"))
        assert isinstance(grid, tuple)
        assert isinstance(spread, tuple)
        assert isinstance(tile, tuple)
        cores = (grid[0] if spread[0] == 0 else 1) * (grid[1] if spread[1] == 0 else 1)
        return replace(operator, rows=_two_blocks(operator.rows, tile[0] * cores))
    return operator


def _two_blocks(size: int, block: int) -> int:
    """One block and the last one, which may be smaller."""
    return min(size, block + (size % block or block))


def _arrays(function: Function) -> list[npuflow.execute.arrays.ArraySpec]:
    return [*function.compiled.signature.inputs, *function.compiled.signature.outputs]


def _elements(shape: tuple[int, ...]) -> int:
    elements = 1
    for size in shape:
        elements *= size
    return elements


def _by(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))
