"""`npuflow-opt`: runs passes over MLIR, as `mlir-opt` does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from npuflow.errors import ExitCode, UsageError, with_hint
from npuflow.tools.entry import run_and_leave, run_command
from npuflow.tools.flags import ParsedFlags, build, flags_of, parse_flags
from npuflow.tools.outputs import check_files

if TYPE_CHECKING:
    from npuflow.tools.opt_flags import OptFlags


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns the exit code (0 ok, 1 the input's fault, 2 usage, 3 our bug)."""
    return run_command("npuflow-opt", _run, sys.argv[1:] if argv is None else argv)


def script() -> NoReturn:
    """The same as a program of its own."""
    run_and_leave(main)


def _run(arguments: Sequence[str]) -> ExitCode:
    from npuflow.tools.opt_flags import OptFlags

    table = flags_of(OptFlags)
    parsed = parse_flags(arguments, table)
    flags = build(OptFlags, parsed)
    if flags.version and not flags.help:
        from npuflow.tools.versions import version_text

        print(version_text())
        return ExitCode.OK
    _load_passes(flags)
    listing = _listing(flags)
    if listing is not None:
        print(listing)
        return ExitCode.OK
    from npuflow.tools.opt_session import run_session

    path = _input_of(parsed)
    check_files(flags, [path])
    return run_session(flags, parsed.others, path, ["npuflow-opt", *arguments])


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


if __name__ == "__main__":
    script()
