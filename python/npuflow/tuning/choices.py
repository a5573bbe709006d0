"""What npuflow chooses for matmuls that others have designed and measured, held against their designs.

Both are compiled and simulated alike, on the same machine with the same kernels: only their strategies differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log

from npuflow.compiler.default import DEFAULT_PIPELINE
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import Expansion, expand
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.dialect.context import new_context
from npuflow.errors import InputError, UsageError
from npuflow.ops.contraction import STRATEGY
from npuflow.target import load_device
from npuflow.tuning.runners import run_in_order, runner_of
from npuflow.tuning.trial import StrategyTrial, TrialOutcome
from npuflow.tuning.tune_module import OnStep, TuneSettings, tune_module
from npuflow.validate.designs import array_of, design_of, device_of, module_text, why_unsupported
from npuflow.validate.measurements import Measurement
from npuflow.validate.predict import Skipped


@dataclass(frozen=True)
class _Rivals:
    """A row's matmul twice: with the row's design on the columns that it uses, and with nothing said on all of them."""

    row: Measurement
    design: StrategyTrial
    default: StrategyTrial


@dataclass(frozen=True)
class DesignChoice:
    """What a row's design takes, what the default does, and what tuning found where it was asked."""

    row: Measurement
    design: TrialOutcome
    default: TrialOutcome
    tuned: TrialOutcome | None = None

    @property
    def ratio(self) -> float:
        """The default's time over the design's, behind the launch."""
        return self.default.own_seconds / self.design.own_seconds

    @property
    def tuned_ratio(self) -> float | None:
        return None if self.tuned is None else self.tuned.own_seconds / self.design.own_seconds


@dataclass(frozen=True)
class DesignChoices:
    """Rows whose designs were held against what npuflow chooses, and those that couldn't be."""

    choices: tuple[DesignChoice, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class RatioSummary:
    """The ratios of some rows: their geometric mean, how many of them are above 1, and the largest."""

    rows: int
    geometric_mean: float
    above_one: int
    worst: float
    worst_id: str


def _rivals_of(rows: Sequence[Measurement]) -> tuple[list[_Rivals], list[Skipped]]:
    """The matmuls among rows as they are compiled, and the rows that aren't any, or cannot be described, with why."""
    found, skipped = [], []
    for row in rows:
        try:
            reason = f"operator {row.op}" if row.op != "matmul" else why_unsupported(row)
            if reason is None:
                found.append(_rivals(row))
                continue
        except (InputError, UsageError) as error:
            reason = str(error).splitlines()[0]
        skipped.append(Skipped(row, reason))
    return found, skipped


def _rivals(row: Measurement) -> _Rivals:
    device = load_device(device_of(row))
    design, array = design_of(row), array_of(row, device)
    shape = device.matmul_shapes(*design.types)[0]
    text = module_text(row, design, (shape.m, shape.n, shape.k))
    return _Rivals(
        row,
        _trial(text, design.pipeline, array.name),
        _trial(_without_strategies(text), DEFAULT_PIPELINE, device.name),
    )


def _trial(text: str, pipeline: str, device: str) -> StrategyTrial:
    return StrategyTrial(text.encode(), str(expand(parse_pipeline(pipeline), Expansion(device=device))), device)


def _without_strategies(text: str) -> str:
    module = parse(text, new_context())
    for op in ops_of(module.operation):
        if STRATEGY in op.attributes:
            del op.attributes[STRATEGY]
    return str(module.operation.get_asm())


def compare(
    rows: Sequence[Measurement],
    jobs: int,
    settings: TuneSettings | None = None,
    on_step: OnStep = lambda _what, _count: None,
) -> DesignChoices:
    """Times designs and defaults, each that differs once and so many at a time; with settings, defaults are tuned."""
    rivals, skipped = _rivals_of(rows)
    outcomes = _timed([trial for one in rivals for trial in (one.design, one.default)], jobs, on_step)
    choices: list[DesignChoice] = []
    tuned: dict[StrategyTrial, TrialOutcome] = {}
    for one in rivals:
        design, default = outcomes[one.design], outcomes[one.default]
        if refusal := design.refusal or default.refusal:
            skipped.append(Skipped(one.row, refusal))
            continue
        if settings is not None and one.default not in tuned:
            tuned[one.default] = _tuned(one.default, settings, on_step)
        choices.append(DesignChoice(one.row, design, default, tuned.get(one.default)))
    return DesignChoices(tuple(choices), tuple(skipped))


def _timed(trials: Sequence[StrategyTrial], jobs: int, on_step: OnStep) -> dict[StrategyTrial, TrialOutcome]:
    different = list(dict.fromkeys(trials))
    on_step("timing designs", len(different))
    outcomes: dict[StrategyTrial, TrialOutcome] = {}
    with runner_of("local", jobs) as submit:
        for number, outcome in run_in_order(submit, different, jobs, lambda: True):
            outcomes[different[number]] = outcome
            on_step("", 1)
    return outcomes


def _tuned(trial: StrategyTrial, settings: TuneSettings, on_step: OnStep) -> TrialOutcome:
    """The fastest strategy that is found for a matmul."""
    module, nest = parse(trial.bytecode, new_context()), expand(parse_pipeline(trial.pipeline))
    result = tune_module(module, nest, trial.device, settings, DiagnosticSink(), on_step)
    (function,) = result.functions
    (unit,) = function.runs
    return result.units[unit].best


def summaries_of(choices: Sequence[DesignChoice]) -> Iterator[tuple[str, RatioSummary]]:
    """Of the default, and of what is tuned where anything is; nothing without rows."""
    for name, ratios in (
        ("default", [(one.ratio, one.row.id) for one in choices]),
        ("tuned", [(one.tuned_ratio, one.row.id) for one in choices if one.tuned_ratio is not None]),
    ):
        if ratios:
            worst, worst_id = max(ratios)
            mean = exp(sum(log(ratio) for ratio, _ in ratios) / len(ratios))
            yield name, RatioSummary(len(ratios), mean, sum(ratio > 1 for ratio, _ in ratios), worst, worst_id)
