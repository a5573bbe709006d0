"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

INDENT = "  "


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 else f"{100 * share:.0f} %"


def quantity(value: float, unit: str) -> str:
    """Four digits and a prefix: `142.3 us`, `58.98 Tops/s`."""
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u")):
        if abs(value) >= scale:
            return f"{value / scale:.4g} {prefix}{unit}"
    return f"{value / 1e-9:.4g} n{unit}" if value else f"0 {unit}"


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with the first and the last column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row, widths)]
        cells[0], cells[-1] = f"{row[0]:<{widths[0]}}", row[-1]
        yield (INDENT + "  ".join(cells)).rstrip()
