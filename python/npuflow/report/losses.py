"""What a function's time goes into: each cost is measured by simulating the program again without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.report.cycles import cycles_of
from npuflow.report.measures import Bottleneck, Loss
from npuflow.simulate.deepened import fillings
from npuflow.simulate.platform import DRAM_READ, DRAM_TOTAL, DRAM_WRITE
from npuflow.simulate.program import (
    LAUNCH,
    Cause,
    FlatCompute,
    FlatControl,
    FlatEngine,
    FlatReceive,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    Program,
    Resource,
)
from npuflow.simulate.results import RunResults
from npuflow.simulate.walk import computes, with_steps

# The simulator's largest: any transfer that fits a memory takes a cycle or so.
_UNLIMITED_BYTES_PER_CYCLE = float(1 << 20)
_DRAM = (DRAM_READ, DRAM_WRITE, DRAM_TOTAL)
# A part that saves so much of what the whole saves is what there is to fix.
_EXPLAINED_SHARE = 0.9


@dataclass(frozen=True)
class WhatIf:
    """A cost: its name, the words for a run without it, and the program that hasn't got it.

    `parts` are the narrower costs that it contains.
    """

    name: str
    what: str
    without: Callable[[CompiledFunction], Program]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Losses:
    """What bounds a function, with its launch and behind it, the share saved, and all costs, the largest first."""

    bound_by: Bottleneck
    bound_by_saved_share: float
    bound_behind_launch: Bottleneck
    losses: tuple[Loss, ...]


def measure_losses(
    function: CompiledFunction, results: RunResults, useful_macs: int | None, threads: int = 1
) -> Losses:
    """Simulates the function once without each cost that it has, on `threads` side by side."""
    what_ifs = (*COSTS, *_costs_of_shape(function, useful_macs))
    without = [*(what_if.without(function) for what_if in what_ifs), without_compute(function.program)]
    *cycles, without_kernels = cycles_of(without, function.program, results.cycles, threads)
    total, clock = max(results.cycles, 1), function.program.clock_hz
    saved = {what_if.name: results.cycles - one for what_if, one in zip(what_ifs, cycles)}
    losses = [
        Loss(w.name, w.what, saved[w.name] / clock * 1e6, saved[w.name] / total, _explanation(w, saved))
        for w in what_ifs
        if saved[w.name] > 0
    ]
    gains = {Bottleneck.COMPUTE: (results.cycles - without_kernels) / total}
    gains |= {kind: saved[name] / total for kind, name in _BOUNDS.items()}
    bound_by = max(gains, key=lambda kind: gains[kind])
    behind = max((kind for kind in gains if kind is not Bottleneck.LAUNCH), key=lambda kind: gains[kind])
    return Losses(bound_by, gains[bound_by], behind, tuple(sorted(losses, key=lambda loss: -loss.saved_us)))


def _explanation(what_if: WhatIf, saved: Mapping[str, int]) -> str | None:
    best = max(what_if.parts, key=lambda part: saved[part], default=None)
    return best if best is not None and saved[best] >= _EXPLAINED_SHARE * saved[what_if.name] else None


# Programs without a cost


def _with_resources(program: Program, change: Callable[[Resource], Resource]) -> Program:
    return replace(program, resources=tuple(map(change, program.resources)))


def _with_engines(program: Program, change: Callable[[FlatEngine], FlatEngine]) -> Program:
    return replace(program, engines=tuple(map(change, program.engines)))


def without_dram(program: Program) -> Program:
    """DRAM of unlimited bandwidth and no latency."""
    fast = _with_resources(program, lambda r: _fast_resource(r) if r.name in _DRAM else r)
    return without_run_overhead(_with_engines(fast, lambda engine: replace(engine, latency_cycles=0)))


def without_run_overhead(program: Program) -> Program:
    """Short contiguous runs as fast as long ones."""

    def change(step: FlatSend | FlatReceive) -> FlatStep:
        if not step.access.run_overhead_bytes:
            return step
        return replace(step, access=replace(step.access, run_overhead_bytes=0.0))

    transfers: tuple[type[FlatSend | FlatReceive], ...] = (FlatSend, FlatReceive)
    return with_steps(program, transfers, change)


def without_dma(program: Program) -> Program:
    """DMA channels and links of unlimited rate that start at once; DRAM as it is."""
    links = _with_resources(program, lambda r: r if r.name in _DRAM else _fast_resource(r))
    streams = tuple(replace(stream, latency_cycles=0) for stream in links.streams)
    return _with_engines(replace(links, streams=streams), _fast_channel)


def _fast_resource(resource: Resource) -> Resource:
    return replace(resource, bytes_per_cycle=_UNLIMITED_BYTES_PER_CYCLE)


def _fast_channel(engine: FlatEngine) -> FlatEngine:
    return replace(engine, bytes_per_cycle=_UNLIMITED_BYTES_PER_CYCLE, start_cycles=0)


def without_transfer_starts(program: Program) -> Program:
    """DMA transfers that start at once."""
    return _with_engines(program, lambda engine: replace(engine, start_cycles=0))


def without_control(program: Program, keep: Iterable[str] = ()) -> Program:
    """A control processor that takes no time, but for steps named in `keep`."""
    kept = frozenset(keep)

    return with_steps(program, (FlatControl,), lambda step: step if step.name in kept else _lasting(step, 0))


def without_launch(program: Program) -> Program:
    """No launch."""
    return with_steps(program, (FlatControl,), lambda step: _lasting(step, 0) if step.name == LAUNCH else step)


def without_compute(program: Program) -> Program:
    """Kernels that take no time."""
    return with_steps(program, (FlatCompute,), lambda step: _lasting(step, 0))


def _lasting(step: FlatControl | FlatCompute, cycles: int) -> FlatStep:
    return step if step.cycles == cycles else replace(step, cycles=cycles)


def with_second_slots(program: Program) -> Program:
    """Two slots for every buffer on chip that has one, whether they fit or not."""
    on_chip = {memory.name for memory in program.memories if memory.level < max(m.level for m in program.memories)}
    single = {b.tensor for b in program.buffers if b.depth == 1 and b.memory in on_chip}
    depths = {b.name: b.depth for b in program.buffers}
    # One of several slots may be free in the beginning, where others were filled before.
    of_several = {
        takes.semaphore
        for engine in program.engines
        for filling in fillings(engine.body)
        for takes in filling.takes
        if depths[filling.step.access.buffer] > 1
    }

    def widened(semaphore: FlatSemaphore) -> FlatSemaphore:
        is_single = semaphore.cause is Cause.SPACE and semaphore.initial == 1 and semaphore.name not in of_several
        if is_single:  # which begins with all slots that there are
            return replace(semaphore, initial=2, maximum=max(2, semaphore.maximum))
        return replace(semaphore, maximum=max(2, semaphore.maximum)) if semaphore.cause is Cause.DATA else semaphore

    buffers, ends = [], {memory.name: memory.bytes for memory in program.memories}
    for buffer in program.buffers:
        if buffer.tensor not in single:
            buffers.append(buffer)
            continue
        # A second slot must lie behind the first: both move to the end of the memory, which grows.
        buffers.append(replace(buffer, depth=2, address_bytes=ends[buffer.memory]))
        ends[buffer.memory] += 2 * buffer.slot_bytes
    memories = tuple(replace(memory, bytes=ends[memory.name]) for memory in program.memories)
    return replace(
        program, buffers=tuple(buffers), memories=memories, semaphores=tuple(map(widened, program.semaphores))
    )


# Kernels: their times by what they are made of

KernelCycles = Callable[[str, int], int]


def with_kernels(function: CompiledFunction, cycles: KernelCycles) -> Program:
    """Kernels that take the cycles said of their name and the cycles they take."""
    return with_steps(function.program, (FlatCompute,), lambda step: _lasting(step, cycles(step.kernel, step.cycles)))


def _call_cycles(function: CompiledFunction) -> Mapping[str, int]:
    """What of a call's time goes into entering and leaving the kernel."""
    device = function.device
    engines = tuple(replace(engine, call_cycles=0) for engine in device.engines)
    kinds = tuple(replace(kind, call_cycles=0) for kind in device.kernels)
    free = function.modelled_cycles(replace(device, engines=engines, kernels=kinds))
    modelled = function.modelled_cycles(device)
    return {name: modelled[name] - free[name] if name in modelled else 0 for name in function.shapes}


def _without_calls(function: CompiledFunction) -> Program:
    calls = _call_cycles(function)
    return with_kernels(function, lambda kernel, cycles: cycles - calls[kernel])


def _at_full_rate(function: CompiledFunction) -> Program:
    """Matmul kernels that take their call and their instructions' own time, nothing else."""
    calls = _call_cycles(function)

    def fastest(kernel: str, cycles: int) -> int:
        shape = function.shapes[kernel]
        if not function.device.has_instruction(shape.types):
            return cycles
        rate = function.device.matmul_shapes(*_three(shape.types))[0].macs_per_cycle
        return min(cycles, calls[kernel] + ceil(shape.macs / rate))

    return with_kernels(function, fastest)


def _three(types: tuple[str, ...]) -> tuple[str, str, str]:
    lhs, rhs, acc = types
    return lhs, rhs, acc


def _without_other_kernels(function: CompiledFunction) -> Program:
    shapes, device = function.shapes, function.device
    return with_kernels(function, lambda name, cycles: 0 if shapes[name].matrix_types(device) is None else cycles)


def _with_matmuls_times(function: CompiledFunction, factor: float) -> Program:
    shapes = function.shapes
    return with_kernels(function, lambda kernel, cycles: ceil(cycles * factor) if shapes[kernel].macs else cycles)


def executed_macs(function: CompiledFunction) -> int:
    """Multiply-accumulates that the cores carry out, those on padding included."""
    return sum(function.shapes[step.kernel].macs * times for step, times in computes(function.program))


def _costs_of_shape(function: CompiledFunction, useful_macs: int | None) -> tuple[WhatIf, ...]:
    """Costs that only some shapes have: padding, and cores without work."""
    executed, found = executed_macs(function), []
    if useful_macs is not None and useful_macs < executed:
        what = f"no work on padding: {100 * (1 - useful_macs / executed):.0f} % of the multiplications"
        found.append(WhatIf("padding", what, lambda f: _with_matmuls_times(f, useful_macs / executed)))
    used, cores = function.grid[0] * function.grid[1], function.device.cores
    if used < cores:
        what = f"the same kernels shared by all {cores} cores instead of {used}"
        found.append(WhatIf("idle-cores", what, lambda f: _with_matmuls_times(f, used / cores)))
    return tuple(found)


COSTS = (
    WhatIf("dram", "DRAM of unlimited bandwidth and no latency", lambda f: without_dram(f.program), ("dram-runs",)),
    WhatIf(
        "dram-runs", "contiguous runs in DRAM so long that none costs extra", lambda f: without_run_overhead(f.program)
    ),
    WhatIf(
        "descriptors",
        "transfers set up by the control processor in no time",
        lambda f: without_control(f.program, (LAUNCH,)),
    ),
    WhatIf("launch", "no launch", lambda f: without_launch(f.program)),
    WhatIf("kernel-calls", "kernels called in no time", _without_calls),
    WhatIf("kernel-rate", "matmul kernels at the instruction's full rate", _at_full_rate),
    WhatIf("other-kernels", "fills and elementwise kernels in no time", _without_other_kernels),
    WhatIf("single-buffers", "two slots for every buffer that has one", lambda f: with_second_slots(f.program)),
    WhatIf(
        "dma-rate",
        "DMA channels and links of unlimited rate",
        lambda f: without_dma(f.program),
        ("dram-runs", "transfer-starts"),
    ),
    WhatIf("transfer-starts", "DMA transfers that start at once", lambda f: without_transfer_starts(f.program)),
)

# Whose cost is what bounds, beside kernels.
_BOUNDS = {
    Bottleneck.DRAM: "dram",
    Bottleneck.DMA: "dma-rate",
    Bottleneck.CONTROL: "descriptors",
    Bottleneck.LAUNCH: "launch",
}
