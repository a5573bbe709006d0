"""npuflow-bundle-matmuls: a matmul is mapped as other ops are, where that is faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.fusion.copy_chain import as_generic
from npuflow.ops.bundle import bundle_of, free_numbers, mark_bundle
from npuflow.ops.contraction import Contraction, open_matmuls, tail_of
from npuflow.strategy.bundle_times import played_bundle, played_matmul
from npuflow.strategy.choose import CHOSEN, ranked_with_costs
from npuflow.strategy.describe_group import group_of_bundle, group_of_matmul, types_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device
from npuflow.target.planned import goes_around_l2

# Where nothing is played out, as without memory tiles, estimates of different mappings are off against each other.
_CLEARLY = 0.92


@register_pass
@dataclass(frozen=True)
class BundleMatmuls(Pass):
    """Makes a matmul with its tail a bundle where that is faster, with the pipelines of both played out.

    A matmul's own mapping has its operands packed as instructions take them, and goes through blocks row by row. A
    bundle's holds what neighbouring blocks share in L2, goes through them in any order, and may have rows of cores
    along n. What no instruction of the device multiplies, as 64-bit numbers, is one in any case: vector engines compute
    it. Matmuls that somebody gave a strategy stay as they are. What is decided, and by what numbers, is a remark.

        %r = linalg.matmul ins(%x, %w : ...) outs(%f : ...)

    becomes

        %r = linalg.generic ... ins(%x, %w : ...) outs(%f : ...) attrs = {npu.bundle = 0} { arith.mulf arith.addf }
    """

    name = "npuflow-bundle-matmuls"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device, said = planned_device(op, self.device), Strategy(depth_between=self.depth_between)
        for function in ops_of(op, "func.func"):
            _ask_ahead(open_matmuls(function), device, said, context)
            numbers = free_numbers(function)
            for matmul in open_matmuls(function):
                if device.has_instruction(types_of(matmul)):
                    _decide(matmul, numbers, device, said, context)
                else:
                    context.remark(matmul.op, f"is mapped as a bundle: '{device.name}' cannot multiply such matrices")
                    _bundle(matmul, numbers, context)


def _ask_ahead(matmuls: Sequence[Contraction], device: Device, said: Strategy, context: PassContext) -> None:
    """Asks how matmuls would be mapped as bundles, one of those that are alike."""
    bundles = (bundle_of(matmul) for matmul in matmuls if device.has_instruction(types_of(matmul)))
    groups = dict.fromkeys(group_of_bundle(bundle) for bundle in bundles if bundle.space)
    context.ahead.ask([partial(ranked_with_costs, group, said, device, 1) for group in groups], [CHOSEN])


def _decide(matmul: Contraction, numbers: Iterator[int], device: Device, said: Strategy, context: PassContext) -> None:
    bundle, own = bundle_of(matmul), played_matmul(group_of_matmul(matmul), device, said)
    other = played_bundle(bundle, device, said) if bundle.space and own is not None else None
    if own is None or other is None:
        return
    is_better = other < own * (_CLEARLY if goes_around_l2(device) else 1.0)
    what = "is mapped as a bundle" if is_better else "stays a matmul"
    context.remark(matmul.op, f"{what}: as a bundle it takes an estimated {other / own:.2f} of the time")
    if is_better:
        _bundle(matmul, numbers, context)


def _bundle(matmul: Contraction, numbers: Iterator[int], context: PassContext) -> None:
    tail, made = tail_of(matmul), as_generic(matmul.op)
    mark_bundle([made] if tail is None else [made, tail], next(numbers))
    context.count("matmuls bundled")
