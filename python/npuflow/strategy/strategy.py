"""A strategy: how a group is mapped, or what somebody says of that. Pure data, with its `#npu.strategy` attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext, fail
from npuflow.dialect.npu import StrategyAttr
from npuflow.ops.contraction import BUNDLE, STRATEGY, Contraction

Sizes = tuple[int, ...]
Tile = tuple[int, int, int]

# Fields that say slots of buffers, in the order in which a person asks for them.
DEPTHS = ("depth_l2", "depth_l1", "depth_lhs", "depth_rhs", "depth_result", "depth_tail", "depth_between")
# How many numbers each field of a matmul's strategy has, 0 for one that is no list.
MATMUL_FIELDS = {
    "grid": 2,
    "tile_l2": 3,
    "tile_l1": 3,
    "pack": 3,
    "turned": 0,
    "depth_l2": 0,
    "depth_l1": 0,
    "depth_lhs": 2,
    "depth_rhs": 2,
    "depth_result": 0,
    "depth_tail": 0,
    "depth_between": 0,
}
_ANY = -1
# The same of a bundle's; how many loops it has is the bundle's.
BUNDLE_FIELDS = {
    "grid": _ANY,
    "spread": _ANY,
    "tile_l1": _ANY,
    "order": _ANY,
    "stream": _ANY,
    "stream_l2": _ANY,
    "depth_l2": 0,
    "depth_l1": 0,
    "depth_result": 0,
    "depth_between": 0,
    "gather": 0,
    "hold": 0,
}
_FROM_ZERO = ("spread", "order", "gather", "hold")  # loops' numbers, and flags


@dataclass(frozen=True)
class Strategy:
    """How a group is mapped; `()` and None where nothing is said, which for a field of a whole one means its default.

    Of a matmul, sizes are in elements, in the order m, n, k, and the grid is cores along m by cores along n: the
    array's rows run along m and its columns along n, with `turned = 1` the other way round. `depth_lhs` and `depth_rhs`
    are slots (in L2, in L1) of one operand's buffers, and `depth_tail`, in both, of what the tail reads beside the sum.

    Of a bundle, the grid is the array's rows by its columns, and `spread` names the loops of the space that these
    follow. `tile_l1` is a core's tile of the space, `stream` the piece of each streamed loop, `stream_l2` the larger
    piece that L2 has of it at a time (as much where nothing is said), and `order` the space's loops from the outermost
    on, as blocks go through them. With `gather = 1` windows are copied out one by one on their
    way into L1, and a convolution there is a matmul. With `hold = 1` operands that all blocks need alike are whole in
    L2, and cut into pieces on their way into L1.

    Of both, `depth_l2` and `depth_l1` are slots of what comes in, `depth_result` of results, and `depth_between` of
    what matrix and vector engines hand to each other.
    """

    grid: Sizes = ()
    tile_l2: Sizes = ()
    tile_l1: Sizes = ()
    pack: Sizes = ()
    spread: Sizes = ()
    order: Sizes = ()
    stream: Sizes = ()
    stream_l2: Sizes = ()
    depth_l2: int | None = None
    depth_l1: int | None = None
    depth_lhs: Sizes = ()
    depth_rhs: Sizes = ()
    depth_result: int | None = None
    depth_tail: int | None = None
    depth_between: int | None = None
    turned: int | None = None
    gather: int | None = None
    hold: int | None = None

    @property
    def array(self) -> tuple[int, int]:
        """Rows and columns of the array that the grid takes."""
        first, second = self.grid
        return (second, first) if self.turned else (first, second)

    def said(self) -> dict[str, int | Sizes]:
        """The fields that say something."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, ())}

    def to_attribute(self) -> ir.Attribute:
        """`#npu.strategy<{...}>` in the current context."""
        text = ", ".join(f"{name} = {_print(value)}" for name, value in sorted(self.said().items()))
        return ir.Attribute.parse(f"#npu.strategy<{{{text}}}>")


def _print(value: int | Sizes) -> str:
    return f"{list(value)}" if isinstance(value, tuple) else f"{value} : i64"


def strategy_from(attribute: ir.Attribute, known: Mapping[str, int]) -> Strategy:
    """What a `#npu.strategy` says; raises ValueError naming every field that is unknown or malformed."""
    if not isinstance(attribute, StrategyAttr):
        raise ValueError(f"expected #npu.strategy<{{...}}>, got {attribute}")
    values: dict[str, int | Sizes] = {}
    problems = []
    for name, given in ((named.name, named.attr) for named in ir.DictAttr(ir.DynamicAttr(attribute).params[0])):
        if name not in known:
            problems.append(f"unknown field '{name}' (known: {', '.join(known)})")
            continue
        value = _read(given, known[name], 0 if name in _FROM_ZERO else 1)
        if value is None:
            problems.append(f"field '{name}' must be {_wanted(name, known[name])}, is {given}")
        else:
            values[name] = value
    if problems:
        raise ValueError("; ".join(problems))
    return Strategy(**values)  # type: ignore[arg-type]


def is_of_bundle(attribute: ir.Attribute) -> bool:
    """Whether an attribute is a bundle's strategy: only these say how loops are spread."""
    return isinstance(attribute, StrategyAttr) and "spread" in ir.DictAttr(ir.DynamicAttr(attribute).params[0])


def _wanted(name: str, width: int) -> str:
    kind = "non-negative" if name in _FROM_ZERO else "positive"
    if not width:
        return f"a {kind} integer"
    return f"{kind} integers" if width == _ANY else f"{width} {kind} integers"


def _read(attribute: ir.Attribute, width: int, least: int) -> int | Sizes | None:
    if not width:
        return _integer(attribute, least)
    items = list(ir.ArrayAttr(attribute)) if isinstance(attribute, ir.ArrayAttr) else None
    if items is None or width not in (_ANY, len(items)):
        return None
    values = [value for item in items if (value := _integer(item, least)) is not None]
    return tuple(values) if len(values) == len(items) else None


def _integer(attribute: ir.Attribute, least: int) -> int | None:
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    value = int(ir.IntegerAttr(attribute).value)
    return value if value >= least else None


def said_of(op: ir.Operation, known: Mapping[str, int] | None = None) -> Strategy:
    """What an op says of its strategy; raises ValueError where that is wrong. An op of a bundle is marked as such."""
    if STRATEGY not in op.attributes:
        return Strategy()
    own = BUNDLE_FIELDS if BUNDLE in op.attributes else MATMUL_FIELDS
    return strategy_from(op.attributes[STRATEGY], own if known is None else known)


def strategy_of(op: ir.Operation) -> Strategy | None:
    """The complete strategy that an op carries, or None; raises InputError where it is malformed."""
    try:
        said = said_of(op)
    except ValueError as error:
        raise fail(op, f"npu.strategy is malformed: {error}", "run npuflow-assign-strategy, which writes it") from None
    needed = (
        said.grid,
        said.tile_l1,
        said.spread and said.order if BUNDLE in op.attributes else said.tile_l2 and said.pack,
    )
    return said if all(needed) else None


def required_sizes(
    pass_: Pass,
    contraction: Contraction,
    context: PassContext,
    given: Sizes | None,
    of: Callable[[Strategy], Sizes],
) -> Sizes | None:
    """The sizes that a pass was given as an option, else those of the op's strategy; None after reporting an error."""
    if given is None:
        strategy = _required_strategy(pass_, contraction, context)
        return None if strategy is None else of(strategy)
    if min(given) > 0:
        return given
    context.error(contraction.op, f"{pass_.name} was given sizes {','.join(map(str, given))}", "sizes start at 1")
    return None


def _required_strategy(pass_: Pass, contraction: Contraction, context: PassContext) -> Strategy | None:
    """The op's strategy; where there is none, an error that says how to get one."""
    strategy = strategy_of(contraction.op)
    if strategy is None:
        context.error(
            contraction.op,
            f"{contraction.op.name} has no complete #npu.strategy, which {pass_.name} needs",
            "run npuflow-assign-strategy before, or set this pass's options",
        )
    return strategy
