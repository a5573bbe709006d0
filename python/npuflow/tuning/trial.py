"""One candidate, compiled and simulated: what other processes and machines are handed, and what they hand back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.compiler.attempts import compile_fitting
from npuflow.compiler.compiled import Function
from npuflow.compiler.functions import How, compile_functions
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import expand
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.dialect.context import new_context
from npuflow.errors import InputError
from npuflow.ops.contraction import STRATEGY
from npuflow.report.losses import without_compute, without_control, without_dma, without_dram
from npuflow.report.measures import Bottleneck
from npuflow.report.traffic import levels_of_traffic, occupancies
from npuflow.simulate.program import LAUNCH, Program
from npuflow.simulate.run import simulate
from npuflow.strategy.strategy import Strategy
from npuflow.strategy.work import work_of

# The launch is the same for all candidates, and so bounds none more than others.
_WITHOUT: Mapping[Bottleneck, Callable[[Program], Program]] = {
    Bottleneck.COMPUTE: without_compute,
    Bottleneck.DRAM: without_dram,
    Bottleneck.DMA: without_dma,
    Bottleneck.CONTROL: lambda program: without_control(program, (LAUNCH,)),
}

Said = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class StrategyTrial:
    """A function as bytecode with the passes before strategies behind it, and the pipeline of those that are left.

    `said` are strategies, as text, of the ops in these places among all of the module's; without any, choices are made.
    """

    bytecode: bytes
    pipeline: str
    device: str
    said: Said = ()


@dataclass(frozen=True)
class TrialOutcome:
    """What a candidate takes: time, the launch included, bytes at DRAM's edge, and the fullest memory of each level.

    `saved` is how much of the time would go with compute, DRAM, DMA or control; `used` are strategies, of matmuls and
    then of bundles, as text. A `refusal` says why there is nothing of that.
    """

    cycles: int = 0
    launch_cycles: int = 0
    clock_hz: float = 1.0
    l3_bytes: int = 0
    l1_bytes: int = 0
    l2_bytes: int = 0
    saved: Mapping[str, float] = field(default_factory=dict)
    used: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def seconds(self) -> float:
        return self.cycles / self.clock_hz

    @property
    def own_seconds(self) -> float:
        """Behind the launch, which no strategy changes."""
        return (self.cycles - self.launch_cycles) / self.clock_hz

    @property
    def bound_by(self) -> str:
        return max(self.saved, key=lambda name: self.saved[name], default="")


def run_trial(trial: StrategyTrial) -> TrialOutcome:
    """Compiles and simulates a candidate, in a context of its own."""
    module = parse(trial.bytecode, new_context())
    ops = ops_of(module.operation)
    for place, text in trial.said:
        ops[place].attributes[STRATEGY] = ir.Attribute.parse(text, module.context)
    how = How(expand(parse_pipeline(trial.pipeline)), trial.device, None)
    sink = DiagnosticSink()
    try:
        if trial.said:
            (function,) = compile_functions(module, how, sink)
        else:
            (function,) = compile_fitting(module, how, sink)
    except InputError as error:
        return TrialOutcome(refusal=error.diagnostics[0].what)
    return _outcome_of(function)


def _outcome_of(function: Function) -> TrialOutcome:
    own, results = function.compiled, function.simulate()
    outermost = levels_of_traffic(results, own.device, own.labels, ())[0]
    fullest = {one.level: one.used_bytes for one in occupancies(own.program, own.device)}
    numbers = {level.number: fullest.get(level.name, 0) for level in own.device.levels}
    cycles = max(results.cycles, 1)
    saved = {name.value: 1 - simulate(without(own.program)).cycles / cycles for name, without in _WITHOUT.items()}
    with own.op.context:
        used = tuple(str(Strategy(**one.strategy).to_attribute()) for one in work_of(own.op))  # type: ignore[arg-type]
    block = numbers[own.device.block_level] if own.device.block_level != own.device.dram_level else 0
    return TrialOutcome(
        results.cycles,
        own.launch_cycles,
        own.program.clock_hz,
        outermost.read_bytes + outermost.write_bytes,
        numbers[own.device.kernel_level],
        block,
        saved,
        used,
    )
