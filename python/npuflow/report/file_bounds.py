"""What each op of a normalised function can move at least at each level of a device, and what bounds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.bounds import chain
from npuflow.bounds.balance import Types, intensity, machine_balance
from npuflow.bounds.blocks import bytes_of
from npuflow.bounds.levels import Boundary, boundaries_of
from npuflow.bounds.ops import lower_bound_bytes
from npuflow.bounds.private import private_bytes
from npuflow.bounds.sizes import ChainSizes, MatmulSizes, OpSizes
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import Contraction, producer, static_matmuls
from npuflow.ops.grown import find_bundles
from npuflow.report.bounds import op_bound
from npuflow.report.measures import OpBound
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.describe_group import group_of_bundle, group_of_matmul, types_of
from npuflow.strategy.describe_sizes import bundle_sizes, matmul_sizes
from npuflow.strategy.group import Group
from npuflow.strategy.least_time import LeastTime, least_time
from npuflow.target import Device


@dataclass(frozen=True)
class LevelBound:
    """An op at a boundary; `private_bytes` is what cores must receive in all where each has a memory of its own."""

    level: str
    bound: OpBound
    private_bytes: int | None


@dataclass(frozen=True)
class BoundedOp:
    """An op: operations per byte that its best blocks move from and to DRAM, against the machine's balance.

    Both are None where nothing is multiplied that the device has an instruction for, and so is `least`,
    what no mapping is faster than; that too where DRAM takes longer, or there are too many tiles to be gone through.
    """

    name: str
    sizes: OpSizes
    types: Types | None
    levels: Sequence[LevelBound]
    intensity: float | None
    balance: float | None
    least: LeastTime | None = None

    @property
    def is_memory_bound(self) -> bool | None:
        """Whether DRAM takes longer than the cores would; None where nothing is multiplied."""
        return None if self.intensity is None or self.balance is None else self.intensity < self.balance


@dataclass(frozen=True)
class BoundedChain:
    """Two matmuls of which the second reads what the first one makes: what they move apart, and in one."""

    name: str
    level: str
    unfused: OpBound
    fused: OpBound


@dataclass(frozen=True)
class BoundedFunction:
    """A function's ops and chains of matmuls."""

    name: str
    ops: Sequence[BoundedOp]
    chains: Sequence[BoundedChain]


def bounded_function(function: ir.Operation, device: Device) -> BoundedFunction:
    """The bounds of a normalised function's matmuls and bundles."""
    matmuls = static_matmuls(function)
    bundles = find_bundles(function, GrowthOn(device))
    ops = [_matmul(number, one, device) for number, one in enumerate(matmuls)]
    ops += [_bundle(len(matmuls) + number, one, device) for number, one in enumerate(bundles)]
    chains = [made for pair in _chained(matmuls) for made in _chains(*pair, matmuls, device)]
    return BoundedFunction(ir.StringAttr(function.attributes["sym_name"]).value, ops, chains)


def _matmul(number: int, matmul: Contraction, device: Device) -> BoundedOp:
    group = group_of_matmul(matmul)
    sizes = matmul_sizes(group)
    return _bounded(f"{number}: {_matmul_name(sizes)}", sizes, types_of(matmul), group, device)


def _matmul_name(sizes: MatmulSizes) -> str:
    batch = f"{sizes.batch} x " if sizes.batch > 1 else ""
    return f"matmul {batch}{sizes.m}x{sizes.n}x{sizes.k}"


def _bundle(number: int, bundle: Bundle, device: Device) -> BoundedOp:
    sizes, group = bundle_sizes(bundle), group_of_bundle(bundle)
    return _bounded(f"{number}: {_bundle_name(sizes, len(bundle.ops))}", sizes, group.types, group, device)


def _bundle_name(sizes: OpSizes, ops: int) -> str:
    if isinstance(sizes, MatmulSizes):
        return _matmul_name(sizes)
    found = sizes.convolution
    if found is None:
        return f"bundle of {ops} op{'s' * (ops > 1)}"
    results = f"{found.batch}x{found.rows.results}x{found.columns.results}x{found.out_channels}"
    return f"convolution {results}, window {found.rows.taps}x{found.columns.taps}x{found.in_channels}"


def _bounded(name: str, sizes: OpSizes, types: Types | None, group: Group, device: Device) -> BoundedOp:
    boundaries = boundaries_of(device)
    levels = [_at(name, sizes, boundary) for boundary in boundaries]
    if types is None or not sizes.macs or not device.has_instruction(types):
        return BoundedOp(name, sizes, types, levels, None, None)
    outermost = levels[0].bound
    moved = outermost.attainable_bytes or outermost.lower_bound_bytes
    balance = machine_balance(device, types)
    per_byte = intensity(sizes.macs, moved)
    least = least_time(group, device) if per_byte >= balance else None
    return BoundedOp(name, sizes, types, levels, per_byte, balance, least)


def _at(name: str, sizes: OpSizes, boundary: Boundary) -> LevelBound:
    bound = op_bound(name, sizes, boundary.fast_bytes)
    if not boundary.memories or not isinstance(sizes, MatmulSizes):
        return LevelBound(boundary.level.name, bound, None)
    each = private_bytes(sizes, boundary.memories, boundary.private_bytes)
    return LevelBound(boundary.level.name, bound, max(each * boundary.memories, bound.lower_bound_bytes))


def _chained(matmuls: Sequence[Contraction]) -> Iterator[tuple[Contraction, Contraction]]:
    """Pairs of matmuls whose second reads the first as its left operand, whatever other ops stand between them."""
    made = {matmul.op: matmul for matmul in matmuls}
    for second in matmuls:
        firsts = _matmuls_behind(second.lhs, set(made))
        if len(firsts) == 1:
            yield made[firsts.pop()], second


def _matmuls_behind(value: ir.Value, matmuls: set[ir.Operation]) -> set[ir.Operation]:
    """The nearest matmuls that a value is made of."""
    found: set[ir.Operation] = set()
    waiting, seen = [value], set()
    while waiting:
        op = producer(waiting.pop())
        if op is None or op in seen:
            continue
        seen.add(op)
        if op in matmuls:
            found.add(op)
        else:
            waiting += op.operands
    return found


def _chains(
    first: Contraction, second: Contraction, matmuls: Sequence[Contraction], device: Device
) -> Iterator[BoundedChain]:
    """The two at each level, if what the first makes is what the second reads, element by element."""
    sizes = ChainSizes(*(matmul_sizes(group_of_matmul(one)) for one in (first, second)))
    left, right = sizes.first, sizes.second
    if (left.m, left.n, left.batch) != (right.m, right.k, right.batch):
        return
    numbers = [number for number, one in enumerate(matmuls) if one.op in (first.op, second.op)]
    name = f"{numbers[0]} and {numbers[-1]}"
    for boundary in boundaries_of(device):
        fast = boundary.fast_bytes
        apart, together = bytes_of(chain.unfused_attainable(sizes, fast)), bytes_of(chain.fused_attainable(sizes, fast))
        bound = lower_bound_bytes(left, fast) + lower_bound_bytes(right, fast)
        once = chain.fused_compulsory_bytes(sizes)
        unfused = OpBound("unfused", chain.unfused_compulsory_bytes(sizes), bound, apart)
        fused = OpBound("fused", once, once, together)
        yield BoundedChain(name, boundary.level.name, unfused, fused)
