"""What a program may consist of that is compiled or executed: a file is data, never code that does as it likes.

One list for all that comes in: programs, references, kernels and constants of schedules. What is on it calls nobody
outside and knows no addresses; bodies have no loops. How long a function takes, and how much memory, is limited where
it runs. Everything here reads IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import dynamic_marker
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail, ops_of, parents_of
from npuflow.errors import InputError, nearest

# Types of which there are arrays.
ELEMENT_TYPES = ("i1", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "bf16")
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))
_WIDEST_INTEGER = 64
# What a processor's addresses reach. Sums and products of sizes and strides stay far below 64 bits then.
_MOST_BYTES = 1 << 48

_ARITH = (
    "addf addi addui_extended andi bitcast ceildivsi ceildivui cmpf cmpi constant divf divsi divui extf extsi extui"
    " floordivsi fptosi fptoui index_cast index_castui maximumf maxnumf maxsi maxui minimumf minnumf minsi minui mulf"
    " muli mulsi_extended mului_extended negf ori remf remsi remui select shli shrsi shrui sitofp subf subi truncf"
    " trunci uitofp xori"
)
_MATH = (
    "absf absi acos acosh asin asinh atan atan2 atanh cbrt ceil clampf copysign cos cosh ctlz ctpop cttz erf erfc exp"
    " exp2 expm1 floor fma fpowi isfinite isnan log log10 log1p log2 powf round roundeven rsqrt sin sincos sinh sqrt"
    " tan tanh trunc"
)
_INDEX = (
    "add and bool.constant casts castu ceildivs ceildivu cmp constant divs divu floordivs maxs maxu mins minu mul or"
    " rems remu shl shrs shru sub xor"
)


def _named(dialect: str, names: str) -> frozenset[str]:
    return frozenset(f"{dialect}.{name}" for name in names.split())


# What works on elements, and therefore stands in bodies.
SCALAR_OPS = _named("arith", _ARITH) | _named("math", _MATH)
_BODY_OPS = (
    SCALAR_OPS
    | _named("index", _INDEX)
    | _named("affine", "apply max min")
    | _named("linalg", "index yield")
    | _named("memref", "get_global load")
    | _named("scf", "if yield")
    | _named("tensor", "extract yield")
    | _named("ub", "poison")
)
# What stands around bodies: functions at any stage of a pipeline, and kernels. Of linalg, everything but bodies may.
_OPS = (
    _BODY_OPS
    | _named("affine", "delinearize_index for if linearize_index load parallel store yield")
    | _named(
        "bufferization", "alloc_tensor clone dealloc dealloc_tensor materialize_in_destination to_buffer to_tensor"
    )
    | _named("builtin", "module unrealized_conversion_cast")
    | _named("cf", "br cond_br switch")
    | _named("func", "call func return")
    | _named(
        "memref", "alloc alloca alloca_scope alloca_scope.return assume_alignment cast collapse_shape copy dealloc dim"
    )
    | _named("memref", "expand_shape extract_strided_metadata global memory_space_cast rank reinterpret_cast store")
    | _named("memref", "subview transpose view")
    | _named("scf", "condition execute_region for forall forall.in_parallel index_switch parallel reduce reduce.return")
    | _named("scf", "while")
    | _named("tensor", "bitcast cast collapse_shape concat dim empty expand_shape extract_slice from_elements generate")
    | _named("tensor", "insert insert_slice pad parallel_insert_slice rank reshape splat")
)
_LINALG = "linalg."
_WITH_BODIES = ("tensor.generate", "tensor.pad")

_SCALARS = "i1 to i64, index, f16, bf16, f32 and f64"
_BODY_HINT = f"bodies take ops of arith and math on {_SCALARS}, index, affine.apply and scf.if"
_PROGRAM_HINT = "functions take ops of arith, math, linalg, tensor, memref, scf, affine, bufferization and func"


@dataclass(frozen=True)
class DisallowedOp:
    """An op that may not be there: what it is, and what may."""

    op: ir.Operation
    what: str
    hint: str

    @property
    def place(self) -> ir.Operation:
        """The op, or the nearest one around it that the source has: constants that MLIR moved have no place."""
        return next((op for op in (self.op, *parents_of(self.op)) if location_of(op) is not None), self.op)

    def error(self) -> InputError:
        return fail(self.place, self.what, self.hint)


def problems_in(root: ir.Operation) -> Iterator[DisallowedOp]:
    """What is not allowed below `root`, a module, a function or an op; nothing inside of what is refused itself.

    `llvm.inline_asm` in a body: "llvm.inline_asm is not allowed in the body of linalg.generic".
    """
    yield from _below(root, _body_of(root))
    if root.name == "builtin.module":
        yield from _recursion_in(root)


def _below(op: ir.Operation, around: ir.Operation | None) -> Iterator[DisallowedOp]:
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                inner = child.operation
                found = _problem(inner, around)
                if found is None:
                    yield from _below(inner, around or _body_of(inner))
                else:
                    yield found


def _body_of(op: ir.Operation) -> ir.Operation | None:
    """The op itself if its region is a body, which is gone through once per element."""
    return op if op.name.startswith(_LINALG) or op.name in _WITH_BODIES else None


def _problem(op: ir.Operation, around: ir.Operation | None) -> DisallowedOp | None:
    if around is not None and op.name not in _BODY_OPS:
        return DisallowedOp(op, f"{op.name} is not allowed in the body of {around.name}", _near(op.name, _BODY_HINT))
    if op.name not in _OPS and not op.name.startswith(_LINALG):
        return DisallowedOp(op, f"{op.name} is not allowed in a program", _near(op.name, _PROGRAM_HINT))
    if op.name == "memref.global" and "initial_value" not in op.attributes:
        return DisallowedOp(op, "memref.global has no value: it would be memory of another program", "give it a value")
    kinds = (*_types_of(op), *_block_types(op))
    wrong = next(((kind, problem) for kind in kinds if (problem := type_problem(kind)) is not None), None)
    return None if wrong is None else DisallowedOp(op, f"{op.name} {wrong[1][0]}", wrong[1][1])


def _near(name: str, hint: str) -> str:
    """The allowed ops most like one of arith or math; of another dialect's, what there is at all."""
    dialect = name.partition(".")[0]
    known = [op for op in SCALAR_OPS if op.startswith(f"{dialect}.")]
    return f"did you mean {', '.join(nearest(name, known))}?" if known else hint


def _types_of(op: ir.Operation) -> Iterator[ir.Type]:
    for value in (*op.operands, *op.results):
        yield value.type
    if op.name == "func.func":
        kinds = ir.FunctionType(op.opview.type)
        yield from (*kinds.inputs, *kinds.results)
    if op.name == "memref.global":
        yield ir.TypeAttr(op.attributes["type"]).value


def _block_types(op: ir.Operation) -> Iterator[ir.Type]:
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                yield argument.type


def type_problem(kind: ir.Type) -> tuple[str, str] | None:
    """What keeps a value of a type from being compiled or executed, as (what, hint)."""
    element = kind
    if isinstance(kind, (ir.RankedTensorType, ir.MemRefType)):
        element = kind.element_type
    if not _is_scalar(element):
        return f"works on {'a value' if element == kind else 'elements'} of type {element}", f"use {_SCALARS}"
    if element != kind and _bytes_of(ir.ShapedType(kind), element) > _MOST_BYTES:
        size = _bytes_of(ir.ShapedType(kind), element)
        return f"works on {size} bytes ({kind}), and addresses reach {_MOST_BYTES}", "use smaller sizes"
    return None


def _is_scalar(kind: ir.Type) -> bool:
    if isinstance(kind, ir.IntegerType):
        return bool(kind.is_signless) and 1 <= kind.width <= _WIDEST_INTEGER
    return isinstance(kind, ir.IndexType) or str(kind) in _FLOATS


def _bytes_of(kind: ir.ShapedType, element: ir.Type) -> int:
    sizes = (int(size) for size in kind.shape if size != dynamic_marker())
    bits = _WIDEST_INTEGER if isinstance(element, ir.IndexType) else int(element.width)
    return prod(sizes) * max(1, bits // 8)


def _recursion_in(module: ir.Operation) -> Iterator[DisallowedOp]:
    """The calls of a module that lead back to where they stand."""
    calls = {_name(f): ops_of(f, "func.call") for f in ops_of(module, "func.func")}
    while calls:
        called = {_callee(call) for made in calls.values() for call in made}
        ends = [
            name for name, made in calls.items() if name not in called or not any(_callee(c) in calls for c in made)
        ]
        if not ends:
            break
        calls = {name: made for name, made in calls.items() if name not in ends}
    for name, made in calls.items():
        for call in made:
            if _callee(call) in calls:
                what = f"@{name} calls @{_callee(call)}, which leads back to @{name}"
                yield DisallowedOp(call, what, "write it without recursion")


def _name(function: ir.Operation) -> str:
    return str(function.opview.name.value)


def _callee(call: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
