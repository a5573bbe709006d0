"""The bundles of a function: those that are marked, and those that ops grow to. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.bundle import Bundle, make_bundle, marked_bundles
from npuflow.ops.bundle_ops import is_bundle_op
from npuflow.ops.contraction import is_elementwise, is_parallel, producer, static_matmuls, tail_of, users
from npuflow.ops.linear import input_count
from npuflow.ops.once import described_once
from npuflow.ops.products import match_products, sums_products
from npuflow.ops.streams import reducers, stream_of


class Growth(Protocol):
    """What bundles may grow to."""

    def fits(self, bundle: Bundle) -> bool:
        """Whether a tile of a bundle fits a core."""

    def weighs(self, grown: Bundle, apart: Sequence[Bundle]) -> bool:
        """Whether only its time tells if a bundle with one op more, the first of two, pays in place of both.

        What is around products may be done again for their tiles.
        """

    def pays(self, made: Sequence[Bundle], others: Sequence[Bundle]) -> bool:
        """Whether bundles, one after the other, take no longer than others that do the same."""


@described_once()
def find_bundles(function: ir.Operation, growth: Growth) -> list[Bundle]:
    """The bundles of a function: those that are marked, and each grown from its last op as far as it may."""
    found = marked_bundles(function)
    taken = {op for c in static_matmuls(function) for op in (c.op, tail_of(c)) if op is not None}
    taken |= {op for bundle in found for op in bundle.ops}
    place = {op: number for number, op in enumerate(ops_of(function))}
    found += _Growing(growth, place).bundles(ops_of(function, "linalg.generic"), taken)
    return sorted(found, key=lambda bundle: place[bundle.root])


@dataclass(frozen=True)
class _Growing:
    """Bundles on their way, in ops that have these places; what some ops would grow to is `known`."""

    growth: Growth
    place: Mapping[ir.Operation, int]
    known: dict[ir.Operation, Bundle] = field(default_factory=dict)

    def bundles(self, ops: Sequence[ir.Operation], closed: set[ir.Operation]) -> list[Bundle]:
        """What ops in program order grow to, the last first, without those that are closed."""
        found, taken = list[Bundle](), {*closed}
        for op in reversed(ops):
            if op in taken or not is_bundle_op(op):
                continue
            bundle = self._grow(make_bundle([op]), taken)
            taken |= set(bundle.ops)
            found.append(bundle)
        return found

    def _grow(self, bundle: Bundle, taken: set[ir.Operation]) -> Bundle:
        growth, tried = self.growth, set[ir.Operation]()
        while (candidate := next(_candidates(bundle, taken | tried), None)) is not None:
            tried.add(candidate)
            apart = make_bundle([candidate]), bundle
            grown = make_bundle(self._in_order([*bundle.ops, candidate]))
            if not grown.space or _narrows(bundle, grown, candidate) or not growth.fits(grown):
                continue
            is_streamed = _streamed(grown) >= set[ir.Operation]().union(*map(_streamed, apart))
            is_free = is_streamed and not growth.weighs(grown, apart) and not _loses_cores(bundle, grown)
            if is_free or self._pays(bundle, grown, candidate, taken):
                bundle = grown
        return _without_tails(bundle, growth)

    def _pays(self, bundle: Bundle, grown: Bundle, candidate: ir.Operation, taken: set[ir.Operation]) -> bool:
        """Whether a bundle is to have one op more, which is part of another one else, whose rest stays apart then."""
        if candidate not in self.known:
            self.known[candidate] = self._grow(make_bundle([candidate]), taken)
        other = self.known[candidate]
        rest = [op for op in other.ops if op != candidate]
        sources = (producer(value, "linalg.generic") for op in rest for value in op.operands)
        closed = {op for op in sources if op is not None and op not in rest}
        left = _Growing(self.growth, self.place).bundles(rest, closed)
        return self.growth.pays([*reversed(left), grown], [other, bundle])

    def _in_order(self, ops: Sequence[ir.Operation]) -> list[ir.Operation]:
        return sorted(ops, key=lambda op: self.place[op])


def _without_tails(bundle: Bundle, growth: Growth) -> Bundle:
    """A bundle without what is computed of each element of sums of products that it doesn't have, where that pays.

    Whoever sums up can do it with the sums, and hands on what is narrower then. Where the bundle sums products as well,
    as of a shortcut, estimates don't tell which of them is faster with it: it stays with the last.
    """
    if any(match_products(op) is not None for op in bundle.ops):
        return bundle
    for op, source in taken_tails(bundle):
        if op == bundle.root or any(map(bundle.is_internal, op.operands)):
            continue
        rest = make_bundle([each for each in bundle.ops if each != op])
        if rest.space and growth.pays([make_bundle([source, op]), rest], [make_bundle([source]), bundle]):
            bundle = rest
    return bundle


def taken_tails(bundle: Bundle) -> list[tuple[ir.Operation, ir.Operation]]:
    """The tails of sums of products that a bundle of several ops has without the sums, which are the second of each."""
    if len(bundle.ops) < 2:
        return []
    read = ((op, producer(value, "linalg.generic")) for op in bundle.ops if is_elementwise(op) for value in op.operands)
    return [
        (op, source)
        for op, source in read
        if source is not None
        and source not in bundle.ops
        and users(source.results[0]) == [op]
        and sums_products(source)
    ]


def _narrows(bundle: Bundle, grown: Bundle, candidate: ir.Operation) -> bool:
    """Whether an elementwise op would cost loops of the space: then it is better handed over in L3.

    One whose own loops stay in the space costs none: what is done once per row, between a row's sum and its scaling.
    """
    is_smaller = grown.most_tiles < bundle.most_tiles
    return is_parallel(candidate) and is_smaller and bool(grown.inner(grown.ops.index(candidate)))


def _loses_cores(bundle: Bundle, grown: Bundle) -> bool:
    """Whether sums of products are left with fewer tiles, as where a pool has rows and a product lines of pixels."""
    is_smaller = grown.most_tiles < bundle.most_tiles
    return is_smaller and any(match_products(op) is not None for op in grown.ops)


def _streamed(bundle: Bundle) -> set[ir.Operation]:
    """The sums of products that go through what they sum up piece by piece: a tile that has to have all is small."""
    summing = [bundle.ops[index] for index in reducers(bundle, stream_of(bundle).loops)]
    return {op for op in summing if match_products(op) is not None}


def _candidates(bundle: Bundle, closed: set[ir.Operation]) -> Iterator[ir.Operation]:
    """Producers of what the bundle reads, of which nobody else reads anything, the nearest first."""
    for op in reversed(bundle.ops):
        for number, value in enumerate(op.operands):
            found = producer(value, "linalg.generic")
            if found is None or found in closed or found in bundle.ops or not is_bundle_op(found):
                continue
            if number >= input_count(op) and len(users(value)) > 1:
                continue  # which is written over
            if all(user in bundle.ops for result in found.results for user in users(result)):
                yield found
