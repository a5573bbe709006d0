"""Compiles one function of a module at any stage for this CPU, and calls it with numpy arrays."""

from __future__ import annotations

import ctypes
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir, load_execution_engine, load_runtime
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.execute.arena import Arena
from npuflow.execute.arrays import Array, Signature, is_float
from npuflow.execute.limits import ProgramFailedError, limits_in_force
from npuflow.execute.lowering import ENTRY, NotExecutableError, isolated, lower_to_llvm
from npuflow.execute.sandbox import run_in_child

# Below this many multiply-adds LLVM's optimiser takes longer (20 to 40 ms) than it saves (half of 0.9 ns each).
_WORTH_OPTIMISING = 2**25

# What is executed again comes soon: a kernel that many schedules have, an input on other data. An engine takes 0.7 MB.
_ENGINES_KEPT = 32

# Constants of more elements or bytes aren't printed to find out whether a program is a known one.
_PRINTED = 4096
_LEFT_OUT = "__elided__"

# What arrays hold that nothing has been written to yet.
_NAN_BYTES = 0xFF
_GARBAGE = 0xA5


@dataclass(frozen=True)
class Execution:
    """What a call left behind: the function's results, and its arguments (of which buffers may have been written)."""

    results: list[Array]
    arguments: list[Array]


@dataclass(frozen=True)
class Executable:
    """A compiled function; the last arguments of its signature are `tables`, constants of the program."""

    signature: Signature
    engine: object
    address: int
    tables: tuple[Array, ...] = ()

    def run(self, inputs: Sequence[Array], what: str = "") -> Execution:
        """Calls the function on copies of `inputs`; raises ProgramFailedError where it misbehaves.

        Arguments behind the given ones are there to be written, and hold garbage. `what` names the call in messages.
        """
        what = what or f"the execution of @{self.signature.name}"
        count = len(self.signature.inputs) - len(self.tables)
        assert len(inputs) <= count, f"{self.signature} got {len(inputs)} arrays"
        specs = (*self.signature.inputs, *self.signature.outputs)
        limits_in_force().require(sum(spec.nbytes for spec in specs), what)
        arena = Arena([(spec.nbytes, _NAN_BYTES if is_float(spec.element) else _GARBAGE) for spec in specs])
        arrays = [piece.view(s.dtype).reshape(s.shape) for piece, s in zip(arena.pieces, specs, strict=True)]
        for place, given in zip(arrays, inputs, strict=False):
            place[...] = given
        for place, table in zip(arrays[count:], self.tables, strict=False):
            place[...] = table
        run_in_child(_call_on(self.address, arrays), what)
        overrun = arena.overrun([f"array {position}" for position in range(len(specs))])
        if overrun is not None:
            raise ProgramFailedError(f"{what} wrote {overrun}")
        return Execution(arrays[count + len(self.tables) :], arrays[:count])


def _call_on(address: int, arrays: Sequence[Array]) -> Callable[[], None]:
    """A call of the function at `address` as MLIR packs it: an array of pointers to pointers to descriptors."""
    runtime = load_runtime()
    descriptors = [runtime.get_ranked_memref_descriptor(array) for array in arrays]
    pointers = [ctypes.pointer(ctypes.pointer(descriptor)) for descriptor in descriptors]
    packed = (ctypes.c_void_p * len(pointers))(*[ctypes.cast(p, ctypes.c_void_p) for p in pointers])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)

    def call() -> None:
        function(packed)
        pointers.clear()  # they own what `packed` points to, and must live until here

    return call


@dataclass(frozen=True)
class _ProgramText:
    """All that decides what is compiled; where it stood in a file doesn't."""

    text: str
    function: str
    poison: bool


class _Kept:
    """The executables that were asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executables: OrderedDict[_ProgramText, Executable] = OrderedDict()

    def of(self, program: _ProgramText) -> Executable | None:
        with self._lock:
            if program in self._executables:
                self._executables.move_to_end(program)
            return self._executables.get(program)

    def keep(self, program: _ProgramText, executable: Executable) -> None:
        with self._lock:
            self._executables[program] = executable
            if len(self._executables) > _ENGINES_KEPT:
                self._executables.popitem(last=False)


_kept = _Kept()


def compile_function(module: ir.Operation, function: str, *, poison: bool = True) -> Executable:
    """Compiles a copy of what `function` needs; raises NotExecutableError where the IR cannot be run.

    With `poison`, buffers hold garbage until they are written, so that reading them too early shows.
    """
    copy = isolated(module, function)
    text = copy.operation.get_asm(large_elements_limit=_PRINTED, large_resource_limit=_PRINTED)
    program = _ProgramText(text, function, poison)
    is_whole = _LEFT_OUT not in text
    known = _kept.of(program) if is_whole else None
    if known is not None:
        return known
    executable = _compiled(copy, program)
    if is_whole:
        _kept.keep(program, executable)
    return executable


def _compiled(copy: ir.Module, program: _ProgramText) -> Executable:
    lowered = lower_to_llvm(copy, program.function, poison=program.poison)
    optimise = _multiply_adds(lowered.signature) > _WORTH_OPTIMISING
    if optimise:
        _prefer_size(lowered.module)
    with DiagnosticSink().capture(copy.context) as sink:
        try:
            engine = load_execution_engine().ExecutionEngine(
                lowered.module, opt_level=2 if optimise else 0, enable_object_dump=False
            )
            address = int(engine.raw_lookup(f"_mlir_ciface_{ENTRY}"))
        except RuntimeError as error:
            raise NotExecutableError(sink.errors or f"@{program.function} cannot be compiled: {error}") from error
    assert address, f"@{program.function} calls what this process doesn't have"
    return Executable(lowered.signature, engine, address, lowered.tables)


def _multiply_adds(signature: Signature) -> float:
    """An estimate from the arrays alone: for a matmul, the product of its three sizes is (m * n * k) squared."""
    sizes = sorted((math.prod(spec.shape) for spec in (*signature.inputs, *signature.outputs)), reverse=True)
    return math.sqrt(math.prod(sizes[:3]))


def _prefer_size(module: ir.Module) -> None:
    """Keeps LLVM from unrolling, which takes most of its time and wins little here."""
    with module.context:
        attribute = ir.ArrayAttr.get([ir.StringAttr.get("optsize")])
        for op in module.body.operations:
            if op.operation.name == "llvm.func" and op.operation.regions[0].blocks:
                op.operation.attributes["passthrough"] = attribute
