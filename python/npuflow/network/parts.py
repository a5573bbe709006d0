"""How a function comes apart: which ops, values in and values out each part has. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.network.groups import FusionGroup

# Ops that cost nothing or little where they are needed: every part that reads their results has its own.
COPIED = (
    "arith.constant",
    "linalg.fill",
    "tensor.collapse_shape",
    "tensor.empty",
    "tensor.expand_shape",
    "tensor.extract_slice",
    "tensor.pad",
)


@dataclass(frozen=True)
class PartPlan:
    """What becomes a function of its own: `ops` in order, the values it is called with and those it returns.

    Copies stand right before their first reader, wherever the originals are, and tables are handed over: groups that do
    the same look the same. What a part writes into, a `target` from outside, is the last of its inputs, even where it
    reads other places of that.
    """

    group: FusionGroup
    ops: tuple[ir.Operation, ...]
    inputs: tuple[ir.Value, ...]
    outputs: tuple[ir.Value, ...]
    target: ir.Value | None = None

    @property
    def read(self) -> tuple[ir.Value, ...]:
        return self.inputs if self.target is None else self.inputs[:-1]


@dataclass
class _Draft:
    """A part while it grows."""

    group: FusionGroup
    ops: dict[ir.Operation, None] = field(default_factory=dict)
    inputs: dict[ir.Value, None] = field(default_factory=dict)
    outputs: dict[ir.Value, None] = field(default_factory=dict)
    target: ir.Value | None = None

    @property
    def plan(self) -> PartPlan:
        inputs = (*self.inputs, *([] if self.target is None else [self.target]))
        return PartPlan(self.group, tuple(self.ops), inputs, tuple(self.outputs), self.target)


def strays(function: ir.Operation, groups: Sequence[FusionGroup]) -> list[ir.Operation]:
    """The ops of a function's body that are in no group, and not copied to where they are needed either."""
    grouped = {op for group in groups for op in group.whole}
    return [op for op in body_of(function)[:-1] if op not in grouped and op.name not in COPIED]


def body_of(function: ir.Operation) -> list[ir.Operation]:
    """The ops of a function's only block; the return is the last."""
    return [child.operation for child in function.regions[0].blocks[0].operations]


def plan_parts(function: ir.Operation, groups: Sequence[FusionGroup]) -> list[PartPlan]:
    """A part for every group whose results anybody reads, in the order of `groups`."""
    body = body_of(function)
    owner = {op: number for number, group in enumerate(groups) for op in group.whole}
    drafts = [_Draft(group) for group in groups]
    wanted: set[ir.Value] = set()
    for value in body[-1].operands:
        _return_from(drafts, value, owner, wanted)
    for draft in reversed(drafts):
        draft.outputs = {**dict.fromkeys(r for r in draft.group.whole[-1].results if r in wanted), **draft.outputs}
        if not draft.outputs:
            continue
        for op in draft.group.ops:
            _take(draft, captured_values(op), owner)
            draft.ops[op] = None
        if draft.group.insertion is not None:
            _insert(draft, draft.group.insertion, owner)
        _take(draft, draft.outputs, owner)
        wanted |= set(draft.plan.inputs)
    return [draft.plan for draft in drafts if draft.outputs]


def _insert(draft: _Draft, insertion: ir.Operation, owner: Mapping[ir.Operation, int]) -> None:
    """Adds what writes a part's result where it belongs: into what comes from outside, or what the part begins."""
    probe = _Draft(draft.group)
    _take(probe, [insertion.operands[1]], owner)
    if probe.inputs:
        (draft.target,) = probe.inputs
    else:
        _take(draft, captured_values(insertion), owner)
    draft.ops[insertion] = None


def _return_from(
    drafts: Sequence[_Draft], value: ir.Value, owner: Mapping[ir.Operation, int], wanted: set[ir.Value]
) -> None:
    """Has a value that the function returns come from a part: that of the last group it depends on, else the first."""
    op = defining(value)
    if op is None or op in owner or is_table(op):
        wanted.add(value)
        return
    probe = _Draft(FusionGroup(()))
    _take(probe, [value], owner)
    sources = [owner[source] for v in probe.inputs if (source := defining(v)) is not None]
    drafts[max(sources, default=0)].outputs[value] = None


def _take(draft: _Draft, values: Iterable[ir.Value], owner: Mapping[ir.Operation, int]) -> None:
    """Adds what a part needs for `values`: ops to copy, and values that come from outside."""
    for value in values:
        op = defining(value)
        if op is None or is_table(op) or (op in owner and op not in draft.group.whole):
            draft.inputs[value] = None
        elif op not in draft.ops:
            _take(draft, captured_values(op), owner)
            draft.ops[op] = None


def is_table(op: ir.Operation) -> bool:
    """Whether an op is a constant of many values, as weights are: parts that differ in nothing else are one part."""
    if op.name != "arith.constant" or not isinstance(op.results[0].type, ir.RankedTensorType):
        return False
    value = op.attributes["value"]
    return not (isinstance(value, ir.DenseElementsAttr) and value.is_splat)


def defining(value: ir.Value) -> ir.Operation | None:
    """The op that a value is a result of; None for arguments."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def captured_values(op: ir.Operation) -> Iterator[ir.Value]:
    """What an op reads from outside: its operands, and what ops inside of it read."""
    yield from op.operands
    inner = ops_of(op)
    inside = set(inner)
    for one in inner:
        for value in one.operands:
            source = value.owner.owner.operation if isinstance(value.owner, ir.Block) else value.owner.operation
            if source != op and source not in inside:
                yield value
