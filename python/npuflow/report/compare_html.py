"""Two runs side by side as one page that needs nothing but a browser."""

from __future__ import annotations

from npuflow.report.compare_differences import Pairing
from npuflow.report.compare_json import comparison_dict
from npuflow.report.compare_read import ComparedReport
from npuflow.report.html import page_of_parts

_STYLES = ("colours.css", "page.css", "compare.css")
_SCRIPTS = ("dom.js", "theme.js", "compare.js")


def comparison_html(first: ComparedReport, second: ComparedReport, pairing: Pairing) -> str:
    title = f"{first.file} and {second.file}"
    return page_of_parts("compare.html", _STYLES, _SCRIPTS, title, comparison_dict(first, second, pairing))
