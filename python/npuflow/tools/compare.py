"""`npuflow compare`: what differs between two reports of `npuflow run --json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.errors import ExitCode, UsageError, with_hint
from npuflow.tools.colours import comparison_for
from npuflow.tools.command_line import CommandLine
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output


@dataclass(frozen=True)
class CompareFlags:
    """Every flag with its default."""

    json: str | None = flag(
        None, "write what differs as JSON; here and below '-' is stdout", group="", metavar="file", file=FileUse.WRITTEN
    )
    html: str | None = flag(None, "write it as a page", group="", metavar="file", file=FileUse.WRITTEN)
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow compare",
    owner=CompareFlags,
    summary="what differs between two runs: time, traffic, losses, strategy, energy",
    usage="npuflow compare <first.json> <second.json> [flags]",
    notes=(
        "Files are reports of npuflow run --json=FILE; functions are matched by name, parts of a sequence in order.",
        "Exit codes: 0 done, whatever differs, 1 a file that is no report, 2 usage, 3 a bug of npuflow.",
    ),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Prints what differs; the first file is what was before."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, files = given
    if len(files) != 2:
        what = f"expected two reports, got {len(files)}"
        raise UsageError(with_hint(what, "npuflow compare before.json after.json"))
    check_files(flags, files)
    from npuflow.report.compare_differences import compared
    from npuflow.report.compare_html import comparison_html
    from npuflow.report.compare_json import comparison_json
    from npuflow.report.compare_read import read_report
    from npuflow.report.compare_text import comparison_text

    first, second = map(read_report, files)
    pairing = compared(first, second)
    screen = screen_of(flags)
    print(comparison_for(screen, comparison_text(first, second, pairing)), file=screen)
    wanted = ((flags.json, comparison_json), (flags.html, comparison_html))
    made = [(path, text_of(first, second, pairing)) for path, text_of in wanted if path is not None]
    for path, text in made:
        write_output(path, text.encode())
    return ExitCode.OK
