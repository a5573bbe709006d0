"""Types and domains of ONNX models of which nothing can be imported, said before anything is tried."""

from __future__ import annotations

from typing import Any

from npuflow.errors import InputError, with_hint
from npuflow.importing.onnx_graphs import Graph, element_kinds, named

_TYPES = (
    "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
    "FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE", "UNDEFINED",
)  # fmt: skip
_OTHER_DOMAINS = ("ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.training")

RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")


def check_kinds(model: Any) -> None:  # noqa: ANN401  (onnx has no types)
    """Raises InputError for what a model whose shapes have been inferred is the first to have of such."""
    types = Graph(model).types
    for value in model.graph.input:
        if problem := _problem(types.get(value.name)):
            raise InputError(with_hint(f"input '{value.name}' is {problem}, which cannot be imported", _hint()))
    for node in model.graph.node:
        if node.domain in _OTHER_DOMAINS:
            what = f"{named(node)} is of the domain '{node.domain}', which cannot be imported"
            raise InputError(with_hint(what, "leave out what only trains, or has no tensors"))
        if node.op_type in RANDOM and not node.domain:
            raise InputError(with_hint(f"{named(node)} is random, which cannot be imported", "make it an input"))
        for name in (*node.input, *node.output):
            if problem := _problem(types.get(name)):
                what = f"{named(node)} cannot be imported: '{name}' is {problem}"
                raise InputError(with_hint(what, _hint()))


def _problem(kind: Any) -> str | None:  # noqa: ANN401
    """What is wrong with a type; nothing with one that isn't known."""
    if kind is None or kind.WhichOneof("value") in (None, "optional_type"):
        return None
    if not kind.HasField("tensor_type"):
        return f"a {str(kind.WhichOneof('value')).removesuffix('_type').replace('_', ' ')}"
    names = element_kinds().DataType
    name = str(names.Name(kind.tensor_type.elem_type))
    return None if name in _TYPES else f"of {name}"


def _hint() -> str:
    return f"types are {', '.join(_TYPES[:-1])}"
