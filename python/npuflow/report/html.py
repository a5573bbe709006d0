"""The report as one page that needs nothing but a browser: its parts are in `page/`, put together here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from importlib import resources

from npuflow.report.model import Report
from npuflow.report.page_data import function_json, roofline_json, sequence_json
from npuflow.report.timeline import Timeline
from npuflow.simulate.results import RunResults

_MARK = re.compile(r"\{\{(\w+)\}\}")

# Of all functions together: some 2 MB of page, which a browser draws without a pause while one zooms.
MOST_EVENTS = 60_000

STYLES = ("colours.css", "page.css", "timeline.css")
# In the order in which they build on each other.
SCRIPTS = (
    *("dom.js", "theme.js", "units.js", "model.js", "view.js", "rows.js", "paint.js", "overview.js", "memory.js"),
    *("search.js", "timeline.js", "keys.js", "array.js", "roofline.js", "tables.js", "main.js"),
)


def html_of(report: Report, runs: Mapping[str, tuple[RunResults, Timeline]]) -> str:
    """The page; `runs` has each function's results and timeline."""
    made = {
        "functions": [function_json(report, function, *runs[function.name]) for function in report.functions],
        "sequences": [sequence_json(report, sequence) for sequence in report.sequences],
        "roofline": roofline_json(report),
    }
    whole = [function.name for function in report.functions if not function.part_of]
    names = ", ".join(f"@{name}" for name in (*(sequence.name for sequence in report.sequences), *whole))
    return page_of_parts("page.html", STYLES, SCRIPTS, f"{names} on {report.device.name}", made)


def page_of_parts(part: str, styles: tuple[str, ...], scripts: tuple[str, ...], title: str, data: object) -> str:
    """A page whose body is a file, which scripts fill from data."""
    return _assembled(_read(part), styles, scripts, title, data)


def page_of_pictures(title: str, body: str) -> str:
    """A page of pictures and tables that are there already, as HTML."""
    button = '<div class="tools"><button id="theme" type="button"></button></div>'
    whole = f"<header><h1>{escape(title)}</h1>{button}</header>\n<main>\n{body}</main>\n"
    styles, scripts = ("colours.css", "page.css", "pictures.css"), ("dom.js", "theme.js", "pictures.js")
    return _assembled(whole, styles, scripts, title, None)


def _assembled(body: str, styles: tuple[str, ...], scripts: tuple[str, ...], title: str, data: object) -> str:
    """A page with its body, styles, scripts and data in the frame of all pages."""
    # In no name may a browser see the end of the script that the data stands in, or the beginning of another.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    said = {"TITLE": escape(title), "BODY": body, "DATA": text}
    parts = {**said, "STYLES": _joined(styles), "SCRIPTS": _joined(scripts)}
    return _MARK.sub(lambda mark: parts[mark[1]], _read("frame.html"))


def _joined(names: tuple[str, ...]) -> str:
    return "\n".join(map(_read, names))


def _read(name: str) -> str:
    return (resources.files("npuflow.report") / "page" / name).read_text(encoding="utf-8")
