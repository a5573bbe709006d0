"""`npuflow validate`: predicts published measurements and says how far off it is."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from npuflow.errors import ExitCode, InputError, UsageError, with_hint
from npuflow.tools.command_line import CommandLine
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output

if TYPE_CHECKING:
    from npuflow.validate.predict import Skipped
    from npuflow.validate.summary import ErrorSummary, Prediction

_ID_WIDTH = 72


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
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow validate",
    owner=ValidateFlags,
    summary="builds the designs of published measurements, simulates them and compares",
    usage="npuflow validate <file.csv> [flags]",
    notes=(
        "The roofline beside it is max(compute, traffic / bandwidth) + launch, fitted to the same rows per kind",
        "of kernel and operator.",
        "Exit codes: 0 done, 1 nothing to predict or a wrong file, 2 usage, 3 a bug of npuflow.",
    ),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command; OK if at least one row could be predicted."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    if len(inputs) != 1:
        what = f"expected one CSV file, got {len(inputs)}"
        raise UsageError(with_hint(what, "npuflow validate benchmarks/measurements/npu_measurements.csv"))
    check_files(flags, inputs)
    return _validate(inputs[0], flags)


def _validate(path: str, flags: ValidateFlags) -> ExitCode:
    import npuflow
    import npuflow.pipelines
    from npuflow.validate.measurements import read_measurements
    from npuflow.validate.predict import Prepared, predict_us, prepare
    from npuflow.validate.roofline import fit_rooflines, key_of, mean_error_by_kind
    from npuflow.validate.summary import Prediction, summarise

    rows = [prepare(row, npuflow.run_pipeline) for row in read_measurements(path)]
    built = [row for row in rows if isinstance(row, Prepared)]
    skipped = [row for row in rows if not isinstance(row, Prepared)]
    whole = [(one.row, one.device) for one in built if one.scheduled is not None]
    rooflines = fit_rooflines(whole)
    predictions = []
    screen = screen_of(flags)
    print(f"{'measurement':<{_ID_WIDTH}} {'predicted':>10} {'measured':>10} {'error':>7} {'roofline':>9}", file=screen)
    for one in built:
        roofline = rooflines[key_of(one.row, one.device)] if one.scheduled is not None else None
        bound = roofline.predict_us(one.row, one.device) if roofline is not None else None
        predictions.append(Prediction(one.row, predict_us(one, one.device), bound))
        print(_row_text(predictions[-1]), file=screen, flush=True)
    summaries = summarise(predictions)
    print(_summary_text(summaries, skipped), file=screen)
    if len({row.op for row, _ in whole}) > 1:
        mean = mean_error_by_kind(whole)
        print(f"rooflines per kind of kernel alone, operators together: mean {mean:.1%}", file=screen)
    if flags.json is not None:
        _write_json(flags.json, path, predictions, summaries, skipped)
    if not predictions:
        hint = "rows of a known op (matmul, core_kernel, matvec, add ...), with shape, tile and grid, can be"
        raise InputError(with_hint(f"none of the {len(rows)} rows of '{path}' can be predicted", hint))
    return ExitCode.OK


def _row_text(made: Prediction) -> str:
    roofline = "" if made.roofline_error is None else f"{made.roofline_error:+9.1%}"
    name = textwrap.shorten(made.row.id, _ID_WIDTH, placeholder="")
    return f"{name:<{_ID_WIDTH}} {made.predicted_us:10.1f} {made.row.time_us:10.1f} {made.error:+7.1%} {roofline:>9}"


def _summary_text(summaries: Sequence[ErrorSummary], skipped: Sequence[Skipped]) -> str:
    lines = [
        "",
        f"{'absolute error':<44} {'rows':>5} {'median':>7} {'mean':>7} {'90th':>7} {'worst':>7} {'roofline':>9}",
    ]
    for one in summaries:
        roofline = "" if one.roofline_mean is None else f"{one.roofline_mean:.1%}"
        lines.append(
            f"{one.group:<44} {one.rows:>5} {one.median:7.1%} {one.mean:7.1%} {one.percentile_90:7.1%} {one.worst:7.1%}"
            f" {roofline:>9}"
        )
    counts = Counter(one.reason for one in skipped)
    if counts:
        lines += ["", f"not yet supported: {len(skipped)} rows"]
        lines += [f"  {count:>4}  {reason}" for reason, count in counts.most_common()]
    return "\n".join(lines)


def _write_json(
    path: str,
    source: str,
    predictions: Sequence[Prediction],
    summaries: Sequence[ErrorSummary],
    skipped: Sequence[Skipped],
) -> None:
    report = {
        "file": source,
        "rows": [
            {
                "id": made.row.id,
                "source": made.row.source,
                "op": made.row.op,
                "predicted_us": round(made.predicted_us, 3),
                "measured_us": made.row.time_us,
                "error": round(made.error, 5),
                "roofline_us": None if made.roofline_us is None else round(made.roofline_us, 3),
            }
            for made in predictions
        ],
        "summary": [asdict(summary) for summary in summaries],
        "unsupported": [{"id": one.row.id, "reason": one.reason} for one in skipped],
    }
    write_output(path, (json.dumps(report, indent=2) + "\n").encode())
