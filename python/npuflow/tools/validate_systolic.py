"""`npuflow validate` of files of a systolic array's cycles: what it prints and writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TextIO

from npuflow.errors import ExitCode, InputError, with_hint
from npuflow.target import load_device
from npuflow.tools.outputs import write_output
from npuflow.tools.validate_text import summary_table, unsupported_text
from npuflow.validate.summary import ErrorSummary
from npuflow.validate.systolic_rows import (
    DEVICE,
    SystolicPrediction,
    SystolicRow,
    SystolicSkipped,
    predict_systolic,
    summarise_systolic,
)

_ID_WIDTH = 48
_TITLE = f"{'cycles of':<{_ID_WIDTH}} {'predicted':>10} {'measured':>10} {'error':>7} {'roofline':>9}"


def validate_systolic(path: str, rows: Sequence[SystolicRow], file: str | None, screen: TextIO) -> ExitCode:
    """Predicts all rows, prints them with their errors, and writes JSON to a file if there is one."""
    predictions: list[SystolicPrediction] = []
    skipped: list[SystolicSkipped] = []
    device = load_device(DEVICE)
    print(_TITLE, file=screen)
    for row in rows:
        answer = predict_systolic(row, device)
        if isinstance(answer, SystolicSkipped):
            skipped.append(answer)
            continue
        predictions.append(answer)
        print(_row_text(answer), file=screen, flush=True)
    summaries = summarise_systolic(predictions)
    print(summary_table(summaries) + unsupported_text([one.reason for one in skipped]), file=screen)
    print(*_words_text(predictions), sep="\n", end="", file=screen)
    if file is not None:
        report = _report_of(path, predictions, summaries, skipped)
        write_output(file, (json.dumps(report, indent=2) + "\n").encode())
    if not predictions:
        hint = "ops matmul and matmul_pair whose tiles fit on the chip can be"
        raise InputError(with_hint(f"none of the {len(rows)} rows of '{path}' can be predicted", hint))
    return ExitCode.OK


def _row_text(made: SystolicPrediction) -> str:
    roofline = "" if made.roofline_error is None else f"{made.roofline_error:+9.1%}"
    return f"{made.id:<{_ID_WIDTH}} {made.cycles:>10} {made.row.cycles:>10g} {made.error:+7.1%} {roofline:>9}".rstrip()


def _words_text(predictions: Sequence[SystolicPrediction]) -> list[str]:
    """How many rows move as many words as measured; nothing where no row says how many."""
    known = [made for made in predictions if made.row.words is not None]
    right = sum(made.words == made.row.words for made in known)
    return [f"words read from DRAM and written to it are as measured in {right} of {len(known)} rows\n"] * bool(known)


def _report_of(
    path: str,
    predictions: Sequence[SystolicPrediction],
    summaries: Sequence[ErrorSummary],
    skipped: Sequence[SystolicSkipped],
) -> dict[str, object]:
    return {
        "file": path,
        "rows": [_row_json(made) for made in predictions],
        "summary": [asdict(one) for one in summaries],
        "unsupported": [{"id": one.row.id, "reason": one.reason} for one in skipped],
    }


def _row_json(made: SystolicPrediction) -> dict[str, object]:
    row = made.row
    measured = {} if row.words is None else {f"measured_words_{end}": n for end, n in asdict(row.words).items()}
    return {
        "id": row.id,
        "op": row.op,
        "predicted_cycles": made.cycles,
        "measured_cycles": row.cycles,
        "error": round(made.error, 5),
        "roofline_cycles": round(made.roofline_cycles, 1),
        "predicted_words_read": made.words.read,
        "predicted_words_written": made.words.written,
        **measured,
    }
