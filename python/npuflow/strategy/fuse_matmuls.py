"""npuflow-fuse-matmuls: two matmuls in a row, as attention's, on one tile of a core where that is faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir, linalg
from npuflow.core.build import at, element_bytes, element_type_of, generic_op, shape_of
from npuflow.core.copies import cloned
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.network.groups import groups_of
from npuflow.ops.bundle import Bundle, make_bundle
from npuflow.ops.chains import Chain, chains_of
from npuflow.ops.contraction import BUNDLE, is_matmul, match_contraction, producer
from npuflow.ops.softmax import match_weighted_sum
from npuflow.strategy.choose import complete
from npuflow.strategy.describe_bundle import bundle_fits
from npuflow.strategy.describe_group import group_of_bundle, group_of_matmul
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.feasibility import obstacles
from npuflow.strategy.group import Group
from npuflow.strategy.inline_producer import inline_producer
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.running_softmax import run_by_pieces
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# What sums begin with.
_STARTS = ("linalg.fill", "tensor.empty", "arith.constant")


@register_pass
@dataclass(frozen=True)
class FuseMatmuls(Pass):
    """Makes two matmuls in a row, with what is between them, one bundle, where that is estimated to be faster.

    What the first makes then never leaves L1: a piece of it is made and used up at once. A softmax between them runs
    piece by piece as well: its division moves behind the second matmul, and the maximum and the sums are running ones.

        %s = linalg.batch_matmul ins(%q, %k : ...) outs(...)
        %p = ... softmax of %s ...
        %r = linalg.batch_matmul ins(%p, %v : ...) outs(...)

    becomes

        %s = linalg.generic ... ins(%q, %k : ...) ... attrs = {npu.bundle = 0}
        %m:3 = linalg.generic ... attrs = {npu.bundle = 0, npu.running}
        ...
        %r = linalg.generic ... ins(%o, %l : ...) ... attrs = {npu.bundle = 0} { arith.divf }
    """

    name = "npuflow-fuse-matmuls"
    group = "strategy"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        for function in ops_of(op, "func.func"):
            for chain in chains_of(function):
                self._fuse(function, chain, device, context)

    def _fuse(self, function: ir.Operation, chain: Chain, device: Device, context: PassContext) -> None:
        """Replaces a chain by the best way to fuse it, if that is better than leaving it apart."""
        apart = sum(_seconds(group, device) or 0.0 for group in _groups_of(function, chain, device))
        ways = [_copied(chain, runs=runs) for runs in _ways(chain)]
        found = [(seconds, way) for way in ways if (seconds := _fused_seconds(way, device)) is not None]
        best, way = min(found, key=lambda each: each[0], default=(apart, ways[0]))
        between = sum(prod(shape_of(v)) * element_bytes(element_type_of(v)) for v in chain.between)
        what = f"two matmuls in a row with {len(chain.ops) - 2} ops between and behind"
        if not found:
            context.remark(chain.root, f"{what} stay apart: no tile of them fits a core")
        elif best >= apart:
            times = f"{best / apart:.2f} times as long"
            context.remark(chain.root, f"{what} stay apart: as one they are estimated to take {times}")
        else:
            share = f"{best / apart:.2f} of the time"
            context.remark(
                chain.root, f"{what} are one: {between} bytes stay in L1, an estimated {share} that they take apart"
            )
        for other in ways:
            if other is not way or not best < apart:
                _erase(other)
        if best < apart:
            _replace(function, chain, way)
            context.count("matmuls fused", 2)


def _ways(chain: Chain) -> list[bool]:
    """Whether to run a softmax piece by piece: both ways are looked at where there is one."""
    return [False, True]


def _groups_of(function: ir.Operation, chain: Chain, device: Device) -> list[Group]:
    """What the chain's ops are compiled as if they stay apart."""
    found = []
    for group in groups_of(function, lambda bundle: bundle_fits(bundle, device)):
        if set(group.ops).isdisjoint(chain.ops):
            continue
        contraction = match_contraction(group.ops[0])
        is_alone = contraction is not None and is_matmul(contraction) and contraction.op in _matmuls(chain)
        found.append(
            group_of_matmul(contraction) if contraction and is_alone else group_of_bundle(make_bundle(group.ops))
        )
    return found


def _matmuls(chain: Chain) -> tuple[ir.Operation, ir.Operation]:
    return chain.first.op, chain.second.op


def _copied(chain: Chain, *, runs: bool) -> list[ir.Operation]:
    """Copies of a chain's ops in front of its last one, all of them linalg.generic; a softmax `runs` by pieces."""
    values: dict[ir.Value, ir.Value] = {}
    made: list[ir.Operation] = []
    with at(chain.root):
        for op in chain.ops:
            results = cloned(op, values)
            values.update(zip(op.results, results))
            made.append(results[0].owner.operation)
        made = [_generic(op) for op in made]
    if not runs:
        return made
    place = chain.ops.index(chain.second.op)
    softmax = match_weighted_sum(made[place])
    if softmax is None:
        return made
    replaced = {*softmax.ops, *softmax.scaling}
    front, behind = [op for op in made[:place] if op not in replaced], made[place + 1 :]
    fused = run_by_pieces(softmax)
    for tail in behind:
        divided = fused.pop()
        fused.append(inline_producer(divided, tail))
        divided.erase()
    return [*front, *fused]


def _generic(op: ir.Operation) -> ir.Operation:
    """A linalg op as a linalg.generic, in its place."""
    contraction = match_contraction(op) if op.name != "linalg.generic" else None
    if contraction is None:
        return op
    reduced = {*contraction.k}
    kinds = ["reduction" if loop in reduced else "parallel" for loop in range(contraction.rank)]
    maps = [ir.AffineMapAttr(map_).value for map_ in linalg.get_indexing_maps(op)]
    with at(op):
        new = generic_op(list(op.operands)[:2], list(op.operands)[2:], maps, kinds)
        op.regions[0].blocks[0].append_to(new.regions[0])
    for old, result in zip(op.results, new.results):
        old.replace_all_uses_with(result)
    op.erase()
    return new


def _fused_seconds(ops: Sequence[ir.Operation], device: Device) -> float | None:
    """How long ops take as one bundle, roughly; None where they fit no core."""
    bundle = make_bundle(ops)
    return _seconds(group_of_bundle(bundle), device) if True else None


def _is_possible(bundle: Bundle, device: Device) -> bool:
    return bool(bundle.space) and bundle_fits(bundle, device)


def _seconds(group: Group, device: Device) -> float | None:
    """How long a group takes by the best strategy, roughly; None where there is none."""
    strategy = complete(group, Strategy(), device)
    if obstacles(group, strategy, device):
        return None
    return Estimate(group, device).seconds(mapping_of(group, strategy))


def _replace(function: ir.Operation, chain: Chain, ops: Sequence[ir.Operation]) -> None:
    """Puts fused ops in place of a chain, marked as a bundle."""
    taken = {int(ir.IntegerAttr(op.attributes[BUNDLE]).value) for op in ops_of(function) if BUNDLE in op.attributes}
    number = next(number for number in range(len(taken) + 1) if number not in taken)
    for op in ops:
        op.attributes[BUNDLE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, op.context), number)
    for old, new in zip(chain.root.results, ops[-1].results):
        old.replace_all_uses_with(new)
    _erase(chain.ops)


def _erase(ops: Sequence[ir.Operation]) -> None:
    """Erases ops, and what was made for them alone."""
    for op in reversed(ops):
        values = list(dict.fromkeys(op.operands))
        op.erase()
        for value in values:
            source = producer(value, *_STARTS)
            if source is not None and not any(True for _ in value.uses):
                _erase([source])
