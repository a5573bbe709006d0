"""Python files of a user's: running one, and where in it something went wrong."""

from __future__ import annotations

import importlib.util
import linecache
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from npuflow.errors import SourceLocation


def module_name(file: Path, prefix: str) -> str:
    """What the module of a file is called: alike whenever it is loaded, and like no other file's."""
    return f"{prefix}_{file.stem}_{sha256(str(file.resolve()).encode()).hexdigest()[:16]}"


def run_python_file(file: Path, name: str) -> ModuleType | None:
    """The module that a file makes, under a name; None for what isn't Python by its own name. Raises what it raises."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def place_of_failure(error: BaseException, files: Mapping[str, str]) -> SourceLocation | None:
    """Where an exception is from: a line that is no Python, else the innermost one in the modules of these files."""
    if isinstance(error, SyntaxError) and error.filename:
        return SourceLocation(error.filename, error.lineno or 1, error.offset or 0, _line_of(error.text or ""))
    return innermost_line(error, files)


def innermost_line(error: BaseException, files: Mapping[str, str]) -> SourceLocation | None:
    """The last line, on the way to an exception, of modules that come from these files."""
    return _innermost(error, files.get)


def line_outside(error: BaseException, packages: Collection[str]) -> SourceLocation | None:
    """The last line, on the way to an exception, of what is neither of these packages nor of Python's own."""

    def file_of(module: str) -> str | None:
        is_own = module and module.partition(".")[0] not in {*packages, *sys.stdlib_module_names}
        return getattr(sys.modules.get(module), "__file__", None) if is_own else None

    return _innermost(error, file_of)


def _innermost(error: BaseException, file_of: Callable[[str], str | None]) -> SourceLocation | None:
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = file_of(frame.f_globals.get("__name__", ""))
        if file is not None:
            place = SourceLocation(file, line, text=_line_of(linecache.getline(file, line)))
    return place


def _line_of(text: str) -> str | None:
    """A line as messages quote it."""
    return text.rstrip("\n") or None
