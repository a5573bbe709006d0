"""Notebooks without Jupyter: runs their cells as it would, and puts what they give below them.

`tools/update-generated` writes the outputs of examples/*.ipynb, and tests compare them with what the cells give now.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Notebook = Mapping[str, Any]


def executed(notebook: Notebook) -> Notebook:
    """The notebook with the outputs that its cells give when they are run in order; raises what a cell raises."""
    made = copy.deepcopy(dict(notebook))
    names: dict[str, object] = {"__name__": "__main__"}
    code = (cell for cell in made["cells"] if cell["cell_type"] == "code")
    for count, cell in enumerate(code, 1):
        cell["execution_count"] = count
        cell["outputs"] = list(_outputs("".join(cell["source"]), names, count))
    return made


def text_of(notebook: Notebook) -> str:
    """As Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def executed_text(file: Path) -> str:
    return text_of(executed(json.loads(file.read_text(encoding="utf-8"))))


def _outputs(source: str, names: dict[str, object], count: int) -> Iterator[Mapping[str, object]]:
    """What the cell prints, then its last expression's value."""
    cell = ast.parse(source)
    last = cell.body[-1] if cell.body else None
    if isinstance(last, ast.Expr):
        cell.body.pop()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(cell, "<cell>", "exec"), names)  # noqa: S102  (running the cell is the point)
        value = _value(last, names) if isinstance(last, ast.Expr) else None
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())}
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        shown = getattr(value, "_repr_html_", None)
        if shown is not None:
            data = {"text/html": _lines(shown()), **data}
        yield {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def _value(last: ast.Expr, names: dict[str, object]) -> object:
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
