"""What compiling gives: a module's functions and sequences, to be reported on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from npuflow.api.arguments import choice, of_type, path_of, whole_number, yes_or_no
from npuflow.api.shown import RunReport
from npuflow.api.timed import timed_reports
from npuflow.bindings import ir
from npuflow.compiler.checks import Checks, OnStep, Subject, reference_module
from npuflow.compiler.compiled import Function, Sequence
from npuflow.compiler.conversion import Conversion
from npuflow.compiler.references import References
from npuflow.compiler.sources import sources_of
from npuflow.compiler.verify_function import Verified
from npuflow.core.garbage import seldom_collecting
from npuflow.errors import UsageError, unknown_name, with_hint
from npuflow.execute.limits import Limits, limited, limits_in_force
from npuflow.execute.references import Judge
from npuflow.execute.sandbox import beside
from npuflow.report.losses import executed_macs
from npuflow.report.model import FunctionReport, SequenceReport
from npuflow.report.roofline import summary_of
from npuflow.report.sequences import report_sequence
from npuflow.report.window import WHOLE, Window
from npuflow.simulate.results import RunResults
from npuflow.target import Device

if TYPE_CHECKING:
    from npuflow.report.timeline import Timeline


@dataclass(frozen=True, repr=False)
class Compiled:
    """A module compiled for a device: `given` has its functions as they came, `module` all schedules.

    `given` is what functions of f32 were converted to, if `conversions` says that they were. `functions` has the parts
    of `sequences` as well. `pipeline` is empty where there was nothing to compile.
    """

    device: Device
    pipeline: str
    functions: tuple[Function, ...]
    given: ir.Module = field(repr=False, compare=False)
    module: ir.Module = field(repr=False, compare=False)
    sequences: tuple[Sequence, ...] = ()
    conversions: tuple[Conversion, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(f"@{name}" for name in self._names())
        return f"<Compiled for {self.device.name}: {names}>"

    def _repr_html_(self) -> str:
        """A row for each function: what it takes and gives, and how it is mapped."""
        rows = [(str(one.compiled.signature), f"a sequence of {len(one.parts)} parts") for one in self.sequences]
        rows += [(str(one.compiled.signature), strategy_text(one)) for one in self.functions if not one.part_of]
        body = "".join(f"<tr><td>{escape(left)}</td><td>{escape(right)}</td></tr>" for left, right in rows)
        device = escape(f"{self.device.name}: {self.device.description}")
        head = f"<caption>{device}</caption><thead><tr><th>function</th><th>mapping</th></tr></thead>"
        return f"<table>{head}<tbody>{body}</tbody></table>"

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if not name.startswith("_") or name.endswith("__")]

    def _names(self) -> list[str]:
        """What the module's functions are called, parts left out."""
        return list(dict.fromkeys(function.part_of or function.name for function in self.functions))

    def __getitem__(self, name: str) -> Function:
        for function in self.functions:
            if function.name == name:
                return function
        for sequence in self.sequences:
            if sequence.name == name:
                what = f"@{name} runs as a sequence of {len(sequence.parts)} parts"
                raise UsageError(with_hint(what, f"compiled.sequence('{name}') is it, compiled['{name}_0'] a part"))
        raise UsageError(unknown_name("function", str(name), [function.name for function in self.functions]))

    def sequence(self, name: str) -> Sequence:
        """The sequence that a function became."""
        for sequence in self.sequences:
            if sequence.name == name:
                return sequence
        if not self.sequences:
            raise UsageError(
                with_hint("no function runs as a sequence", "compile with split=True, or take compiled[name]")
            )
        raise UsageError(unknown_name("sequence", name, [sequence.name for sequence in self.sequences]))

    @seldom_collecting()
    def run(
        self,
        *,
        verify: bool | None = None,
        seed: int = 0,
        reference: str | Path | None = None,
        judge: str | Judge = Judge.IREE,
        limits: Limits | None = None,
        jobs: int = 1,
        on_step: OnStep = lambda _: None,
    ) -> RunReport:
        """Times every function, finds what limits it, and compares its functional run with the judge's on random data.

        `verify` left out: only what is small is executed. `reference` is a file with functions that say what those
        that came as schedules must compute; without it they are executed and looked at for races and the like.
        `limits` are for each child process of the verification, without them those in force. `jobs` is how many
        processes simulate, and how many references are computed, side by side; `on_step` is told what begins. Parts are
        compared all together, as the sequence that they are.
        """
        if limits is not None:
            of_type("limits", limits, Limits, "give npuflow.Limits(time_seconds=60)")
        with limited(limits or limits_in_force()), references_by(judge, seed, jobs) as references:
            return self.run_beside(references, verify=verify, reference=reference, jobs=jobs, on_step=on_step)

    def run_beside(
        self,
        references: References,
        *,
        verify: bool | None = None,
        reference: str | Path | None = None,
        jobs: int = 1,
        on_step: OnStep = lambda _: None,
    ) -> RunReport:
        """The same as `run` beside references that may be begun already, under the limits in force."""
        yes_or_no("verify", verify)
        subjects = self._subjects(path_of("reference", reference) if reference is not None else None)
        checks = Checks(list(subjects.values()), verify, references, on_step)
        timed = timed_reports(self.functions, jobs, on_step)
        operations = self._operations({report.name: report.operations for report in timed})
        checked = {name: checks.of(subject, operations[name]) for name, subject in subjects.items()}
        alike = {one.name: one.like for one in self.functions} | {one.name: one.like for one in self.sequences}
        checked |= {name: checked[like] for name, like in alike.items() if like in checked}
        reports = [replace(report, verified=_verified(report, checked)) for report in timed]
        sequences = tuple(self._sequence_report(sequence, reports, checked) for sequence in self.sequences)
        summary = summary_of(self.device)
        return RunReport(
            summary, self.pipeline, tuple(reports), sequences, self.conversions, runs_of=self.timed_timelines
        )

    def _subjects(self, reference: Path | None) -> dict[str, Subject]:
        """What is checked, by name, in the order of the functions; one of those that are alike."""
        given = [function.compiled.signature for function in self.functions if function.is_given]
        if reference is not None and not given:
            what = "a reference is for schedules, and there is none in the input"
            raise UsageError(with_hint(what, "leave it out: what is compiled is compared with what it was"))
        references = sources_of(reference_module(reference, given)) if reference is not None else []
        sources, said = ({one.name: one for one in found} for found in (sources_of(self.given), references))
        subjects = {
            f.name: Subject(f.compiled, _macs(f), said.get(f.name) if f.is_given else sources[f.name])
            for f in self.functions
            if not f.part_of and not f.like
        }
        for one in self.sequences:
            if not one.like:
                subjects[one.name] = Subject(one.compiled, sum(map(_macs, one.parts)), sources[one.name])
        return subjects

    def _operations(self, of: dict[str, int]) -> dict[str, int]:
        """How many of the simulator a run of each function or sequence takes."""
        return of | {one.name: sum(of[part.name] for part in one.parts) for one in self.sequences}

    def _sequence_report(
        self, sequence: Sequence, reports: list[FunctionReport], checked: dict[str, Verified]
    ) -> SequenceReport:
        found = {report.name: report for report in reports}
        return report_sequence(sequence, [found[part.name] for part in sequence.parts], checked[sequence.name])

    def timelines(self, most_events: int) -> list[tuple[str, Timeline]]:
        """Every function's name and timeline, cut after `most_events` events each; parts once per call.

        Those of phases begin behind the launch that another one has, and know for how long nothing runs before.
        """
        from npuflow.api.timelines import timelines_of

        found = timelines_of(self.functions, self.sequences, most_events)
        return [one for name in self._names() for one in found[name]]

    def timed_timelines(self, most_events: int, window: Window = WHOLE) -> dict[str, tuple[RunResults, Timeline]]:
        """What a page is drawn from, by function: of all together `most_events` events at most, in a window."""
        from npuflow.api.timelines import timed_timelines_of

        return timed_timelines_of(self.functions, self.sequences, most_events, window)


@contextmanager
def references_by(judge: str | Judge, seed: int, jobs: int) -> Iterator[References]:
    """References on `jobs` threads, of which what is compiled within the block can be begun with."""
    chosen = choice("judge", judge, Judge)
    whole_number("seed", seed)
    whole_number("jobs", jobs, least=1)
    with beside(jobs) as pool:
        yield References(pool, seed, chosen)


def _macs(function: Function) -> int:
    return function.macs or executed_macs(function.compiled)


def _verified(report: FunctionReport, checked: dict[str, Verified]) -> Verified:
    return Verified.skipped(f"checked as a part of @{report.part_of}") if report.part_of else checked[report.name]


def strategy_text(function: Function) -> str:
    """`grid 2x2, tile-l1 16x16x32`: what was chosen, or given."""
    if function.is_given:
        return "given as a schedule"
    items = sorted(function.strategy.items())
    return ", ".join(f"{key.replace('_', '-')} {_sizes(value)}" for key, value in items)


def _sizes(value: int | tuple[int, ...]) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
