"""What a command does when npuflow itself fails: a short stack trace, and a file with the command that fails on it."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from npuflow.errors import Diagnostic, InputError, InternalError, NpuflowError, Severity, with_hint

_FRAMES_SHOWN = 5
_BYTECODE = b"ML\xefR"


def show_traceback(error: BaseException) -> None:
    """Where it happened; of an error that stands for another one, where that did."""
    traceback.print_exception(error.__cause__ or error, limit=-_FRAMES_SHOWN, file=sys.stderr)


def failure_of(name: str, error: Exception) -> Diagnostic:
    """What is said of an exception that nobody foresaw; one that a plugin raised is at the plugin's line."""
    if "npuflow.core.registry" in sys.modules:  # else no plugin can have been loaded
        from npuflow.core.registry import place_in_plugin

        if place := place_in_plugin(error):
            return Diagnostic(Severity.ERROR, f"a plugin failed: {type(error).__name__}: {error}", place)
    text = f"{name} itself failed: {type(error).__name__}: {error}"
    return Diagnostic(Severity.ERROR, with_hint(text, "please report this"))


@contextmanager
def kept(command: Sequence[str], path: str, source: bytes | Path) -> Iterator[None]:
    """Where npuflow itself fails in the block, what it was given becomes a file, which ends in how to run it.

    `command` is the whole command line, in which `path` is the input; `source` the input, or its file.
    """
    try:
        yield
    except InternalError as error:
        note = _write(command, path, source)
        raise InternalError([*error.diagnostics, note]) from (error.__cause__ or error)
    except (NpuflowError, OSError, MemoryError):
        raise
    except Exception as error:
        raise InternalError([failure_of(command[0], error), _write(command, path, source)]) from error


def _write(command: Sequence[str], path: str, source: bytes | Path) -> Diagnostic:
    from npuflow.core.output import write_atomically
    from npuflow.core.reproducer import DEFAULT_FILE

    replay = shlex.join([DEFAULT_FILE if word == path else word for word in command])
    try:
        data = source.read_bytes() if isinstance(source, Path) else source
        if not data.startswith(_BYTECODE):
            data = data.rstrip() + f"\n// {replay}\n".encode()
        write_atomically(DEFAULT_FILE, data)
    except (InputError, OSError) as failure:
        return Diagnostic(Severity.NOTE, f"no reproducer is written: {failure}")
    return Diagnostic(Severity.NOTE, f"{DEFAULT_FILE} reproduces this; hint: {replay}")
