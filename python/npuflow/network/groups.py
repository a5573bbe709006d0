"""What of a function is compiled as one: matmuls with their tails, and bundles. Reads IR and changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import is_matmul, match_contraction, static_matmuls, tail_of
from npuflow.ops.grown import Growth, find_bundles
from npuflow.ops.insertions import insertion_of
from npuflow.ops.linear import is_reduction, iterators, linear_maps
from npuflow.ops.products import sums_products
from npuflow.ops.refused import made_of


@dataclass(frozen=True)
class FusionGroup:
    """Ops in program order; nobody else reads anything but the last one's results. The first may be a matmul.

    An `insertion` puts the result into a larger tensor, where it is written at once.
    """

    ops: tuple[ir.Operation, ...]
    is_matmul: bool = False
    insertion: ir.Operation | None = None

    @property
    def root(self) -> ir.Operation:
        return self.ops[-1]

    @property
    def whole(self) -> tuple[ir.Operation, ...]:
        """All ops; what the last one makes is what the group hands on."""
        return self.ops if self.insertion is None else (*self.ops, self.insertion)


def groups_of(function: ir.Operation, growth: Growth) -> list[FusionGroup]:
    """The groups of a normalised function in the order in which they can run; `growth` says what can share a tile."""
    found = []
    for contraction in static_matmuls(function):
        tail = tail_of(contraction)
        found.append(FusionGroup((contraction.op,) if tail is None else (contraction.op, tail), is_matmul=True))
    found += [FusionGroup(bundle.ops, insertion=insertion_of(bundle.root)) for bundle in find_bundles(function, growth)]
    place = {op: index for index, op in enumerate(ops_of(function))}
    return sorted(found, key=lambda group: place[group.root])


def names_of(function: ir.Operation, groups: Sequence[FusionGroup]) -> list[tuple[str, ...]]:
    """What the groups of a function are called: FUNCTION_NUMBER, counted as if nothing had been fused by estimates.

    What was fused has the names of all that it was made of, so that what becomes of some groups renames no others.
    """
    fused = [made_of(group.root) for group in groups]
    taken = {name for names in fused for name in names}
    numbered = (f"{function.opview.name.value}_{number}" for number in count())
    free = (name for name in numbered if name not in taken)
    return [names or (next(free),) for names in fused]


# A buffer in L1 is handed to and fro between a core and a channel: filled slots, and empty ones.
_BUFFER_LOCKS = 2


def least_locks(groups: Sequence[FusionGroup]) -> int:
    """Locks that a core needs at least if it does all groups: for a result each, and for something that is read."""
    return sum(_BUFFER_LOCKS * (1 + any(_reads_tensor(op) for op in group.ops)) for group in groups)


def _reads_tensor(op: ir.Operation) -> bool:
    inputs = list(op.operands)[: len(op.operands) - len(op.results)]
    return any(isinstance(value.type, ir.ShapedType) for value in inputs)


def kinds_of(function: ir.Operation) -> str:
    """What a normalised function's ops do, in words: `matmul, elementwise`, `2 reductions, 2 elementwise`."""
    found = (match_contraction(op) for op in ops_of(function) if op.name.startswith("linalg."))
    matmuls = {contraction.op for contraction in found if contraction is not None and is_matmul(contraction)}
    kinds = [_kind(op, op in matmuls) for op in ops_of(function) if op in matmuls or op.name == "linalg.generic"]
    return ", ".join(_counted(kind, count) for kind, count in Counter(kinds).items())


def _kind(op: ir.Operation, is_matmul_op: bool) -> str:
    if is_matmul_op:
        return "matmul"
    if not any(is_reduction(op, loop) for loop in range(len(iterators(op)))):
        return "elementwise"
    is_windowed = any(len(dim.terms) > 1 for dims in linear_maps(op) or [] for dim in dims)
    if sums_products(op):
        return "convolution" if is_windowed else "product"
    return "pool" if is_windowed else "reduction"


def _counted(kind: str, count: int) -> str:
    if count == 1:
        return kind
    return f"{count} {kind}" if kind == "elementwise" else f"{count} {kind}s"
