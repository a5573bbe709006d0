"""From a compiled function and its runs to the function's report."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bounds.balance import peak_ops_per_second
from npuflow.bounds.sizes import OpSizes
from npuflow.compiler.compiled import StrategyFields
from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.tasks_ahead import waiting_in
from npuflow.compiler.verify_function import Verified
from npuflow.report.dataflow import dataflow_of
from npuflow.report.energy import energy_of
from npuflow.report.flows import flows_of
from npuflow.report.losses import executed_macs, measure_losses
from npuflow.report.measures import EngineClass, ResourceUse
from npuflow.report.model import FunctionReport
from npuflow.report.reshapes import measure_reshapes
from npuflow.report.roofline import vector_operations, works_of
from npuflow.report.traffic import levels_of_traffic, occupancies
from npuflow.simulate.program import Cause
from npuflow.simulate.results import EngineTime, RunResults

IDLE = "idle"


def report_function(
    function: CompiledFunction,
    results: RunResults,
    verified: Verified,
    sizes: Sequence[OpSizes],
    strategy: StrategyFields,
    threads: int = 1,
) -> FunctionReport:
    """Everything about one function; losses are measured by simulating it again, on so many threads."""
    executed = executed_macs(function)
    macs = sum(one.macs for one in sizes) if sizes else executed
    losses = measure_losses(function, results, macs if sizes else None, threads)
    shapes = function.shapes.values()
    traffic = levels_of_traffic(results, function.device, function.labels, sizes, function.updated)
    types = next((shape.types for shape in shapes if function.device.has_instruction(shape.types)), ())
    return FunctionReport(
        name=function.name,
        signature=str(function.signature),
        grid=function.grid,
        strategy=strategy,
        cycles=results.cycles,
        time_us=results.seconds * 1e6,
        macs=macs,
        executed_macs=executed,
        ops_per_second=2 * macs / results.seconds if results.cycles else 0.0,
        peak_ops_per_second=_peak(function, types),
        types=" x ".join(types[:2]) + (f" -> {types[2]}" if types else ""),
        bound_by=losses.bound_by,
        bound_by_saved_share=losses.bound_by_saved_share,
        bound_behind_launch=losses.bound_behind_launch,
        traffic=traffic,
        engines=engine_classes(results),
        resources=_resources(results),
        losses=losses.losses,
        occupancy=occupancies(function.program, function.device),
        verified=verified,
        operations=results.operations,
        reshapes=measure_reshapes(function),
        energy=energy_of(function, results),
        launch_us=function.launch_us,
        waiting=waiting_in(results, function),
        vector_operations=vector_operations(function),
        ops=works_of(sizes),
        dataflow=dataflow_of(function.schedule, traffic, _tensors(function)),
    )


def _tensors(function: CompiledFunction) -> dict[str, str]:
    """The tensors in DRAM that buffers on chip hold parts of, by what these are called."""
    found = flows_of(function.program).tensor_of
    return {buffer: function.labels.get(tensor, tensor) for buffer, tensor in found.items()}


def _peak(function: CompiledFunction, types: tuple[str, ...]) -> float:
    """Operations per second of all the device's cores, two per multiply-accumulate; 0 without multiplications."""
    if not types:
        return 0.0
    lhs, rhs, acc = types
    return peak_ops_per_second(function.device, (lhs, rhs, acc))


def engine_classes(results: RunResults) -> tuple[EngineClass, ...]:
    """Engines by kind, in the program's order."""
    kinds: dict[str, list[EngineTime]] = {}
    for engine in results.engines:
        kinds.setdefault(engine.kind, []).append(engine)
    return tuple(_engine_class(kind, engines, max(results.cycles, 1)) for kind, engines in kinds.items())


def _engine_class(kind: str, engines: Sequence[EngineTime], cycles: int) -> EngineClass:
    whole = cycles * len(engines)
    shares = {cause.value: sum(engine.spent[cause] for engine in engines) / whole for cause in Cause}
    shares[IDLE] = max(0.0, 1 - sum(shares.values()))
    busiest = max(engines, key=lambda engine: engine.busy_cycles)
    busy = sum(engine.busy_cycles for engine in engines) / whole
    return EngineClass(kind, len(engines), shares, busy, busiest.name, busiest.busy_cycles / cycles)


def _resources(results: RunResults) -> tuple[ResourceUse, ...]:
    """Shared rates that anything used, the busiest first."""
    rates = {resource.name: resource.bytes_per_cycle for resource in results.program.resources}
    cycles = max(results.cycles, 1)
    used = [ResourceUse(n, b / rates[n] / cycles, b) for n, b in results.resource_bytes.items() if b > 0]
    return tuple(sorted(used, key=lambda use: -use.share))
