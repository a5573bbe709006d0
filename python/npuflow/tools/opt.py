"""`npuflow-opt`: runs passes over MLIR, as `mlir-opt` does."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from npuflow.errors import Diagnostic, ExitCode, NpuflowError, Severity, UsageError, render, with_hint
from npuflow.tools.flags import ParsedFlags, build, flags_of, parse_flags
from npuflow.tools.opt_flags import OptFlags

_FRAMES_SHOWN = 5
_INTERRUPTED = 130  # what shells expect of a command that Ctrl-C ended


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns the exit code (0 ok, 1 the input's fault, 2 usage, 3 our bug)."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        return int(_run(arguments))
    except UsageError as error:
        for diagnostic in error.diagnostics:
            prefix = "" if diagnostic.location else "npuflow-opt: "
            print(prefix + render(diagnostic), file=sys.stderr)
        return int(error.exit_code)
    except NpuflowError as error:
        print("\n".join(render(d) for d in error.diagnostics), file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return int(ExitCode.INPUT)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is our bug and must say so)
        traceback.print_exc(limit=-_FRAMES_SHOWN, file=sys.stderr)
        text = with_hint(f"npuflow-opt itself failed: {type(error).__name__}: {error}", "please report this")
        print(Diagnostic(Severity.ERROR, text), file=sys.stderr)
        return int(ExitCode.BUG)


def _run(arguments: Sequence[str]) -> ExitCode:
    table = flags_of(OptFlags)
    parsed = parse_flags(["--help" if argument == "-h" else argument for argument in arguments], table)
    flags = build(OptFlags, parsed)
    _load_passes(flags)
    listing = _listing(flags)
    if listing is not None:
        print(listing)
        return ExitCode.OK
    from npuflow.tools.opt_session import run_session

    return run_session(flags, parsed.others, _input_of(parsed))


def _load_passes(flags: OptFlags) -> None:
    import npuflow.pipelines  # noqa: F401  (registers our passes and pipelines)
    from npuflow.core.registry import load_entry_points, load_plugin

    load_entry_points()
    for path in flags.load:
        load_plugin(path)


def _listing(flags: OptFlags) -> str | None:
    """What a flag asks to know instead of running anything."""
    from npuflow.tools import opt_lists

    if flags.help:
        return opt_lists.help_text()
    if flags.version:
        return opt_lists.version_text()
    if flags.list_passes == "upstream":
        return opt_lists.upstream_text()
    if flags.list_passes:
        return opt_lists.passes_text()
    if flags.show_dialects:
        return opt_lists.dialects_text(flags.irdl_file)
    return None


def _input_of(parsed: ParsedFlags) -> str:
    if len(parsed.positional) > 1:
        what = f"{len(parsed.positional)} input files are given ({', '.join(parsed.positional)})"
        raise UsageError(with_hint(what, "give one, or - for stdin"))
    return parsed.positional[0] if parsed.positional else "-"


def _discard_stdout() -> None:
    """Keeps the interpreter from complaining about a reader that has gone away."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
