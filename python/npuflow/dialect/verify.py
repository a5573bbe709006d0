"""What the ops of the dialect must satisfy: every problem as text, from the attributes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.bindings import ir

COORDINATES = ("row", "column", "tile", "part")
CAUSES = ("data", "space", "task", "other")
ROLES = ("argument", "result", "constant", "internal")
SPACES = {1: "2 : i64", 2: "1 : i64", 3: "none"}


class WrongItemError(ValueError):
    """An array attribute of the right kind holds something of another."""


def integers(attribute: ir.Attribute) -> list[int]:
    """An array attribute's integers."""
    items = list(ir.ArrayAttr(attribute))
    if not all(isinstance(item, ir.IntegerAttr) for item in items):
        raise WrongItemError(f"has {attribute}, which is no list of integers")
    return [int(ir.IntegerAttr(item).value) for item in items]


def strings(attribute: ir.Attribute) -> list[str]:
    """An array attribute's strings."""
    items = list(ir.ArrayAttr(attribute))
    if not all(isinstance(item, ir.StringAttr) for item in items):
        raise WrongItemError(f"has {attribute}, which is no list of strings")
    return [str(ir.StringAttr(item).value) for item in items]


def buffer_problems(attributes: ir.OpAttributeMap) -> list[str]:
    span = strings(attributes["span"])
    problems = _span_problems(span)
    problems += _at_least(attributes, "depth", 1) + _at_least(attributes, "level", 1)
    problems += map_problems(attributes, ("address",), len(span), 1)
    problems += _one_of(attributes, "role", ROLES)
    role, level = ir.StringAttr(attributes["role"]).value, int(ir.IntegerAttr(attributes["level"]).value)
    if role != "internal" and level != 3:
        problems.append(f"is {role} in level {level}; arguments, results and constants are in level 3")
    return problems + _contents_problems(ir.TypeAttr(attributes["contents"]).value, attributes)


def _contents_problems(kind: ir.Type, attributes: ir.OpAttributeMap) -> list[str]:
    """A slot is a plain memref in the memory space of its level: none for L3, 1 for L2, 2 for L1."""
    if not isinstance(kind, ir.MemRefType) or not ir.ShapedType(kind).has_static_shape:
        return [f"holds {kind}, which is no memref of static shape"]
    problems = []
    level = int(ir.IntegerAttr(attributes["level"]).value)
    space = "none" if kind.memory_space is None else str(kind.memory_space)
    wanted = SPACES.get(level, space)
    if space != wanted:
        problems.append(f"is in level {level} and holds {kind}, whose memory space is {space} instead of {wanted}")
    if kind.affine_map != ir.AffineMap.get_identity(kind.rank, kind.context):
        problems.append(f"holds {kind}, whose elements do not lie one behind the other")
    element = kind.element_type
    if not isinstance(element, (ir.IntegerType, ir.FloatType)) or (element.width % 8 and element.width != 1):
        problems.append(f"holds {kind}, whose elements are no numbers of whole bytes")
    return problems


def semaphore_problems(attributes: ir.OpAttributeMap) -> list[str]:
    problems = _span_problems(strings(attributes["span"]))
    problems += _at_least(attributes, "initial", 0) + _at_least(attributes, "maximum", 1)
    problems += _one_of(attributes, "cause", CAUSES)
    initial, maximum = (int(ir.IntegerAttr(attributes[name]).value) for name in ("initial", "maximum"))
    if initial > maximum:
        problems.append(f"starts at {initial}, above its maximum of {maximum}")
    return problems


def stream_problems(attributes: ir.OpAttributeMap) -> list[str]:
    return _span_problems([*strings(attributes["span"]), *strings(attributes["multicast"])])


def map_problems(
    attributes: ir.OpAttributeMap | Mapping[str, ir.Attribute],
    names: Sequence[str],
    indices: int,
    results: int | None = None,
) -> list[str]:
    """Maps must take as many dimensions as the op has indices."""
    problems = []
    for name in names:
        value = ir.AffineMapAttr(attributes[name]).value
        if value.n_dims != indices or value.n_symbols:
            problems.append(f"map '{name}' takes {value.n_inputs} values, but there are {indices} indices")
        if results is not None and len(value.results) != results:
            problems.append(f"map '{name}' gives {len(value.results)} values instead of {results}")
    return problems


def transfer_problems(attributes: ir.OpAttributeMap, indices: int) -> list[str]:
    problems = map_problems(attributes, ("stream_at", "buffer_at"), indices)
    problems += map_problems(attributes, ("slot",), indices, 1)
    problems += pattern_problems({name: attributes[name] for name in PATTERN}, indices)
    if not isinstance(attributes["zeros"], ir.BoolAttr):
        problems.append(f"has zeros {attributes['zeros']}, which is neither true nor false")
    return problems


# How an access goes through a slot of its buffer.
PATTERN = ("offset", "sizes", "strides", "limits")


def pattern_problems(fields: Mapping[str, ir.Attribute], indices: int) -> list[str]:
    problems = map_problems(fields, ("offset",), indices, 1)
    sizes, strides = integers(fields["sizes"]), integers(fields["strides"])
    if len(sizes) != len(strides) or not sizes:
        problems.append(f"has {len(sizes)} sizes and {len(strides)} strides; one of each per dimension, at least one")
    if any(size < 1 for size in sizes):
        problems.append(f"has a size below 1 in {sizes}")
    for limit in ir.ArrayAttr(fields["limits"]):
        problems += _limit_problems(limit, len(sizes), indices)
    return problems


def _limit_problems(limit: ir.Attribute, rank: int, indices: int) -> list[str]:
    parts = list(ir.ArrayAttr(limit)) if isinstance(limit, ir.ArrayAttr) else []
    if len(parts) != 2 or not isinstance(parts[0], ir.ArrayAttr) or not isinstance(parts[1], ir.AffineMapAttr):
        return [f"has a limit {limit}, which is not [weights, bound]"]
    problems = []
    if len(integers(parts[0])) != rank:
        problems.append(f"has a limit with {len(integers(parts[0]))} weights for {rank} dimensions")
    bound = ir.AffineMapAttr(parts[1]).value
    if (bound.n_dims, bound.n_symbols, len(bound.results)) != (indices, 0, 1):
        problems.append(f"has a limit whose bound {bound} is no map from {indices} indices to one value")
    return problems


def compute_problems(attributes: ir.OpAttributeMap, indices: int) -> list[str]:
    problems = map_problems(attributes, ("at",), indices) + _at_least(attributes, "cycles", 0)
    counts = {name: len(ir.ArrayAttr(attributes[name])) for name in ("buffers", "slots", "effects")}
    if len(set(counts.values())) != 1:
        problems.append(f"has {counts['buffers']} buffers, {counts['slots']} slots and {counts['effects']} effects")
    for name in ir.ArrayAttr(attributes["buffers"]):
        if not isinstance(name, ir.FlatSymbolRefAttr):
            problems.append(f"has a buffer {name}, which is no @name")
    for slot in ir.ArrayAttr(attributes["slots"]):
        problems += _slot_problems(slot, indices)
    wrong = [effect for effect in strings(attributes["effects"]) if effect not in ("r", "w", "rw")]
    if wrong:
        problems.append(f"has effect '{wrong[0]}', which is none of r, w, rw")
    return problems


def _slot_problems(slot: ir.Attribute, indices: int) -> list[str]:
    value = ir.AffineMapAttr(slot).value if isinstance(slot, ir.AffineMapAttr) else None
    if value is not None and (value.n_dims, value.n_symbols, len(value.results)) == (indices, 0, 1):
        return []
    return [f"has a slot {slot}, which is no map from {indices} indices to one value"]


def _span_problems(span: Sequence[str]) -> list[str]:
    found = [f"spans '{name}', which is none of {', '.join(COORDINATES)}" for name in span if name not in COORDINATES]
    return found + [f"spans '{name}' twice" for name in dict.fromkeys(span) if span.count(name) > 1]


def _at_least(attributes: ir.OpAttributeMap, name: str, least: int) -> list[str]:
    value = int(ir.IntegerAttr(attributes[name]).value)
    return [f"has {name} {value}, below {least}"] if value < least else []


def _one_of(attributes: ir.OpAttributeMap, name: str, known: Sequence[str]) -> list[str]:
    value = str(ir.StringAttr(attributes[name]).value)
    return [f"has {name} '{value}', which is none of {', '.join(known)}"] if value not in known else []
