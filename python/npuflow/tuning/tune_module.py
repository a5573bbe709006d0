"""Tuning a module: every unit searched, and the program that says the best strategies."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from npuflow.bindings import ir
from npuflow.compiler.compilation import Batch, Split
from npuflow.compiler.functions import How
from npuflow.compiler.sources import empty_like
from npuflow.compiler.split import compile_or_split
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.core.pipeline_text import PassNest
from npuflow.dialect.context import new_context
from npuflow.dialect.device import record_device
from npuflow.network.decisions import ALL_DECISIONS, Decision
from npuflow.ops.contraction import STRATEGY
from npuflow.target import load_device
from npuflow.tuning.cache import ResultFile, key_of
from npuflow.tuning.runners import runner_of
from npuflow.tuning.search_unit import UnitSearch, UnitTuning
from npuflow.tuning.subjects import Subjects, TunedTarget, subjects_of

OnStep = Callable[[str, int], None]


@dataclass(frozen=True)
class TuneSettings:
    """How much is searched: so many candidates of each function or part, and for so long at most."""

    candidates: int = 200
    budget_seconds: float | None = None
    jobs: int = 1
    executor: str = "local"
    cache: Path | None = None


@dataclass(frozen=True)
class TunedFunction:
    """A function with the units that it runs, in order; `replayed_cycles` is what its tuned program takes."""

    name: str
    runs: tuple[str, ...]
    replayed_cycles: int


@dataclass(frozen=True)
class TuningResult:
    """What tuning gave: `program` is the tuned one, as text."""

    device: str
    pipeline: str
    units: Mapping[str, UnitTuning]
    functions: tuple[TunedFunction, ...]
    program: str

    def default_cycles(self, function: TunedFunction) -> int:
        return sum(self.units[name].default.cycles for name in function.runs)

    def best_cycles(self, function: TunedFunction) -> int:
        return sum(self.units[name].best.cycles for name in function.runs)

    @property
    def is_cut(self) -> bool:
        """Whether time ran out for any candidate."""
        return any(group.is_cut for unit in self.units.values() for group in unit.groups)


def tune_module(
    module: ir.Module,
    pipeline: PassNest,
    device_name: str,
    settings: TuneSettings,
    sink: DiagnosticSink,
    on_step: OnStep = lambda _what, _count: None,
) -> TuningResult:
    """Searches all functions of a module, which stays as it is.

    `on_step` is told what begins and how many candidates that has, and with an empty text that one is done.
    """
    begun = time.monotonic()
    deadline = inf if settings.budget_seconds is None else begun + settings.budget_seconds
    on_step("compiling", 0)
    subjects = subjects_of(module, pipeline, device_name, sink, settings.jobs)
    units = _search(subjects, str(pipeline), settings, deadline, on_step)
    on_step("replaying", 0)
    program = _program(module, subjects, units, device_name)
    cycles = _replayed(program, pipeline, device_name, settings.jobs)
    functions = tuple(
        TunedFunction(target.name, tuple(name for name, _ in target.runs), cycles[target.name])
        for target in subjects.targets
    )
    return TuningResult(subjects.device.name, str(pipeline), units, functions, program)


def _search(
    subjects: Subjects, pipeline: str, settings: TuneSettings, deadline: float, on_step: OnStep
) -> dict[str, UnitTuning]:
    found: dict[str, UnitTuning] = {}
    with runner_of(settings.executor, settings.jobs) as submit:
        for number, unit in enumerate(subjects.units):
            now = time.monotonic()
            until = now + (deadline - now) / (len(subjects.units) - number)
            results = ResultFile.of(settings.cache, key_of(unit.text, subjects.device, pipeline))
            on_step(f"timing candidates of @{unit.name}", settings.candidates)
            search = UnitSearch(
                unit,
                subjects.device,
                results,
                submit,
                settings.candidates,
                settings.jobs,
                until,
                lambda: on_step("", 1),
            )
            found[unit.name] = search.run()
    return found


def _program(module: ir.Module, subjects: Subjects, units: Mapping[str, UnitTuning], device_name: str) -> str:
    """The functions as strategies see them, with the best of these."""
    together = empty_like(module)
    taken: set[str] = set()
    for target in subjects.targets:
        _say(target, units)
        for child in target.prepared.module.body.operations:
            op = child.operation
            name = str(op.attributes["sym_name"]) if "sym_name" in op.attributes else ""
            if name not in taken:
                taken.add(name)
                together.body.append(op.clone())
    record_device(together.operation, load_device(device_name), device_name)
    text: str = together.operation.get_asm()
    return text + "\n"


def _say(target: TunedTarget, units: Mapping[str, UnitTuning]) -> None:
    ops = ops_of(target.prepared.module.operation)
    for name, called_at in target.runs:
        for place, text in units[name].said:
            op = ops[place if called_at is None else called_at]
            op.attributes[STRATEGY] = ir.Attribute.parse(text, op.context)


def _replayed(program: str, pipeline: PassNest, device_name: str, jobs: int) -> dict[str, int]:
    """What the functions of a tuned program take, compiled like any other, each part with its tensors in DRAM."""
    module = parse(program, new_context(), "<tuned>")
    how = How(pipeline, device_name, None, ALL_DECISIONS - {Decision.RESIDENCY})
    batch = compile_or_split(module, how, Split.IF_NEEDED, DiagnosticSink(), jobs)
    return cycles_of_functions(batch)


def cycles_of_functions(batch: Batch) -> dict[str, int]:
    """The cycles of each function, of sequences those of all parts as often as they are called."""
    alone = {one.name: one.simulate().cycles for one in batch.functions}
    whole = {one.name: sum(alone[part.name] for part in one.parts) for one in batch.sequences}
    return {**alone, **whole}
