"""Nodes of ONNX models that torch-mlir cannot lower, or computes otherwise than ONNX says, as others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.onnx_formulas import (
    dequantized,
    determinant,
    gelu,
    normalized,
    product_with_row,
    sum_with_scalars,
)
from npuflow.importing.onnx_graphs import LEAST, Graph, attributes_of, element_kinds
from npuflow.importing.onnx_nothing import without_elements
from npuflow.importing.onnx_recurrent import forwards
from npuflow.importing.onnx_resize import resized
from npuflow.importing.onnx_sampling import inside


def rewrite_nodes(model: Any) -> bool:  # noqa: ANN401  (onnx has no types)
    """Edits a model whose shapes have been inferred; says whether it has.

    Raises InputError for what nobody would compute as it is said.
    """
    graph = Graph(model)
    nodes: list[Any] = []
    is_edited = False
    for node in list(model.graph.node):
        way = _WAYS.get(node.op_type) if not node.domain else None
        graph.made = []
        is_other = without_elements(node, graph) or (way is not None and way(node, graph))
        nodes += graph.made if is_other else [node]
        is_edited |= is_other
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return is_edited


def _product_of_batches(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """A product of bytes of more than two dimensions as one of integers that is scaled by one number.

    torch-mlir forgets the zero points of these.
    """
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = node.input
    shapes = [graph.shape_of(name) for name in (a, b)]
    scales = [graph.shape_of(name) for name in (a_scale, b_scale, scale)]
    if any(shape is None for shape in shapes) or all(len(shape or ()) <= 2 for shape in shapes):
        return False
    if any(shape not in ((), (1,)) for shape in scales):
        return False
    kind = element_kinds().FLOAT
    sums = graph.add("MatMulInteger", [a, b, a_zero, b_zero])
    floats = graph.add("Cast", sums, to=kind)[0]
    wide = [graph.add("Cast", [name], to=kind)[0] for name in (a_scale, b_scale, scale)]
    both = graph.add("Mul", wide[:2])[0]
    found = graph.add("Mul", [floats, both])[0]
    graph.add("QuantizeLinear", [found, wide[2], zero], node.output)
    return True


def _transposed(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """A transposed convolution as one of pixels with zeros between, by weights turned around.

    torch-mlir gives those of several groups shapes that don't fit, and has none that are padded unevenly, or so that
    the result has a size that is given.
    """
    said = attributes_of(node)
    shape, weights, made = graph.shape_of(node.input[0]), graph.shape_of(node.input[1]), graph.shape_of(node.output[0])
    if not shape or not weights or graph.version < 13:
        return False
    groups, dims = said.get("group", 1), len(shape) - 2
    sizes, kernel = shape[2:], weights[2:]
    steps, apart = said.get("strides", [1] * dims), said.get("dilations", [1] * dims)
    more, pads = said.get("output_padding", [0] * dims), said.get("pads", [0] * 2 * dims)
    if said.get("auto_pad", b"NOTSET") != b"NOTSET" or "output_shape" in said:
        if not made:
            return False
        spans = zip(sizes, steps, kernel, apart, more, made[2:], strict=True)
        pads = _pads_for([step * (size - 1) + add + (k - 1) * gap + 1 - new for size, step, k, gap, add, new in spans],
                         is_upper=said.get("auto_pad") == b"SAME_UPPER")  # fmt: skip
    elif groups == 1 and pads[:dims] == pads[dims:]:
        return False
    reach = [gap * (size - 1) for gap, size in zip(apart, kernel, strict=True)]
    pixels = _with_zeros_between(node.input[0], shape, steps, graph)
    before = [reach[dim] - pads[dim] for dim in range(dims)]
    behind = [reach[dim] - pads[dims + dim] + more[dim] + 1 - steps[dim] for dim in range(dims)]
    for dim in range(dims):
        if min(before[dim], behind[dim]) < 0:
            end = sizes[dim] * steps[dim] + min(behind[dim], 0)
            pixels = graph.slice(pixels, dim + 2, max(-before[dim], 0), end)
    turned = graph.reshape(node.input[1], [groups, weights[0] // groups, *weights[1:]])
    turned = graph.add("Transpose", [turned], perm=[0, 2, 1, *range(3, 3 + dims)])[0]
    turned = graph.reshape(turned, [groups * weights[1], weights[0] // groups, *kernel])
    for dim in range(dims):
        if kernel[dim] > 1:
            turned = graph.slice(turned, dim + 2, -1, LEAST, -1)
    around = [max(each, 0) for each in (*before, *behind)]
    inputs = [pixels, turned, *node.input[2:]]
    graph.add("Conv", inputs, node.output, group=groups, dilations=apart, pads=around, kernel_shape=kernel)
    return True


def _pads_for(totals: list[int], is_upper: bool) -> list[int]:
    """All pads in front, then all behind; of an odd one more is behind, or in front."""
    front = [total // 2 if is_upper else total - total // 2 for total in totals]
    return [*front, *(total - each for total, each in zip(totals, front, strict=True))]


def _padded(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """A convolution of bytes that is padded, of which torch-mlir has none, as one of padded bytes."""
    said = attributes_of(node)
    pads, names = said.get("pads", []), [*node.input, "", ""]
    if not any(pads):
        return False
    half = len(pads) // 2
    ends = graph.whole([0, 0, *pads[:half], 0, 0, *pads[half:]])
    zero = [graph.add("Reshape", [names[2], graph.whole([])])[0]] if names[2] else []
    padded = graph.add("Pad", [node.input[0], ends, *zero])
    kept = {name: value for name, value in said.items() if name in ("dilations", "group", "kernel_shape", "strides")}
    graph.add("ConvInteger", [*padded, *node.input[1:]], node.output, **kept)
    return True


def _with_zeros_between(pixels: str, shape: tuple[int, ...], steps: list[int], graph: Graph) -> str:
    """Each pixel followed by zeros, up to the step's length."""
    if all(step == 1 for step in steps):
        return pixels
    apart = [each for size in shape[2:] for each in (size, 1)]
    behind = [each for step in steps for each in (0, step - 1)]
    wide = graph.reshape(pixels, [*shape[:2], *apart])
    wide = graph.add("Pad", [wide, graph.whole([0] * (4 + len(behind)) + behind)])[0]
    return graph.reshape(wide, [*shape[:2], *(size * step for size, step in zip(shape[2:], steps, strict=True))])


def _slice_backwards(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """Starts behind the last element are the last one, which torch-mlir takes for granted."""
    names = [*node.input, *[""] * (5 - len(node.input))]
    starts, dims, steps = (graph.numbers_of(names[place]) for place in (1, 3, 4))
    shape = graph.shape_of(names[0])
    if starts is None or steps is None or shape is None or all(step > 0 for step in steps):
        return False
    if dims is None and names[3]:
        return False
    dims = list(range(len(starts))) if dims is None else dims
    bounded = [
        min(start, shape[dim] - 1) if step < 0 else start for start, dim, step in zip(starts, dims, steps, strict=True)
    ]
    if bounded == starts:
        return False
    inputs = [node.input[0], graph.whole(bounded), node.input[2], graph.whole(dims), graph.whole(steps)]
    ends = graph.add("Cast", [inputs[2]], to=element_kinds().INT64)
    graph.add("Slice", [*inputs[:2], *ends, *inputs[3:]], node.output)
    return True


def _rms_norm(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """As ONNX's function has it, along known dimensions: torch-mlir has a name for it, nothing behind it."""
    said = attributes_of(node)
    shape, kind = graph.shape_of(node.input[0]), graph.type_of(node.input[0])
    if shape is None or kind is None:
        return False
    x = graph.add("Cast", node.input[:1], to=said.get("stash_type", 1))[0]
    first = said.get("axis", -1) % len(shape)
    mean = graph.add("ReduceMean", [*graph.add("Mul", [x, x]), graph.whole(range(first, len(shape)))])[0]
    epsilon = graph.add("Constant", [], value_float=said.get("epsilon", 1e-5))[0]
    epsilon = graph.add("Cast", [epsilon], to=said.get("stash_type", 1))[0]
    size = graph.add("Sqrt", graph.add("Add", [mean, epsilon]))[0]
    normal = graph.add("Cast", graph.add("Div", [x, size]), to=kind)[0]
    graph.add("Mul", [normal, node.input[1]], node.output)
    return True


def _depths(node: Any, _: Graph) -> bool:  # noqa: ANN401
    if attributes_of(node).get("mode", b"DCR") != b"DCR":
        what = f"'onnx.{node.op_type}' of another mode than DCR cannot be imported"
        raise InputError(with_hint(what, "write it as a reshape and a transpose"))
    return False


def _boxes(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """torch-mlir has the boxes of one class in one image; what it makes of several is others."""
    shape = graph.shape_of(node.input[1])
    if shape is None or shape[:2] != (1, 1):
        what = f"'onnx.{node.op_type}' of several images or classes cannot be imported"
        raise InputError(with_hint(what, "write one for each of them"))
    return False


_WAYS: Mapping[str, Callable[[Any, Graph], bool]] = {
    "DequantizeLinear": dequantized,
    "Det": determinant,
    "Einsum": sum_with_scalars,
    "Gelu": gelu,
    "LpNormalization": normalized,
    "MatMul": product_with_row,
    "ConvInteger": _padded,
    "ConvTranspose": _transposed,
    "RMSNormalization": _rms_norm,
    "GridSample": inside,
    "QLinearMatMul": _product_of_batches,
    "Resize": resized,
    "Slice": _slice_backwards,
    "NonMaxSuppression": _boxes,
    "SpaceToDepth": _depths,
    **dict.fromkeys(("GRU", "LSTM", "RNN"), forwards),
}
