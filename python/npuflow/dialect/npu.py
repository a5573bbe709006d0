"""The definition of the `npu` dialect; `dialects/npu.irdl.mlir` is generated from it.

    #npu.device<"npu2", {rows = 4, columns = 8}>
    #npu.strategy<{grid = [2, 2], tile_l2 = [64, 64, 256], tile_l1 = [32, 32, 32], pack = [4, 8, 8]}>

IRDL checks the kinds of the parameters; `attributes.py` checks what is inside.
"""

import io
import threading  # annotations below are read by `ext` as objects, so they must not be postponed
from collections.abc import Callable, Sequence

from npuflow.bindings import ext, find_dialects_in, ir
from npuflow.dialect import verify

find_dialects_in("npuflow.dialect")  # this module, `npu`


class Npu(ext.Dialect, name="npu"):  # type: ignore[call-arg]
    """What a spatial NPU does, explicitly."""

    _definition: bytes = b""

    @classmethod
    def _emit_module(cls) -> ir.Module:
        """The dialect as IRDL: made op by op once, as `load` asks for it in each context, then read."""
        if cls._definition:
            return ir.Module.parse(cls._definition)
        module = super()._emit_module()
        written = io.BytesIO()
        module.operation.write_bytecode(written)
        cls._definition = written.getvalue()
        return module


class DeviceAttr(Npu.Attribute, name="device"):  # type: ignore[name-defined, call-arg]
    """The device a module is compiled for: its name and, where the program uses only part of it, how much."""

    device: ir.StringAttr
    fields: ir.DictAttr


class StrategyAttr(Npu.Attribute, name="strategy"):  # type: ignore[name-defined, call-arg]
    """How one op is to be mapped: core grid, tiles per level, packed inner shape, buffer depths."""

    fields: ir.DictAttr


class EngineAttr(Npu.Attribute, name="engine"):  # type: ignore[name-defined, call-arg]
    """On a function: it is the program of all like engines; its arguments are their coordinates, named by `span`.

    `channels`, if they are assigned, are the numbers of those beside one memory, in the order of their coordinates.
    """

    fields: ir.DictAttr


Coordinates = Sequence[ext.Operand[ir.IndexType]]


class BufferOp(Npu.Operation, name="buffer"):  # type: ignore[name-defined, call-arg]
    """`depth` slots of a memref's size in a memory of `level`, for every combination of the coordinates in `span`.

    `address` is the first slot's address in bytes, from the coordinates. `role` says whether the function's caller sees
    it: `argument`, `result` or `internal`. A `constant` holds from the start what the memref.global holds that the
    attribute `npu.value` names.
    """

    sym_name: ir.StringAttr
    contents: ir.TypeAttr
    level: ir.IntegerAttr
    span: ir.ArrayAttr
    depth: ir.IntegerAttr
    address: ir.AffineMapAttr
    role: ir.StringAttr

    def verify_invariants(self) -> bool:
        return holds(self, lambda: verify.buffer_problems(self.attributes))


class SemaphoreOp(Npu.Operation, name="semaphore"):  # type: ignore[name-defined, call-arg]
    """A counter that engines wait for and add to, for every combination of the coordinates in `span`.

    The attribute `npu.locks`, if they are assigned, has the numbers of those in one memory.
    """

    sym_name: ir.StringAttr
    span: ir.ArrayAttr
    initial: ir.IntegerAttr
    maximum: ir.IntegerAttr
    cause: ir.StringAttr

    def verify_invariants(self) -> bool:
        return holds(self, lambda: verify.semaphore_problems(self.attributes))


class StreamOp(Npu.Operation, name="stream"):  # type: ignore[name-defined, call-arg]
    """A path from the sender at the coordinates in `span` to its receivers: all that differ in `multicast` only."""

    sym_name: ir.StringAttr
    span: ir.ArrayAttr
    sender: ir.FlatSymbolRefAttr
    receiver: ir.FlatSymbolRefAttr
    multicast: ir.ArrayAttr

    def verify_invariants(self) -> bool:
        return holds(self, lambda: verify.stream_problems(self.attributes))


class Synchronisation(Npu.Operation):  # type: ignore[name-defined]
    """What acquire and release share: the semaphore at `at(indices)`."""

    indices: Coordinates
    semaphore: ir.FlatSymbolRefAttr
    at: ir.AffineMapAttr

    def verify_invariants(self) -> bool:
        return holds(self, lambda: verify.map_problems(self.attributes, ("at",), len(self.operation.operands)))


class AcquireOp(Synchronisation, name="acquire"):  # type: ignore[call-arg]
    """Waits until the semaphore is positive, and takes one."""


class ReleaseOp(Synchronisation, name="release"):  # type: ignore[call-arg]
    """Adds one to the semaphore."""


class TransferEnd(Npu.Operation):  # type: ignore[name-defined]
    """One end of a transfer: a slot of a buffer, gone through by an access pattern.

    Sizes and strides are in elements, outermost first. `limits` is a list of [weights, bound]: an element exists where
    the weighted sum of its position is below the bound; with `zeros`, zeros are sent for what doesn't exist.

    The attribute `npu.descriptors`, if they are assigned, says how many it takes and the first of them for each of its
    channels.
    """

    indices: Coordinates
    stream: ir.FlatSymbolRefAttr
    stream_at: ir.AffineMapAttr
    buffer: ir.FlatSymbolRefAttr
    buffer_at: ir.AffineMapAttr
    slot: ir.AffineMapAttr
    offset: ir.AffineMapAttr
    sizes: ir.ArrayAttr
    strides: ir.ArrayAttr
    limits: ir.ArrayAttr
    zeros: ir.IntegerAttr

    def verify_invariants(self) -> bool:
        return holds(self, lambda: verify.transfer_problems(self.attributes, len(self.operation.operands)))


class SendOp(TransferEnd, name="send"):  # type: ignore[call-arg]
    """Reads what it goes through onto the stream."""


class ReceiveOp(TransferEnd, name="receive"):  # type: ignore[call-arg]
    """Writes what the stream brings where it goes through."""


class ComputeOp(Npu.Operation, name="compute"):  # type: ignore[name-defined, call-arg]
    """Calls a kernel, a function of L1 buffers, with one slot of each of `buffers`; it takes `cycles`.

    `slots` has a map per buffer; `effects` says of each buffer "r", "w" or "rw".
    """

    indices: Coordinates
    kernel: ir.FlatSymbolRefAttr
    kind: ir.StringAttr
    cycles: ir.IntegerAttr
    buffers: ir.ArrayAttr
    at: ir.AffineMapAttr
    slots: ir.ArrayAttr
    effects: ir.ArrayAttr

    def verify_invariants(self) -> bool:
        return holds(self, lambda: verify.compute_problems(self.attributes, len(self.operation.operands)))


class ConfigureOp(Npu.Operation, name="configure"):  # type: ignore[name-defined, call-arg]
    """The control processor sets up so many descriptors of a shim's next task."""

    descriptors: ir.IntegerAttr


def holds(op: ext.Operation, find_problems: Callable[[], list[str]]) -> bool:
    """Emits every problem at the op; true if there is none.

    This runs before IRDL's own checks, which say what is missing or of the wrong kind: then there is nothing to add.
    """
    try:
        problems = find_problems()
    except verify.WrongItemError as error:
        problems = [str(error)]
    except (KeyError, ValueError, IndexError):
        return True
    for problem in problems:
        op.location.emit_error(f"'{op.operation.name}' op {problem}")
    return not problems


_LOAD_LOCK = threading.Lock()


def load_dialect(context: ir.Context) -> None:
    """Makes the dialect known to a context; calling it twice is harmless."""
    with _LOAD_LOCK, context, ir.Location.unknown():
        if not context.is_dialect_loaded("npu"):
            Npu.load()


def irdl_text() -> str:
    """The dialect as IRDL, as other MLIR tools read it."""
    context = ir.Context()
    with _LOAD_LOCK, context, ir.Location.unknown():
        Npu.load()
        return str(Npu._mlir_module)
