"""npuflow-fuse-matmuls: two matmuls in a row, as attention's, on one tile of a core where that is faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.fusion.copy_chain import copies_of, erase_ops
from npuflow.fusion.seconds_apart import seconds_apart
from npuflow.network.groups import FusionGroup, groups_of, names_of
from npuflow.ops.bundle import free_numbers, make_bundle, mark_bundle
from npuflow.ops.chains import Chain, chains_of
from npuflow.ops.contraction import STRATEGY
from npuflow.ops.refused import mark_made_of, refusal
from npuflow.strategy.bundle_times import GrowthOn, bundle_seconds
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device, KernelClass


@register_pass
@dataclass(frozen=True)
class FuseMatmuls(Pass):
    """Makes two matmuls in a row, with what is between them, one bundle, where that is estimated to be faster.

    What the first makes then never leaves L1: a piece of it is made and used up at once. A softmax between them runs
    piece by piece as well: its division moves behind the second matmul, and the maximum and the sums are running ones.
    Matmuls that somebody gave a strategy stay as they are, and so do groups that the function's `npu.refused` names: as
    one, a schedule refused them. What is decided, and by what numbers, is a remark.

        %s = linalg.batch_matmul ins(%q, %k : ...) outs(...)
        %p = ... softmax of %s ...
        %r = linalg.batch_matmul ins(%p, %v : ...) outs(...)

    becomes

        %s = linalg.generic ... ins(%q, %k : ...) ... attrs = {npu.bundle = 0, npu.made_of = ["f_0", "f_1", "f_2"]}
        %m = linalg.generic ... ins(%s : ...) ... attrs = {npu.bundle = 0, npu.running, ...} { arith.maximumf }
        ...
        %r = linalg.generic ... ins(%o, %l : ...) ... attrs = {npu.bundle = 0, ...} { arith.divf }
    """

    name = "npuflow-fuse-matmuls"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")
    bundle_matmuls: bool = option(False, "matmuls that stay apart may be mapped as other ops are")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        for function in ops_of(op, "func.func"):
            chains = [c for c in chains_of(function) if not any(STRATEGY in op.attributes for op in c.ops)]
            if not chains:
                continue
            among = _Among(function, device, Strategy(depth_between=self.depth_between), self.bundle_matmuls)
            for chain, groups in [(chain, among.names(chain)) for chain in chains]:
                why = refusal(function, groups)
                if why is None:
                    _decide(chain, groups, among, context)
                else:
                    context.remark(chain.root, f"groups {', '.join(groups)} stay apart: as one, {why}")


class _Among:
    """The ops of a function, and what is said of the strategies of all.

    What they are compiled as if they stay apart is found once, and again where fusing has left gaps.
    """

    def __init__(self, function: ir.Operation, device: Device, said: Strategy, bundles: bool) -> None:
        self.function, self.device, self.said, self.bundles = function, device, said, bundles
        self._groups = self._found()

    def _found(self) -> dict[ir.Operation, FusionGroup]:
        return {
            op: group
            for group in groups_of(self.function, GrowthOn(self.device, depth_between=self.said.depth_between))
            for op in group.ops
        }

    def _of(self, chain: Chain) -> list[FusionGroup]:
        """The groups that a chain's ops are in."""
        return list(dict.fromkeys(self._groups[op] for op in chain.ops if op in self._groups))

    def names(self, chain: Chain) -> tuple[str, ...]:
        """What the groups of a chain's ops are called, while none is fused."""
        groups = list(dict.fromkeys(self._groups.values()))
        own = self._of(chain)
        return tuple(
            name for group, names in zip(groups, names_of(self.function, groups)) if group in own for name in names
        )

    def seconds_apart(self, chain: Chain) -> float:
        """How long the groups of a chain's ops take."""
        if not all(op in self._groups for op in chain.ops):
            self._groups = self._found()
        return sum(seconds_apart(group, self.device, self.said, bundles=self.bundles) for group in self._of(chain))

    def fused(self, chain: Chain) -> None:
        """Forgets the groups of a chain that is gone."""
        gone = self._of(chain)
        self._groups = {op: group for op, group in self._groups.items() if group not in gone}

    def fused_seconds(self, ops: Sequence[ir.Operation]) -> float | None:
        """How long ops take as one bundle, roughly; None where they fit no core."""
        bundle = make_bundle(ops)
        if not bundle.space:
            return None
        return bundle_seconds(bundle, self.device, self.said)


def _decide(chain: Chain, groups: Sequence[str], among: _Among, context: PassContext) -> None:
    """Puts the fastest copy of a chain that fits in its place, if it is faster than the chain."""
    apart = among.seconds_apart(chain)
    ways = list(copies_of(chain, one_engine=_is_one_engine(among.device)))
    times = [among.fused_seconds(way) for way in ways]
    best = min((time for time in times if time is not None), default=None)
    is_better = best is not None and best < apart
    context.remark(chain.root, _said(chain, best, apart))
    chosen = times.index(best) if is_better else None
    for number, way in enumerate(ways):
        if number != chosen:
            erase_ops(way)
    if chosen is not None:
        among.fused(chain)
        mark_made_of(ways[chosen], groups)
        _replace(among.function, chain, ways[chosen])
        context.count("matmuls fused", 2)


def _said(chain: Chain, best: float | None, apart: float) -> str:
    between = sum(prod(shape_of(v)) * element_bytes(element_type_of(v)) for v in chain.between)
    what = f"two matmuls in a row hand over {between} bytes"
    if best is None:
        return f"{what} in L3: as one they don't fit a core"
    where = "in L1" if best < apart else "in L3"
    return f"{what} {where}: as one they take an estimated {best / apart:.2f} of the time that they take apart"


def _is_one_engine(device: Device) -> bool:
    """Whether what adds products up and what scales the sums is one engine: two could not hand them to and fro."""
    return device.engine(KernelClass.MATRIX) == device.engine(KernelClass.VECTOR)


def _replace(function: ir.Operation, chain: Chain, ops: Sequence[ir.Operation]) -> None:
    """Puts fused ops in place of a chain, marked as a bundle."""
    mark_bundle(ops, next(free_numbers(function)))
    for old, new in zip(chain.root.results, ops[-1].results):
        old.replace_all_uses_with(new)
    erase_ops(chain.ops)
