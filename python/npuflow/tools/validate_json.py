"""What `npuflow validate --json` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from npuflow.tuning.choices import DesignChoice, DesignChoices, summaries_of
from npuflow.tuning.trial import TrialOutcome
from npuflow.validate.pairs import Ranking
from npuflow.validate.predict import Skipped
from npuflow.validate.summary import ErrorSummary, Prediction


def report_of(
    file: str,
    predictions: Sequence[Prediction],
    summaries: Sequence[ErrorSummary],
    skipped: Sequence[Skipped],
    rankings: Sequence[Ranking] | None,
    chosen: DesignChoices | None,
) -> dict[str, object]:
    """Rows in the file's order; `pairs` and `choices` only where they were asked for."""
    choices = {one.row.location: _choice(one) for one in chosen.choices} if chosen is not None else {}
    report: dict[str, object] = {
        "file": file,
        "rows": [{**_row(made), **choices.get(made.row.location, {})} for made in predictions],
        "summary": [asdict(summary) for summary in summaries],
        "unsupported": [{"id": one.row.id, "reason": one.reason} for one in skipped],
    }
    if rankings is not None:
        report["pairs"] = [_ranking(one) for one in rankings]
    if chosen is not None:
        report["choices"] = {
            **{name: asdict(summary) for name, summary in summaries_of(chosen.choices)},
            "not_compared": [{"id": one.row.id, "reason": one.reason} for one in chosen.skipped],
        }
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


def _choice(one: DesignChoice) -> dict[str, object]:
    """The default's beside the design's, and what was tuned; times are behind the launch."""
    found: dict[str, object] = {
        "design": _strategy(one.design),
        "default": {**_strategy(one.default), "ratio": round(one.ratio, 5)},
    }
    if one.tuned is not None and one.tuned_ratio is not None:
        found["tuned"] = {**_strategy(one.tuned), "ratio": round(one.tuned_ratio, 5)}
    return {"choice": found}


def _strategy(outcome: TrialOutcome) -> dict[str, object]:
    return {
        "us": round(outcome.own_seconds * 1e6, 3),
        "launch_us": round((outcome.seconds - outcome.own_seconds) * 1e6, 3),
        "bound_by": outcome.bound_by,
        "l3_bytes": outcome.l3_bytes,
        "strategy": outcome.used[0],
    }
