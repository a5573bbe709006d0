"""A run's report that shows itself: as text, JSON and page, and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from npuflow.api.arguments import path_of
from npuflow.report.model import FunctionReport, Report, SequenceReport
from npuflow.report.text import text_of, verified_text
from npuflow.report.window import WHOLE, Window, window_from
from npuflow.report.words import percent, quantity
from npuflow.simulate.results import RunResults

if TYPE_CHECKING:
    from npuflow.report.timeline import Timeline

Runs = Mapping[str, "tuple[RunResults, Timeline]"]


@dataclass(frozen=True, repr=False)
class RunReport(Report):
    """What `compiled.run()` gives; `runs_of(most_events, window)` simulates once more what a page is drawn from."""

    runs_of: Callable[[int, Window], Runs] = field(default=lambda _most, _window: {}, compare=False)

    def text(self, *, details: bool = False) -> str:
        """What `npuflow run` prints."""
        return text_of(self, details=details)

    def json(self) -> str:
        """What `npuflow run --json` writes."""
        from npuflow.report.json_report import json_of

        return json_of(self)

    def html(self, *, window: str | Window = WHOLE) -> str:
        """The page that `npuflow run --html` writes; of `window`, as "1ms:1.2ms", each event is shown."""
        from npuflow.report.html import MOST_EVENTS, html_of

        return html_of(self, self.runs_of(MOST_EVENTS, window_from(window)))

    def save(self, path: str | Path) -> None:
        """Writes the page to a `.html` file, JSON to a `.json` file, text to any other."""
        from npuflow.core.output import write_atomically

        file = path_of("the file", path)
        made = {".html": self.html, ".json": self.json}.get(file.suffix, self.text)
        write_atomically(str(file), made().encode())

    def _repr_html_(self) -> str:
        """A row for each function, and the text below."""
        heads = ("function", "time", "bound by", "of the peak", "verified")
        rows = [_cells(one, one.bound_by.value, percent(one.efficiency)) for one in self.functions if not one.part_of]
        rows += [_cells(one, f"{len(one.parts)} parts", "") for one in self.sequences]
        head = "".join(f"<th>{head}</th>" for head in heads)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        device = escape(f"{self.device.name}: {self.device.description}")
        table = f"<table><caption>{device}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<details><summary>report</summary><pre>{escape(self.text())}</pre></details>"


def _cells(one: FunctionReport | SequenceReport, bound: str, share: str) -> tuple[str, ...]:
    return one.signature, quantity(one.time_us / 1e6, "s"), bound, share, verified_text(one)
