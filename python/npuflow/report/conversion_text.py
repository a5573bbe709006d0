"""What computing in another type costs, as text: a line for a screen, and a table of layers."""

from __future__ import annotations

from collections.abc import Iterator

from npuflow.compiler.conversion import Conversion
from npuflow.compiler.layer_errors import Deviation
from npuflow.report.model import Report
from npuflow.report.words import percent

_HEADS = ("layer", "factors", "error", "largest", "where")


def conversion_texts(report: Report, name: str) -> list[str]:
    """What is said of a function, if it was converted."""
    return [conversion_text(one) for one in report.conversions if one.name == name]


def conversion_text(conversion: Conversion) -> str:
    """`i8 for f32: results are 0.83 % off`, and which layer most."""
    kinds = {layer.factors for layer in conversion.layers}
    beside = " and bf16" if conversion.compute_type.value == "i8" and "bf16" in kinds else ""
    what = f"{conversion.compute_type.value}{beside} for f32"
    if conversion.unmeasured:
        return f"{what}; errors are not measured: {conversion.unmeasured}"
    if not conversion.layers:
        return f"nothing is computed in {conversion.compute_type.value}: there are no sums of products of f32"
    worst = max(conversion.results, key=lambda result: result.relative)
    text = f"{what}: the result is {_off(worst)}"
    layer = max(conversion.layers, key=lambda one: one.error.relative)
    return f"{text}; of {len(conversion.layers)} layers {layer.sizes} most, {percent(layer.error.relative)}"


def _off(found: Deviation) -> str:
    return f"{percent(found.relative)} off, at most {found.largest:.3g} of {found.magnitude:.3g}"


def layer_lines(conversion: Conversion) -> Iterator[str]:
    """A table with a row for each layer."""
    rows = [_HEADS]
    for layer in conversion.layers:
        largest = f"{layer.error.largest:.3g} of {layer.error.magnitude:.3g}"
        rows.append((layer.sizes, layer.factors, percent(layer.error.relative), largest, layer.place))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip()
