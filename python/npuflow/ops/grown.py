"""The bundles of a function: those that are marked, and those that ops grow to. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Protocol

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.bundle import Bundle, make_bundle, marked_bundles
from npuflow.ops.bundle_ops import is_bundle_op
from npuflow.ops.contraction import is_parallel, producer, static_matmuls, tail_of, users
from npuflow.ops.linear import input_count
from npuflow.ops.once import described_once
from npuflow.ops.products import match_products
from npuflow.ops.streams import reducers, stream_of


class Growth(Protocol):
    """What bundles may grow to."""

    def fits(self, bundle: Bundle) -> bool:
        """Whether a tile of a bundle fits a core."""

    def weighs(self, bundle: Bundle) -> bool:
        """Whether only its time tells if a bundle pays: engines that wait for each other may lose what it saves."""

    def pays(self, grown: Bundle, apart: Sequence[Bundle]) -> bool:
        """Whether a bundle takes no longer than what it is made of."""


@described_once()
def find_bundles(function: ir.Operation, growth: Growth) -> list[Bundle]:
    """The bundles of a function: those that are marked, and each grown from its last op as far as it may."""
    found = marked_bundles(function)
    place = {op: number for number, op in enumerate(ops_of(function))}
    taken = {op for c in static_matmuls(function) for op in (c.op, tail_of(c)) if op is not None}
    taken |= {op for bundle in found for op in bundle.ops}
    for op in reversed(ops_of(function, "linalg.generic")):
        if op in taken or not is_bundle_op(op):
            continue
        bundle = _grow(make_bundle([op]), taken, growth, place)
        taken |= set(bundle.ops)
        found.append(bundle)
    return sorted(found, key=lambda bundle: place[bundle.root])


def _grow(bundle: Bundle, taken: set[ir.Operation], growth: Growth, place: Mapping[ir.Operation, int]) -> Bundle:
    tried: set[ir.Operation] = set()
    while (candidate := next(_candidates(bundle, taken | tried), None)) is not None:
        tried.add(candidate)
        apart = bundle, make_bundle([candidate])
        grown = make_bundle(sorted([*bundle.ops, candidate], key=lambda op: place[op]))
        if not grown.space or _narrows(bundle, grown, candidate) or not growth.fits(grown):
            continue
        is_streamed = _streamed(grown) >= set[ir.Operation]().union(*map(_streamed, apart))
        is_free = is_streamed and not growth.weighs(grown) and not _loses_cores(bundle, grown)
        if is_free or growth.pays(grown, apart):
            bundle = grown
    return bundle


def _narrows(bundle: Bundle, grown: Bundle, candidate: ir.Operation) -> bool:
    """Whether an elementwise op would cost loops of the space: then it is better handed over in L3.

    One whose own loops stay in the space costs none: what is done once per row, between a row's sum and its scaling.
    """
    spaces = [prod(each.sizes[: each.space]) for each in (bundle, grown)]
    return is_parallel(candidate) and spaces[1] < spaces[0] and bool(grown.inner(grown.ops.index(candidate)))


def _loses_cores(bundle: Bundle, grown: Bundle) -> bool:
    """Whether sums of products are left with fewer tiles, as where a pool has rows and a product lines of pixels."""
    is_smaller = prod(grown.sizes[: grown.space]) < prod(bundle.sizes[: bundle.space])
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
