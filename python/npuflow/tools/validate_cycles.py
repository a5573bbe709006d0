"""`npuflow validate` of files of measured cycles: what it prints and writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TextIO

from npuflow.errors import ExitCode, InputError, with_hint
from npuflow.target import load_device
from npuflow.tools.outputs import write_output
from npuflow.tools.validate_text import summary_table, unsupported_text
from npuflow.validate.cycle_rows import CyclePrediction, CycleRow, UnknownWork, predict_cycles, summarise_cycles
from npuflow.validate.summary import ErrorSummary

_NAME_WIDTH = 52
_TITLE = f"{'cycles of':<{_NAME_WIDTH}} {'device':<8} {'predicted':>10} {'measured':>10} {'error':>7}"


def validate_cycles(path: str, rows: Sequence[CycleRow | UnknownWork], file: str | None, screen: TextIO) -> ExitCode:
    """Predicts all rows, prints them with their errors, and writes JSON to a file if there is one."""
    known = [row for row in rows if isinstance(row, CycleRow)]
    unknown = [row for row in rows if isinstance(row, UnknownWork)]
    predictions = predict_cycles(known, {row.device: load_device(row.device) for row in known})
    summaries = summarise_cycles(predictions)
    print(_TITLE, *map(_row_text, predictions), sep="\n", file=screen)
    print(summary_table(summaries) + unsupported_text([one.reason for one in unknown]), file=screen)
    if file is not None:
        report = _report_of(path, predictions, summaries, unknown)
        write_output(file, (json.dumps(report, indent=2) + "\n").encode())
    if not predictions:
        hint = "rows of a device with a [patch_engine], or with memories to move between, can be"
        raise InputError(with_hint(f"none of the {len(rows)} rows of '{path}' can be predicted", hint))
    return ExitCode.OK


def _row_text(made: CyclePrediction) -> str:
    row = made.row
    name = f"{row.name or row.timed!s:<{_NAME_WIDTH}.{_NAME_WIDTH}}"
    return f"{name} {row.device:<8} {made.predicted_cycles:>10} {row.measured_cycles:>10g} {made.error:+7.1%}"


def _report_of(
    path: str,
    predictions: Sequence[CyclePrediction],
    summaries: Sequence[ErrorSummary],
    unknown: Sequence[UnknownWork],
) -> dict[str, object]:
    return {
        "file": path,
        "rows": [_row_json(made) for made in predictions],
        "summary": [asdict(one) for one in summaries],
        "unsupported": [{"line": one.location.line, "reason": one.reason} for one in unknown],
    }


def _row_json(made: CyclePrediction) -> dict[str, object]:
    row = made.row
    return {
        **({"id": row.name} if row.name else {}),
        "line": row.location.line,
        "device": row.device,
        "work": str(row.timed),
        "predicted_cycles": made.predicted_cycles,
        "measured_cycles": row.measured_cycles,
        "error": round(made.error, 5),
    }
