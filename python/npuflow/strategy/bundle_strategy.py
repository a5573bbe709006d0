"""How one bundle is mapped. Pure data, with its `#npu.strategy` attribute form."""

from __future__ import annotations

from dataclasses import dataclass, fields

from npuflow.bindings import ir
from npuflow.ops.contraction import BUNDLE, LHS, RHS, STRATEGY
from npuflow.strategy.bundle_shape import Depths, Spread
from npuflow.strategy.strategy import strategy_fields

# Fields that are 0 or 1, and not printed where they are 0.
_FLAGS = ("gather", "hold")


@dataclass(frozen=True)
class BundleStrategy:
    """A core's tile of the space and how the grid is spread over it.

    `spread` names the loops that the array's rows and columns follow, `stream` is the piece of each streamed loop,
    `order` the space's loops from the outermost on, as blocks go through them.
    With `gather = 1` windows are copied out one by one on their way into L1, and a convolution there is a matmul.
    With `hold = 1` operands that all blocks need alike are whole in L2, and cut into pieces on their way into L1.
    """

    grid: tuple[int, int]
    spread: tuple[int, ...]
    tile_l1: tuple[int, ...]
    order: tuple[int, ...]
    stream: tuple[int, ...] = ()
    depth_l2: int = 2
    depth_l1: int = 2
    depth_result: int = 1
    gather: int = 0
    hold: int = 0

    @property
    def placed(self) -> Spread:
        return Spread(self.grid, self.spread[0], self.spread[1])

    @property
    def depths(self) -> Depths:
        return Depths(self.depth_l2, self.depth_l1, self.depth_result, bool(self.hold))

    def to_attribute(self) -> ir.Attribute:
        """`#npu.strategy<{...}>` in the current context."""
        names = sorted(f.name for f in fields(self) if f.name not in _FLAGS or getattr(self, f.name))
        text = ", ".join(f"{name} = {_print(getattr(self, name))}" for name in names)
        return ir.Attribute.parse(f"#npu.strategy<{{{text}}}>")


@dataclass(frozen=True)
class GivenBundle:
    """What is said of a bundle's strategy; None where nothing is."""

    grid: tuple[int, int] | None = None
    spread: tuple[int, int] | None = None
    tile_l1: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None
    stream: tuple[int, ...] | None = None
    depth_l2: int | None = None
    depth_l1: int | None = None
    depth_result: int | None = None
    gather: int | None = None
    hold: int | None = None


def _print(value: int | tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else f"{value} : i64"


def bundle_strategy_of(op: ir.Operation) -> BundleStrategy | None:
    """What an op of a bundle says; None where it says nothing; raises ValueError where it says something wrong."""
    if STRATEGY not in op.attributes:
        return None
    return BundleStrategy(**said_of(op))  # type: ignore[arg-type]


def depths_of(op: ir.Operation, operand: int = -1) -> Depths:
    """Slots of an operand's buffers and of results, as the strategy on a matmul or on an op of a bundle says.

    One of each where there is no strategy.
    """
    if STRATEGY not in op.attributes:
        return Depths(1, 1, 1)
    said = said_of(op) if BUNDLE in op.attributes else strategy_fields(op.attributes[STRATEGY])
    l2, l1, result = (int(said.get(f"depth_{name}", 1)) for name in ("l2", "l1", "result"))  # type: ignore[arg-type]
    own = said.get({LHS: "depth_lhs", RHS: "depth_rhs"}.get(operand, ""))
    return Depths(own[0], own[1], result) if isinstance(own, tuple) else Depths(l2, l1, result)


def tail_depth_of(op: ir.Operation) -> int:
    """Slots of what a matmul's tail reads, as the matmul's strategy says."""
    depth = strategy_fields(op.attributes[STRATEGY]).get("depth_tail", 1)
    return depth if isinstance(depth, int) else 1


def said_of(op: ir.Operation) -> dict[str, int | tuple[int, ...]]:
    """The fields that an op's `#npu.strategy` gives; raises ValueError as bundle_fields does."""
    return bundle_fields(op.attributes[STRATEGY]) if STRATEGY in op.attributes else {}


def bundle_fields(attribute: ir.Attribute) -> dict[str, int | tuple[int, ...]]:
    """What a bundle's `#npu.strategy` says; raises ValueError naming every unknown or malformed field."""
    if not str(attribute).startswith("#npu.strategy<"):
        raise ValueError(f"expected #npu.strategy<{{...}}>, got {attribute}")
    known = {f.name: f for f in fields(BundleStrategy)}
    values: dict[str, int | tuple[int, ...]] = {}
    problems = []
    for named in ir.DictAttr(ir.DynamicAttr(attribute).params[0]):
        if named.name not in known:
            problems.append(f"unknown field '{named.name}' (known: {', '.join(known)})")
            continue
        value = _read(named.attr)
        if value is None or isinstance(value, int) != named.name.startswith(("depth", *_FLAGS)):
            problems.append(f"field '{named.name}' is {named.attr}")
            continue
        values[named.name] = value
    if problems:
        raise ValueError("; ".join(problems))
    return values


def _read(attribute: ir.Attribute) -> int | tuple[int, ...] | None:
    if isinstance(attribute, ir.IntegerAttr):
        value = int(ir.IntegerAttr(attribute).value)
        return value if value >= 0 else None
    if not isinstance(attribute, ir.ArrayAttr):
        return None
    items = [int(ir.IntegerAttr(item).value) for item in ir.ArrayAttr(attribute) if isinstance(item, ir.IntegerAttr)]
    return tuple(items) if len(items) == len(ir.ArrayAttr(attribute)) and min(items, default=0) >= 0 else None
