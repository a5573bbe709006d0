"""npuflow-assign-strategy: every matmul, and every bundle of what is none, says how it will be mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from itertools import count
from math import prod
from typing import TypeAlias, TypeVar

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device, record_device
from npuflow.errors import InputError
from npuflow.ops.bundle import Bundle, mark_bundle, marked_groups, marks_problem
from npuflow.ops.contraction import STRATEGY, Contraction, enclosing, matmuls, static_matmuls
from npuflow.ops.estimated import forget_estimated
from npuflow.ops.grown import find_bundles
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.choice_remarks import choice_remarks
from npuflow.strategy.open_groups import OpenGroup, open_bundle, open_matmul
from npuflow.strategy.space import Array
from npuflow.strategy.strategy import DEPTHS, Strategy
from npuflow.strategy.work import note_work
from npuflow.target import Device

Chosen = Sequence[tuple[OpenGroup, Strategy]]
Function: TypeAlias = "ir.Operation | None"
Found = TypeVar("Found", Contraction, Bundle)


class KInL2(Enum):
    """How much of K the pipeline keeps in L2 at a time."""

    TILE = "tile"
    WHOLE = "whole"


@register_pass
@dataclass(frozen=True)
class AssignStrategy(Pass):
    """Completes the strategies of matmuls and bundles, and refuses what doesn't fit, before anything is rewritten.

    What is no matmul is bundled: a bundle is as many ops as can share a tile in L1, as a softmax, which is read once
    and written once if a row fits. Its loops are numbered as its last op has them, those of its space first.

    What a `#npu.strategy` on a matmul, or on the last op of a bundle, says comes first, then this pass's options (for a
    bundle `grid` and `depth-between`; then the grid of the function's matmuls), then the choice for the device; where
    the function's `npu.lacked` says that choices needed too much, the next one that needs less. Where its
    `npu.load_seconds` says how long each core that it takes is loaded, that counts as well.

    The device is noted on the module as `npu.device`, where later passes find it; what the groups are and how they are
    mapped, on their function as `npu.work`, for reports, with what that loses where what parts hand over goes to DRAM.

        %r = linalg.matmul ins(...) outs(...)
        %s = linalg.generic ... iterator_types = ["parallel", "reduction"] ins(%x : tensor<256x512xf32>) ...
        %t = linalg.generic ... iterator_types = ["parallel", "parallel"] ins(%x, %s : ...) ...

    becomes

        %r = linalg.matmul {npu.strategy = #npu.strategy<{depth_l1 = 2 : i64, depth_l2 = 2 : i64, grid = [4, 4],
          pack = [4, 8, 8], tile_l1 = [64, 64, 64], tile_l2 = [256, 256, 256]}>} ins(...) outs(...)
        %s = linalg.generic ... attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{grid = [4, 4], spread = [0, 0],
          tile_l1 = [4], ...}>}
        %t = linalg.generic ... attrs = {npu.bundle = 0, npu.strategy = #npu.strategy<{...}>}
    """

    name = "npuflow-assign-strategy"
    group = "strategy"
    assigns_strategies = True
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    grid: tuple[int, int] | None = option(None, "rows,columns of cores (along m, along n)")
    tile_l2: tuple[int, int, int] | None = option(None, "m,n,k of a block in L2")
    tile_l1: tuple[int, int, int] | None = option(None, "m,n,k of a core's tile in L1")
    pack: tuple[int, int, int] | None = option(None, "m,n,k of the matmul instruction")
    k_in_l2: KInL2 = option(KInL2.TILE, "how much of K is in L2 at a time")
    depth_l2: int | None = option(None, "slots of each operand's buffer in L2")
    depth_l1: int | None = option(None, "slots of each operand's buffer in L1")
    depth_lhs: tuple[int, int] | None = option(None, "slots of the left operand's buffers in L2,L1")
    depth_rhs: tuple[int, int] | None = option(None, "slots of the right operand's buffers in L2,L1")
    depth_result: int | None = option(None, "slots of the result's buffers")
    depth_tail: int | None = option(None, "slots of what the tail reads beside the sum, in L2 and L1")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")
    fuse: bool = option(True, "let bundles grow around sums of products")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device, functions = planned_device(op, self.device), ops_of(op, "func.func")
        forget_estimated(functions)
        for ops in marked_groups(op):
            if (problem := marks_problem(ops)) is not None:
                context.error(ops[-1], *problem)
        own = self._choose(self._open(matmuls(op, context), self._matmul(device), context), {}, device, context)
        if context.failed:
            return
        arrays: dict[Function, Array | None] = {
            function: own[function][0][1].array if function in own else self.grid for function in functions
        }
        bundles = (bundle for function in functions for bundle in self._bundles(function, device))
        others = self._choose(self._open(bundles, self._bundle, context), arrays, device, context)
        if context.failed:
            return
        numbers = count()
        for function in (*functions, None):  # a matmul may stand in none
            chosen = (*own.get(function, ()), *others.get(function, ()))
            work = []
            for one, strategy in chosen:
                lost = one.lost_in_dram(strategy, device)
                _assign(one, strategy, numbers)
                for said in choice_remarks(one, strategy, device, lost):
                    context.remark(one.op, said)
                work.append((one.op, one.sizes, lost))
            if function is not None:
                note_work(function, work)
        if bundled := next(numbers):
            context.count("bundles", bundled)
        record_device(op, device, self.device)

    def open_groups(self, function: ir.Operation, device: Device) -> Iterator[OpenGroup]:
        """The groups of a function with what is given of their strategies, matmuls first; raises what `run` reports."""
        yield from map(self._matmul(device), static_matmuls(function))
        yield from map(self._bundle, self._bundles(function, device))

    def _bundles(self, function: ir.Operation, device: Device) -> list[Bundle]:
        return find_bundles(function, GrowthOn(device, self.fuse, self.depth_between))

    def _matmul(self, device: Device) -> Callable[[Contraction], OpenGroup]:
        options = Strategy(**{key: value for key in _GIVEN if (value := getattr(self, key)) is not None})
        return lambda matmul: open_matmul(matmul, device, options, whole_k=self.k_in_l2 is KInL2.WHOLE)

    def _bundle(self, bundle: Bundle) -> OpenGroup:
        return open_bundle(bundle, Strategy(depth_between=self.depth_between))

    def _open(
        self, found: Iterable[Found], opened: Callable[[Found], OpenGroup], context: PassContext
    ) -> Iterator[OpenGroup]:
        """What is given of all groups, after reporting of which it is malformed."""
        for each in found:
            try:
                yield opened(each)
            except InputError as error:
                context.report(error)

    def _choose(
        self,
        groups: Iterable[OpenGroup],
        arrays: Mapping[Function, Array | None],
        device: Device,
        context: PassContext,
    ) -> dict[Function, Chosen]:
        """The strategies of groups by their functions, each of which has one array; errors for those without."""
        chosen: dict[Function, list[tuple[OpenGroup, Strategy]]] = {}
        for one in groups:
            function = enclosing(one.op, "func.func")
            strategy = one.choose(device, arrays.get(function))
            if isinstance(strategy, Strategy):
                chosen.setdefault(function, []).append((one, strategy))
            else:
                for obstacle in strategy:
                    context.error(one.op, obstacle.message, obstacle.hint)
        return {} if context.failed else {function: _on_one_array(its, device) for function, its in chosen.items()}


_GIVEN = ("grid", "tile_l2", "tile_l1", "pack", *DEPTHS)


def _on_one_array(chosen: Chosen, device: Device) -> Chosen:
    """The strategies on one array, the largest that all can have: another would reconfigure it.

    Matmuls may grow: the first to be tried is the smallest that holds all of theirs.
    """
    arrays = sorted({strategy.array for _, strategy in chosen}, key=prod, reverse=True)
    if chosen[0][0].bundle is None:
        arrays.insert(0, reduce(lambda one, other: _on_both(one, other, device), arrays))
    for array in arrays:
        again = [(one, s if s.array == array else one.choose(device, array)) for one, s in chosen]
        same = [(one, s) for one, s in again if isinstance(s, Strategy) and s.array == array]
        if len(same) == len(chosen):
            return same
    return chosen


def _on_both(one: Array, other: Array, device: Device) -> Array:
    """The smallest array that holds two; where the device has none, the one of them with more cores."""
    both = (max(one[0], other[0]), max(one[1], other[1]))
    return both if device.has_grid(*both) else max(one, other, key=prod)


def _assign(one: OpenGroup, strategy: Strategy, numbers: Iterator[int]) -> None:
    if one.bundle is not None:
        mark_bundle(one.ops, next(numbers))
    for op in one.ops:
        op.attributes[STRATEGY] = strategy.to_attribute()
