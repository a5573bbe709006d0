"""What `npuflow validate` prints: rows as they are made, then tables."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from npuflow.validate.pairs import Ranking
from npuflow.validate.predict import Skipped
from npuflow.validate.summary import ErrorSummary, Prediction

ID_WIDTH = 72
_SOURCE_WIDTH = 56
_MOST_WRONG = 10

TITLE = f"{'measurement':<{ID_WIDTH}} {'predicted':>10} {'measured':>10} {'error':>7} {'roofline':>9}"


def row_text(made: Prediction) -> str:
    roofline = "" if made.roofline_error is None else f"{made.roofline_error:+9.1%}"
    name = textwrap.shorten(made.row.id, ID_WIDTH, placeholder="")
    return f"{name:<{ID_WIDTH}} {made.predicted_us:10.1f} {made.row.time_us:10.1f} {made.error:+7.1%} {roofline:>9}"


def summary_text(summaries: Sequence[ErrorSummary], skipped: Sequence[Skipped]) -> str:
    """Errors by group, and what was left out."""
    return summary_table(summaries) + unsupported_text([one.reason for one in skipped])


def summary_table(summaries: Sequence[ErrorSummary]) -> str:
    """Absolute errors, a line for each group of rows; behind the roofline's mean, ours as a share of it."""
    heads = ("rows", "median", "mean", "90th", "worst", "roofline", "of it")
    lines = ["", f"{'absolute error':<{_SOURCE_WIDTH}} " + " ".join(f"{head:>7}" for head in heads)]
    for one in summaries:
        shares = (one.median, one.mean, one.percentile_90, one.worst, one.roofline_mean)
        cells = "".join(f" {'' if share is None else f'{share:.1%}':>7}" for share in shares)
        cells += f" {'' if one.of_roofline is None else f'{one.of_roofline:.2f}':>8}"
        lines.append(f"{_shortened(one.group):<{_SOURCE_WIDTH}} {one.rows:>7}{cells}".rstrip())
    return "\n".join(lines)


def unsupported_text(reasons: Sequence[str]) -> str:
    """Why rows were left out, how many for each reason; nothing where none was."""
    lines = ["", "", f"not yet supported: {len(reasons)} rows", *counted_reasons(reasons)]
    return "\n".join(lines) if reasons else ""


def counted_reasons(reasons: Sequence[str]) -> list[str]:
    """A line for each reason, the most frequent first."""
    return [f"  {count:>4}  {reason}" for reason, count in Counter(reasons).most_common()]


def _shortened(group: str) -> str:
    """A group's name, without what is in the middle of a long one."""
    if len(group) <= _SOURCE_WIDTH:
        return group
    half = (_SOURCE_WIDTH - 3) // 2
    return f"{group[: _SOURCE_WIDTH - 3 - half]}...{group[-half:]}"


def pairs_text(rankings: Sequence[Ranking]) -> str:
    """Which of two designs is faster: how often that was told, and the pairs furthest apart where it wasn't."""
    if not rankings:
        return "\nno two rows are of equal work and more than 10 % apart"
    title = f"{'which of two designs of equal work is faster':<{_SOURCE_WIDTH}}"
    lines = ["", f"{title}   pairs   right roofline  of one type   right"]
    for one in rankings:
        roofline = f"{one.roofline_right / one.roofline_pairs:.1%}" if one.roofline_pairs else ""
        alike = f"{one.alike:>12} {one.alike_right / one.alike:7.1%}" if one.alike else ""
        told = f"{one.pairs:>7} {one.right / one.pairs:7.1%} {roofline:>8} {alike}"
        lines.append(f"{one.device:<{_SOURCE_WIDTH}} {told}".rstrip())
        for pair in one.wrong[:_MOST_WRONG]:
            names = f"{pair.faster.row.id} is faster than {pair.slower.row.id}"
            lines.append(f"  not told: {names}, by {pair.ratio - 1:.0%}")
        if len(one.wrong) > _MOST_WRONG:
            lines.append(f"  and {len(one.wrong) - _MOST_WRONG} more that are closer")
    return "\n".join(lines)
