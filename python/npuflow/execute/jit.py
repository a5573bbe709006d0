"""Compiles functions of modules at any stage for this CPU, and calls them with numpy arrays."""

from __future__ import annotations

import ctypes
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from npuflow.bindings import ir, load_execution_engine, load_runtime
from npuflow.constants.resources import resource_name
from npuflow.core.build import tensor_bytes
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import ops_of
from npuflow.execute.arena import Arena
from npuflow.execute.arrays import Array, Signature, is_float, signature_of
from npuflow.execute.clone import function_of
from npuflow.execute.limits import ProgramFailedError, limits_in_force
from npuflow.execute.lowering import NotExecutableError, has_branches, isolated, lower_to_llvm
from npuflow.execute.sandbox import run_in_child

# Below this many multiply-adds LLVM's optimiser takes longer (20 to 40 ms) than it saves (half of 0.9 ns each).
_WORTH_OPTIMISING = 2**25

# What is executed again comes soon: a kernel that many schedules have, an input on other data. An engine takes 0.7 MB,
# one of ten kernels 1 MB.
_ENGINES_KEPT = 32

# Constants of more elements or bytes aren't printed to find out whether a program is a known one.
_PRINTED = 4096
_LEFT_OUT = "__elided__"
_ONE_EACH: Mapping[str, int] = MappingProxyType({})

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

    @property
    def is_whole(self) -> bool:
        return _LEFT_OUT not in self.text


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
        """As one of those; a program that isn't known by its text is forgotten."""
        if not program.is_whole:
            return
        with self._lock:
            self._executables[program] = executable
            while len({id(each.engine) for each in self._executables.values()}) > _ENGINES_KEPT:
                self._executables.popitem(last=False)


_kept = _Kept()


@dataclass(frozen=True)
class _Isolated:
    """A function to compile, alone in its module but for what it needs."""

    copy: ir.Module
    program: _ProgramText
    calls: int

    @property
    def shares(self) -> bool:
        """Whether it is quick to compile but for what each engine takes, and can share one with others."""
        (_, *others) = self.copy.body.operations
        return not (others or has_branches(self.copy))

    def computes_much(self, signature: Signature) -> bool:
        """Whether, with these arrays, all its calls are worth LLVM's time."""
        return _multiply_adds(signature) * self.calls > _WORTH_OPTIMISING


def compile_function(module: ir.Operation, function: str, *, poison: bool = True) -> Executable:
    """Compiles a copy of what `function` needs; raises NotExecutableError where the IR cannot be run.

    With `poison`, buffers hold garbage until they are written, so that reading them too early shows.
    """
    return compile_functions({function: module}, poison=poison)[function]


def compile_functions(
    modules: Mapping[str, ir.Operation], *, calls: Mapping[str, int] = _ONE_EACH, poison: bool = True
) -> Mapping[str, Executable]:
    """Compiles functions, each of its own module, to be called so often (once unless it is said).

    Small ones are compiled together, as an engine takes longer than they do.
    """
    found: dict[str, Executable] = {}
    together: dict[bool, list[_Isolated]] = {False: [], True: []}
    for name, module in modules.items():
        copy = isolated(module, name)
        text = _LEFT_OUT if _has_large_resource(copy) else copy.operation.get_asm(large_elements_limit=_PRINTED)
        unit = _Isolated(copy, _ProgramText(text, name, poison), calls.get(name, 1))
        known = _kept.of(unit.program)
        if known is not None:
            found[name] = known
        elif len(modules) > 1 and unit.shares:
            together[unit.computes_much(signature_of(function_of(copy, name)))].append(unit)
        else:
            found |= _compiled([unit])
    return {**found, **_compiled_together(together[False]), **_compiled_together(together[True])}


def _has_large_resource(copy: ir.Module) -> bool:
    """Whether printing a module takes as long as writing out what stands behind it, even where that is left out."""
    constants = ops_of(copy.operation, "arith.constant")
    held = (op for op in constants if resource_name(op.attributes["value"]) is not None)
    return any(2 * tensor_bytes(op.results[0]) > _PRINTED for op in held)


def _compiled_together(units: Sequence[_Isolated]) -> Mapping[str, Executable]:
    """In one engine, unless one of them can't be compiled: then each alone, to see which."""
    try:
        return _compiled(units)
    except NotExecutableError:
        return {name: one for unit in units for name, one in _compiled([unit]).items()}


def _compiled(units: Sequence[_Isolated]) -> Mapping[str, Executable]:
    if not units:
        return {}
    names = [unit.program.function for unit in units]
    lowered = lower_to_llvm(_in_one_module(units), *names, poison=units[0].program.poison)
    optimise = any(unit.computes_much(entry.signature) for unit, entry in zip(units, lowered.entries, strict=True))
    if optimise:
        _prefer_size(lowered.module)
    with DiagnosticSink().capture(lowered.module.context) as sink:
        try:
            engine = load_execution_engine().ExecutionEngine(
                lowered.module, opt_level=2 if optimise else 0, enable_object_dump=False
            )
            addresses = [int(engine.raw_lookup(f"_mlir_ciface_{entry.symbol}")) for entry in lowered.entries]
        except RuntimeError as error:
            raise NotExecutableError(sink.errors or f"@{names[0]} cannot be compiled: {error}") from error
    assert all(addresses), f"{names} call what this process doesn't have"
    made = [Executable(e.signature, engine, a, e.tables) for e, a in zip(lowered.entries, addresses, strict=True)]
    for unit, executable in zip(units, made, strict=True):
        _kept.keep(unit.program, executable)
    return dict(zip(names, made, strict=True))


def _in_one_module(units: Sequence[_Isolated]) -> ir.Module:
    """A module to be lowered in place: copies of all, which stay what they are, or the only one itself."""
    if len(units) == 1:
        return units[0].copy
    with units[0].copy.context, ir.Location.unknown():
        whole = ir.Module.create()
        for unit in units:
            (function,) = unit.copy.body.operations
            function.operation.clone(ir.InsertionPoint(whole.body))
    return whole


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
