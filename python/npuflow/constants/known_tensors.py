"""Tensors whose elements are known without running anything: constants, and what is made of nothing but constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from npuflow.bindings import arith, ir
from npuflow.constants.dtypes import dtype_of, has_dtype
from npuflow.constants.resources import LEAST_RESOURCE_BYTES, resource_bytes, resource_name, resource_of
from npuflow.constants.scalar_values import Numbers, value_of
from npuflow.core.build import is_static, shape_of
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import is_parallel, producer
from npuflow.ops.linear import Linear, input_count, linear_dims, loop_extents, maps_of
from npuflow.ops.reshapes import RESHAPES

# What is worked out here, a megabyte or several; more is computed where the rest is.
MOST_ELEMENTS = 1 << 22

_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|-?[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?")


class KnownTensors:
    """The elements of tensors; asked for again and again while nothing that is known changes."""

    def __init__(self, most_elements: int | None = MOST_ELEMENTS) -> None:
        self._most_elements = most_elements
        self._found: dict[ir.Value, Numbers | None] = {}

    def of(self, value: ir.Value) -> Numbers | None:
        """A tensor's elements; None where they aren't known, or are too many."""
        waiting = [] if value in self._found else [(value, self._sources(value))]  # deeper than Python's stack
        while waiting:
            made, sources = waiting[-1]
            source = next(sources, None)
            if source is None:
                waiting.pop()
                self._found[made] = self._of(made)
            elif source not in self._found:
                waiting.append((source, self._sources(source)))
        return self._found[value]

    def once(self, value: ir.Value) -> Numbers | None:
        """The elements of what isn't asked for again: they are let go of, as all may be a network's weights."""
        elements = self.of(value)
        self._found = {each: None for each, found in self._found.items() if found is None}
        return elements

    def _sources(self, value: ir.Value) -> Iterator[ir.Value]:
        """The tensors that one is made of, as long as these are known."""
        if not self._may_be_known(value):
            return
        op = value.owner.operation
        if op.name in (*RESHAPES, "tensor.extract_slice"):
            yield op.operands[0]
        elif op.name == "linalg.generic" and _is_computed(op):
            for source in sources_of(op):
                yield source
                if self._found[source] is None:
                    return

    def _may_be_known(self, value: ir.Value) -> bool:
        kind = value.type
        if isinstance(value.owner, ir.Block) or not isinstance(kind, ir.RankedTensorType):
            return False
        return kind.has_static_shape and not self._is_too_large(kind) and has_dtype(str(kind.element_type))

    def _of(self, value: ir.Value) -> Numbers | None:
        if not self._may_be_known(value):
            return None
        op, shape = value.owner.operation, tuple(value.type.shape)
        if op.name == "arith.constant":
            return self._constant(op)
        if op.name in RESHAPES:
            source = self.of(op.operands[0])
            return None if source is None else source.reshape(shape)
        if op.name == "tensor.extract_slice":
            return self._slice(op)
        if op.name == "linalg.fill":
            scalar = producer(op.operands[0], "arith.constant")
            number = None if scalar is None else value_of(scalar, [])
            return None if number is None else np.broadcast_to(number.reshape(()), shape)
        return self._computed(op, value) if op.name == "linalg.generic" else None

    def _slice(self, op: ir.Operation) -> Numbers | None:
        source, view = self.of(op.operands[0]), op.opview
        if source is None or len(op.operands) > 1:
            return None
        places = zip(view.static_offsets, view.static_sizes, view.static_strides)
        found = source[tuple(slice(begin, begin + size * step, step) for begin, size, step in places)]
        return found.reshape(shape_of(op.results[0]))

    def _is_too_large(self, kind: ir.RankedTensorType) -> bool:
        return self._most_elements is not None and prod(kind.shape) > self._most_elements

    def _constant(self, constant: ir.Operation) -> Numbers | None:
        attribute = constant.attributes["value"]
        kind = ir.RankedTensorType(attribute.type)
        shape, element = tuple(kind.shape), str(kind.element_type)
        if isinstance(attribute, ir.DenseElementsAttr):
            if attribute.is_splat:
                return np.broadcast_to(np.array(attribute.get_splat_value().value).astype(dtype_of(element)), shape)
            if element == "bf16":  # of which the bindings hand over neither a buffer nor numbers
                return self._from_text(str(attribute), element, shape)
            return np.array(attribute).astype(dtype_of(element)).reshape(shape)
        if resource_name(attribute) is None:
            return None
        return self._from_bytes(resource_bytes(attribute, constant.location), element, shape)

    def _from_text(self, text: str, element: str, shape: tuple[int, ...]) -> Numbers | None:
        bits = _HEX.match(text)
        if bits:
            return self._from_bytes(bytes.fromhex(bits[1]), element, shape)
        kind = dtype_of(element)
        found = [
            np.array(int(word, 16), f"u{kind.itemsize}").view(kind) if word.startswith("0x") else np.array(float(word))
            for word in _NUMBER.findall(text.rpartition(" : ")[0])
        ]
        return np.array([number.astype(kind) for number in found]).reshape(shape)

    def _from_bytes(self, data: bytes | memoryview, element: str, shape: tuple[int, ...]) -> Numbers | None:
        found = np.frombuffer(data, dtype_of(element))
        return found.reshape(shape) if found.size == np.prod(shape, dtype=np.int64) else None

    def _computed(self, op: ir.Operation, value: ir.Value) -> Numbers | None:
        """What an elementwise op makes of what is known."""
        if not _is_computed(op):
            return None
        extents = loop_extents(op)
        block = op.regions[0].blocks[0]
        body = KnownBody(self, op)
        number = next(i for i, result in enumerate(op.results) if result == value)
        written = maps_of(op)[input_count(op) + number]
        found = body.value(block.operations[len(block.operations) - 1].operands[number])
        if found is None or not written.is_permutation:
            return None
        order = [result.position for result in written.results]
        return np.array(np.broadcast_to(found, extents).transpose(order), order="C")


def _is_computed(op: ir.Operation) -> bool:
    """Whether what an op makes is computed here once its tensors are known."""
    return is_parallel(op) and is_static(op) and 0 not in loop_extents(op)


class KnownBody:
    """What values in an op's body are, for each step of its loops, in arrays that have the loops as dimensions."""

    def __init__(self, known: KnownTensors, op: ir.Operation) -> None:
        self._known, self._op = known, op
        self._extents = loop_extents(op)
        self._found: dict[ir.Value, Numbers | None] = {}

    def value(self, value: ir.Value) -> Numbers | None:
        waiting = [value]  # bodies are deeper than Python's stack
        while waiting:
            needed = [source for source in _scalars_of(waiting[-1]) if source not in self._found]
            if needed:
                waiting += needed
            else:
                made = waiting.pop()
                self._found[made] = self._value(made)
        return self._found[value]

    def _value(self, value: ir.Value) -> Numbers | None:
        rank = len(self._extents)
        if isinstance(value.owner, ir.Block):
            return self._read(value) if value.owner == self._op.regions[0].blocks[0] else None
        op = value.owner.operation
        if op.name == "linalg.index":
            loop = int(ir.IntegerAttr(op.attributes["dim"]).value)
            return _counted(loop, self._extents)
        if op.name == "arith.constant":
            number = value_of(op, [])
            return None if number is None else number.reshape((1,) * rank)
        operands = [None if isinstance(v.type, ir.ShapedType) else self._found[v] for v in op.operands]
        if op.name == "tensor.extract":
            source = self._known.of(op.operands[0])
            places = [place for place in operands[1:] if place is not None]
            if source is None or len(places) + 1 < len(operands):
                return None
            inside = [np.clip(place.astype(np.int64), 0, size - 1) for place, size in zip(places, source.shape)]
            return source[tuple(inside)] if inside else source.reshape((1,) * rank)
        known = [operand for operand in operands if operand is not None]
        return value_of(op, known) if len(known) == len(operands) and not op.regions else None

    def _read(self, argument: ir.Value) -> Numbers | None:
        """What an op reads from one of its operands."""
        number = next(i for i, own in enumerate(argument.owner.arguments) if own == argument)
        dims = linear_dims(maps_of(self._op)[number])
        tensor = self._known.of(self._op.operands[number]) if number < input_count(self._op) else None
        if tensor is None or dims is None:
            return None
        loops = [dim.loop for dim in dims if dim.loop is not None]
        if len({*loops}) == len(dims):  # turned, which takes no copy
            order = sorted(range(len(loops)), key=loops.__getitem__)
            sizes = [extent if loop in loops else 1 for loop, extent in enumerate(self._extents)]
            return tensor.transpose(order).reshape(sizes)
        return tensor[tuple(steps_of(dim, self._extents) for dim in dims)]


def _scalars_of(value: ir.Value) -> list[ir.Value]:
    """What a value is made of, but tensors."""
    if isinstance(value.owner, ir.Block):
        return []
    return [operand for operand in value.owner.operation.operands if not isinstance(operand.type, ir.ShapedType)]


def steps_of(dim: Linear, extents: Sequence[int]) -> Numbers:
    """What a dimension's index is at each step of the loops."""
    found = np.full((1,) * len(extents), dim.constant)
    for loop, coefficient in dim.terms:
        found = found + coefficient * _counted(loop, extents)
    return found


def _counted(loop: int, extents: Sequence[int]) -> Numbers:
    """0, 1, 2 and so on along a loop."""
    return np.arange(extents[loop]).reshape([-1 if d == loop else 1 for d in range(len(extents))])


def sources_of(op: ir.Operation) -> Iterator[ir.Value]:
    """The tensors that an elementwise op reads: its inputs, and those that its body picks elements of."""
    yield from list(op.operands)[: input_count(op)]
    for extract in ops_of(op, "tensor.extract"):
        yield extract.operands[0]


def tensor_constant(values: Numbers, element: ir.Type) -> ir.Attribute:
    """The attribute of a constant with these elements."""
    shape = list(values.shape)
    is_splat = values.size > 0 and bool((values == values.flat[0]).all())
    listed = np.ascontiguousarray(values.flat[:1] if is_splat else values)
    return ir.Attribute.parse(
        f'dense<"0x{listed.tobytes().hex().upper()}"> : {ir.RankedTensorType.get(shape, element)}'
    )


def weight_constant(values: Numbers, element: ir.Type) -> ir.Value:
    """A constant of an element type with what these numbers are in it: a resource, if it is large."""
    stored = np.ascontiguousarray(values, dtype_of(str(element))).reshape(values.shape)
    kind = ir.RankedTensorType.get(list(stored.shape), element)
    if stored.nbytes < LEAST_RESOURCE_BYTES:
        return arith.ConstantOp(kind, tensor_constant(stored, element)).result
    attribute = resource_of(stored.reshape(-1).view(np.uint8), "weight", kind, stored.itemsize)
    return arith.ConstantOp(kind, attribute).result
