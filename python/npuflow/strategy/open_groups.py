"""Groups whose strategies are open: what is given of these by their ops or by options, and what is chosen. Reads IR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from operator import itemgetter, le

from npuflow.bindings import ir
from npuflow.bounds.sizes import OpSizes
from npuflow.core.passes import fail
from npuflow.errors import InputError
from npuflow.network.between import between
from npuflow.network.core_loads import load_seconds
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import Contraction, enclosing
from npuflow.ops.kept_lines import rows_problem
from npuflow.strategy.bundle_times import PartOfFunction, best_of_bundle
from npuflow.strategy.choose import complete
from npuflow.strategy.describe_group import group_of_bundle, group_of_matmul, types_of
from npuflow.strategy.describe_sizes import bundle_sizes, matmul_sizes
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.feasibility import Obstacle, first_causes, obstacles
from npuflow.strategy.group import Group
from npuflow.strategy.lacked import lacked_by
from npuflow.strategy.lane_descriptors import served_array
from npuflow.strategy.mapping import Mapping, mapping_of
from npuflow.strategy.misfits import misfits
from npuflow.strategy.rows_attribute import noted_rows
from npuflow.strategy.space import Array
from npuflow.strategy.strategy import BUNDLE_FIELDS, MATMUL_FIELDS, Strategy, said_of
from npuflow.target import Device

_MATMULS = "grid = [2, 2], tile_l2 = [64, 64, 256], tile_l1 = [32, 32, 32], pack = [4, 8, 8]"
_BUNDLES = "grid = [2, 2], spread = [0, 1], tile_l1 = [16, 64], order = [0, 1]"


@dataclass(frozen=True)
class OpenGroup:
    """A group, its ops, the last of which may say some of its strategy, and all that is given of that.

    It is a matmul where it is no `bundle`; then `whole_k` says that all of K is in L2.
    """

    ops: tuple[ir.Operation, ...]
    group: Group
    given: Strategy
    bundle: Bundle | None = None
    whole_k: bool = False

    @property
    def op(self) -> ir.Operation:
        return self.ops[-1]

    @property
    def sizes(self) -> OpSizes:
        return matmul_sizes(self.group) if self.bundle is None else bundle_sizes(self.bundle)

    def _part(self, device: Device) -> PartOfFunction:
        """What its function says of itself, if it is a part of another one."""
        function = enclosing(self.op, "func.func")
        if function is None:
            return PartOfFunction()
        seconds = 0.0 if device.control.loads_one_by_one else self._load_seconds
        return PartOfFunction(between(function), noted_rows(function), seconds)

    def given_on(self, array: Array | None) -> Strategy:
        """What is given, with a grid over an array where none is."""
        return self.given if self.given.grid or array is None else replace(self.given, grid=array)

    @property
    def _load_seconds(self) -> float:
        """What its function says of loading cores, where nothing is said of those that it takes."""
        function = enclosing(self.op, "func.func")
        is_open = function is not None and not (self.given.grid or self.given.tile_l1 or self.given.tile_l2)
        return load_seconds(function) if is_open else 0.0

    def choose(self, device: Device, array: Array | None) -> Strategy | tuple[Obstacle, ...]:
        """The best strategy, on an array where nothing else is given, or all that stands against it.

        Where cores are loaded one after the other, the best of those on parts of the array, with what that takes, but
        for parts that would only compute for as long.
        """
        best = self._best(device, array)
        each = 0.0 if array or not device.control.loads_one_by_one else self._load_seconds
        if not each or not isinstance(best, Strategy):
            return best
        computing = self._estimate(best, device).parts(self._mapping(best)).core_seconds * prod(best.array)
        ways = [(self._seconds(best, device) + prod(best.array) * each, best)]
        for part in _fewer_cores(served_array(device)):
            cores, (least, _) = prod(part), min(ways, key=itemgetter(0))
            if computing / cores + cores * each < least and isinstance(way := self._best(device, part), Strategy):
                ways.append((self._seconds(way, device) + prod(way.array) * each, way))
        return min(ways, key=itemgetter(0))[1]

    def lost_in_dram(self, strategy: Strategy, device: Device) -> float:
        """The seconds that a strategy takes more than the best if what parts hand over doesn't stay on the chip."""
        if self.bundle is None or device.home_level is None or not self._part(device).between:
            return 0.0
        # On any array: that was asked for already, to choose.
        best = best_of_bundle(self.bundle, self.group, device, self.given, lacked_by(self.op))
        return max(0.0, self._seconds(strategy, device) - self._seconds(best, device))

    def _best(self, device: Device, array: Array | None) -> Strategy | tuple[Obstacle, ...]:
        group, lacked = self.group, lacked_by(self.op)
        if self.bundle is None:
            chosen = complete(group, self.given, device, whole_k=self.whole_k, array=array, lacked=lacked)
        else:
            given = self.given_on(array)
            if wrong := misfits(group, given, device):
                return wrong
            chosen = best_of_bundle(self.bundle, group, device, given, lacked, self._part(device))
        return first_causes(obstacles(group, chosen, device, whole_k=self.whole_k), self.given) or chosen

    def _seconds(self, strategy: Strategy, device: Device) -> float:
        return self._estimate(strategy, device).played_cost(self._mapping(strategy))

    def _mapping(self, strategy: Strategy) -> Mapping:
        return mapping_of(self.group, strategy, whole_k=self.whole_k)

    def _estimate(self, strategy: Strategy, device: Device) -> Estimate:
        group = self.group.with_gather() if strategy.gather else self.group
        return Estimate(group or self.group, device)


def _fewer_cores(array: Array) -> Iterator[Array]:
    """Halves of an array, of its columns first: down to a single core."""
    rows, columns = array
    while rows * columns > 1:
        rows, columns = (rows, columns // 2) if columns > 1 else (rows // 2, columns)
        yield rows, columns


def open_matmul(matmul: Contraction, device: Device, options: Strategy, *, whole_k: bool = False) -> OpenGroup:
    """A matmul; raises InputError where the device has no instruction for it, or what it says is malformed."""
    try:
        device.matmul_shapes(*types_of(matmul))
    except InputError as error:
        raise fail(matmul.op, f"{error.diagnostics[0].message}; npuflow-bundle-matmuls takes others") from None
    given = _turned_to_fit(_given(matmul.op, options, MATMUL_FIELDS, _MATMULS), device)
    return OpenGroup((matmul.op,), group_of_matmul(matmul), given, whole_k=whole_k)


def _turned_to_fit(given: Strategy, device: Device) -> Strategy:
    """With the array's columns along m where a grid fits only so, and nothing is said of that."""
    array = (device.rows, device.columns)
    along_m, along_n = given.grid or (0, 0)
    fits, fits_turned = (all(map(le, grid, array)) for grid in ((along_m, along_n), (along_n, along_m)))
    return replace(given, turned=1) if given.turned is None and fits_turned and not fits else given


def open_bundle(bundle: Bundle, options: Strategy) -> OpenGroup:
    """A bundle; raises InputError where what it says of rows or of its strategy is malformed."""
    given = _given(bundle.root, options, BUNDLE_FIELDS, _BUNDLES)
    problem = rows_problem(bundle)
    if problem is not None:
        raise fail(bundle.root, *problem)
    return OpenGroup(bundle.ops, group_of_bundle(bundle), given, bundle)


def _given(op: ir.Operation, options: Strategy, known: dict[str, int], example: str) -> Strategy:
    """What an op says of its strategy, and options of the rest."""
    said = {key.replace("_", "-"): value for key, value in options.said().items()}
    wrong = {key: value for key, value in said.items() if (value if isinstance(value, int) else min(value)) < 1}
    if wrong:
        errors = (fail(op, f"option {key}={value} is not positive", "sizes start at 1") for key, value in wrong.items())
        raise InputError([diagnostic for error in errors for diagnostic in error.diagnostics])
    try:
        return Strategy(**{**options.said(), **said_of(op, known).said()})  # type: ignore[arg-type]
    except ValueError as error:
        what = f"npu.strategy is malformed: {error}"
        raise fail(op, what, f"for example #npu.strategy<{{{example}}}>") from None
