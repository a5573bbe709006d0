"""Recurrent nodes of ONNX: those that go backwards or both ways as ones that go forwards, which torch-mlir has."""

from __future__ import annotations

from typing import Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.onnx_graphs import LEAST, Graph, attributes_of

_LENGTHS, _HIDDEN, _PEEPHOLES = 4, 5, 7


def forwards(node: Any, graph: Graph) -> bool:  # noqa: ANN401  (onnx has no types)
    """Whether nodes have been added for a recurrent one. Raises InputError for what torch-mlir would leave out."""
    said = attributes_of(node)
    inputs = [*node.input, *[""] * (8 - len(node.input))]
    is_batch_first, way = bool(said.get("layout", 0)), said.get("direction", b"forward").decode()
    inputs[_LENGTHS] = _checked_lengths(node, inputs, graph, 1 if is_batch_first else 0)
    if inputs[_PEEPHOLES]:
        raise _refused(node, "peepholes", "leave its input P out")
    if node.op_type == "RNN" and "clip" in said:
        raise _refused(node, "a clip", "leave it out")
    is_known = way == "forward" or (node.op_type == "LSTM" and way == "bidirectional" and not is_batch_first)
    if is_known or graph.version < 10 or "activation_alpha" in said or "activation_beta" in said:
        if len(node.input) > _LENGTHS:
            node.input[_LENGTHS] = inputs[_LENGTHS]
        return False
    ways = ("forward", "reverse") if way == "bidirectional" else (way,)
    if is_batch_first:
        for place in (0, _HIDDEN, _HIDDEN + 1):
            inputs[place] = _swapped(inputs[place], graph)
    kept = {name: value for name, value in said.items() if name in ("hidden_size", "clip", "linear_before_reset")}
    found = [_one_way(node, inputs, place, len(ways), each, kept | _functions(said, place, len(ways)), graph)
             for place, each in enumerate(ways)]  # fmt: skip
    for number, name in enumerate(node.output):
        if name:
            parts = [each[number] for each in found]
            (joined,) = graph.add("Concat", parts, axis=1 if number == 0 else 0)
            perm = list(range(4 if number == 0 else 3))
            if is_batch_first:
                perm = [2, 0, 1, 3] if number == 0 else [1, 0, 2]
            graph.add("Transpose", [joined], [name], perm=perm)
    return True


def _one_way(
    node: Any, inputs: list[str], place: int, ways: int, way: str, said: dict[str, Any], graph: Graph  # noqa: ANN401
) -> list[str]:  # fmt: skip
    """The results of one direction: of what goes backwards, of the steps the other way around."""
    own = [graph.slice(name, 0, place, place + 1) if name and ways > 1 else name for name in inputs[1:]]
    steps = graph.slice(inputs[0], 0, -1, LEAST, -1) if way == "reverse" else inputs[0]
    given = [steps, *own]
    while not given[-1]:
        given.pop()
    results = graph.add(node.op_type, given, 3 if node.op_type == "LSTM" else 2, **said)
    if way == "reverse":
        results[0] = graph.slice(results[0], 0, -1, LEAST, -1)
    return results


def _functions(said: dict[str, Any], place: int, ways: int) -> dict[str, Any]:
    named = said.get("activations")
    if not named:
        return {}
    count = len(named) // ways
    return {"activations": named[place * count : (place + 1) * count]}


def _swapped(name: str, graph: Graph) -> str:
    """Batch and steps, or batch and directions, the other way around."""
    return name and graph.add("Transpose", [name], perm=[1, 0, 2])[0]


def _checked_lengths(node: Any, inputs: list[str], graph: Graph, dim: int) -> str:  # noqa: ANN401
    """Nothing, where all sequences are known to have all steps."""
    if not inputs[_LENGTHS]:
        return ""
    shape, lengths = graph.shape_of(inputs[0]), graph.numbers_of(inputs[_LENGTHS])
    if shape is None or lengths is None or any(length != shape[dim] for length in lengths):
        raise _refused(node, "sequences of several lengths", "mask what is behind them")
    return ""


def _refused(node: Any, what: str, hint: str) -> InputError:  # noqa: ANN401
    return InputError(with_hint(f"'onnx.{node.op_type}' with {what} cannot be imported", hint))
