"""`npuflow validate --choose`: what npuflow chooses for measured matmuls, and what that prints."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from npuflow.api.tuned import NO_CACHE
from npuflow.tools.compile_flags import processes
from npuflow.tools.progress import Progress
from npuflow.tools.validate_text import ID_WIDTH, counted_reasons
from npuflow.tuning.cache import default_folder
from npuflow.tuning.choices import DesignChoice, DesignChoices, compare, summaries_of
from npuflow.tuning.text import strategy_words
from npuflow.tuning.tune_module import TuneSettings
from npuflow.validate.measurements import Measurement


def choose(
    rows: Sequence[Measurement], screen: TextIO, candidates: int | None, jobs: int | None, cache: str | None
) -> DesignChoices:
    """What npuflow chooses for the matmuls among rows, printed; with candidates, also what tuning finds."""
    at_once = processes(jobs)
    folder = default_folder() if cache is None else None if cache == NO_CACHE else Path(cache)
    settings = None if candidates is None else TuneSettings(candidates, jobs=at_once, cache=folder)
    with Progress() as progress:
        compared = compare(rows, at_once, settings, progress.counted_step)
    print(_text(compared), file=screen)
    return compared


def _text(compared: DesignChoices) -> str:
    """A line for each matmul, how the choices do on the whole, and which rows have none."""
    return "\n".join(["", *_rows(compared.choices), *_closing(compared), *_left_out(compared)])


def _rows(choices: Sequence[DesignChoice]) -> Iterator[str]:
    if not choices:
        return
    heads = ["design", "default", "ratio", *(["tuned", "ratio"] if any(one.tuned for one in choices) else [])]
    yield f"{'simulated, behind the launch':<{ID_WIDTH}} " + " ".join(f"{head:>10}" for head in heads)
    for one in choices:
        name = textwrap.shorten(one.row.id, ID_WIDTH, placeholder="")
        cells = f"{_us(one.design.own_seconds)} {_us(one.default.own_seconds)} {one.ratio:10.4f}"
        if one.tuned is not None:
            cells += f" {_us(one.tuned.own_seconds)} {one.tuned_ratio:10.4f}"
        yield f"{name:<{ID_WIDTH}} {cells}"
        if one.ratio > 1:
            yield f"  the default: {strategy_words(one.default.used[0])}; bound by {one.default.bound_by}"


def _closing(compared: DesignChoices) -> Iterator[str]:
    for name, summary in summaries_of(compared.choices):
        above = f"{summary.above_one} of {summary.rows} above 1, at worst {summary.worst:.4f}, {summary.worst_id}"
        yield f"{name} over design: {summary.geometric_mean:.4f} in the geometric mean, {above}"


def _left_out(compared: DesignChoices) -> Iterator[str]:
    if compared.skipped:
        yield f"no choice for {len(compared.skipped)} rows"
        yield from counted_reasons([one.reason for one in compared.skipped])


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:10.1f}"
