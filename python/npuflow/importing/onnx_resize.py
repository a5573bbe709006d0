"""Images that ONNX models scale: sums of pixels that are read at known places, dimension by dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.onnx_graphs import Graph, attributes_of, element_kinds
from npuflow.importing.sampling import beyond, near

_NEAREST: Mapping[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda place: math.ceil(place - 0.5),
    "round_prefer_ceil": lambda place: math.floor(place + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}
_CROPPED = "tf_crop_and_resize"


@dataclass(frozen=True)
class _ScaledLine:
    """One dimension: pixels given and made, what ONNX multiplies the first by, and the part of them that is shown."""

    given: int
    made: int
    factor: float
    start: float = 0.0
    end: float = 1.0

    @property
    def is_same(self) -> bool:
        return self.given == self.made and self.factor == 1.0 and (self.start, self.end) == (0.0, 1.0)

    def place_of(self, number: int, way: str) -> float:
        """Where a pixel that is made lies among those given. ONNX counts parts of pixels, of which none is made."""
        wide, last = self.given * self.factor, self.given - 1
        if way == "align_corners":
            return number * last / (wide - 1) if wide != 1 else 0.0
        if way == "asymmetric":
            return number / self.factor
        if way == _CROPPED:
            shown = self.end - self.start
            return (number * shown * last / (wide - 1) if wide != 1 else shown * last / 2) + self.start * last
        if way == "pytorch_half_pixel" and wide == 1:
            return -0.5
        moved = self.given / 2 * (1 - self.made / wide) if way == "half_pixel_symmetric" else 0.0
        return moved + (number + 0.5) / self.factor - 0.5


def resized(node: Any, graph: Graph) -> bool:  # noqa: ANN401  (onnx has no types)
    """Whether nodes have been added for one that scales:

        y = Resize(x, scales=[1, 2], mode="linear")

    becomes, with a constant number of a pixel and a weight for each column of y,

        y = Gather(x, [0, 0, ...], axis=1) * [1, 0.75, ...] + Gather(x, [0, 1, ...], axis=1) * [0, 0.25, ...]
    """
    said, kinds = attributes_of(node), element_kinds()
    kind, lines = graph.type_of(node.input[0]), _lines(node, said, graph)
    mode, way = (
        said.get("mode", b"nearest").decode(),
        said.get("coordinate_transformation_mode", b"half_pixel").decode(),
    )
    is_narrow = kind in (kinds.FLOAT16, kinds.BFLOAT16)
    if (
        lines is None
        or kind is None
        or (mode != "nearest" and not is_narrow and kind not in (kinds.FLOAT, kinds.DOUBLE))
    ):
        return False
    image, wide = node.input[0], kinds.FLOAT if is_narrow and mode != "nearest" else kind
    if wide != kind:
        image = graph.add("Cast", [image], to=wide)[0]
    for dim, line in enumerate(lines):
        if line.is_same:
            continue
        places = [line.place_of(number, way) for number in range(line.made)]
        if mode == "nearest":
            nearest = _NEAREST[said.get("nearest_mode", b"round_prefer_floor").decode()]
            image = _read(image, dim, [nearest(place) for place in places], line, graph)
        else:
            behind = (len(lines) - 1 - dim, wide)
            image = _sum(image, dim, _weights(places, line, mode, said), line, behind, graph)
        is_outside = [way == _CROPPED and not 0 <= place <= line.given - 1 for place in places]
        if any(is_outside):
            shape = [line.made, *[1] * (len(lines) - 1 - dim)]
            mask = graph.reshape(graph.row([int(each) for each in is_outside], kinds.BOOL), shape)
            image = graph.add("Where", [mask, graph.row([said.get("extrapolation_value", 0.0)], wide), image])[0]
    graph.add("Cast", [image], node.output, to=kind)
    return True


def _lines(node: Any, said: Mapping[str, Any], graph: Graph) -> list[_ScaledLine] | None:  # noqa: ANN401
    """None where something isn't known."""
    given, made = graph.shape_of(node.input[0]), graph.shape_of(node.output[0])
    _, roi, scales, sizes = [*map(str, node.input), "", "", ""][:4]
    if given is None or made is None or graph.version < 11 or 0 in (*given, *made):
        return None
    dims = [dim % len(given) for dim in said.get("axes", range(len(given)))]
    factors = [new / old for new, old in zip(made, given, strict=True)]
    policy = said.get("keep_aspect_ratio_policy", b"stretch")
    numbers = graph.numbers_of(scales) if scales else None
    if numbers:
        factors = _at(dims, numbers, [1.0] * len(given))
    elif not sizes and said.get("coordinate_transformation_mode") == b"align_corners":
        # torch-mlir has factors for ratios of whole sizes.
        what = "'onnx.Resize' with align_corners by factors that are computed cannot be imported"
        raise InputError(with_hint(what, "make its input scales a constant, or give sizes"))
    elif not sizes:
        return None
    elif policy != b"stretch":
        wanted = graph.numbers_of(sizes)
        if wanted is None:
            return None
        all_factors = [size / given[dim] for size, dim in zip(wanted, dims, strict=True)]
        factor = min(all_factors) if policy == b"not_larger" else max(all_factors)
        factors = _at(dims, [factor] * len(dims), [1.0] * len(given))
    ends: list[tuple[float, float]] = [(0.0, 1.0)] * len(given)
    if said.get("coordinate_transformation_mode") == _CROPPED.encode():
        parts = graph.numbers_of(roi)
        if parts is None:
            return None
        count = len(dims)
        ends = _at(dims, list(zip(parts[:count], parts[count:], strict=True)), ends)
    each_line = zip(given, made, factors, ends, strict=True)
    return [_ScaledLine(old, new, factor, start, end) for old, new, factor, (start, end) in each_line]


def _at(dims: Sequence[int], values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    found = [*others]
    for dim, value in zip(dims, values, strict=True):
        found[dim] = value
    return found


def _weights(places: Sequence[float], line: _ScaledLine, mode: str, said: Mapping[str, Any]) -> list[dict[int, float]]:
    """Of the pixels around each place, by their numbers, which may be outside."""
    steep, width = said.get("cubic_coeff_a", -0.75), 1.0
    if said.get("antialias", 0):
        width = max(1.0, 1.0 / line.factor)
    reach = 1 if mode == "linear" else 2
    found = []
    for place in places:
        first = math.floor(place)
        around = range(first - math.ceil(reach * width) + 1, first + math.ceil(reach * width) + 1)
        far = {pixel: abs(pixel - place) / width for pixel in around}
        weights = {pixel: max(0.0, 1 - each) if mode == "linear" else _keys(each, steep) for pixel, each in far.items()}
        if said.get("exclude_outside", 0):
            weights = {pixel: each if 0 <= pixel < line.given else 0.0 for pixel, each in weights.items()}
        total = sum(weights.values()) if said.get("antialias", 0) or said.get("exclude_outside", 0) else 1.0
        found.append({pixel: each / total for pixel, each in weights.items()})
    return found


def _keys(far: float, steep: float) -> float:
    """Keys' function."""
    return 0.0 if far >= 2 else beyond(far, steep) if far >= 1 else near(far, steep)


def _sum(
    image: str, dim: int, weights: Sequence[dict[int, float]], line: _ScaledLine, behind: tuple[int, int], graph: Graph
) -> str:
    """Of as many pixels as have weights: each read for all places at once. `behind`: dimensions, and the type."""
    parts = []
    for pixels, factors in zip(zip(*weights, strict=True), zip(*(each.values() for each in weights), strict=True)):
        if any(factors):
            row = graph.reshape(graph.row(factors, behind[1]), [line.made, *[1] * behind[0]])
            parts.append(graph.add("Mul", [_read(image, dim, pixels, line, graph), row])[0])
    total = parts[0]
    for part in parts[1:]:
        total = graph.add("Add", [total, part])[0]
    return total


def _read(image: str, dim: int, pixels: Sequence[int], line: _ScaledLine, graph: Graph) -> str:
    """Those pixels along a dimension; the outermost for what is outside."""
    inside = [min(max(pixel, 0), line.given - 1) for pixel in pixels]
    return graph.add("Gather", [image, graph.whole(inside)], axis=dim)[0]
