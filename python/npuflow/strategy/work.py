"""`npu.work` on a function: what its ops compute and how they are mapped, for whoever reports on it.

It is noted where ops are whole and have their strategies. Of tiles and kernels nobody could tell; the function says it
as long as there is one, and then its schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from npuflow.bindings import ir
from npuflow.bounds.sizes import BundleSizes, ConvolutionSizes, MatmulSizes, OpSizes, WindowLine
from npuflow.core.passes import fail
from npuflow.errors import InputError
from npuflow.ops.contraction import STRATEGY
from npuflow.strategy.strategy import BUNDLE_FIELDS, MATMUL_FIELDS, is_of_bundle, strategy_from

WORK = "npu.work"
_MAPPING, _OF_BUNDLES, _LOST = "strategy", "macs", "lost_in_dram_ns"
_NESTED: Mapping[str, type[ConvolutionSizes | WindowLine]] = {
    "convolution": ConvolutionSizes,
    "rows": WindowLine,
    "columns": WindowLine,
}

Fields = Mapping[str, "int | tuple[int, ...]"]


@dataclass(frozen=True)
class Mapped:
    """What is compiled as one: its sizes, and the fields of its strategy.

    That takes so many seconds more than the best one if what parts hand over doesn't stay on the chip.
    """

    sizes: OpSizes
    strategy: Fields
    lost_in_dram: float = 0.0


def note_work(function: ir.Operation, groups: Sequence[tuple[ir.Operation, OpSizes, float]]) -> None:
    """Notes a function's groups, by the ops that have their strategies, and forgets what it said before."""
    entries = [_entry(sizes, op, lost) for op, sizes, lost in groups]
    if entries:
        function.attributes[WORK] = ir.ArrayAttr.get(entries, function.context)
    elif WORK in function.attributes:
        del function.attributes[WORK]


def keep_work(before: ir.Operation, after: ir.Operation) -> None:
    """Lets what a function has become say what the function said."""
    if WORK in before.attributes:
        after.attributes[WORK] = before.attributes[WORK]


def work_of(op: ir.Operation) -> list[Mapped]:
    """What a function or its schedule says about its work, if anything; raises InputError, located."""
    try:
        return [_read(entry) for entry in _entries(op)]
    except ValueError as error:
        raise _malformed(op, str(error)) from None


def _entry(sizes: OpSizes, op: ir.Operation, lost: float) -> ir.DictAttr:
    numbers = asdict(sizes) | ({_LOST: nanoseconds} if (nanoseconds := round(lost * 1e9)) > 0 else {})
    return ir.DictAttr.get({**_said(numbers, op.context), _MAPPING: op.attributes[STRATEGY]}, op.context)


def _said(sizes: Mapping[str, object], context: ir.Context) -> dict[str, ir.Attribute]:
    """Sizes as attributes, those in sizes as dictionaries; what there is none of is left out."""
    kind = ir.IntegerType.get_signless(64, context)
    said: dict[str, ir.Attribute] = {}
    for name, size in sizes.items():
        if isinstance(size, int):
            said[name] = ir.IntegerAttr.get(kind, size)
        elif isinstance(size, dict):
            said[name] = ir.DictAttr.get(_said(size, context), context)
    return said


def _entries(op: ir.Operation) -> list[ir.DictAttr]:
    attribute = op.attributes[WORK] if WORK in op.attributes else ir.ArrayAttr.get([], op.context)
    if not isinstance(attribute, ir.ArrayAttr) or not all(isinstance(entry, ir.DictAttr) for entry in attribute):
        raise _malformed(op, f"{attribute} is no list of dictionaries")
    return [ir.DictAttr(entry) for entry in attribute]


def _malformed(op: ir.Operation, why: str) -> InputError:
    hint = "leave it out: npuflow-assign-strategy writes it"
    return fail(op, f"{WORK} is malformed: {why}", hint)


def _read(entry: ir.DictAttr) -> Mapped:
    said = {named.name: named.attr for named in entry}
    mapping, kind = said.pop(_MAPPING, None), BundleSizes if _OF_BUNDLES in said else MatmulSizes
    lost = _size(_LOST, said.pop(_LOST)) if _LOST in said else 0
    sizes: OpSizes = kind(**_fields(said if mapping is not None else {}, entry, kind))
    known = MATMUL_FIELDS if _is_of_matmul(entry) else BUNDLE_FIELDS
    return Mapped(sizes, strategy_from(mapping, known).said(), lost * 1e-9)


def _is_of_matmul(entry: ir.DictAttr) -> bool:
    """Whether an entry is of a matmul with a mapping of its own; one that is mapped as a bundle has that's fields."""
    return _OF_BUNDLES not in entry and not (_MAPPING in entry and is_of_bundle(entry[_MAPPING]))


def _fields(said: Mapping[str, ir.Attribute], entry: ir.Attribute, kind: type) -> dict[str, Any]:
    """The fields of sizes, from the attributes that `_said` makes of them."""
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    if not {*needed} <= said.keys() <= {field.name for field in fields(kind)}:
        raise ValueError(f"{entry} must have {', '.join(needed)} and {_MAPPING}")
    return {name: _sizes(name, attribute) for name, attribute in said.items()}


def _sizes(name: str, attribute: ir.Attribute) -> int | ConvolutionSizes | WindowLine:
    if name in _NESTED and isinstance(attribute, ir.DictAttr):
        kind = _NESTED[name]
        return kind(**_fields({named.name: named.attr for named in attribute}, attribute, kind))
    return _size(name, attribute)


def _size(name: str, attribute: ir.Attribute) -> int:
    size = int(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else -1
    if size < 0 or name in _NESTED:
        raise ValueError(f"{name} is {attribute}")
    return size
