"""A strategy: how one matmul is mapped. Pure data, with its `#npu.strategy` attribute form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext
from npuflow.ops.contraction import STRATEGY, Contraction

Tile = tuple[int, int, int]

# Fields that say slots of buffers, in the order in which a person asks for them.
DEPTHS = ("depth_l2", "depth_l1", "depth_lhs", "depth_rhs", "depth_result", "depth_tail")
# Printed only where they differ from their defaults.
_SELDOM = ("depth_result", "turned", "depth_lhs", "depth_rhs", "depth_tail")


@dataclass(frozen=True)
class Strategy:
    """Sizes are in elements, in the order m, n, k; the grid is cores along m by cores along n.

    The array's rows run along m and its columns along n; `turned = 1` says the other way round. `depth_l2` and
    `depth_l1` are slots of both operands' buffers, `depth_lhs` and `depth_rhs` (in L2, in L1) those of one, and
    `depth_tail`, in both, of what the tail reads beside the sum.
    """

    grid: tuple[int, int]
    tile_l2: Tile
    tile_l1: Tile
    pack: Tile
    depth_l2: int = 2
    depth_l1: int = 2
    depth_result: int = 1
    turned: int = 0
    depth_lhs: tuple[int, ...] = ()
    depth_rhs: tuple[int, ...] = ()
    depth_tail: int = 1

    @property
    def slots_lhs(self) -> tuple[int, int]:
        """Slots of the left operand's buffers in L2 and L1."""
        return (self.depth_lhs[0], self.depth_lhs[1]) if self.depth_lhs else (self.depth_l2, self.depth_l1)

    @property
    def slots_rhs(self) -> tuple[int, int]:
        """Slots of the right operand's buffers in L2 and L1."""
        return (self.depth_rhs[0], self.depth_rhs[1]) if self.depth_rhs else (self.depth_l2, self.depth_l1)

    @property
    def array(self) -> tuple[int, int]:
        """Rows and columns of the array that the grid takes."""
        return (self.grid[1], self.grid[0]) if self.turned else self.grid

    def to_attribute(self) -> ir.Attribute:
        """`#npu.strategy<{...}>` in the current context."""
        said = [f for f in fields(self) if f.name not in _SELDOM or getattr(self, f.name) != f.default]
        text = ", ".join(f"{f.name} = {_print(getattr(self, f.name))}" for f in sorted(said, key=lambda f: f.name))
        return ir.Attribute.parse(f"#npu.strategy<{{{text}}}>")


def _print(value: int | tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else f"{value} : i64"


def strategy_fields(attribute: ir.Attribute) -> dict[str, int | tuple[int, ...]]:
    """What a `#npu.strategy` says; raises ValueError naming every unknown, missing-sized or non-positive field."""
    if not str(attribute).startswith("#npu.strategy<"):
        raise ValueError(f"expected #npu.strategy<{{...}}>, got {attribute}")
    known = {f.name: f for f in fields(Strategy)}
    widths = {"grid": 2, "tile_l2": 3, "tile_l1": 3, "pack": 3, "depth_lhs": 2, "depth_rhs": 2}
    values: dict[str, int | tuple[int, ...]] = {}
    problems: list[str] = []
    for named in ir.DictAttr(ir.DynamicAttr(attribute).params[0]):
        name = named.name
        if name not in known:
            problems.append(f"unknown field '{name}' (known: {', '.join(known)})")
            continue
        value = _read(named.attr, widths.get(name, 0))
        if value is None:
            kind = f"{widths[name]} positive integers" if name in widths else "a positive integer"
            problems.append(f"field '{name}' must be {kind}, is {named.attr}")
            continue
        values[name] = value
    if problems:
        raise ValueError("; ".join(problems))
    return values


def _read(attribute: ir.Attribute, width: int) -> int | tuple[int, ...] | None:
    if not width:
        return _positive(attribute)
    items = list(ir.ArrayAttr(attribute)) if isinstance(attribute, ir.ArrayAttr) else []
    values = [_positive(item) for item in items]
    return tuple(v for v in values if v) if len(values) == width and all(values) else None


def _positive(attribute: ir.Attribute) -> int | None:
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    value = int(ir.IntegerAttr(attribute).value)
    return value if value > 0 else None


def strategy_of(contraction: Contraction) -> Strategy | None:
    """The complete strategy that an op carries, or None."""
    if STRATEGY not in contraction.op.attributes:
        return None
    values = strategy_fields(contraction.op.attributes[STRATEGY])
    return Strategy(**values) if {"grid", "tile_l2", "tile_l1", "pack"} <= set(values) else None  # type: ignore[arg-type]


def required_sizes(
    pass_: Pass,
    contraction: Contraction,
    context: PassContext,
    given: tuple[int, ...] | None,
    of: Callable[[Strategy], tuple[int, ...]],
) -> tuple[int, ...] | None:
    """The sizes that a pass was given as an option, else those of the op's strategy; None after reporting an error."""
    if given is None:
        strategy = required_strategy(pass_, contraction, context)
        return None if strategy is None else of(strategy)
    if min(given) > 0:
        return given
    context.error(contraction.op, f"{pass_.name} was given sizes {','.join(map(str, given))}", "sizes start at 1")
    return None


def required_strategy(pass_: Pass, contraction: Contraction, context: PassContext) -> Strategy | None:
    """The op's strategy; where there is none, an error that says how to get one."""
    strategy = strategy_of(contraction)
    if strategy is None:
        context.error(
            contraction.op,
            f"{contraction.op.name} has no complete #npu.strategy, which {pass_.name} needs",
            "run npuflow-assign-strategy before, or set this pass's options",
        )
    return strategy
