"""What `npuflow validate --json` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from npuflow.validate.pairs import Ranking
from npuflow.validate.predict import Skipped
from npuflow.validate.summary import ErrorSummary, Prediction


def report_of(
    file: str,
    predictions: Sequence[Prediction],
    summaries: Sequence[ErrorSummary],
    skipped: Sequence[Skipped],
    rankings: Sequence[Ranking] | None,
) -> dict[str, object]:
    """Rows in the file's order; `pairs` only where they were asked for."""
    report: dict[str, object] = {
        "file": file,
        "rows": [_row(made) for made in predictions],
        "summary": [asdict(summary) for summary in summaries],
        "unsupported": [{"id": one.row.id, "reason": one.reason} for one in skipped],
    }
    if rankings is not None:
        report["pairs"] = [_ranking(one) for one in rankings]
    return report


def _row(made: Prediction) -> dict[str, object]:
    return {
        "id": made.row.id,
        "source": made.row.source,
        "op": made.row.op,
        "predicted_us": round(made.predicted_us, 3),
        "measured_us": made.row.time_us,
        "error": round(made.error, 5),
        "roofline_us": None if made.roofline_us is None else round(made.roofline_us, 3),
    }


def _ranking(one: Ranking) -> dict[str, object]:
    return {
        "device": one.device,
        "pairs": one.pairs,
        "right": one.right,
        "of_one_type": one.alike,
        "of_one_type_right": one.alike_right,
        "roofline_pairs": one.roofline_pairs,
        "roofline_right": one.roofline_right,
        "wrong": [{"faster": pair.faster.row.id, "slower": pair.slower.row.id} for pair in one.wrong],
    }
