"""Nodes of ONNX models whose numbers torch-mlir has otherwise than ONNX, as what they compute."""

from __future__ import annotations

import math
import string
from typing import Any

from npuflow.importing.onnx_graphs import Graph, attributes_of, element_kinds


def gelu(node: Any, graph: Graph) -> bool:  # noqa: ANN401  (onnx has no types)
    """By the hyperbolic tangent, where that is asked for: torch-mlir has 0.797724 for the root of 2 / pi, 0.797885."""
    x, kind = node.input[0], graph.type_of(node.input[0])
    kinds = element_kinds()
    if attributes_of(node).get("approximate") != b"tanh" or kind is None:
        return False
    wide = kind if kind == kinds.DOUBLE else kinds.FLOAT
    (x,) = graph.add("Cast", [x], to=wide)
    half, one, cubic, root = (graph.number(each, wide) for each in (0.5, 1.0, 0.044715, math.sqrt(2 / math.pi)))
    (cube,) = graph.add("Mul", [*graph.add("Mul", [x, x]), x])
    (inner,) = graph.add("Add", [x, *graph.add("Mul", [cube, cubic])])
    (share,) = graph.add("Add", [*graph.add("Tanh", graph.add("Mul", [inner, root])), one])
    found = graph.add("Mul", [*graph.add("Mul", [x, half]), share])
    graph.add("Cast", found, node.output, to=kind)
    return True


def normalized(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """Zero where all that is summed is zero, and not zero over zero."""
    said, shape, kind = attributes_of(node), graph.shape_of(node.input[0]), graph.type_of(node.input[0])
    if shape is None or kind is None:
        return False
    (size,) = graph.reduce(f"ReduceL{said.get('p', 2)}", node.input[0], said.get("axis", -1) % len(shape))
    zero = graph.number(0.0, kind)
    is_zero, quotient = graph.add("Equal", [size, zero]), graph.add("Div", [node.input[0], size])
    graph.add("Where", [*is_zero, zero, *quotient], node.output)
    return True


def determinant(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """By Gauss: the row with the largest element of a column goes first, all others lose that column and are left.

    torch-mlir takes the first row, whatever its element is, so that a zero there makes no number of it.
    """
    x, shape, kind = node.input[0], graph.shape_of(node.input[0]), graph.type_of(node.input[0])
    if shape is None or kind is None or graph.version < 13:
        return False
    row, column, zero, one = len(shape) - 2, len(shape) - 1, graph.number(0.0, kind), graph.number(1.0, kind)
    found = [one]
    for size in range(shape[-1], 0, -1):
        (best,) = graph.add("ArgMax", graph.add("Abs", [graph.slice(x, column, 0, 1)]), axis=row, keepdims=1)
        (is_best,) = graph.add("Equal", [graph.reshape(graph.whole(range(size)), [size, 1]), best])
        (pivot,) = graph.reduce("ReduceSum", graph.add("Where", [is_best, x, zero])[0], row)
        head = graph.slice(pivot, column, 0, 1)
        signed = [*graph.add("Equal", [best, graph.whole([0])]), head, *graph.add("Neg", [head])]
        found = graph.add("Mul", [*found, *graph.add("Where", signed)])
        if size == 1:
            break
        (x,) = graph.add("Where", [is_best, graph.slice(x, row, 0, 1), x])
        x = graph.slice(x, row, 1, size)
        divisor = graph.add("Where", [*graph.add("Equal", [head, zero]), one, head])
        share = graph.add("Div", [graph.slice(x, column, 0, 1), *divisor])
        lost = graph.add("Mul", [*share, graph.slice(pivot, column, 1, size)])
        (x,) = graph.add("Sub", [graph.slice(x, column, 1, size), *lost])
    graph.add("Reshape", [*found, graph.whole(shape[:-2])], node.output)
    return True


def dequantized(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """Unsigned numbers with a zero point for each channel, which torch-mlir reads as if it had a sign."""
    said, kinds = attributes_of(node), element_kinds()
    shape, scales, kind = graph.shape_of(node.input[0]), graph.shape_of(node.input[1]), graph.type_of(node.input[1])
    is_unsigned = graph.type_of(node.input[0]) in (kinds.UINT8, kinds.UINT16)
    if not is_unsigned or shape is None or scales is None or kind is None or len(node.input) <= 2:
        return False
    if len(scales) != 1 or said.get("block_size", 0):
        return False
    axis = said.get("axis", 1) % len(shape)
    along = [scales[0], *[1] * (len(shape) - 1 - axis)]
    numbers = [graph.add("Cast", [name], to=kinds.INT32)[0] for name in (node.input[0], node.input[2])]
    difference = graph.add("Sub", [numbers[0], graph.reshape(numbers[1], along)])
    floats = graph.add("Cast", difference, to=kinds.FLOAT)
    (scale,) = graph.add("Cast", [graph.reshape(node.input[1], along)], to=kinds.FLOAT)
    found = graph.add("Mul", [*floats, scale])
    graph.add("Cast", found, node.output, to=said.get("output_dtype", 0) or kind)
    return True


def product_with_row(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """A product of several matrices and one row as one of matrices."""
    shapes = [graph.shape_of(name) for name in node.input]
    made = graph.shape_of(node.output[0])
    if made is None or any(not shape for shape in shapes):
        return False
    (size, *left), right = shapes[0] or (), shapes[1] or ()
    if left and len(right) == 1 and len(left) > 1:
        inputs = [node.input[0], graph.reshape(node.input[1], [right[0], 1])]
    elif not left and len(right) > 2:
        inputs = [graph.reshape(node.input[0], [1, size]), node.input[1]]
    else:
        return False
    graph.add("Reshape", [*graph.add("MatMul", inputs), graph.whole(made)], node.output)
    return True


def sum_with_scalars(node: Any, graph: Graph) -> bool:  # noqa: ANN401
    """Numbers in an `Einsum` as rows of one, on which torch-mlir doesn't end the process."""
    shapes, equation = [graph.shape_of(name) for name in node.input], attributes_of(node)["equation"].decode()
    if () not in shapes:
        return False
    letter = next(each for each in string.ascii_letters if each not in equation)
    terms, arrow, made = equation.replace(" ", "").partition("->")
    if not arrow:
        once = sorted(each for each in set(terms) if each.isalpha() and terms.count(each) == 1)
        made = ("..." if "..." in terms else "") + "".join(once)
    read = [letter if shape == () else term for shape, term in zip(shapes, terms.split(","), strict=True)]
    inputs = [graph.reshape(name, [1]) if shape == () else name for shape, name in zip(shapes, node.input, strict=True)]
    graph.add("Einsum", inputs, node.output, equation=f"{','.join(read)}->{made}")
    return True
