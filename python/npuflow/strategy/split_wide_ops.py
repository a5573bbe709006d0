"""npuflow-split-wide-ops: what reads more tensors, or does more, than there is room for in a core is done in steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from npuflow.bindings import ir
from npuflow.core.build import is_static
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.frontend.split_body import parts_of, split_body
from npuflow.frontend.split_results import Results, independent_results, split_results
from npuflow.kernels.code_bytes import kernel_bytes, op_bytes, outlined_bytes
from npuflow.kernels.program_bytes import steps_bytes
from npuflow.ops.bundle_ops import is_bundle_op
from npuflow.ops.contraction import Contraction, producer, static_matmuls, tail_of
from npuflow.ops.linear import input_count
from npuflow.ops.reshapes import unreshaped
from npuflow.strategy.describe_group import read_along
from npuflow.strategy.group import M, N
from npuflow.target import Device, KernelClass

# Of descriptors, what buffers may have that are moved as a whole: the others are for what is cut off at edges, which
# nobody has counted when ops are split. Assumed.
_SHARE = 3 / 4
# Descriptors of a memory tile that a matmul needs on the lane that tails share with its right operand: two slots come
# in and go out, results are gathered and leave.
_MATMUL_DESCRIPTORS = 6
# Those beside a core, for two slots of either operand and of the result.
_MATMUL_CORE_DESCRIPTORS = 6
# A buffer of a core is handed to and fro, by two locks. What comes in may share those of a channel; what leaves does
# not.
_BUFFER_LOCKS = 2
# A core's program beside what bodies do: around the kernels, the fill in front of them, steps that hand operands over.
_BESIDE_BYTES = 3072


@register_pass
@dataclass(frozen=True)
class SplitWideOps(Pass):
    """Makes several linalg.generics of one that reads too many tensors: each buffer of a core takes a descriptor.

    A tail shares descriptors of memory tiles with its matmul, one for every row of cores and input that isn't
    broadcast, so that few of those go along with a matmul. A body whose code is larger than a core's memory of programs
    is divided as well, and results that take more locks than a core has are made by several ops.

        %r = linalg.generic ... ins(%a0, ..., %a19 : ...) { arith.addf ... }

    becomes

        %s = linalg.generic ... ins(%a0, ..., %a10 : ...) { arith.addf ... }
        %r = linalg.generic ... ins(%s, %a11, ..., %a19 : ...) { arith.addf ... }
    """

    name = "npuflow-split-wide-ops"
    group = "strategy"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    grid: tuple[int, int] | None = option(None, "rows,columns of cores; default: as few rows as an op needs")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        matmuls = static_matmuls(op)
        tails = {tail: matmul for matmul in matmuls if (tail := tail_of(matmul)) is not None}
        whole = {matmul.op for matmul in matmuls}
        for generic in _others(op, whole):
            sets = _by_locks(generic, device)
            if len(sets) > 1:
                split_results(generic, sets)
                context.count("wide ops split")
        for generic in _others(op, whole):
            most_bytes = _most_bytes(generic, whole, device)
            parts = parts_of(generic, _Room(generic, tails.get(generic), device, (self.grid or (1, 1))[0], most_bytes))
            if len(parts) > 1:
                split_body(generic, parts)
                context.count("wide ops split")


def _others(root: ir.Operation, matmuls: set[ir.Operation]) -> list[ir.Operation]:
    """What may be split."""
    found = (op for op in ops_of(root, "linalg.generic") if op not in matmuls)
    return [op for op in found if is_bundle_op(op) and is_static(op)]


def _by_locks(op: ir.Operation, device: Device) -> list[Results]:
    """The results of an op in sets for which a core has locks; those that need each other stay together."""
    dma = device.dma(device.kernel_level)
    most = max(1, dma.locks // _BUFFER_LOCKS - min(dma.channels_in, input_count(op)))
    if len(op.results) <= most:
        return [tuple(range(len(op.results)))]
    sets: list[Results] = []
    for together in independent_results(op):
        if sets and len(sets[-1]) + len(together) <= most:
            sets[-1] += together
        else:
            sets.append(together)
    return sets


def _most_bytes(op: ir.Operation, matmuls: set[ir.Operation], device: Device) -> int | None:
    """The code that a part of an op may have; None where all of it has room."""
    room = device.engine(KernelClass.VECTOR).program_bytes
    left = room - max((kernel_bytes(each, device) for each in _sums(op, matmuls)), default=0)
    needed = outlined_bytes(op, device) + steps_bytes(4 * len(op.operands))
    return None if not room or needed <= left else left - _BESIDE_BYTES


def _sums(op: ir.Operation, matmuls: set[ir.Operation]) -> Iterator[ir.Operation]:
    """The matmuls whose sums an op reads: a part of it may be the tail of any."""
    for value in op.operands:
        made = producer(unreshaped(value))
        if made is not None and made in matmuls:
            yield made


@dataclass(frozen=True)
class _Room:
    """How much goes at a time, of an op that may be a matmul's tail, with so many rows of cores at least.

    Of a body that doesn't fit as it is, `most_bytes` of code are a part's.
    """

    op: ir.Operation
    matmul: Contraction | None
    device: Device
    rows: int
    most_bytes: int | None

    def has_for(self, inputs: Sequence[ir.Value], results: int) -> bool:
        """Whether there is room for an op with such inputs, as the body's values."""
        core, tile = self.device.dma(self.device.kernel_level).descriptors, self.device.dma(self.device.block_level)
        if self.matmul is None or not any(self._is_sum(value) for value in inputs):
            in_tile = len(inputs) * (1 + self.rows) + results * (self.rows + 1)
            return len(inputs) + results <= _SHARE * core and in_tile <= _SHARE * tile.descriptors
        others = [value for value in inputs if not self._is_sum(value)]
        taken = sum(1 + (self.device.rows if self._comes_by_rows(value) else 1) for value in others)
        lane = tile.descriptors // tile.descriptor_groups - _MATMUL_DESCRIPTORS
        return taken <= lane and len(others) + results - 1 <= core - _MATMUL_CORE_DESCRIPTORS

    def fitting(self, ops: Sequence[ir.Operation]) -> int:
        """How many of a body's ops, from the first one on, have room as code."""
        most = self.most_bytes
        if most is None:
            return len(ops)
        sizes = accumulate(op_bytes(op, self.device) for op in ops)
        return sum(1 for _ in takewhile(lambda size: size <= most, sizes))

    def _is_sum(self, value: ir.Value) -> bool:
        place = self._place(value)
        return place is not None and self.matmul is not None and self.op.operands[place] == self.matmul.result

    def _comes_by_rows(self, value: ir.Value) -> bool:
        """Whether every row of cores has its own part of a value, in all columns: of what isn't an input, it does."""
        place = self._place(value)
        if place is None or self.matmul is None:
            return True
        return {M, N} <= set(read_along(self.matmul, self.op, place))

    def _place(self, value: ir.Value) -> int | None:
        """The input that a value of the body is."""
        is_input = isinstance(value.owner, ir.Block) and value.owner == self.op.regions[0].blocks[0]
        place = value.arg_number if is_input else input_count(self.op)
        return place if place < input_count(self.op) else None
