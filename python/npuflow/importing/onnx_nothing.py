"""Tensors without elements in ONNX models, by whose number torch-mlir divides, which ends the process."""

from __future__ import annotations

from typing import Any

from npuflow.importing.onnx_graphs import Graph, attributes_of


def without_elements(node: Any, graph: Graph) -> bool:  # noqa: ANN401  (onnx has no types)
    """Whether nodes have been added for one that makes nothing, splits nothing off or joins it with others."""
    shapes = {name: graph.shape_of(name) for name in (*node.input, *node.output) if name}
    empty = [name for name, shape in shapes.items() if shape is not None and 0 in shape]
    made = [name for name in node.output if name]
    if not empty or not made or node.op_type == "Constant":
        return False
    if all(name in empty for name in made):
        for name in made:
            graph.add("Identity", [graph.nothing(shapes[name] or (), graph.type_of(name) or 1)], [name])
        return True
    if node.op_type == "Concat":
        graph.add("Concat", [name for name in node.input if name not in empty], made, axis=attributes_of(node)["axis"])
        return True
    if node.op_type != "Split" or any(shapes[name] is None for name in made):
        return False
    start, rank = 0, len(shapes[made[0]] or ())
    axis = attributes_of(node).get("axis", 0) % rank
    for name in made:
        end = start + (shapes[name] or ())[axis]
        if name in empty:
            graph.add("Identity", [graph.nothing(shapes[name] or (), graph.type_of(name) or 1)], [name])
        else:
            graph.add("Identity", [graph.slice(node.input[0], axis, start, end)], [name])
        start = end
    return True
