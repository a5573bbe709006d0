"""`npuflow validate`: predicts published measurements and says how far off it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.errors import ExitCode, InputError, UsageError, with_hint
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output


@dataclass(frozen=True)
class ValidateFlags:
    """Every flag with its default."""

    json: str | None = flag(
        None,
        "write predictions and summary to a file as well, or with '-' to stdout",
        group="",
        metavar="file",
        file=FileUse.WRITTEN,
    )
    pairs: bool = flag(
        False,
        "also say how often of two designs of equal work, measured more than 10 % apart, the faster is told",
        group="",
    )
    choose: bool = flag(
        False, "also time what npuflow chooses for each matmul, against the design that was measured", group=""
    )
    candidates: int | None = flag(
        None, "with --choose: also tune each matmul, with so many candidates", group="", metavar="n", least=1
    )
    jobs: int | None = flag(
        None, "with --choose: time so many at once (default: the processor's cores)", group="", metavar="n", least=1
    )
    cache: str | None = flag(
        None,
        "with --choose: where what is tuned is kept (default: the user's cache), or none",
        group="",
        metavar="directory",
    )
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow validate",
    owner=ValidateFlags,
    summary="builds the designs of published measurements, simulates them and compares",
    usage="npuflow validate <file.csv> [flags]",
    notes=(
        "The roofline beside it is max(compute, traffic / bandwidth) + launch, fitted to the same rows per source,",
        "type, kind of kernel and operator.",
        "Exit codes: 0 done, 1 nothing to predict or a wrong file, 2 usage, 3 a bug of npuflow.",
    ),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command; OK if at least one row could be predicted."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    path = the_only(inputs, "CSV file", "npuflow validate benchmarks/measurements/npu_measurements.csv")
    check_files(flags, inputs)
    _check_choosing(flags)
    from npuflow.validate.read import read_cycle_rows, read_systolic_rows

    cycle_rows, systolic_rows = read_cycle_rows(path), read_systolic_rows(path)
    if cycle_rows is None and systolic_rows is None:
        return _validate(path, flags)
    for asked, name, what in ((flags.pairs, "--pairs", "pairs"), (flags.choose, "--choose", "matmuls to choose for")):
        if asked:
            hint = f"leave out {name}: rows of measured cycles are no designs to choose from"
            raise UsageError(with_hint(f"'{path}' has no {what}", hint))
    from npuflow.tools.validate_cycles import validate_cycles
    from npuflow.tools.validate_systolic import validate_systolic

    if systolic_rows is not None:
        return validate_systolic(path, systolic_rows, flags.json, screen_of(flags))
    return validate_cycles(path, cycle_rows or [], flags.json, screen_of(flags))


def _check_choosing(flags: ValidateFlags) -> None:
    """Refuses to say how to choose where nothing is chosen, or nothing tuned."""
    for name, value in (("candidates", flags.candidates), ("jobs", flags.jobs), ("cache", flags.cache)):
        if value is not None and not flags.choose:
            raise UsageError(with_hint(f"--{name} without --choose", "add --choose, or leave it out"))
    if flags.cache is not None and flags.candidates is None:
        raise UsageError(with_hint("--cache without --candidates", "add --candidates=24, or leave it out"))


def _validate(path: str, flags: ValidateFlags) -> ExitCode:
    import npuflow
    import npuflow.pipelines
    from npuflow.tools.validate_choices import choose
    from npuflow.tools.validate_json import report_of
    from npuflow.tools.validate_text import TITLE, pairs_text, row_text, summary_text
    from npuflow.validate.designs import device_of
    from npuflow.validate.pairs import rank
    from npuflow.validate.predict import Prepared, predict_us, prepare
    from npuflow.validate.read import read_measurements
    from npuflow.validate.roofline import fit_rooflines, key_of, mean_error_by_kind
    from npuflow.validate.summary import Prediction, summarise

    measured = read_measurements(path)
    rows = [prepare(row, npuflow.run_pipeline) for row in measured]
    built = [row for row in rows if isinstance(row, Prepared)]
    skipped = [row for row in rows if not isinstance(row, Prepared)]
    whole = [(one.row, one.device) for one in built if one.scheduled is not None]
    rooflines = fit_rooflines(whole)
    predictions = []
    screen = screen_of(flags)
    print(TITLE, file=screen)
    for one in built:
        roofline = rooflines[key_of(one.row, one.device)] if one.scheduled is not None else None
        bound = roofline.predict_us(one.row, one.device) if roofline is not None else None
        predictions.append(Prediction(one.row, predict_us(one, one.device), bound))
        print(row_text(predictions[-1]), file=screen, flush=True)
    summaries = summarise(predictions)
    print(summary_text(summaries, skipped), file=screen)
    if len({row.op for row, _ in whole}) > 1:
        mean = mean_error_by_kind(whole)
        print(f"rooflines per kind of kernel alone, operators together: mean {mean:.1%}", file=screen)
    rankings = rank(predictions, lambda made: device_of(made.row)) if flags.pairs else None
    if rankings is not None:
        print(pairs_text(rankings), file=screen)
    how = (flags.candidates, flags.jobs, flags.cache)
    chosen = choose(measured, screen, *how) if flags.choose else None
    if flags.json is not None:
        report = report_of(path, predictions, summaries, skipped, rankings, chosen)
        write_output(flags.json, (json.dumps(report, indent=2) + "\n").encode())
    if not predictions:
        hint = "rows of a known op (matmul, core_kernel, matvec, add ...), with shape, tile and grid, can be"
        raise InputError(with_hint(f"none of the {len(rows)} rows of '{path}' can be predicted", hint))
    return ExitCode.OK
