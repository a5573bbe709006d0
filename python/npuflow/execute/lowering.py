"""A module at any stage of a pipeline to LLVM, with entries that take and return plain arrays.

A function's entry has one memref per argument and, behind them, one per result, scalars as memrefs of rank 0:
whatever the function returns (a new buffer, an argument, a view of one) is copied into memory that the caller owns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from npuflow.bindings import func, ir, memref
from npuflow.core.build import at
from npuflow.core.diagnostics import DiagnosticSink, location_of
from npuflow.core.passes import fail, ops_of
from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.execute.arrays import Array, Signature, signature_of
from npuflow.execute.bf16_as_bits import hold_bf16_as_bits
from npuflow.execute.clone import clone_function, function_of, run_passes, spell_out
from npuflow.execute.guard_divisions import guard_divisions
from npuflow.execute.lift_tables import lift_tables
from npuflow.execute.lower_movements import lower_movements
from npuflow.execute.narrow_floats import expand_narrow_floats
from npuflow.execute.near_zero import call_near_zero
from npuflow.execute.order_loops import order_loops
from npuflow.execute.poison import drop_deallocations, poison_buffers
from npuflow.execute.share_ops import say_what_is_shared, share_ops

_ENTRY = "npuflow_entry"

# Addresses that are rounded up by integers are anybody's to LLVM, which then vectorises nothing.
_BUFFERIZE = (
    "one-shot-bufferize{buffer-alignment=0 bufferize-function-boundaries=true allow-return-allocs-from-loops=true"
    " function-boundary-type-conversion=identity-layout-map unknown-type-conversion=identity-layout-map}"
)
# Inlining first: a buffer that no function returns is freed where its last loop ends.
_INLINE = "inline,symbol-dce"
_DEALLOCATE = (
    "ownership-based-buffer-deallocation,canonicalize,buffer-deallocation-simplification,"
    "bufferization-lower-deallocations,convert-bufferization-to-memref"
)
_TO_LOOPS = "convert-linalg-to-loops,scf-forall-to-for"
# Functions of bf16 become those of f32 before numbers are rounded by integers: what libm's calls round, processors
# without instructions for bf16 would call a function for.
_TO_LLVM = (
    "expand-strided-metadata,lower-affine,math-expand-ops{ops=rsqrt,clampf,fpowi,ctlz},"
    "math-extend-to-supported-types{extra-types=f16 target-type=f32},arith-expand{include-bf16=true},"
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32},arith-expand{include-bf16=true},"
    "canonicalize,cse,convert-math-to-llvm,convert-math-to-libm,convert-scf-to-cf,convert-to-llvm,reconcile-unrealized-casts"
)


@dataclass(frozen=True)
class Entry:
    """What runs one function, with `tables` as its last arguments."""

    symbol: str
    signature: Signature
    tables: tuple[Array, ...]


@dataclass(frozen=True)
class Lowered:
    """An LLVM-dialect module, and the entry of each function that was asked for."""

    module: ir.Module
    entries: tuple[Entry, ...]


class NotExecutableError(InputError):
    """The IR is valid, but cannot be run on the CPU."""


def isolated(module: ir.Operation, function: str) -> ir.Module:
    """A copy of a function, to be lowered; raises NotExecutableError where it is not one that can be executed."""
    with module.context, refusing(module, function):
        copy = clone_function(module, function)
        signature_of(function_of(copy, function))
    return copy


def lower_to_llvm(copy: ir.Module, *functions: str, poison: bool) -> Lowered:
    """Lowers isolated functions in place; raises NotExecutableError where that isn't possible."""
    with copy.context, refusing(copy.operation, functions[0]):
        spell_out(copy)
        tables: dict[str, tuple[Array, ...]] = {}
        if _has_tensors(copy):
            tables = {name: lift_tables(function_of(copy, name)) for name in functions}
            run_passes(copy, _BUFFERIZE)
        entries = tuple(_entry(copy, name, tables.get(name, ())) for name in functions)
        lower_movements(copy)
        if poison:
            poison_buffers(copy)
        drop_deallocations(copy)
        run_passes(copy, _INLINE)
        if not has_branches(copy):  # whose loops MLIR's deallocation refuses
            run_passes(copy, _DEALLOCATE)
        # Deallocation clones buffers where it cannot see who owns them, which are copies again.
        lower_movements(copy)
        share_ops(copy)
        order_loops(copy)
        run_passes(copy, _TO_LOOPS)
        guard_divisions(copy.operation)
        expand_narrow_floats(copy.operation)
        call_near_zero(copy)
        run_passes(copy, _TO_LLVM)
        _inline_entries(copy)
        say_what_is_shared(copy)
        hold_bf16_as_bits(copy.operation)
        _check_llvm(copy)
    return Lowered(copy, entries)


def has_branches(copy: ir.Module) -> bool:
    return bool(ops_of(copy.operation, "cf.br", "cf.cond_br"))


@contextmanager
def refusing(module: ir.Operation, function: str) -> Iterator[None]:
    """Turns what MLIR refuses into a NotExecutableError that carries MLIR's messages."""
    sink = DiagnosticSink()
    try:
        with sink.capture(module.context):
            yield
    except (ir.MLIRError, InputError) as error:
        found = [*error.diagnostics] if isinstance(error, InputError) else sink.errors
        found = [replace(d, notes=()) for d in found]  # which print whole functions
        text = f"@{function} cannot be executed on the CPU"
        raise NotExecutableError([Diagnostic(Severity.ERROR, text, location_of(module)), *found]) from error


def _has_tensors(module: ir.Module) -> bool:
    def is_tensor(value: ir.Value) -> bool:
        return isinstance(value.type, (ir.RankedTensorType, ir.UnrankedTensorType))

    ops = ops_of(module.operation)
    return any(is_tensor(value) for op in ops for value in (*op.results, *op.operands)) or any(
        "tensor<" in str(op.attributes["function_type"]) for op in ops if op.name == "func.func"
    )


def _entry(module: ir.Module, function: str, tables: tuple[Array, ...]) -> Entry:
    """Adds a function's entry, which calls it, to be public in its place."""
    symbol = f"{_ENTRY}_{function}"
    target = function_of(module, function)
    signature, kinds = signature_of(target), ir.FunctionType(target.opview.type)
    target.attributes["sym_visibility"] = ir.StringAttr.get("private")
    with at(target, after=True):
        entry = func.FuncOp(symbol, ([_plain(kind) for kind in (*kinds.inputs, *kinds.results)], []))
        entry.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        block = entry.add_entry_block()
        with ir.InsertionPoint(block):
            given = [_load(value, kind) for value, kind in zip(block.arguments, kinds.inputs, strict=False)]
            call = func.CallOp(list(kinds.results), function, given)
            for result, out in zip(call.operation.results, list(block.arguments)[len(given) :], strict=True):
                _store(result, out)
            func.ReturnOp([])
    return Entry(symbol, signature, tables)


def _inline_entries(module: ir.Module) -> None:
    """Has what only an entry's C interface calls become part of it.

    A call with hundreds of arrays, eleven numbers each, puts them on the stack one by one, which takes LLVM the square
    of their number: of a ResNet-50 with what each layer hands on most of the time that it took.
    """
    internal = ir.Attribute.parse("#llvm.linkage<internal>", module.context)
    for op in ops_of(module.operation, "llvm.func"):
        name = ir.StringAttr(op.attributes["sym_name"]).value
        if name.startswith(_ENTRY):
            op.attributes["linkage"] = internal
            op.attributes["always_inline"] = ir.UnitAttr.get(module.context)


def _plain(kind: ir.Type) -> ir.Type:
    """The memref, contiguous and row-major, that holds a value of this type."""
    if isinstance(kind, ir.MemRefType):
        return ir.MemRefType.get(kind.shape, kind.element_type)
    return ir.MemRefType.get([], kind)


def _load(value: ir.Value, kind: ir.Type) -> ir.Value:
    if not isinstance(kind, ir.MemRefType):
        return memref.LoadOp(value, []).result
    return value if value.type == kind else memref.CastOp(kind, value).result


def _store(value: ir.Value, out: ir.Value) -> None:
    if isinstance(value.type, ir.MemRefType):
        memref.CopyOp(value, out)
    else:
        memref.StoreOp(value, out, [])


def _check_llvm(module: ir.Module) -> None:
    left = [op for op in ops_of(module.operation) if not op.name.startswith("llvm.")]
    if left:
        names = ", ".join(sorted({op.name for op in left}))
        raise fail(left[0], f"{names} cannot be lowered for the CPU")
