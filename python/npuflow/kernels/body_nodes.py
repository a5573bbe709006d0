"""What an op's body does, operation by operation, as the model of the vector unit sees it. Reads IR."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of
from npuflow.kernels.vector_cycles import LOADED, SUM, Node
from npuflow.ops.contraction import producer, users
from npuflow.ops.factors import EXTENSIONS

_KINDS = {
    "add": ("addf", "subf", "addi", "subi", "negf", "index_cast"),
    "multiply": ("mulf", "muli", "mulsi_extended", "mului_extended"),
    "compare": (
        *("cmpf", "cmpi", "select", "maximumf", "minimumf", "maxnumf", "minnumf", "maxsi", "minsi", "maxui", "minui"),
        *("andi", "ori", "xori", "shli", "shrsi", "shrui", "absf", "absi", "copysign"),
    ),
    "convert": (
        *("extf", "truncf", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "fptoui", "bitcast"),
        *("floor", "ceil", "round", "roundeven", "trunc"),
    ),
    "multiply-add": ("fma",),
    "divide": ("divf", "divsi", "divui", "remf", "remsi", "remui", "ceildivsi", "floordivsi"),
    "root": ("sqrt", "rsqrt", "cbrt"),
    "exponential": ("exp", "exp2", "expm1"),
    "logarithm": ("log", "log2", "log10", "log1p"),
    "tanh": ("tanh",),
    "erf": ("erf",),
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
_BOUNDS = tuple(f"arith.{name}" for name in ("maximumf", "minimumf", "maxnumf", "minnumf", "maxsi", "minsi"))
_NARROWINGS = ("arith.fptosi", "arith.fptoui", "arith.trunci")
_MULTIPLICATIONS = ("arith.mulf", "arith.muli")
_ADDITIONS = ("arith.addf", "arith.addi")


def kind_of(inner: ir.Operation) -> str:
    """The kind of work that an operation of a body is, as a device's file calls it."""
    return _KIND_OF.get(inner.name.partition(".")[2], "other")


def widest_bytes(op: ir.Operation) -> int:
    """The widest type that the body computes in."""
    inner = [child.operation for child in op.regions[0].blocks[0].operations]
    types = [result.type for child in inner for result in child.results if child.name != "arith.constant"]
    types += [element_type_of(value) for value in op.operands]
    return max(element_bytes(_stored(t)) for t in types)


def _stored(kind: ir.Type) -> ir.Type:
    """A type, or for positions what a core has them in: its addresses have 32 bits."""
    return ir.IntegerType.get_signless(32, kind.context) if isinstance(kind, ir.IndexType) else kind


def nodes_of(op: ir.Operation, first_sum: int) -> tuple[Node, ...]:
    """The body's operations; a product that is added to a sum, or added without rounding, is one with the addition."""
    block = op.regions[0].blocks[0]
    numbers = {a: SUM if i >= first_sum else LOADED for i, a in enumerate(block.arguments)}
    body = [child.operation for child in block.operations][:-1]
    products = {inner: product for inner in body if (product := _product(inner, numbers)) is not None}
    nodes: list[Node] = []
    for inner in body:
        if inner in products.values():
            continue
        product = products.get(inner)
        operands = [value for value in inner.operands if product is None or value != product.results[0]]
        uses = _uses([*operands, *(product.operands if product else ())], numbers)
        if not uses:
            continue
        if _is_part_of_product(inner):
            numbers[inner.results[0]] = uses[0]
            continue
        kind = "multiply-add" if product else "saturate" if _saturates(inner) else kind_of(inner)
        numbers |= dict.fromkeys(inner.results, len(nodes))
        nodes.append(Node(kind, type_of(product or inner), uses))
    return tuple(nodes)


def _uses(values: list[ir.Value], numbers: dict[ir.Value, int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers[value] for value in values if value in numbers))


def _product(inner: ir.Operation, numbers: dict[ir.Value, int]) -> ir.Operation | None:
    """What an addition adds to the sum, or exactly, if that is a product that nothing else uses."""
    if inner.name not in _ADDITIONS:
        return None
    for value, other in zip(inner.operands, reversed(list(inner.operands))):
        made = producer(value, *_MULTIPLICATIONS)
        if made is None or len(users(value)) > 1:
            continue
        if numbers.get(other) == SUM or _narrow_factors(made) is not None:
            return made
    return None


def _narrow_factors(product: ir.Operation) -> ir.Type | None:
    """The type that the first of a product's factors was before it was widened; a constant has any that holds it."""
    narrow = [producer(factor, *EXTENSIONS) for factor in product.operands]
    types = [extension.operands[0].type for extension in narrow if extension is not None]
    others = [factor for factor, extension in zip(product.operands, narrow) if extension is None]
    return types[0] if types and all(_holds(types[0], factor) for factor in others) else None


def _holds(kind: ir.Type, factor: ir.Value) -> bool:
    """Whether a factor is a constant that a float's type has."""
    constant = producer(factor, "arith.constant")
    if constant is None or not isinstance(kind, ir.FloatType):
        return False
    number = ir.FloatAttr(constant.attributes["value"])
    return bool(ir.FloatAttr.get(kind, number.value, loc=constant.location).value == number.value)


def _is_part_of_product(inner: ir.Operation) -> bool:
    """Whether an op only widens factors: multiplications do that themselves."""
    return inner.name in EXTENSIONS and all(user.name in _MULTIPLICATIONS for user in users(inner.results[0]))


def _saturates(inner: ir.Operation) -> bool:
    """Whether an op does nothing but keep a number in the range of the type of fewer bits that it becomes next."""
    if inner.name not in _BOUNDS:
        return False
    constants = [producer(value, "arith.constant") for value in inner.operands]
    bounds = [one.attributes["value"] for one in constants if one is not None]
    reading = users(inner.results[0])
    if len(bounds) != 1 or len(reading) != 1:
        return False
    narrowed = reading[0]
    while _saturates(narrowed):
        narrowed = users(narrowed.results[0])[0]
    return narrowed.name in _NARROWINGS and _number(bounds[0]) in _ends(narrowed)


def _number(bound: ir.Attribute) -> float | int:
    return ir.FloatAttr(bound).value if isinstance(bound, ir.FloatAttr) else ir.IntegerAttr(bound).value


def _ends(narrowed: ir.Operation) -> tuple[int, ...]:
    """The ends of the range that a narrowing saturates to; signed ones may be as far from 0 on both sides."""
    values = 2 ** ir.IntegerType(narrowed.results[0].type).width
    return (0, values - 1) if narrowed.name == "arith.fptoui" else (-values // 2, 1 - values // 2, values // 2 - 1)


def type_of(inner: ir.Operation) -> str:
    """The type that decides what an operation costs: of factors as they were loaded, else of the operand it takes."""
    narrow = _narrow_factors(inner) if inner.name in _MULTIPLICATIONS else None
    if narrow is not None:
        return str(narrow)
    return str(_stored(inner.operands[-1].type))
