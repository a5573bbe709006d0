"""Matmul programs by shape, types, layout and tail, as MLIR text: what tests and benchmarks compile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from npuflow.execute.arrays import ArraySpec, Signature, is_float

FUNCTION = "matmul"
SCALE_FLOAT = -0.375
SCALE_INTEGER = 3
SHIFT = 7


class Transposed(Enum):
    """Which operand is stored transposed, and whether an indexing map or a linalg.transpose says so."""

    NONE = "none"
    LHS_BY_MAP = "lhs-by-map"
    RHS_BY_MAP = "rhs-by-map"
    LHS_BY_OP = "lhs-by-op"
    RHS_BY_OP = "rhs-by-op"

    @property
    def lhs(self) -> bool:
        return self in (Transposed.LHS_BY_MAP, Transposed.LHS_BY_OP)

    @property
    def rhs(self) -> bool:
        return self in (Transposed.RHS_BY_MAP, Transposed.RHS_BY_OP)

    @property
    def by_op(self) -> bool:
        return self in (Transposed.LHS_BY_OP, Transposed.RHS_BY_OP)


class Tail(Enum):
    """An elementwise step behind the matmul. TRUNCATE (bf16, or i8 after a shift) can only be the last one."""

    BIAS = "bias"
    RELU = "relu"
    SCALE = "scale"
    TRUNCATE = "truncate"


@dataclass(frozen=True)
class Types:
    """Element types of the operands and of the accumulator."""

    operand: str
    accumulator: str

    def __str__(self) -> str:
        return f"{self.operand}->{self.accumulator}"

    @property
    def truncated(self) -> str:
        return "bf16" if is_float(self.accumulator) else "i8"


TYPES = (Types("i8", "i32"), Types("i16", "i32"), Types("i32", "i32"), Types("bf16", "f32"), Types("f32", "f32"))


@dataclass(frozen=True)
class MatmulProgram:
    """`tail(init + lhs * rhs)`; with `accumulate`, init is an argument instead of zeros. Batch 0 means none."""

    m: int
    n: int
    k: int
    types: Types
    batch: int = 0
    transposed: Transposed = Transposed.NONE
    tails: tuple[Tail, ...] = ()
    accumulate: bool = False
    one_op_per_tail: bool = False

    def __str__(self) -> str:
        parts = [f"{self.m}x{self.n}x{self.k}", str(self.types)]
        parts += [f"batch={self.batch}"] if self.batch else []
        parts += [self.transposed.value] if self.transposed is not Transposed.NONE else []
        parts += ["accumulate"] if self.accumulate else []
        parts += ["+".join(tail.value for tail in self.tails)] if self.tails else []
        return "-".join(parts)

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (*self.batch_shape, self.m, self.n)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return (self.batch,) if self.batch else ()

    @property
    def signature(self) -> Signature:
        operand, accumulator = self.types.operand, self.types.accumulator
        lhs = (self.k, self.m) if self.transposed.lhs else (self.m, self.k)
        rhs = (self.n, self.k) if self.transposed.rhs else (self.k, self.n)
        inputs = [ArraySpec(operand, (*self.batch_shape, *lhs)), ArraySpec(operand, (*self.batch_shape, *rhs))]
        if self.accumulate:
            inputs.append(ArraySpec(accumulator, self.result_shape))
        if Tail.BIAS in self.tails:
            inputs.append(ArraySpec(accumulator, (self.n,)))
        result = self.types.truncated if Tail.TRUNCATE in self.tails else accumulator
        return Signature(FUNCTION, tuple(inputs), (ArraySpec(result, self.result_shape),), (False,) * len(inputs))

    def text(self) -> str:
        """The program as MLIR."""
        return _MatmulWriter(self).text()


class _MatmulWriter:
    """Puts a program's text together, one SSA value after the other."""

    def __init__(self, program: MatmulProgram) -> None:
        self.program = program
        self.lines: list[str] = []
        self.accumulator = program.types.accumulator
        self.shape = program.result_shape

    def text(self) -> str:
        signature = self.program.signature
        arguments = ", ".join(f"%arg{i}: {_tensor(spec)}" for i, spec in enumerate(signature.inputs))
        (result,) = signature.outputs
        self.contraction()
        groups = [(tail,) for tail in self.program.tails] if self.program.one_op_per_tail else [self.program.tails]
        value = "%sum"
        for number, group in enumerate(groups):
            value = self.tail(value, group, number) if group else value
        body = "\n".join(f"  {line}" for line in [*self.lines, f"return {value} : {_tensor(result)}"])
        return f"func.func @{FUNCTION}({arguments}) -> {_tensor(result)} {{\n{body}\n}}\n"

    def add(self, line: str) -> None:
        self.lines.append(line)

    def contraction(self) -> None:
        program = self.program
        accumulator = _tensor(ArraySpec(self.accumulator, self.shape))
        init = "%arg2"
        if not program.accumulate:
            zero = "0.0" if is_float(self.accumulator) else "0"
            self.add(f"%zero = arith.constant {zero} : {self.accumulator}")
            self.add(f"%empty = tensor.empty() : {accumulator}")
            self.add(
                f"%init = linalg.fill ins(%zero : {self.accumulator}) outs(%empty : {accumulator}) -> {accumulator}"
            )
            init = "%init"
        (lhs, lhs_spec), (rhs, rhs_spec) = (self.operand(i) for i in (0, 1))
        name = "linalg.batch_matmul" if program.batch else "linalg.matmul"
        operands = f"ins({lhs}, {rhs} : {_tensor(lhs_spec)}, {_tensor(rhs_spec)})"
        self.add(f"%sum = {name}{self.maps()} {operands} outs({init} : {accumulator}) -> {accumulator}")

    def operand(self, index: int) -> tuple[str, ArraySpec]:
        """An operand as the matmul takes it, through a linalg.transpose where the program has one."""
        spec = self.program.signature.inputs[index]
        turned = (self.program.transposed.lhs, self.program.transposed.rhs)[index]
        if not (turned and self.program.transposed.by_op):
            return f"%arg{index}", spec
        rank = len(spec.shape)
        plain = ArraySpec(spec.element, (*spec.shape[:-2], spec.shape[-1], spec.shape[-2]))
        permutation = [*range(rank - 2), rank - 1, rank - 2]
        self.add(f"%to{index} = tensor.empty() : {_tensor(plain)}")
        outs = f"outs(%to{index} : {_tensor(plain)}) permutation = {permutation}"
        self.add(f"%turned{index} = linalg.transpose ins(%arg{index} : {_tensor(spec)}) {outs}")
        return f"%turned{index}", plain

    def maps(self) -> str:
        transposed = self.program.transposed
        if transposed is Transposed.NONE or transposed.by_op:
            return ""
        batch = "b, " if self.program.batch else ""
        lhs, rhs = "k, m" if transposed.lhs else "m, k", "n, k" if transposed.rhs else "k, n"
        loops = f"({batch}m, n, k)"
        maps = ", ".join(f"affine_map<{loops} -> ({batch}{dims})>" for dims in (lhs, rhs, "m, n"))
        return f" indexing_maps = [{maps}]"

    def tail(self, value: str, steps: tuple[Tail, ...], number: int) -> str:
        """One linalg.generic with the given steps behind each other."""
        rank = len(self.shape)
        before = ArraySpec(self.accumulator, self.shape)
        after = self.program.signature.outputs[0] if Tail.TRUNCATE in steps else before
        identity, row = _map(rank, range(rank)), _map(rank, [rank - 1])
        bias = Tail.BIAS in steps
        bias_spec = ArraySpec(self.accumulator, (self.program.n,))
        inputs = [value, *([f"%arg{len(self.program.signature.inputs) - 1}"] if bias else [])]
        types = [_tensor(before), *([_tensor(bias_spec)] if bias else [])]
        maps = ", ".join([identity, *([row] if bias else []), identity])
        kinds = ", ".join(['"parallel"'] * rank)
        self.add(f"%out{number} = tensor.empty() : {_tensor(after)}")
        self.add(f"%tail{number} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}")
        self.add(f"  ins({', '.join(inputs)} : {', '.join(types)}) outs(%out{number} : {_tensor(after)}) {{")
        shift = f", %b: {self.accumulator}" if bias else ""
        self.add(f"  ^bb0(%x: {self.accumulator}{shift}, %unused: {after.element}):")
        last = "%x"
        for position, step in enumerate(steps):
            last = self.step(step, last, f"%t{position}")
        self.add(f"    linalg.yield {last} : {after.element}")
        self.add(f"}} -> {_tensor(after)}")
        return f"%tail{number}"

    def step(self, step: Tail, value: str, name: str) -> str:
        """One step of a tail on one element."""
        kind = self.accumulator
        real = is_float(kind)
        if step is Tail.TRUNCATE:
            return self.truncate(value, name)
        operations = {
            Tail.BIAS: ("addf" if real else "addi", "%b", ""),
            Tail.RELU: ("maximumf" if real else "maxsi", f"{name}c", "0.0" if real else "0"),
            Tail.SCALE: ("mulf" if real else "muli", f"{name}c", str(SCALE_FLOAT if real else SCALE_INTEGER)),
        }
        operation, other, constant = operations[step]
        if constant:
            self.add(f"    {other} = arith.constant {constant} : {kind}")
        self.add(f"    {name} = arith.{operation} {value}, {other} : {kind}")
        return name

    def truncate(self, value: str, name: str) -> str:
        kind, narrow = self.accumulator, self.program.types.truncated
        if is_float(kind):
            self.add(f"    {name} = arith.truncf {value} : {kind} to {narrow}")
            return name
        self.add(f"    {name}c = arith.constant {SHIFT} : {kind}")
        self.add(f"    {name}s = arith.shrsi {value}, {name}c : {kind}")
        self.add(f"    {name} = arith.trunci {name}s : {kind} to {narrow}")
        return name


def _tensor(spec: ArraySpec) -> str:
    return f"tensor<{spec}>"


def _map(rank: int, results: Iterable[int]) -> str:
    loops = ", ".join(f"d{i}" for i in range(rank))
    return f"affine_map<({loops}) -> ({', '.join(f'd{i}' for i in results)})>"
