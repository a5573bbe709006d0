"""Elementwise operators with broadcasting, reductions, softmax and norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import ClassVar

from npuflow.execute.arrays import is_float
from npuflow.testing.operator_steps import EPSILON, ElementwiseStep, apply_steps, widened
from npuflow.testing.operator_text import Indexed, Loops, Value, Writer, loop_names
from npuflow.testing.operator_windows import Pool, divided, neutral_of
from npuflow.testing.operators import Tailed
from npuflow.testing.programs import Types


class Pairwise(Enum):
    """How two numbers become one."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    MAX = "max"
    MIN = "min"

    def on(self, writer: Writer, left: str, right: str, element: str) -> str:
        name = self.value
        if self in (Pairwise.MAX, Pairwise.MIN):
            name += "imumf" if is_float(element) else "si"
        else:
            name += "f" if is_float(element) else "i"
        return writer.scalar(f"arith.{name} : {element}", left, right)


@dataclass(frozen=True)
class Elementwise(Tailed):
    """All inputs, from the first on, combined pairwise; `inputs` says which of the shape's dimensions each one has."""

    family: ClassVar[str] = "elementwise"
    in_label: ClassVar[tuple[str, ...]] = ("operation",)

    shape: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    operation: Pairwise
    types: Types
    by_name: bool = False

    @property
    def label(self) -> str:
        return self.operation.value if len(self.inputs) > 1 else "map"

    def build(self, writer: Writer) -> Value:
        loops, element = loop_names(len(self.shape)), self.types.accumulator
        taken = [writer.argument(self.types.operand, [self.shape[d] for d in dims]) for dims in self.inputs]
        target = writer.empty(element, self.shape)
        whole = all(dims == tuple(range(len(self.shape))) for dims in self.inputs)
        if self.by_name and whole and len(taken) == 2 and self.types.operand == element:
            value = writer.named(f"linalg.{self.operation.value}", taken, target)
            return self.behind(writer, value)

        def body(*numbers: str) -> str:
            wide = [writer.convert(number, self.types.operand, element) for number in numbers[:-1]]
            result = wide[0]
            for number in wide[1:]:
                result = self.operation.on(writer, result, number, element)
            return result

        accesses = [Indexed(value, tuple(loops[d] for d in dims)) for value, dims in zip(taken, self.inputs)]
        return self.behind(writer, writer.generic(Loops(loops), accesses, Indexed(target, loops), body))


@dataclass(frozen=True)
class Reduction(Tailed):
    """A tensor over some of its dimensions, which have one element then if they are kept."""

    family: ClassVar[str] = "reduction"
    in_label: ClassVar[tuple[str, ...]] = ("kind", "dims")

    shape: tuple[int, ...]
    dims: tuple[int, ...]
    kind: Pool
    types: Types
    keeps_dims: bool = False

    @property
    def label(self) -> str:
        return f"reduce {self.kind.value} over {','.join(map(str, self.dims))}"

    def build(self, writer: Writer) -> Value:
        source = writer.argument(self.types.operand, self.shape)
        value = reduced(writer, source, self.dims, self.kind, self.types.accumulator, self.keeps_dims)
        if self.kind is Pool.MEAN:
            value = divided(writer, value, prod(self.shape[d] for d in self.dims))
        return self.behind(writer, value)


def reduced(
    writer: Writer, source: Value, dims: Sequence[int], kind: Pool, element: str, keeps_dims: bool = False
) -> Value:
    """`source` over `dims`, which its result lacks, or has with one element each."""
    loops = loop_names(len(source.shape))
    kept = tuple(loop for d, loop in enumerate(loops) if d not in dims)
    shape = [1 if d in dims else size for d, size in enumerate(source.shape) if keeps_dims or d not in dims]
    target = writer.filled(neutral_of(kind, element), element, shape)
    pairwise = {Pool.MAX: Pairwise.MAX, Pool.MIN: Pairwise.MIN}.get(kind, Pairwise.ADD)

    def body(number: str, total: str) -> str:
        return pairwise.on(writer, writer.convert(number, source.element, element), total, element)

    summed = tuple(loops[d] for d in dims)
    places = tuple("0" if d in dims else loop for d, loop in enumerate(loops)) if keeps_dims else kept
    return writer.generic(Loops(kept, summed), [Indexed(source, loops)], Indexed(target, places), body)


@dataclass(frozen=True)
class Softmax(Tailed):
    """Exponentials over their sum along one dimension, as linalg.softmax or as the ops that it is made of."""

    family: ClassVar[str] = "softmax"

    shape: tuple[int, ...]
    dim: int
    types: Types
    by_name: bool = True
    keeps_dims: bool = False

    def build(self, writer: Writer) -> Value:
        source = widened(writer, writer.argument(self.types.operand, self.shape), self.types.accumulator, head=False)
        return self.behind(writer, softmax_of(writer, source, self.dim, self.by_name, self.keeps_dims))


def softmax_of(writer: Writer, source: Value, dim: int, by_name: bool, keeps_dims: bool = False) -> Value:
    element = source.element
    target = writer.empty(element, source.shape)
    if by_name:
        made = Value(writer.name(), target.spec)
        ins, outs = f"ins({source.name} : {source.kind})", f"outs({target.name} : {target.kind})"
        writer.lines.append(f"{made.name} = linalg.softmax dimension({dim}) {ins} {outs} -> {made.kind}")
        return made
    highest = reduced(writer, source, [dim], Pool.MAX, element, keeps_dims)
    powers = with_rows(writer, source, [highest], dim, lambda x, m: _exponential(writer, x, m, element))
    total = reduced(writer, powers, [dim], Pool.SUM, element, keeps_dims)
    return with_rows(writer, powers, [total], dim, lambda x, s: writer.scalar(f"arith.divf : {element}", x, s))


def _exponential(writer: Writer, value: str, highest: str, element: str) -> str:
    return writer.scalar(f"math.exp : {element}", writer.scalar(f"arith.subf : {element}", value, highest))


def with_rows(writer: Writer, source: Value, rows: Sequence[Value], dim: int, combine: Callable[..., str]) -> Value:
    """Each element combined with the numbers of its row, which lack dimension `dim` or have one element along it."""
    loops = loop_names(len(source.shape))
    kept = tuple(loop for d, loop in enumerate(loops) if d != dim)
    first = tuple("0" if d == dim else loop for d, loop in enumerate(loops))
    target = writer.empty(source.element, source.shape)
    inputs = [Indexed(source, loops), *(Indexed(row, kept if len(row.shape) < len(loops) else first) for row in rows)]
    return writer.generic(Loops(loops), inputs, Indexed(target, loops), lambda *numbers: combine(*numbers[:-1]))


class Centre(Enum):
    """Whether a norm takes the mean off first."""

    LAYER = "layer"
    RMS = "rms"


@dataclass(frozen=True)
class Norm(Tailed):
    """The last dimension scaled to unit variance (LAYER) or unit mean square (RMS), times a weight per column."""

    family: ClassVar[str] = "norm"
    in_label: ClassVar[tuple[str, ...]] = ("centre",)

    shape: tuple[int, ...]
    centre: Centre
    types: Types
    keeps_dims: bool = False

    @property
    def label(self) -> str:
        return f"{self.centre.value} norm"

    def build(self, writer: Writer) -> Value:
        element = self.types.accumulator
        source = widened(writer, writer.argument(self.types.operand, self.shape), element, head=False)
        return self.behind(writer, norm_of(writer, source, self.centre, self.keeps_dims))


def norm_of(writer: Writer, source: Value, centre: Centre, keeps_dims: bool = False) -> Value:
    element, dim = source.element, len(source.shape) - 1
    length = source.shape[dim]
    if centre is Centre.LAYER:
        mean = divided(writer, reduced(writer, source, [dim], Pool.SUM, element, keeps_dims), length)
        source = with_rows(writer, source, [mean], dim, lambda x, m: writer.scalar(f"arith.subf : {element}", x, m))
    squares = with_rows(writer, source, [], dim, lambda x: writer.scalar(f"arith.mulf : {element}", x, x))
    variance = divided(writer, reduced(writer, squares, [dim], Pool.SUM, element, keeps_dims), length)
    roots = with_rows(writer, variance, [], -1, lambda v: _reciprocal_root(writer, v, element))
    scaled = with_rows(writer, source, [roots], dim, lambda x, r: writer.scalar(f"arith.mulf : {element}", x, r))
    return apply_steps(
        writer, scaled, [ElementwiseStep.CHANNEL_SCALE, ElementwiseStep.BIAS][: 2 if centre is Centre.LAYER else 1], dim
    )


def _reciprocal_root(writer: Writer, value: str, element: str) -> str:
    safe = writer.scalar(f"arith.addf : {element}", value, writer.constant(EPSILON, element))
    return writer.scalar(f"math.rsqrt : {element}", safe)
