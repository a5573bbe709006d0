"""Which loops of a bundle may be gone through piece by piece, what runs for each piece, and what pieces hand on.

Four kinds of bundles have such loops. A sum that is the only one: its reduction loops, with the heads that go through
them; and sums side by side, none of which reads another: those that all of them reduce, as they say (`npu.step_loop`).
A chain of sums: loops that are parallel in front and reduced by the last, as in (A B) D, where a piece of A B is made
and used up at once. And sums of which some are *running*: of what these write over, each piece leaves what the next one
goes on from, and whoever marked them knows that this comes to the same. The fourth are rows that are kept: a piece
makes some rows of each op, the last op's leave with it, and others hand on what the next piece's windows reach. Reads
IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import RUNNING, STEP_LOOP, producer
from npuflow.ops.linear import input_count, is_reduction, iterators

Output = tuple[int, int]
"""An op's number in its bundle, and the number of its result."""


@dataclass(frozen=True)
class HandedOn:
    """What a piece hands on: `first` writes over what the piece before left, and `last` made of it what is left."""

    first: Output
    last: Output


@dataclass(frozen=True)
class Streaming:
    """Loops that go piece by piece, the numbers of the ops that run for each piece, and what pieces hand on."""

    loops: tuple[int, ...] = ()
    ops: tuple[int, ...] = ()
    handed_on: tuple[HandedOn, ...] = ()


def stream_of(bundle: Bundle) -> Streaming:
    """How a bundle's loops may be streamed; no loops where none may be."""
    if bundle.kept is not None:
        return Streaming((bundle.kept.loop,), tuple(range(len(bundle.ops))))
    found = _of_reduced(bundle)
    return Streaming() if _goes_through_whole_values(bundle, found) else found


def _of_reduced(bundle: Bundle) -> Streaming:
    """Loops that some op of a bundle reduces."""
    reducing = [index for index in range(len(bundle.ops)) if _reduces_any(bundle.ops[index])]
    if len(reducing) == 1 or any(STEP_LOOP in bundle.ops[index].attributes for index in reducing):
        return _of_sums(bundle, reducing)
    shared = [loop for loop in range(bundle.space, len(bundle.sizes)) if _is_shared(bundle, loop)]
    if not shared:
        return Streaming()
    own = [index for index in range(len(bundle.ops)) if not set(shared).isdisjoint(bundle.loops[index])]
    if any(RUNNING in op.attributes for op in bundle.ops):
        return _of_running_sums(bundle, tuple(shared), own)
    return _of_chain(bundle, tuple(shared), own)


def reducers(bundle: Bundle, loops: tuple[int, ...]) -> list[int]:
    """The ops that reduce any of some loops."""
    return [index for index in range(len(bundle.ops)) if any(_reduces(bundle, index, loop) for loop in loops)]


def _goes_through_whole_values(bundle: Bundle, stream: Streaming) -> bool:
    """Whether a piece reads its place of what ops that don't run for each piece make, as a window in strides may."""
    whole = {result for index, op in enumerate(bundle.ops) if index not in stream.ops for result in op.results}
    return any(
        value in whole and any(loop in stream.loops for dim in dims for loop, _ in dim.terms)
        for index in stream.ops
        for value, dims in zip(bundle.ops[index].operands, bundle.maps(index))
    )


def _of_sums(bundle: Bundle, owners: list[int]) -> Streaming:
    """The loops of a sum beside the space, or those that several have in common, with what goes along in front."""
    inner = {loop for owner in owners for loop in bundle.inner(owner)}
    found = {loop for loop in inner if all(_reduces(bundle, owner, loop) for owner in owners)}
    heads = [index for index in range(len(bundle.ops)) if index not in owners and bundle.inner(index)]
    ops = sorted([*heads, *owners])
    is_whole = len(owners) == 1 and found != inner
    if not found or is_whole or any(not set(bundle.inner(index)) <= inner for index in heads):
        return Streaming()
    if not _behind(bundle, owners).isdisjoint(range(ops[-1] + 1)):
        return Streaming()
    handed_on = tuple(each for owner in owners for each in _own_outputs(bundle, owner))
    return Streaming(tuple(filter(found.__contains__, bundle.inner(owners[0]))), tuple(ops), handed_on)


def _of_chain(bundle: Bundle, loops: tuple[int, ...], own: list[int]) -> Streaming:
    """Loops that the last op reduces: it alone adds up what the others make, which nobody else reads."""
    *front, last = own
    if reducers(bundle, loops) != [last] or any(not set(loops) <= set(bundle.loops[index]) for index in own):
        return Streaming()
    if not all(_reads_along(bundle, index, loops, own) for index in front):
        return Streaming()
    return Streaming(loops, tuple(own), _own_outputs(bundle, last))


def _of_running_sums(bundle: Bundle, loops: tuple[int, ...], own: list[int]) -> Streaming:
    """Loops that running sums go through, with what is between their ops."""
    behind, before = {*own, *_behind(bundle, own)}, set(own)
    for index in reversed(range(len(bundle.ops))):
        if index in before:
            before.update(_producers(bundle, index))
    ops = tuple(sorted(behind & before))
    handed_on = tuple(_handed_on(bundle, ops))
    left = {each.last for each in handed_on}
    made = ((index, number) for index in ops for number in range(len(bundle.ops[index].results)))
    leaks = any(output not in left and not set(_readers(bundle, output)) <= set(ops) for output in made)
    if leaks or any(index < ops[-1] for index in behind - before):
        return Streaming()
    return Streaming(loops, ops, handed_on)


def _handed_on(bundle: Bundle, ops: tuple[int, ...]) -> Iterator[HandedOn]:
    """What the running ops among some write over, from what there is at first up to who writes over it last."""
    for index in ops:
        op = bundle.ops[index]
        for number in range(len(op.results)) if RUNNING in op.attributes else ():
            if producer(op.operands[input_count(op) + number], "tensor.empty") is None:
                yield HandedOn((index, number), _written_last(bundle, (index, number), ops))


def _written_last(bundle: Bundle, output: Output, ops: tuple[int, ...]) -> Output:
    """Who writes last over what an op has made."""
    for index in ops:
        outputs = list(bundle.ops[index].operands)[input_count(bundle.ops[index]) :]
        for number, value in enumerate(outputs):
            if value == bundle.ops[output[0]].results[output[1]]:
                return _written_last(bundle, (index, number), ops)
    return output


def _own_outputs(bundle: Bundle, index: int) -> tuple[HandedOn, ...]:
    return tuple(HandedOn((index, number), (index, number)) for number in range(len(bundle.ops[index].results)))


def _is_shared(bundle: Bundle, loop: int) -> bool:
    """Whether some ops reduce a loop and others are parallel in it."""
    kinds = {_reduces(bundle, index, loop) for index in range(len(bundle.ops)) if loop in bundle.loops[index]}
    return len(kinds) == 2


def _reduces(bundle: Bundle, index: int, loop: int) -> bool:
    own = bundle.loops[index]
    return any(is_reduction(bundle.ops[index], number) for number, each in enumerate(own) if each == loop)


def _reduces_any(op: ir.Operation) -> bool:
    return any("reduction" in kind for kind in iterators(op))


def _reads_along(bundle: Bundle, index: int, loops: tuple[int, ...], own: list[int]) -> bool:
    """Whether what an op makes is read inside of a piece only, and there as it was written."""
    op = bundle.ops[index]
    for number in range(len(op.results)):
        written = bundle.maps(index)[input_count(op) + number]
        for reader in _readers(bundle, (index, number)):
            read = (
                dims
                for value, dims in zip(bundle.ops[reader].operands, bundle.maps(reader))
                if value == op.results[number]
            )
            places = [place for place, dim in enumerate(written) if dim.loop in loops]
            if reader not in own or any(dims[place] != written[place] for dims in read for place in places):
                return False
    return True


def _behind(bundle: Bundle, own: list[int]) -> set[int]:
    """The ops of the bundle that results of some reach."""
    found: set[int] = set()
    for index in range(len(bundle.ops)):
        if any(made in found or made in own for made in _producers(bundle, index)):
            found.add(index)
    return found


def _producers(bundle: Bundle, index: int) -> list[int]:
    """The ops of the bundle whose results an op uses."""
    results = {result: other for other, op in enumerate(bundle.ops) for result in op.results}
    return [results[value] for value in bundle.ops[index].operands if value in results]


def _readers(bundle: Bundle, output: Output) -> list[int]:
    """The ops of the bundle that use a result."""
    value = bundle.ops[output[0]].results[output[1]]
    return [index for index, op in enumerate(bundle.ops) if any(value == operand for operand in op.operands)]
