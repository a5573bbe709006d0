"""How a command ends: messages on stderr and the exit code, whatever happened."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence

from npuflow.errors import Diagnostic, ExitCode, NpuflowError, Severity, UsageError, render, with_hint
from npuflow.tools.messages import print_messages

_FRAMES_SHOWN = 5
_INTERRUPTED = 130  # what shells expect of a command that Ctrl-C ended


def run_command(name: str, action: Callable[[Sequence[str]], ExitCode], arguments: Sequence[str]) -> int:
    """Runs `action`; returns the exit code (0 ok, 1 the input's fault, 2 usage, 3 our bug)."""
    try:
        return int(action(arguments))
    except UsageError as error:
        for diagnostic in error.diagnostics:
            prefix = "" if diagnostic.location else f"{name}: "
            print(prefix + render(diagnostic), file=sys.stderr)
        return int(error.exit_code)
    except NpuflowError as error:
        print_messages(error.diagnostics)
        return int(error.exit_code)
    except BrokenPipeError:
        # Keeps the interpreter from complaining about a reader that has gone away.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.INPUT)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001  (whatever it is, it is our bug and must say so)
        traceback.print_exc(limit=-_FRAMES_SHOWN, file=sys.stderr)
        text = with_hint(f"{name} itself failed: {type(error).__name__}: {error}", "please report this")
        print(Diagnostic(Severity.ERROR, text), file=sys.stderr)
        return int(ExitCode.BUG)
