"""Ops that are alike as one function, which is called for each: LLVM's time is for what differs.

linalg.generic ins(%a) outs(%b) {...}        func.call @npuflow_shared_0(%a, %b)
linalg.generic ins(%c) outs(%d) {...}        func.call @npuflow_shared_0(%c, %d)
                                             func.func private @npuflow_shared_0(...) { linalg.generic ... }
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from npuflow.bindings import func, ir
from npuflow.core.build import at
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import producer
from npuflow.ops.linear import input_count
from npuflow.ops.views import base_of

SHARED = "npuflow_shared"


@dataclass
class _SharedOps:
    """Ops that do what a function does, each with what it is called on."""

    function: ir.Operation
    calls: list[tuple[ir.Operation, list[ir.Value]]]


def share_ops(module: ir.Module) -> None:
    """Calls one function for all ops on buffers that are alike; an op that has none like it stays where it is."""
    every = ops_of(module.operation, "linalg.generic")
    if len(every) < 2:
        return
    apart = ir.Module.create(module.operation.location)
    kinds: dict[str, _SharedOps] = {}
    for op in every:
        if not op.results and _writes_apart(op):
            function, given = _outlined(op, apart)
            kind = kinds.setdefault(function.get_asm(assume_verified=True), _SharedOps(function, []))
            kind.calls.append((op, given))
            if kind.function != function:
                function.erase()
    for number, kind in enumerate(kind for kind in kinds.values() if len(kind.calls) > 1):
        name = f"{SHARED}_{number}"
        kind.function.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
        module.body.append(kind.function)
        for op, given in kind.calls:
            with at(op):
                func.CallOp([], name, given)
            op.erase()


def _writes_apart(op: ir.Operation) -> bool:
    """Whether what an op writes is known to lie apart from all else that it is given, as LLVM is told."""
    inside = [op, *ops_of(op)]
    written = list(op.operands)[input_count(op) :]
    buffers = dict.fromkeys(v for each in inside for v in each.operands if isinstance(v.type, ir.MemRefType))
    places = {value: _place_of(value) for value in buffers}
    if any(place is None for place in places.values()) or any(each.name == "memref.store" for each in inside):
        return False
    counts = Counter(places.values())
    return all(counts[places[value]] == 1 for value in written)


def _place_of(value: ir.Value) -> ir.Value | str | None:
    """The buffer that a value is or is a view of; None where that may be one of several."""
    value = base_of(value)
    if isinstance(value.owner, ir.Block):
        function = value.owner.owner
        return value if "llvm.emit_c_interface" in function.attributes else None
    made = value.owner.operation
    if made.name == "memref.get_global":
        return str(made.attributes["name"])
    return value if made.name in ("memref.alloc", "memref.alloca") else None


def _outlined(op: ir.Operation, module: ir.Module) -> tuple[ir.Operation, list[ir.Value]]:
    """A function that does what an op does, and what it is given; constants that the op's body reads are its own."""
    inside = [op, *ops_of(op)]
    blocks = [block for each in inside for region in each.regions for block in region.blocks]
    own = {*(value for each in inside for value in each.results), *(value for b in blocks for value in b.arguments)}
    read = dict.fromkeys(value for each in inside for value in each.operands if value not in own)
    constants = [value for value in read if producer(value, "arith.constant") is not None]
    given = [value for value in read if value not in constants]
    with ir.InsertionPoint(module.body), op.location:
        function = func.FuncOp(SHARED, ([value.type for value in given], []), visibility="private")
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            found = dict(zip(given, block.arguments))
            found |= {value: value.owner.clone().results[0] for value in constants}
            copy = op.clone()
            func.ReturnOp([])
    for each in (copy, *ops_of(copy)):
        for number, value in enumerate(each.operands):
            if value in found:
                each.operands[number] = found[value]
    return function.operation, given


def say_what_is_shared(module: ir.Module) -> None:
    """Tells LLVM to leave the functions of ops that are alike functions, and that what they are given lies apart."""
    yes = ir.UnitAttr.get(module.context)
    for op in ops_of(module.operation, "llvm.func"):
        if ir.StringAttr(op.attributes["sym_name"]).value.startswith(SHARED):
            op.attributes["no_inline"] = yes
            kinds = [argument.type for argument in op.regions[0].blocks[0].arguments]
            said = [{"llvm.noalias": yes} if str(kind) == "!llvm.ptr" else {} for kind in kinds]
            op.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each, module.context) for each in said])
