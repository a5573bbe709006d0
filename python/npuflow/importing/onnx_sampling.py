"""Images that ONNX models sample at points: none of them outside of the image, where torch-mlir goes wrong."""

from __future__ import annotations

from typing import Any

from npuflow.importing.onnx_graphs import Graph, attributes_of


def inside(node: Any, graph: Graph) -> bool:  # noqa: ANN401  (onnx has no types)
    """Points outside are moved to the image's border, around which zeros are if that is what is outside.

        y = GridSample(x, points)

    becomes, where points are places of pixels meanwhile, from 0,

        y = GridSample(Pad(x, 1), (clamp(a * points + b, -1, size) + 1) * 2 / (size + 1) - 1, align_corners=1)
    """
    said = attributes_of(node)
    outside, mode = said.get("padding_mode", b"zeros"), said.get("mode", b"linear")
    shape, kind = graph.shape_of(node.input[0]), graph.type_of(node.input[1])
    if not shape or len(shape) != 4 or kind is None or graph.version < 13:
        return False
    if outside not in (b"zeros", b"border") or mode not in (b"linear", b"bilinear", b"nearest"):
        return False
    sizes, around = [shape[3], shape[2]], 1 if outside == b"zeros" else 0
    image = graph.add("Pad", [node.input[0], graph.whole([0, 0, 1, 1] * 2)])[0] if around else node.input[0]
    steps = [(size - 1 if said.get("align_corners", 0) else size) / 2 for size in sizes]
    middle = [(size - 1) / 2 for size in sizes]
    last = [size - 1 + 2 * around for size in sizes]

    def computed(op: str, points: str, numbers: list[float]) -> str:
        return graph.add(op, [points, graph.row(numbers, kind)])[0]

    places = computed("Add", computed("Mul", node.input[1], steps), middle)
    if mode == b"nearest":
        places = graph.add("Round", [places])[0]
    places = computed("Min", places, [float(size - 1 + around) for size in sizes])
    places = computed("Max", places, [float(-around)] * 2)
    points = computed("Mul", computed("Add", places, [float(around)] * 2), [2 / each if each else 0.0 for each in last])
    points = computed("Min", computed("Add", points, [-1.0, -1.0]), [1.0, 1.0])
    graph.add("GridSample", [image, points], node.output, mode=mode, align_corners=1)
    return True
