"""One linalg.generic as several: parts of its body with few inputs each, handed on as tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, generic_op
from npuflow.core.copies import cloned
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import producer
from npuflow.ops.linear import composed, input_count, iterators, linear_dims, loop_extents, maps_of

# Ops of a body, in the order in which they run.
Part = tuple[ir.Operation, ...]


class Allowed(Protocol):
    """What an op may be."""

    def has_for(self, inputs: Sequence[ir.Value], results: int) -> bool:
        """Whether one with such inputs, as the body's values, and so many results will do."""

    def fitting(self, ops: Sequence[ir.Operation]) -> int:
        """How many of a body's ops, from the first one on, one may have."""


@dataclass(frozen=True)
class _Stored:
    """A value of the body as a tensor that has it for every point of the loops."""

    tensor: ir.Value
    map: ir.AffineMap


def parts_of(op: ir.Operation, allowed: Allowed) -> list[Part]:
    """The ops of a body in parts that each will do, in the order in which they run; one part if nothing is to be cut.

    What reads outputs is in the last part, as is all of a body whose parts don't get any smaller. The ops before a
    value are next to each other, so that few values are handed on.
    """
    body = _body(op)[:-1]
    if _will_do(op, body, allowed):
        return [tuple(body)]
    carried = _carried(op)
    left = [inner for inner in _in_order_of_need(op) if inner not in carried]
    parts: list[Part] = []
    while left and not _will_do(op, (*left, *carried), allowed):
        end = _end_of_first(op, left, allowed)
        parts.append(tuple(left[:end]))
        left = left[end:]
    if left or carried:
        parts.append((*left, *carried))
    return parts


def _end_of_first(op: ir.Operation, left: Sequence[ir.Operation], allowed: Allowed) -> int:
    """How many ops the first part has: at least half as many as will do, and of these what hands on fewest values."""
    handed_on: dict[int, int] = {}
    for end in range(allowed.fitting(left), 0, -1):
        if handed_on and end < max(handed_on) / 2:
            break
        count = len(_handed_on(left[:end]))
        if allowed.has_for(_inputs(op, left[:end]), count):
            handed_on[end] = count
    return min(handed_on, key=lambda end: (handed_on[end], -end), default=1)


def _will_do(op: ir.Operation, rest: Sequence[ir.Operation], allowed: Allowed) -> bool:
    """Whether the last part may be all that is left."""
    return allowed.fitting(rest) == len(rest) and allowed.has_for(_last_inputs(op, rest), len(op.results))


def needed_for(value: ir.Value) -> Part:
    """The ops that make a value of a body but constants, each in front of those that read it."""
    found: dict[ir.Value, ir.Operation] = {}
    left = [(value, False)]
    while left:
        wanted, has_operands = left.pop()
        made = producer(wanted)
        if made is None or made.results[0] in found or is_fixed(made):
            continue
        if has_operands:
            found[made.results[0]] = made
        else:
            left += [(wanted, True), *((each, False) for each in reversed(made.operands))]
    return tuple(found.values())


def rest_of(op: ir.Operation, parts: Sequence[Part]) -> Part:
    """What is left of the body of an op with one result, behind some parts."""
    return tuple(each for each in needed_for(_body(op)[-1].operands[0]) if not any(each in part for part in parts))


def split_body(op: ir.Operation, parts: Sequence[Part]) -> None:
    """Makes a linalg.generic of each part; those before the last have parallel loops only, and `op` is gone."""
    block = op.regions[0].blocks[0]
    inputs, maps = input_count(op), maps_of(op)
    stored = {arg: _Stored(op.operands[i], maps[i]) for i, arg in enumerate(block.arguments) if i < inputs}
    for part in parts[:-1]:
        _make(op, part, _handed_on(part), stored)
    made = _make_last(op, parts[-1], stored)
    for old, new in zip(op.results, made.results):
        old.replace_all_uses_with(new)
    op.erase()


def _body(op: ir.Operation) -> list[ir.Operation]:
    return [inner.operation for inner in op.regions[0].blocks[0].operations]


def _carried(op: ir.Operation) -> list[ir.Operation]:
    """The ops that what the outputs held goes into."""
    outputs = list(op.regions[0].blocks[0].arguments)[input_count(op) :]
    tainted, found = set(outputs), []
    for inner in _body(op)[:-1]:
        if not tainted.isdisjoint(read_by(inner)):
            tainted |= set(inner.results)
            found.append(inner)
    return found


def read_by(op: ir.Operation) -> list[ir.Value]:
    """The values that an op reads, or an op inside of it."""
    return [value for each in (op, *ops_of(op)) for value in each.operands]


def _in_order_of_need(op: ir.Operation) -> list[ir.Operation]:
    """The ops of the body but constants and the yield, each right behind those that only it needs."""
    body = _body(op)
    own = {inner for inner in body if not is_fixed(inner)}
    found: dict[ir.Operation, None] = {}
    waiting = [body[-1]]  # bodies are deeper than Python's stack
    while waiting:
        inner = waiting[-1]
        sources = [value.owner.operation for value in read_by(inner) if not isinstance(value.owner, ir.Block)]
        needed = [each for each in sources if each in own and each not in found and each != inner]
        if needed:
            waiting += reversed(needed)
        else:
            found[waiting.pop()] = None
    del found[body[-1]]
    return list(found)


def _inputs(op: ir.Operation, part: Sequence[ir.Operation]) -> list[ir.Value]:
    """What a part reads of the op's inputs, and of other parts."""
    block = op.regions[0].blocks[0]
    outputs = list(block.arguments)[input_count(op) :]
    own = set(part)
    found: dict[ir.Value, None] = {}
    for value in (value for inner in part for value in read_by(inner)):
        owner = value.owner
        is_made = not isinstance(owner, ir.Block) and owner.operation in own
        is_inner = owner != block if isinstance(owner, ir.Block) else owner.operation.parent != op
        if not is_made and not _is_constant(value) and not is_inner and value not in outputs:
            found[value] = None
    return list(found)


def _handed_on(part: Sequence[ir.Operation]) -> list[ir.Value]:
    """What others than a part's ops read of its values."""
    inside = {each for inner in part for each in (inner, *ops_of(inner))}
    values = [value for inner in part for value in inner.results]
    return [value for value in values if any(use.owner.operation not in inside for use in value.uses)]


def _last_inputs(op: ir.Operation, part: Sequence[ir.Operation]) -> list[ir.Value]:
    """What the last part reads, and what it yields as others made it."""
    made = {value for inner in part for value in inner.results}
    outputs = list(op.regions[0].blocks[0].arguments)[input_count(op) :]
    yielded = (value for value in _body(op)[-1].operands if value not in made and value not in outputs)
    return list(dict.fromkeys([*_inputs(op, part), *(value for value in yielded if not _is_constant(value))]))


def is_fixed(op: ir.Operation) -> bool:
    """Whether an op of a body makes the same of nothing but constants wherever it is: every part has one of its own."""
    left, seen = [op], {op}  # bodies are deeper than Python's stack
    while left:
        each = left.pop()
        if each.name == "arith.constant":
            continue
        if not len(each.operands) or len(each.regions) or any(isinstance(v.owner, ir.Block) for v in each.operands):
            return False
        sources = [value.owner.operation for value in each.operands if value.owner.operation not in seen]
        left += sources
        seen.update(sources)
    return True


def _is_constant(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and is_fixed(value.owner.operation)


def _make(
    op: ir.Operation, part: Sequence[ir.Operation], values: Sequence[ir.Value], stored: dict[ir.Value, _Stored]
) -> None:
    """An op for a part of the body; its `values` are stored for others, for the loops that they depend on alone."""
    inputs = {value: stored[value] for value in _inputs(op, part)}
    extents = loop_extents(op)
    own = _loops_of([its.map for its in inputs.values()]) or list(range(len(extents)))
    with at(op):
        unused = ir.AffineExpr.get_constant(0)
        dims = [ir.AffineExpr.get_dim(own.index(i)) if i in own else unused for i in range(len(extents))]
        among = ir.AffineMap.get(len(own), 0, dims)
        targets = [empty([extents[loop] for loop in own], _kept_type(value.type)) for value in values]
        maps = [composed(its.map, among) for its in inputs.values()]
        maps += [ir.AffineMap.get_identity(len(own))] * len(values)
        made = generic_op([its.tensor for its in inputs.values()], targets, maps, ["parallel"] * len(own))
    with body_of(made, list(inputs)) as (known, _):
        _clone(part, known)
        linalg.YieldOp([_kept(known[value]) for value in values])
    map_ = ir.AffineMap.get(len(extents), 0, [ir.AffineExpr.get_dim(loop) for loop in own])
    stored |= {value: _Stored(result, map_) for value, result in zip(values, made.results)}


def _loops_of(maps: Sequence[ir.AffineMap]) -> list[int]:
    """The loops that maps follow: as the first one that follows all does, so that nothing is transposed."""
    found = [[loop for dim in linear_dims(map_) or () for loop, _ in dim.terms] for map_ in maps]
    used = sorted({loop for loops in found for loop in loops})
    return next((loops for loops in found if sorted(loops) == used), used)


def _make_last(op: ir.Operation, part: Sequence[ir.Operation], stored: Mapping[ir.Value, _Stored]) -> ir.Operation:
    """The op itself, with what other parts made as inputs."""
    first_output, yielded = input_count(op), list(_body(op)[-1].operands)
    inputs = {value: stored[value] for value in _last_inputs(op, part)}
    with at(op):
        maps = [*(its.map for its in inputs.values()), *maps_of(op)[first_output:]]
        tensors, outputs = [its.tensor for its in inputs.values()], list(op.operands)[first_output:]
        made = generic_op(tensors, outputs, maps, iterators(op), dict(op.attributes))
    with body_of(made, list(inputs)) as (known, before):
        known |= dict(zip(list(op.regions[0].blocks[0].arguments)[first_output:], before))
        _clone(part, known)
        linalg.YieldOp([_known(value, known) for value in yielded])
    return made


@contextmanager
def body_of(op: ir.Operation, inputs: Sequence[ir.Value]) -> Iterator[tuple[dict[ir.Value, ir.Value], list[ir.Value]]]:
    """Builds the body of a new linalg.generic: what its inputs are called in the old body, and its outputs before."""
    with op.location:
        block = op.regions[0].blocks.append(*(element_type_of(value) for value in op.operands))
    arguments = list(block.arguments)
    with ir.InsertionPoint(block), op.location:
        known = {value: _restored(arg, value.type) for value, arg in zip(inputs, arguments)}
        yield known, arguments[len(inputs) :]


def _clone(part: Sequence[ir.Operation], known: dict[ir.Value, ir.Value]) -> None:
    """Copies the ops to the ambient insertion point, reading what is known of the values that they read."""
    for inner in part:
        for value in read_by(inner):
            _known(value, known)
        known |= dict(zip(inner.results, cloned(inner, known)))


def _known(value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
    """The new value for one of the body's; constants are copied, what is defined outside stays."""
    if value not in known and _is_constant(value):
        for operand in value.owner.operation.operands:
            _known(operand, known)
        known |= dict(zip(value.owner.operation.results, cloned(value.owner.operation, known)))
    return known.get(value, value)


def _kept_type(kind: ir.Type) -> ir.Type:
    """What a value of the body is kept as in memory: truths as bytes, positions as 32-bit integers."""
    if isinstance(kind, ir.IndexType):
        return ir.IntegerType.get_signless(32)
    is_truth = isinstance(kind, ir.IntegerType) and kind.width == 1
    return ir.IntegerType.get_signless(8) if is_truth else kind


def _kept(value: ir.Value) -> ir.Value:
    kept = _kept_type(value.type)
    if isinstance(value.type, ir.IndexType):
        return arith.IndexCastOp(kept, value).result
    return value if kept == value.type else arith.ExtUIOp(kept, value).result


def _restored(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    if isinstance(kind, ir.IndexType):
        return arith.IndexCastOp(kind, value).result
    return arith.TruncIOp(kind, value).result
