"""Writes operator programs as MLIR text, one SSA value after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isinf

from npuflow.execute.arrays import ArraySpec, Signature, is_float

FUNCTION = "operator"


@dataclass(frozen=True)
class Value:
    """A tensor of the program."""

    name: str
    spec: ArraySpec

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def element(self) -> str:
        return self.spec.element

    @property
    def kind(self) -> str:
        return f"tensor<{self.spec}>"


@dataclass(frozen=True)
class Indexed:
    """A tensor and how the loops index it: one affine expression of loop names per dimension."""

    value: Value
    indices: tuple[str, ...]


@dataclass(frozen=True)
class Loops:
    """The loops of an op by name, in order."""

    parallel: tuple[str, ...]
    reduction: tuple[str, ...] = ()

    def map(self, indices: Sequence[str]) -> str:
        return f"affine_map<({', '.join((*self.parallel, *self.reduction))}) -> ({', '.join(indices)})>"

    @property
    def kinds(self) -> str:
        named = ['"parallel"'] * len(self.parallel) + ['"reduction"'] * len(self.reduction)
        return f"[{', '.join(named)}]"


Body = Callable[..., str]


@dataclass
class Writer:
    """Collects arguments and lines; every method returns what it made."""

    arguments: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    _count: int = 0

    def argument(self, element: str, shape: Sequence[int]) -> Value:
        self.arguments.append(Value(f"%arg{len(self.arguments)}", ArraySpec(element, tuple(shape))))
        return self.arguments[-1]

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def scalar(self, operation: str, *operands: str) -> str:
        """`operation` says the op and, behind a colon, its type: `arith.addf : f32`."""
        op, _, kind = operation.partition(" : ")
        name = self.name()
        self.lines.append(f"{name} = {op} {', '.join(operands)} : {kind}")
        return name

    def compare(self, predicate: str, left: str, right: str, element: str) -> str:
        name = self.name()
        op = "cmpf" if is_float(element) else "cmpi"
        self.lines.append(f"{name} = arith.{op} {predicate}, {left}, {right} : {element}")
        return name

    def choose(self, condition: str, left: str, right: str, element: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = arith.select {condition}, {left}, {right} : {element}")
        return name

    def position(self, dim: int) -> str:
        """Where the loop `dim` of the op around is."""
        name = self.name()
        self.lines.append(f"{name} = linalg.index {dim} : index")
        return name

    def from_position(self, position: str, element: str) -> str:
        """A position as a number of another type, by way of 32 bits."""
        name = self.name()
        self.lines.append(f"{name} = arith.index_cast {position} : index to i32")
        return self.convert(name, "i32", element)

    def constant(self, number: float, element: str) -> str:
        name = self.name()
        text = _float_text(number, element) if is_float(element) else str(int(number))
        self.lines.append(f"{name} = arith.constant {text} : {element}")
        return name

    def convert(self, value: str, source: str, target: str) -> str:
        """A number in another type; integers are signed."""
        if source == target:
            return value
        widens = _bits(target) > _bits(source)
        names = {
            (True, True): "extf" if widens else "truncf",
            (False, False): "extsi" if widens else "trunci",
            (True, False): "fptosi",
            (False, True): "sitofp",
        }
        operation = names[is_float(source), is_float(target)]
        name = self.name()
        self.lines.append(f"{name} = arith.{operation} {value} : {source} to {target}")
        return name

    def empty(self, element: str, shape: Sequence[int]) -> Value:
        made = Value(self.name(), ArraySpec(element, tuple(shape)))
        self.lines.append(f"{made.name} = tensor.empty() : {made.kind}")
        return made

    def filled(self, number: float, element: str, shape: Sequence[int]) -> Value:
        constant = self.constant(number, element)
        target = self.empty(element, shape)
        return self.named("linalg.fill", [], target, scalars=[(constant, element)])

    def named(
        self,
        operation: str,
        inputs: Sequence[Value],
        target: Value,
        attributes: str = "",
        scalars: Sequence[tuple[str, str]] = (),
    ) -> Value:
        """A named linalg op that writes to `target`."""
        made = Value(self.name(), target.spec)
        names = [*(value.name for value in inputs), *(name for name, _ in scalars)]
        kinds = [*(value.kind for value in inputs), *(kind for _, kind in scalars)]
        ins = f"ins({', '.join(names)} : {', '.join(kinds)})"
        said = f" {{{attributes}}}" if attributes else ""
        self.lines.append(f"{made.name} = {operation}{said} {ins} outs({target.name} : {target.kind}) -> {made.kind}")
        return made

    def generic(self, loops: Loops, inputs: Sequence[Indexed], target: Indexed, body: Body) -> Value:
        """A linalg.generic; `body` gets a name per input and one for the output, and returns what to yield."""
        made = Value(self.name(), target.value.spec)
        accesses = [*inputs, target]
        maps = ", ".join(loops.map(access.indices) for access in accesses)
        ins = ", ".join(access.value.name for access in inputs)
        kinds = ", ".join(access.value.kind for access in inputs)
        self.lines.append(f"{made.name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = {loops.kinds}}}")
        taken = f"ins({ins} : {kinds}) " if inputs else ""
        self.lines.append(f"  {taken}outs({target.value.name} : {target.value.kind}) {{")
        numbers = [self.name() for _ in accesses]
        listed = ", ".join(f"{name}: {access.value.element}" for name, access in zip(numbers, accesses))
        self.lines.append(f"^bb0({listed}):")
        result = body(*numbers)
        self.lines.append(f"linalg.yield {result} : {target.value.element}")
        self.lines.append(f"}} -> {made.kind}")
        return made

    def pad(self, source: Value, low: Sequence[int], high: Sequence[int], number: float) -> Value:
        """`source` with `number` around it; itself where nothing is added."""
        if not any((*low, *high)):
            return source
        constant = self.constant(number, source.element)
        shape = tuple(a + size + b for a, size, b in zip(low, source.shape, high))
        made = Value(self.name(), ArraySpec(source.element, shape))
        places = ", ".join(f"{self.name()}: index" for _ in shape)
        self.lines.append(f"{made.name} = tensor.pad {source.name} low{list(low)} high{list(high)} {{")
        self.lines.append(f"^bb0({places}):")
        self.lines.append(f"tensor.yield {constant} : {source.element}")
        self.lines.append(f"}} : {source.kind} to {made.kind}")
        return made

    def transpose(self, source: Value, permutation: Sequence[int]) -> Value:
        target = self.empty(source.element, [source.shape[i] for i in permutation])
        made = Value(self.name(), target.spec)
        ins, outs = f"ins({source.name} : {source.kind})", f"outs({target.name} : {target.kind})"
        self.lines.append(f"{made.name} = linalg.transpose {ins} {outs} permutation = {list(permutation)}")
        return made

    def reshape(self, source: Value, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> Value:
        """Expands or collapses; `groups` are the longer shape's dimensions that make one of the shorter's."""
        made = Value(self.name(), ArraySpec(source.element, tuple(shape)))
        listed = str([list(group) for group in groups])
        if len(shape) > len(source.shape):
            sizes = f" output_shape {list(shape)}"
            self.lines.append(
                f"{made.name} = tensor.expand_shape {source.name} {listed}{sizes} : {source.kind} into {made.kind}"
            )
        else:
            self.lines.append(
                f"{made.name} = tensor.collapse_shape {source.name} {listed} : {source.kind} into {made.kind}"
            )
        return made

    def text(self, result: Value) -> str:
        """The whole function."""
        listed = ", ".join(f"{value.name}: {value.kind}" for value in self.arguments)
        body = "\n".join(f"  {line}" for line in [*self.lines, f"return {result.name} : {result.kind}"])
        return f"func.func @{FUNCTION}({listed}) -> {result.kind} {{\n{body}\n}}\n"

    def signature(self, result: Value) -> Signature:
        inputs = tuple(value.spec for value in self.arguments)
        return Signature(FUNCTION, inputs, (result.spec,), (False,) * len(inputs))


def _bits(element: str) -> int:
    return int(element.lstrip("bfi"))


def _float_text(number: float, element: str) -> str:
    """MLIR reads infinities as bit patterns only, and an exponent only behind a fraction."""
    if not isinf(number):
        return f"{number:.17e}"
    bits = "7F80" if number > 0 else "FF80"
    return f"0x{bits}" if element == "bf16" else f"0x{bits}0000"


def loop_names(rank: int) -> tuple[str, ...]:
    return tuple(f"d{i}" for i in range(rank))
