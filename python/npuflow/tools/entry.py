"""How a command ends: messages on stderr and the exit code, whatever happened."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from npuflow.core.garbage import seldom_collecting
from npuflow.errors import Diagnostic, ExitCode, InternalError, NpuflowError, Severity, UsageError, render, with_hint
from npuflow.tools.colours import paint_for
from npuflow.tools.crash import failure_of, show_traceback
from npuflow.tools.messages import print_messages
from npuflow.tools.signals import ending_at_once


def run_command(name: str, action: Callable[[Sequence[str]], ExitCode], arguments: Sequence[str]) -> int:
    """Runs `action`; returns the exit code (0 ok, 1 the input's fault, 2 usage, 3 our bug, 128 + n for signal n)."""
    _open_streams()
    try:
        with ending_at_once(), seldom_collecting():
            code = int(action(arguments))
            sys.stdout.flush()
            return code
    except UsageError as error:
        for diagnostic in error.diagnostics:
            prefix = "" if diagnostic.location else f"{name}: "
            print(prefix + render(diagnostic, paint=paint_for(sys.stderr)), file=sys.stderr)
        return int(error.exit_code)
    except NpuflowError as error:
        if isinstance(error, InternalError):
            show_traceback(error)
        print_messages(error.diagnostics)
        return int(error.exit_code)
    except OSError as error:
        return _refused_by_system(error)
    except MemoryError:
        text = with_hint("memory has run out", "try a smaller shape, or free memory")
        _say(Diagnostic(Severity.ERROR, text))
        return int(ExitCode.INPUT)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is our bug and must say so)
        show_traceback(error)
        _say(failure_of(name, error))
        return int(ExitCode.BUG)


def run_and_leave(command: Callable[[], int]) -> NoReturn:
    """Ends the process with a command's exit code, and frees nothing: of a network that takes more than a second."""
    with seldom_collecting():
        code = command()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _open_streams() -> None:
    """Puts something in the place of streams that the caller has closed, or files of ours would take their numbers.

    Standard input and output are opened the wrong way round: only a command that uses them fails.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _refused_by_system(error: OSError) -> int:
    """A full disk, a reader that is gone, a file that may not be read: nobody's bug."""
    what = error.filename
    if what is None:
        what = "standard input or output"
        with suppress(OSError):  # what is left to be written would fail once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        text = with_hint(f"cannot use {what}: {error.strerror or error}", "check that it is open, and the disk")
        _say(Diagnostic(Severity.ERROR, text))
    return int(ExitCode.INPUT)


def _say(diagnostic: Diagnostic) -> None:
    print(render(diagnostic, paint=paint_for(sys.stderr)), file=sys.stderr)
