"""`npuflow validate`: predicts published measurements and says how far off it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuflow.errors import ExitCode, InputError, UsageError, with_hint
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output

if TYPE_CHECKING:
    from npuflow.validate.systolic_rows import SystolicRow


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
    return _validate(path, flags)


def _validate(path: str, flags: ValidateFlags) -> ExitCode:
    import npuflow
    import npuflow.pipelines
    from npuflow.tools.validate_json import report_of
    from npuflow.tools.validate_text import TITLE, pairs_text, row_text, summary_text
    from npuflow.validate.designs import device_of
    from npuflow.validate.pairs import rank
    from npuflow.validate.predict import Prepared, predict_us, prepare
    from npuflow.validate.read import read_measurements, read_systolic_rows
    from npuflow.validate.roofline import fit_rooflines, key_of, mean_error_by_kind
    from npuflow.validate.summary import Prediction, summarise

    systolic = read_systolic_rows(path)
    if systolic is not None:
        return _validate_systolic(path, systolic, flags)
    rows = [prepare(row, npuflow.run_pipeline) for row in read_measurements(path)]
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
    if flags.json is not None:
        report = report_of(path, predictions, summaries, skipped, rankings)
        write_output(flags.json, (json.dumps(report, indent=2) + "\n").encode())
    if not predictions:
        hint = "rows of a known op (matmul, core_kernel, matvec, add ...), with shape, tile and grid, can be"
        raise InputError(with_hint(f"none of the {len(rows)} rows of '{path}' can be predicted", hint))
    return ExitCode.OK


def _validate_systolic(path: str, rows: Sequence[SystolicRow], flags: ValidateFlags) -> ExitCode:
    from npuflow.tools.validate_systolic import validate_systolic

    if flags.pairs:
        hint = "leave out --pairs: rows of given tiles are no designs to choose from"
        raise UsageError(with_hint(f"'{path}' has cycles of a systolic array's tiles", hint))
    return validate_systolic(path, rows, flags.json, screen_of(flags))
