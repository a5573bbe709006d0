"""What ONNX models compute of constants and of shapes, as sizes and places mostly: worked out before they are read."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from npuflow.importing.onnx_graphs import Graph, attributes_of, element_kinds, helpers
from npuflow.importing.onnx_kinds import RANDOM
from npuflow.importing.packages import load_package

_MOST_ELEMENTS = 1024
_OF_SHAPES = ("Shape", "Size")
# These make more than they read, or other things each time.
_SKIPPED = ("ConstantOfShape", "EyeLike", "Expand", "Loop", "Range", "Scan", "SequenceMap", "Tile")


def work_out_constants(model: Any) -> bool:  # noqa: ANN401  (onnx has no types)
    """Edits a model whose shapes have been inferred: small constants in place of nodes, one branch of an `If`."""
    graph, known = Graph(model), _small_constants(model)
    outputs, nodes, is_edited = {one.name for one in model.graph.output}, [], False
    for node in model.graph.node:
        if node.op_type == "If" and not node.domain and node.input[0] in known:
            nodes += _branch(node, bool(known[node.input[0]].item()), graph)
            is_edited = True
            continue
        found = None if any(name in outputs for name in node.output) else _value_of(node, known, graph)
        if found is None:
            nodes.append(node)
            continue
        is_edited = True
        for name, value in zip(node.output, found, strict=True):
            known[name] = value
            held = load_package("onnx", "importing an ONNX model").numpy_helper.from_array(value, name)
            model.graph.initializer.append(held)
    if is_edited:
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    return is_edited


def _small_constants(model: Any) -> dict[str, Any]:  # noqa: ANN401
    to_array = load_package("onnx", "importing an ONNX model").numpy_helper.to_array
    held = [(one.name, one) for one in model.graph.initializer]
    for node in model.graph.node:
        if node.op_type == "Constant":
            held += [(node.output[0], one.t) for one in node.attribute if one.name == "value"]
    kinds = element_kinds()
    read = (kinds.BOOL, kinds.INT32, kinds.INT64, kinds.FLOAT, kinds.DOUBLE)
    is_small = {name: math.prod(one.dims) <= _MOST_ELEMENTS and one.data_type in read for name, one in held}
    return {name: to_array(one) for name, one in held if is_small[name]}


def _value_of(node: Any, known: Mapping[str, Any], graph: Graph) -> list[Any] | None:  # noqa: ANN401
    """None where it isn't known, or isn't small."""
    reads_shape = node.op_type in _OF_SHAPES
    if node.domain or node.op_type in (*_SKIPPED, *RANDOM) or (not node.input and node.op_type != "Constant"):
        return None
    if node.op_type == "Constant" and "value" in attributes_of(node):
        return None
    if any(one.HasField("g") for one in node.attribute):
        return None
    given = {name: known.get(name) for name in node.input if name}
    if reads_shape and given[node.input[0]] is None and (shape := graph.shape_of(node.input[0])) is not None:
        sizes = range(*slice(*(attributes_of(node).get(each) for each in ("start", "end"))).indices(len(shape)))
        both = [shape[dim] for dim in sizes] if node.op_type == "Shape" else math.prod(shape)
        return [np.array(both, np.int64)]
    if any(value is None for value in given.values()):
        return None
    ends = [helpers().make_value_info(name, _type_of(value)) for name, value in given.items()]
    outs = [helpers().make_empty_tensor_value_info(name) for name in node.output]
    alone = helpers().make_graph([node], "alone", ends, outs)
    model = helpers().make_model(alone, opset_imports=graph.model.opset_import)
    evaluator: Any = importlib.import_module("onnx.reference").ReferenceEvaluator
    try:
        found = evaluator(model).run(None, given)
    except Exception:  # noqa: BLE001  (what onnx cannot work out, torch-mlir may)
        return None
    if not all(isinstance(value, (np.ndarray, np.generic)) and value.size <= _MOST_ELEMENTS for value in found):
        return None
    return [np.asarray(value) for value in found]


def _type_of(value: Any) -> Any:  # noqa: ANN401
    return helpers().make_tensor_type_proto(helpers().np_dtype_to_tensor_dtype(value.dtype), value.shape)


def _branch(node: Any, is_true: bool, graph: Graph) -> list[Any]:  # noqa: ANN401
    """The nodes of the branch that is taken, whose values get names of their own."""
    branch = attributes_of(node)["then_branch" if is_true else "else_branch"]
    own = [held.name for held in branch.initializer] + [name for inner in branch.node for name in inner.output if name]
    renamed = {name: f"{node.output[0]}/{name}" for name in own}
    _rename(branch, renamed)
    graph.model.graph.initializer.extend(branch.initializer)
    graph.made = [*branch.node]
    for name, inner in zip(node.output, branch.output, strict=True):
        graph.add("Identity", [inner.name], [name])
    return graph.made


def _rename(inside: Any, names: Mapping[str, str]) -> None:  # noqa: ANN401
    """Values of a graph, also where graphs inside of it read them, unless these have others of that name."""
    for held in (*inside.initializer, *inside.output):
        held.name = names.get(held.name, held.name)
    for node in inside.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for graph in (one.g for one in node.attribute if one.HasField("g")):
            made = (*graph.input, *graph.initializer)
            hidden = {one.name for one in made} | {name for inner in graph.node for name in inner.output}
            _rename(graph, {name: new for name, new in names.items() if name not in hidden})
