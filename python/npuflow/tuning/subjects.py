"""What of a module is tuned: its functions, or the parts they come apart into, with their groups and what was said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from npuflow.bindings import ir
from npuflow.compiler.compilation import Split
from npuflow.compiler.cut import PreparedFunction, cut, prepare
from npuflow.compiler.functions import How, before_strategies
from npuflow.compiler.sources import FunctionSource, bytecode_of, sources_of
from npuflow.compiler.split import compile_or_split
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import leaves_of
from npuflow.core.passes import fail, ops_of
from npuflow.core.pipeline_text import PassNest, PassNode
from npuflow.dialect.device import planned_device
from npuflow.execute.arrays import functions_of
from npuflow.network.decisions import ALL_DECISIONS, Decision
from npuflow.network.parts import plan_parts
from npuflow.ops.contraction import static_matmuls
from npuflow.strategy.assign_strategy import AssignStrategy
from npuflow.strategy.group import Group
from npuflow.strategy.split_functions import groups_on
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device
from npuflow.tuning.trial import StrategyTrial


@dataclass(frozen=True)
class TunableGroup:
    """A group, whose strategy the op in a place of its module says; what is `given` of it stays."""

    place: int
    group: Group
    given: Strategy
    whole_k: bool

    @property
    def label(self) -> str:
        """What it is called: a matmul with its sizes, or a bundle with those of its space."""
        sizes = self.group.sizes
        if self.group.packed:
            batch = f"{sizes[2]} of " if sizes[2] > 1 else ""
            return f"matmul {batch}{sizes[0]}x{sizes[1]}x{sizes[3]}"
        inner = f" by {'x'.join(map(str, sizes[self.group.space :]))}" if sizes[self.group.space :] else ""
        return f"bundle {'x'.join(map(str, sizes[: self.group.space]))}{inner}"


@dataclass(frozen=True)
class TuningUnit:
    """What is compiled as one: a function, or a part of one. `text` is all that its times depend on but the device."""

    name: str
    trial: StrategyTrial
    groups: tuple[TunableGroup, ...]
    text: str


@dataclass(frozen=True)
class TunedTarget:
    """A function with the passes before strategies behind it, and the units that it runs, by name.

    Of a part, which is one group, the place is where the function says its strategy; a function that runs as a whole is
    a unit itself, and has none.
    """

    name: str
    prepared: PreparedFunction
    runs: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class Subjects:
    """A module's functions, and the units that differ."""

    targets: tuple[TunedTarget, ...]
    units: tuple[TuningUnit, ...]
    device: Device


def subjects_of(module: ir.Module, pipeline: PassNest, device_name: str, sink: DiagnosticSink, jobs: int) -> Subjects:
    """What there is to tune, once every function has been compiled as it would be; raises what that raises."""
    prefix = before_strategies(pipeline)
    if prefix is None:
        hint = "give npuflow-stream-k, or another pipeline with npuflow-assign-strategy"
        raise fail(module.operation, "the pipeline has no pass that assigns strategies", hint)
    batch = compile_or_split(module, How(pipeline, device_name, None), Split.IF_NEEDED, sink, jobs)
    apart = {sequence.name for sequence in batch.sequences}
    device = planned_device(module.operation, device_name)
    rest = replace(pipeline, elements=pipeline.elements[len(prefix.elements) :])
    finder = _Finder(prefix, rest, device_name, device)
    targets = tuple(finder.target(source, source.name in apart) for source in sources_of(module))
    return Subjects(targets, tuple(finder.units.values()), device)


@dataclass
class _Finder:
    """Finds units, each once: those of equal text are one, `units` has them by name."""

    prefix: PassNest
    rest: PassNest
    device_name: str
    device: Device
    units: dict[str, TuningUnit] = field(default_factory=dict)
    _by_text: dict[str, str] = field(default_factory=dict)

    def target(self, source: FunctionSource, is_apart: bool) -> TunedTarget:
        prepared = prepare(source, self.prefix, DiagnosticSink())
        if not is_apart:
            unit = self._unit(source.name, prepared)
            return TunedTarget(source.name, prepared, ((unit.name, None),))
        return TunedTarget(source.name, prepared, self._parts(source, prepared))

    def _parts(self, source: FunctionSource, prepared: PreparedFunction) -> tuple[tuple[str, int], ...]:
        """For each call of a part its unit, and where the function says its strategy."""
        places = {op: place for place, op in enumerate(ops_of(prepared.module.operation))}
        matmuls = {matmul.op for matmul in static_matmuls(prepared.function)}
        plans = plan_parts(prepared.function, groups_on(prepared.function, self.device))
        leading = [next((op for op in plan.group.ops if op in matmuls), plan.group.root) for plan in plans]
        as_written = How(self.rest, self.device_name, None, ALL_DECISIONS - {Decision.ORDER})
        found = cut(prepare(source, self.prefix, DiagnosticSink()), as_written, set(), DiagnosticSink())
        assert found is not None, "the function came apart before"
        units = {
            part.name: self._unit(part.name, prepare(part, self.prefix, DiagnosticSink()))
            for part in sources_of(found.module)
        }
        called = [units[call.name].name for call in found.calls.calls]
        return tuple((name, places[op]) for name, op in zip(called, leading, strict=True))

    def _unit(self, name: str, prepared: PreparedFunction) -> TuningUnit:
        text = _text_of(prepared.module)
        if text in self._by_text:
            return self.units[self._by_text[text]]
        self._by_text[text] = name
        trial = StrategyTrial(bytecode_of(prepared.module), str(self.rest), self.device_name)
        unit = self.units[name] = TuningUnit(name, trial, tuple(self._groups(prepared)), text)
        return unit

    def _groups(self, prepared: PreparedFunction) -> Iterator[TunableGroup]:
        """The groups, matmuls first, as `npu.work` lists them."""
        places = {op: place for place, op in enumerate(ops_of(prepared.module.operation))}
        passes = [leaf.instance for _, leaf in leaves_of(self.rest) if isinstance(leaf, PassNode)]
        assign = next((one for one in passes if isinstance(one, AssignStrategy)), AssignStrategy())
        for one in assign.open_groups(prepared.function, self.device):
            yield TunableGroup(places[one.op], one.group, one.given_on(assign.grid), one.whole_k)


def _text_of(module: ir.Module) -> str:
    """The module without names of places, under one name for its function."""
    (function,) = functions_of(module.operation)
    name = function.attributes["sym_name"]
    function.attributes["sym_name"] = ir.StringAttr.get("f", function.context)
    text: str = module.operation.get_asm()
    function.attributes["sym_name"] = name
    return text
