"""Graphs of ONNX models, as rewriting them needs to know them: shapes, constants, attributes, nodes that are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from npuflow.importing.packages import load_package

LEAST = -(2**63)  # the end of a slice that goes down to the first element


def helpers() -> Any:  # noqa: ANN401  (onnx has no types)
    return load_package("onnx", "importing an ONNX model").helper


def element_kinds() -> Any:  # noqa: ANN401
    """ONNX's numbers for types of elements, by name."""
    return load_package("onnx", "importing an ONNX model").TensorProto


def attributes_of(node: Any) -> dict[str, Any]:  # noqa: ANN401
    return {one.name: helpers().get_attribute_value(one) for one in node.attribute}


def named(node: Any) -> str:  # noqa: ANN401
    """A node as messages call it."""
    name = f" '{node.name}'" if node.name else ""
    made = ", ".join(f"'{each}'" for each in node.output if each)
    return f"node{name} ('onnx.{node.op_type}', which makes {made})"


@dataclass
class Graph:
    """A model's graph whose shapes have been inferred, and the nodes that are put in place of one of its own."""

    model: Any
    made: list[Any] = field(default_factory=list)
    _count: int = 0

    @property
    def version(self) -> int:
        return next((int(one.version) for one in self.model.opset_import if not one.domain), 1)

    def shape_of(self, name: str) -> tuple[int, ...] | None:
        """The sizes of a value; None where one isn't known."""
        graph = self.model.graph
        for held in graph.initializer:
            if held.name == name:
                return tuple(held.dims)
        for value in (*graph.input, *graph.value_info, *graph.output):
            kind = value.type.tensor_type
            if value.name == name and kind.HasField("shape"):
                dims = kind.shape.dim
                return tuple(dim.dim_value for dim in dims) if all(dim.HasField("dim_value") for dim in dims) else None
        return None

    @property
    def types(self) -> dict[str, Any]:
        """Of all values whose types are known, constants included."""
        graph = self.model.graph
        held = {one.name: helpers().make_tensor_type_proto(one.data_type, one.dims) for one in graph.initializer}
        return held | {one.name: one.type for one in (*graph.input, *graph.value_info, *graph.output)}

    def type_of(self, name: str) -> int | None:
        """The type of a value's elements, by ONNX's number; None where it isn't known."""
        graph = self.model.graph
        held = [int(one.data_type) for one in graph.initializer if one.name == name]
        values = (*graph.input, *graph.value_info, *graph.output)
        return next(iter([*held, *(int(one.type.tensor_type.elem_type) for one in values if one.name == name)]), None)

    def numbers_of(self, name: str) -> list[Any] | None:
        """The elements of a constant, in a row; None of what is computed."""
        held = [one for one in self.model.graph.initializer if one.name == name]
        for node in self.model.graph.node:
            if node.op_type == "Constant" and name in node.output:
                held += [one.t for one in node.attribute if one.name == "value"]
        if not held:
            return None
        to_array = load_package("onnx", "importing an ONNX model").numpy_helper.to_array
        return list(to_array(held[0]).flatten().tolist())

    def add(self, kind: str, inputs: Sequence[str], outputs: Sequence[str] | int = 1, **attributes: Any) -> list[str]:  # noqa: ANN401
        """A node in place of the one that is rewritten; its results' names."""
        names = list(outputs) if not isinstance(outputs, int) else [self._name(kind) for _ in range(outputs)]
        self.made.append(helpers().make_node(kind, list(inputs), names, **attributes))
        return names

    def whole(self, numbers: Sequence[int]) -> str:
        """A constant row of whole numbers."""
        return self.row(numbers, element_kinds().INT64)

    def row(self, numbers: Sequence[float], kind: int) -> str:
        """A constant row of numbers of a type."""
        return self._held(numbers, [len(numbers)], kind)

    def number(self, value: float, kind: int) -> str:
        """One number, which makes no dimension of its own beside others."""
        return self._held([value], [], kind)

    def nothing(self, shape: Sequence[int], kind: int) -> str:
        """A constant without elements."""
        return self._held([], shape, kind)

    def _held(self, numbers: Sequence[float], shape: Sequence[int], kind: int) -> str:
        name = self._name("numbers")
        self.model.graph.initializer.append(helpers().make_tensor(name, kind, list(shape), list(numbers)))
        return name

    def slice(self, name: str, dim: int, start: int, end: int, step: int = 1) -> str:
        ends = (self.whole([each]) for each in (start, end, dim, step))
        return self.add("Slice", [name, *ends])[0]

    def reshape(self, name: str, shape: Sequence[int]) -> str:
        return self.add("Reshape", [name, self.whole(shape)])[0]

    def reduce(self, kind: str, name: str, dim: int) -> list[str]:
        """Along one dimension, which is kept; where ONNX says which one, has changed."""
        if self.version < (13 if kind == "ReduceSum" else 18):
            return self.add(kind, [name], axes=[dim], keepdims=1)
        return self.add(kind, [name, self.whole([dim])], keepdims=1)

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"npuflow_{kind}_{self._count}"
