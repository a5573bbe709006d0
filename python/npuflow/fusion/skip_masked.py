"""npuflow-skip-masked: rows of a bundle in parts, without what a mask makes nothing of, as of causal attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from npuflow.bindings import ir
from npuflow.constants.known_tensors import KnownTensors
from npuflow.constants.vanishing import Needed, needed_columns
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.fusion.cut_rows import LoopPart, LoopParts, can_be_cut, cut_rows, with_sizes
from npuflow.ops.bundle import Bundle, marked_bundles
from npuflow.ops.contraction import STRATEGY
from npuflow.ops.insertions import insertion_of
from npuflow.ops.refused import ROWS, made_of, mark_made_of, refusal, refused_of
from npuflow.ops.streams import reducers
from npuflow.strategy.bundle_times import bundle_seconds
from npuflow.strategy.change_seconds import change_seconds
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# Parts that are looked at: each is a phase of its own, which compiling takes time for.
_MOST_PARTS = 32


@register_pass
@dataclass(frozen=True)
class SkipMasked(Pass):
    """Leaves out of a bundle's sums what adds nothing whatever the data is, as scores that -inf masks.

    Rows come in parts of one size, each of which reads the columns from the first to the last that any of its rows
    needs, and writes its result where it belongs. The result is the same. How many parts there are is what estimates
    say: more leave out more, and each is another phase. What is left out, or why nothing is, is a remark. Bundles that
    the function's `npu.refused` names with their "rows" stay whole: in parts, a schedule refused them.

        %r = linalg.generic ... ins(%q, %k, %v, %mask : tensor<64x16xbf16>, tensor<64x16xbf16>, ...)

    becomes

        %q0 = tensor.extract_slice %q[0, 0] [32, 16] [1, 1]
        %k0 = tensor.extract_slice %k[0, 0] [32, 16] [1, 1]
        ...
        %r0 = linalg.generic ... ins(%q0, %k0, %v0, %mask0 : tensor<32x16xbf16>, tensor<32x16xbf16>, ...)
        %s = tensor.insert_slice %r0 into %e[0, 0] [32, 16] [1, 1]
        %q1 = tensor.extract_slice %q[32, 0] [32, 16] [1, 1]
        ...
        %r1 = linalg.generic ... ins(%q1, %k, %v, %mask1 : tensor<32x16xbf16>, tensor<64x16xbf16>, ...)
        %r = tensor.insert_slice %r1 into %s[32, 0] [32, 16] [1, 1]
    """

    name = "npuflow-skip-masked"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    parts: int | None = option(None, "parts that rows come in, whatever they take; default: what is fastest, 1: none")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        known, timed = KnownTensors(most_elements=None), _PartTimes(planned_device(op, self.device), self.depth_between)
        for bundle in marked_bundles(op):
            if any(STRATEGY in each.attributes for each in bundle.ops) or insertion_of(bundle.root) is not None:
                continue
            masked = next(_masked(bundle, known), None) if self.parts != 1 else None
            if masked is not None:
                _decide(masked, self.parts, timed, context)


@dataclass(frozen=True)
class Masked:
    """A bundle, a loop of its space, one that it reduces, and what of the second each step of the first needs."""

    bundle: Bundle
    row: int
    column: int
    needed: Needed

    def parts(self, count: int) -> list[LoopParts]:
        """Parts of so many rows, each with all columns that it needs.

        Columns begin and end at multiples of what divides them all, so that they come in pieces as before.
        """
        rows, columns = (self.bundle.sizes[loop] for loop in (self.row, self.column))
        size = rows // count
        grain = max(each for each in range(1, size + 1) if columns % each == 0)
        found: list[LoopParts] = []
        for begin in range(0, rows, size):
            spans = [span for span in self.needed.spans[begin : begin + size] if span is not None] or [(0, 1)]
            first, end = (min(first for first, _ in spans), max(end for _, end in spans))
            first, end = first // grain * grain, -(-end // grain) * grain
            found.append({self.row: LoopPart(begin, size), self.column: LoopPart(first, end - first)})
        return found

    def share(self, parts: Sequence[LoopParts]) -> float:
        """How much of all steps is left."""
        return sum(part[self.row].size * part[self.column].size for part in parts) / self.needed.all_steps

    def __str__(self) -> str:
        return f"{self.needed.vanishing} of {self.needed.all_steps} scores are masked"


def _masked(bundle: Bundle, known: KnownTensors) -> Iterator[Masked]:
    """The pairs of loops along which something is masked that may be left out."""
    for column in range(bundle.space, len(bundle.sizes)):
        for row in range(bundle.space) if reducers(bundle, (column,)) else ():
            needed = needed_columns(bundle, row, column, known) if can_be_cut(bundle, (row, column)) else None
            if needed is not None:
                yield Masked(bundle, row, column, needed)


def _decide(masked: Masked, count: int | None, timed: _PartTimes, context: PassContext) -> None:
    """Cuts a bundle into so many parts, or into as many as take least time, if that is less than it takes."""
    root = masked.bundle.root
    groups = (*made_of(root), ROWS)
    why_whole = refusal(refused_of(root.parent.operation), groups)
    if why_whole is not None:
        context.remark(root, f"{masked}, and computed nevertheless: in parts without it, {why_whole}")
        return
    whole, candidates, times = timed.of_bundle(masked.bundle), [], []
    for parts in _candidates(masked, count):
        candidates.append(parts)
        times.append(timed.of_parts(masked, parts))
        if len(times) > 1 and min(times[-2:]) > min(whole, *times):
            break  # these parts and the ones before take longer: still more would leave out little more
    best = min(times, default=inf)
    if not candidates or (count is None and best >= whole):
        why = f"parts that leave any out take an estimated {best / whole:.2f} of the time at best"
        none = "no parts of one size leave any out"
        context.remark(root, f"{masked}, and computed nevertheless: {why if candidates else none}")
        return
    chosen = candidates[times.index(best)]
    context.remark(
        root,
        f"{masked}: {len(chosen)} parts of {chosen[0][masked.row].size} rows leave out {1 - masked.share(chosen):.0%}"
        f" of all scores, and take an estimated {best / whole:.2f} of the time",
    )
    mark_made_of(masked.bundle.ops, groups)
    cut_rows(masked.bundle, chosen)
    context.count("bundles cut")


def _candidates(masked: Masked, count: int | None) -> Iterator[list[LoopParts]]:
    """Parts by so many, or by any number of which more leave out more, that leave out anything."""
    rows, before = masked.bundle.sizes[masked.row], 1.0
    for number in range(1, min(_MOST_PARTS, rows) + 1) if count is None else [count]:
        parts = masked.parts(number) if rows % number == 0 else []
        if parts and masked.share(parts) < before:
            before = masked.share(parts)
            yield parts


@dataclass(frozen=True)
class _PartTimes:
    """How long bundles and parts of them take on a device, roughly; for ever where they fit no core."""

    device: Device
    depth_between: int | None

    def of_bundle(self, bundle: Bundle) -> float:
        return bundle_seconds(bundle, self.device, Strategy(depth_between=self.depth_between)) or inf

    def of_parts(self, masked: Masked, parts: Sequence[LoopParts]) -> float:
        """Parts with the changes between them; those between the narrowest and the widest by what these two take."""
        sizes = [part[masked.column].size for part in parts]
        ends = [parts[sizes.index(size)] for size in (min(sizes), max(sizes))]
        low, high = (self.of_bundle(with_sizes(masked.bundle, part)) for part in ends)
        if inf in (low, high):
            return inf
        mean = (sum(sizes) / len(sizes) - min(sizes)) / max(1, max(sizes) - min(sizes))
        return len(parts) * (low + mean * (high - low)) + (len(parts) - 1) * change_seconds(self.device)
