"""`--mlir-timing`: where the time of a run goes, in the table that MLIR prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from npuflow.core.expansion import numbered
from npuflow.core.pipeline_text import NamedNode, PassNest
from npuflow.core.runner import Instrumentation, PassRun

_RULE = f"==={'-' * 73}==="
_TITLE = "... {} ..."
_TITLE_WIDTH = 80


def report_header(title: str) -> str:
    """The three lines above each of MLIR's reports."""
    return f"{_RULE}\n{_TITLE.format(title):^{_TITLE_WIDTH}}".rstrip() + f"\n{_RULE}"


@dataclass(frozen=True)
class TimedRow:
    """One line of the report."""

    name: str
    seconds: float
    depth: int = 0


@dataclass
class Timer(Instrumentation):
    """Adds up the time of each pass over all ops it runs on, and of the phases around them."""

    now: Callable[[], float] = perf_counter
    phases: dict[str, float] = field(default_factory=dict)
    _passes: dict[int, float] = field(default_factory=dict, init=False)
    _since: float = field(default=0.0, init=False)
    _begin: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._begin = self.now()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Times what isn't a pass: parsing, printing."""
        since = self.now()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + self.now() - since

    def before_pass(self, _: PassRun) -> None:
        """Starts the clock."""
        self._since = self.now()

    def after_pass(self, run: PassRun) -> None:
        """Adds the pass's time."""
        self._passes[run.position] = self._passes.get(run.position, 0.0) + self.now() - self._since

    def after_pass_failed(self, run: PassRun) -> None:
        """A failed pass took its time as well."""
        self.after_pass(run)

    def report(self, pipeline: PassNest, *, as_list: bool = False) -> str:
        """The table; as a list the rows are summed by name and sorted by time."""
        total = self.now() - self._begin
        rows = [
            *self._phase_rows("Parser"),
            *self._nest_rows(pipeline, 0),
            *self._phase_rows("Output"),
        ]
        rest = max(0.0, total - sum(row.seconds for row in rows if row.depth == 0))
        if as_list:
            rows = _summed(rows)
        rows += [TimedRow("Rest", rest), TimedRow("Total", total)]
        lines = [report_header("Execution time report"), f"  Total Execution Time: {total:.4f} seconds", ""]
        lines.append("  ----Wall Time----  ----Name----")
        for row in rows:
            share = f"{100 * row.seconds / total if total else 0:5.1f}%"
            lines.append(f"  {row.seconds:8.4f} ({share})  {'  ' * row.depth}{row.name}")
        return "\n".join(lines) + "\n"

    def _phase_rows(self, name: str) -> list[TimedRow]:
        return [TimedRow(name, self.phases[name])] if name in self.phases else []

    def _nest_rows(self, nest: PassNest, depth: int, first: int = 1) -> list[TimedRow]:
        rows: list[TimedRow] = []
        for position, element in numbered(nest, first):
            if isinstance(element, PassNest):
                inner = self._nest_rows(element, depth + 1, position)
                seconds = sum(row.seconds for row in inner if row.depth == depth + 1)
                rows += [TimedRow(f"'{element.anchor}' Pipeline", seconds, depth), *inner]
            elif not isinstance(element, NamedNode):
                rows.append(TimedRow(element.name, self._passes.get(position, 0.0), depth))
        return rows


def _summed(rows: list[TimedRow]) -> list[TimedRow]:
    totals: dict[str, float] = {}
    for row in rows:
        totals[row.name] = totals.get(row.name, 0.0) + row.seconds
    return [TimedRow(name, totals[name]) for name in sorted(totals, key=lambda name: -totals[name])]
