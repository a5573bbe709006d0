"""Parts of tensors, tensors put together, elements picked, scans and sorts: what exporters write beside linalg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from npuflow.execute.arrays import ArraySpec, is_float
from npuflow.testing.operator_steps import widened
from npuflow.testing.operator_text import Indexed, Loops, Value, Writer, loop_names
from npuflow.testing.operators import OperatorProgram, Tailed


@dataclass(frozen=True)
class Sliced(Tailed):
    """Every so manieth element of a part of a tensor, with a scale behind it if `head` says so."""

    family: ClassVar[str] = "slice"

    shape: tuple[int, ...]
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    head: bool = False

    @property
    def needed_bytes(self) -> int:
        whole, part = (ArraySpec(self.element, sizes).nbytes for sizes in (self.shape, self.sizes))
        return super().needed_bytes - whole + part

    def build(self, writer: Writer) -> Value:
        source = writer.argument(self.element, self.shape)
        part = Value(writer.name(), ArraySpec(self.element, self.sizes))
        places = " ".join(str(list(each)) for each in (self.offsets, self.sizes, self.strides))
        writer.lines.append(f"{part.name} = tensor.extract_slice {source.name}{places} : {source.kind} to {part.kind}")
        return self.behind(writer, widened(writer, part, self.element, self.head))


@dataclass(frozen=True)
class Joined(Tailed):
    """Tensors one behind the other along a dimension, which they have `lengths` of."""

    family: ClassVar[str] = "concatenation"

    shape: tuple[int, ...]
    dimension: int
    lengths: tuple[int, ...]
    element: str
    head: bool = False

    def build(self, writer: Writer) -> Value:
        parts = [
            widened(writer, writer.argument(self.element, self._with(length)), self.element, self.head)
            for length in self.lengths
        ]
        made = Value(writer.name(), ArraySpec(parts[0].element, self._with(sum(self.lengths))))
        names, kinds = ", ".join(p.name for p in parts), ", ".join(p.kind for p in parts)
        writer.lines.append(f"{made.name} = tensor.concat dim({self.dimension}) {names} : ({kinds}) -> {made.kind}")
        return self.behind(writer, made)

    def _with(self, length: int) -> tuple[int, ...]:
        return (*self.shape[: self.dimension], length, *self.shape[self.dimension + 1 :])


@dataclass(frozen=True)
class Inserted(Tailed):
    """A tensor put into another: one of zeros, as transposed convolutions have it, or an argument."""

    family: ClassVar[str] = "inserted slice"

    shape: tuple[int, ...]
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    into_zeros: bool = False

    def build(self, writer: Writer) -> Value:
        part = writer.argument(self.element, self.sizes)
        zeros = self.into_zeros
        whole = writer.filled(0, self.element, self.shape) if zeros else writer.argument(self.element, self.shape)
        made = Value(writer.name(), whole.spec)
        places = " ".join(str(list(each)) for each in (self.offsets, self.sizes, self.strides))
        writer.lines.append(
            f"{made.name} = tensor.insert_slice {part.name} into {whole.name}{places} : {part.kind} into {whole.kind}"
        )
        return self.behind(writer, made)


class PickedBy(Enum):
    """What says which element is picked: a sum of loops, one that runs backwards, each several times, or data."""

    STRIDE = "gather by steps"
    BACKWARDS = "flip"
    REPEATED = "gather of each several times"
    DATA = "gather by data"


@dataclass(frozen=True)
class Gathered(Tailed):
    """`count` elements along a dimension, picked by tensor.extract in a body; all along the others."""

    family: ClassVar[str] = "gather"
    in_label: ClassVar[tuple[str, ...]] = ("by",)

    shape: tuple[int, ...]
    dimension: int
    count: int
    by: PickedBy
    element: str

    @property
    def label(self) -> str:
        return self.by.value

    @property
    def needed_bytes(self) -> int:
        whole = ArraySpec(self.element, self.shape).nbytes
        return (
            super().needed_bytes
            - whole
            + whole * min(self.count, self.shape[self.dimension]) // self.shape[self.dimension]
        )

    def build(self, writer: Writer) -> Value:
        d = self.dimension
        source = writer.argument(self.element, self.shape)
        shape = (*self.shape[:d], self.count, *self.shape[d + 1 :])
        loops = loop_names(len(shape))
        target = writer.empty(self.element, shape)
        places = [Indexed(writer.argument("i64", (self.count,)), (loops[d],))] if self.by is PickedBy.DATA else []

        def body(*numbers: str) -> str:
            along = self._along(writer, numbers)
            indices = [along if loop == d else writer.position(loop) for loop in range(len(shape))]
            made = writer.name()
            writer.lines.append(f"{made} = tensor.extract {source.name}[{', '.join(indices)}] : {source.kind}")
            return made

        return self.behind(writer, writer.generic(Loops(loops), places, Indexed(target, loops), body))

    def _along(self, writer: Writer, numbers: Sequence[str]) -> str:
        size = self.shape[self.dimension]
        if self.by is PickedBy.DATA:
            made = writer.name()
            writer.lines.append(f"{made} = arith.index_cast {numbers[0]} : i64 to index")
            return made
        here = writer.position(self.dimension)
        if self.by is PickedBy.BACKWARDS:
            return writer.scalar("arith.subi : index", writer.constant(min(self.count, size) - 1, "index"), here)
        if self.by is PickedBy.REPEATED:
            return writer.scalar("arith.floordivsi : index", here, writer.constant(-(-self.count // size), "index"))
        step = max(1, (size - 1) // max(1, self.count - 1))
        return writer.scalar("arith.muli : index", here, writer.constant(step, "index"))


@dataclass(frozen=True)
class Scanned(OperatorProgram):
    """Sums or products of all elements up to each along a dimension, itself as well unless `exclusive`."""

    family: ClassVar[str] = "scan"

    shape: tuple[int, ...]
    dimension: int
    element: str
    exclusive: bool = False
    product: bool = False

    @property
    def label(self) -> str:
        return "cumulative product" if self.product else "cumulative sum"

    def build(self, writer: Writer) -> Value:
        source = writer.argument(self.element, self.shape)
        start = int(self.product)
        outer = (*self.shape[: self.dimension], *self.shape[self.dimension + 1 :])
        target, sofar = (writer.filled(start, self.element, shape) for shape in (self.shape, outer))
        made = Value(writer.name(), source.spec)
        inclusive = "false" if self.exclusive else "true"
        op = ("mul" if self.product else "add") + ("f" if is_float(self.element) else "i")
        outs = f"outs({target.name}, {sofar.name} : {target.kind}, {sofar.kind})"
        scan = f"tm_tensor.scan dimension({self.dimension}) inclusive({inclusive}) ins({source.name} : {source.kind})"
        writer.lines += [
            f"{made.name}:2 = {scan} {outs} {{",
            f"^bb0(%a: {self.element}, %b: {self.element}):",
            f"%c = arith.{op} %a, %b : {self.element}",
            f"tm_tensor.yield %c : {self.element}",
            f"}} -> {target.kind}, {sofar.kind}",
        ]
        return Value(f"{made.name}#0", made.spec)


@dataclass(frozen=True)
class Sorted(OperatorProgram):
    """The elements along a dimension in order."""

    family: ClassVar[str] = "sort"

    shape: tuple[int, ...]
    dimension: int
    element: str
    descending: bool = False

    def build(self, writer: Writer) -> Value:
        source = writer.argument(self.element, self.shape)
        made = Value(writer.name(), source.spec)
        order = ("g" if self.descending else "l") + "e"
        op = f"arith.cmpf o{order}" if is_float(self.element) else f"arith.cmpi s{order}"
        writer.lines += [
            f"{made.name} = tm_tensor.sort dimension({self.dimension}) outs({source.name} : {source.kind}) {{",
            f"^bb0(%a: {self.element}, %b: {self.element}):",
            f"%c = {op}, %a, %b : {self.element}",
            "tm_tensor.yield %c : i1",
            f"}} -> {source.kind}",
        ]
        return made
