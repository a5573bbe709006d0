"""Ways to break a program by one op: what a wrong pass would do to it.

%s = arith.addf %acc, %p : f32         linalg.yield %s        before
%n = arith.negf %s : f32               linalg.yield %n        after `negated`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from npuflow.bindings import arith, ir
from npuflow.core.build import at, dynamic_marker
from npuflow.core.passes import ops_of


class FaultClass(Enum):
    """The classes of faults, in the order of tables."""

    DROPPED = "dropped op"
    SCALED = "scaled"
    HALVED = "halved"
    NEGATED = "negated"
    SWAPPED = "swapped operands"
    SHIFTED = "off-by-one slice"
    LOST_STEP = "lost K step"
    STALE = "stale tile"
    ZERO_POINT = "wrong constant"
    MASK = "wrong mask"


@dataclass(frozen=True)
class Mutator:
    """Breaks an op for which `applies` says yes."""

    fault: FaultClass
    name: str
    applies: Callable[[ir.Operation], bool]
    apply: Callable[[ir.Operation], None]


# What is yielded


def _yields_numbers(op: ir.Operation) -> bool:
    if op.name != "linalg.yield" or not op.operands or not _reads_tensors(op.parent.operation):
        return False
    kind = op.operands[0].type
    return isinstance(kind, ir.FloatType) or (isinstance(kind, ir.IntegerType) and kind.width > 1)


def _reads_tensors(op: ir.Operation) -> bool:
    """A linalg.generic that isn't a fill: those of zeros stay what they are whatever they are multiplied with."""
    return op.name == "linalg.generic" and isinstance(op.operands[0].type, ir.ShapedType) and len(op.operands) > 1


def _yield_times(factor: float, shift: Callable[[ir.Value], ir.Value]) -> Callable[[ir.Operation], None]:
    """Yields a float times `factor`, or what `shift` makes of an integer."""

    def apply(op: ir.Operation) -> None:
        value = op.operands[0]
        with at(op):
            if isinstance(value.type, ir.FloatType):
                scale = arith.ConstantOp(value.type, ir.FloatAttr.get(value.type, factor)).result
                op.operands[0] = arith.MulFOp(value, scale).result
            else:
                op.operands[0] = shift(value)

    return apply


def _integer(kind: ir.Type, value: int) -> ir.Value:
    return arith.ConstantOp(kind, ir.IntegerAttr.get(kind, value)).result


def _tripled(value: ir.Value) -> ir.Value:
    return arith.MulIOp(value, _integer(value.type, 3)).result


def _half(value: ir.Value) -> ir.Value:
    return arith.ShRSIOp(value, _integer(value.type, 1)).result


def _negative(value: ir.Value) -> ir.Value:
    return arith.SubIOp(_integer(value.type, 0), value).result


# Ops that do nothing, and operands that change places


def _has_init(op: ir.Operation) -> bool:
    return op.name in ("linalg.generic", "linalg.fill") and len(op.results) == 1


def _drop_to_init(op: ir.Operation) -> None:
    op.results[0].replace_all_uses_with(op.operands[len(op.operands) - 1])


def _takes_alike(op: ir.Operation) -> bool:
    """An op whose operands aren't interchangeable, though their types are alike."""
    if op.name == "linalg.generic":
        return len(op.operands) > 2 and op.operands[0].type == op.operands[1].type and op.operands[0] != op.operands[1]
    return op.name in ("arith.subf", "arith.subi", "arith.divf", "arith.divsi", "math.powf", "math.atan2")


def _swap(op: ir.Operation) -> None:
    left, right = op.operands[0], op.operands[1]
    op.operands[0], op.operands[1] = right, left


def _in_body(op: ir.Operation) -> bool:
    parent = op.parent
    return parent is not None and parent.operation.name.startswith("linalg.")


def _is_arithmetic(op: ir.Operation) -> bool:
    """An operation of a body that makes of its first operand another number of the same type."""
    if not _in_body(op) or not op.name.startswith(("arith.", "math.")) or not op.operands:
        return False
    return len(op.results) == 1 and op.operands[0].type == op.results[0].type


def _drop_to_operand(op: ir.Operation) -> None:
    op.results[0].replace_all_uses_with(op.operands[0])


# Slices, loops, copies


def _slides(op: ir.Operation) -> bool:
    """A slice that could start one element later or earlier."""
    return op.name in ("memref.subview", "tensor.extract_slice") and _shiftable(op) is not None


def _shiftable(op: ir.Operation) -> int | None:
    """A dimension along which there is room behind a static offset."""
    view = op.opview
    source = ir.ShapedType(op.operands[0].type).shape
    offsets, sizes = list(view.static_offsets), list(view.static_sizes)
    if isinstance(op.results[0].type, ir.MemRefType) and len(sizes) != ir.MemRefType(op.results[0].type).rank:
        return None
    for dim, (extent, offset, size) in enumerate(zip(source, offsets, sizes, strict=True)):
        if dynamic_marker() not in (extent, offset, size) and offset + size < extent:
            return dim
    return None


def _shift(op: ir.Operation) -> None:
    dim = _shiftable(op)
    assert dim is not None
    offsets = list(op.opview.static_offsets)
    offsets[dim] += 1
    op.attributes["static_offsets"] = ir.DenseI64ArrayAttr.get(offsets)
    if op.name == "memref.subview":
        kind = ir.MemRefType(op.results[0].type)
        layout = ir.StridedLayoutAttr(kind.layout)
        static = dynamic_marker() not in (layout.offset, layout.strides[dim])
        offset = layout.offset + layout.strides[dim] if static else dynamic_marker()
        moved = ir.StridedLayoutAttr.get(offset, list(layout.strides))
        op.results[0].set_type(ir.MemRefType.get(kind.shape, kind.element_type, moved, kind.memory_space))


def _pads(op: ir.Operation) -> bool:
    return op.name == "tensor.pad" and any(low > 0 for low in op.opview.static_low)


def _pad_elsewhere(op: ir.Operation) -> None:
    """One element less in front, one more behind."""
    low, high = list(op.opview.static_low), list(op.opview.static_high)
    dim = next(i for i, value in enumerate(low) if value > 0)
    low[dim], high[dim] = low[dim] - 1, high[dim] + 1
    op.attributes["static_low"] = ir.DenseI64ArrayAttr.get(low)
    op.attributes["static_high"] = ir.DenseI64ArrayAttr.get(high)


def _constant_bounds(op: ir.Operation) -> tuple[int, int, int] | None:
    """Of a loop: where it begins, where it ends, and its step."""
    if op.name != "scf.for":
        return None
    owners = [value.owner for value in list(op.operands)[:3]]
    if any(isinstance(owner, ir.Block) or owner.operation.name != "arith.constant" for owner in owners):
        return None
    low, high, step = (int(ir.IntegerAttr(owner.operation.attributes["value"]).value) for owner in owners)
    return low, high, step


def _repeats(op: ir.Operation) -> bool:
    bounds = _constant_bounds(op)
    return bounds is not None and bounds[0] + bounds[2] < bounds[1]


def _stop_early(op: ir.Operation) -> None:
    bounds = _constant_bounds(op)
    assert bounds is not None
    with at(op):
        op.operands[1] = arith.ConstantOp.create_index(bounds[1] - bounds[2]).result


def _stand_still(op: ir.Operation) -> None:
    """Every turn of a loop works on what the first one works on."""
    op.regions[0].blocks[0].arguments[0].replace_all_uses_with(op.operands[0])


def _is_movement(op: ir.Operation) -> bool:
    return op.name in ("memref.copy", "linalg.pack", "linalg.unpack") and not op.results


def _erase(op: ir.Operation) -> None:
    op.erase()


# Constants and masks


def _is_number(op: ir.Operation) -> bool:
    if op.name != "arith.constant" or not any(_in_body(use.owner.operation) for use in op.results[0].uses):
        return False
    kind = op.results[0].type
    return isinstance(kind, ir.FloatType) or (isinstance(kind, ir.IntegerType) and kind.width > 1)


def _change_number(op: ir.Operation) -> None:
    kind = op.results[0].type
    if isinstance(kind, ir.FloatType):
        value = ir.FloatAttr(op.attributes["value"]).value
        op.attributes["value"] = ir.FloatAttr.get(kind, value * 1.25 + 0.125)
    else:
        op.attributes["value"] = ir.IntegerAttr.get(kind, int(ir.IntegerAttr(op.attributes["value"]).value) + 1)


def _compares(op: ir.Operation) -> bool:
    return op.name in ("arith.cmpi", "arith.cmpf", "arith.select")


def _mask_otherwise(op: ir.Operation) -> None:
    """Another outcome of a comparison, or of what is chosen by one."""
    if op.name == "arith.select":
        left, right = op.operands[1], op.operands[2]
        op.operands[1], op.operands[2] = right, left
        return
    one, two = op.operands[0], op.operands[1]
    op.operands[0], op.operands[1] = two, one


MUTATORS = (
    Mutator(FaultClass.DROPPED, "op", _has_init, _drop_to_init),
    Mutator(FaultClass.DROPPED, "operation", _is_arithmetic, _drop_to_operand),
    Mutator(FaultClass.SCALED, "1.02", _yields_numbers, _yield_times(1.02, _tripled)),
    Mutator(FaultClass.HALVED, "result", _yields_numbers, _yield_times(0.5, _half)),
    Mutator(FaultClass.NEGATED, "result", _yields_numbers, _yield_times(-1.0, _negative)),
    Mutator(FaultClass.SWAPPED, "operands", _takes_alike, _swap),
    Mutator(FaultClass.SHIFTED, "slice", _slides, _shift),
    Mutator(FaultClass.SHIFTED, "padding", _pads, _pad_elsewhere),
    Mutator(FaultClass.LOST_STEP, "last turn", _repeats, _stop_early),
    Mutator(FaultClass.STALE, "turn", _repeats, _stand_still),
    Mutator(FaultClass.STALE, "movement", _is_movement, _erase),
    Mutator(FaultClass.ZERO_POINT, "constant", _is_number, _change_number),
    Mutator(FaultClass.MASK, "comparison", _compares, _mask_otherwise),
)


@dataclass(frozen=True)
class Mutant:
    """A mutator at work on op number `position` of a module."""

    mutator: Mutator
    position: int
    place: str

    @property
    def fault(self) -> FaultClass:
        return self.mutator.fault

    def __str__(self) -> str:
        return f"{self.fault.value} ({self.mutator.name} at {self.place} {self.position})"

    def applied(self, module: ir.Module) -> ir.Module:
        """A broken copy of the module that the mutant was found in."""
        copy = ir.Module.parse(module.operation.get_asm(), module.context)
        op = ops_of(copy.operation)[self.position]
        with op.location:
            self.mutator.apply(op)
        return copy


def mutants_of(module: ir.Module) -> list[Mutant]:
    """Every mutant of a module, in the order of its ops."""
    ops = enumerate(ops_of(module.operation))
    return [Mutant(mutator, place, op.name) for place, op in ops for mutator in MUTATORS if mutator.applies(op)]
