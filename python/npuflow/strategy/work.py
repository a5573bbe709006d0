"""`npu.work` on a function: what its ops compute and how they are mapped, for whoever reports on it.

It is noted where ops are whole and have their strategies. Of tiles and kernels nobody could tell; the function says it
as long as there is one, and then its schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from npuflow.bindings import ir
from npuflow.bounds.sizes import BundleSizes, MatmulSizes, OpSizes
from npuflow.core.passes import fail
from npuflow.errors import InputError
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import STRATEGY, static_matmuls
from npuflow.strategy.describe_bundle import macs_of, needed_bytes
from npuflow.strategy.describe_group import group_of_matmul
from npuflow.strategy.group import BATCH, Group, K, M, MatmulOperand, N
from npuflow.strategy.strategy import BUNDLE_FIELDS, MATMUL_FIELDS, strategy_from

WORK = "npu.work"
_MAPPING, _OF_BUNDLES = "strategy", "macs"

Fields = Mapping[str, "int | tuple[int, ...]"]


@dataclass(frozen=True)
class Mapped:
    """What is compiled as one: its sizes, and the fields of its strategy."""

    sizes: OpSizes
    strategy: Fields


def note_matmuls(function: ir.Operation) -> None:
    """Notes a function's matmuls, and forgets what it said before."""
    found = static_matmuls(function)
    _write(function, [_entry(_matmul_sizes(group_of_matmul(matmul)), matmul.op) for matmul in found])


def _matmul_sizes(group: Group) -> MatmulSizes:
    sizes, bytes_of = group.sizes, {tensor.operand: tensor.element_bytes for tensor in group.tensors}
    lhs, rhs, acc = (bytes_of[operand] for operand in (MatmulOperand.LHS, MatmulOperand.RHS, MatmulOperand.SUM))
    return MatmulSizes(sizes[M], sizes[N], sizes[K], sizes[BATCH], lhs, rhs, acc, group.outputs[0].element_bytes)


def note_bundles(function: ir.Operation, bundles: Sequence[Bundle]) -> None:
    """Notes a function's bundles behind its matmuls."""
    matmuls = [entry for entry in _entries(function) if _OF_BUNDLES not in entry]
    noted = [_entry(BundleSizes(macs_of(bundle), needed_bytes(bundle)), bundle.root) for bundle in bundles]
    _write(function, [*matmuls, *noted])


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


def _entry(sizes: OpSizes, op: ir.Operation) -> ir.DictAttr:
    kind = ir.IntegerType.get_signless(64, op.context)
    said = {name: ir.IntegerAttr.get(kind, size) for name, size in asdict(sizes).items()}
    return ir.DictAttr.get({**said, _MAPPING: op.attributes[STRATEGY]}, op.context)


def _write(function: ir.Operation, entries: Sequence[ir.DictAttr]) -> None:
    if entries:
        function.attributes[WORK] = ir.ArrayAttr.get(list(entries), function.context)
    elif WORK in function.attributes:
        del function.attributes[WORK]


def _entries(op: ir.Operation) -> list[ir.DictAttr]:
    attribute = op.attributes[WORK] if WORK in op.attributes else ir.ArrayAttr.get([], op.context)
    if not isinstance(attribute, ir.ArrayAttr) or not all(isinstance(entry, ir.DictAttr) for entry in attribute):
        raise _malformed(op, f"{attribute} is no list of dictionaries")
    return [ir.DictAttr(entry) for entry in attribute]


def _malformed(op: ir.Operation, why: str) -> InputError:
    hint = "leave it out: npuflow-assign-strategy and npuflow-assign-bundles write it"
    return fail(op, f"{WORK} is malformed: {why}", hint)


def _read(entry: ir.DictAttr) -> Mapped:
    said = {named.name: named.attr for named in entry}
    kind = BundleSizes if _OF_BUNDLES in said else MatmulSizes
    names = [field.name for field in fields(kind)]
    if sorted(said) != sorted([*names, _MAPPING]):
        raise ValueError(f"{entry} must have {', '.join(names)} and {_MAPPING}")
    sizes = kind(**{name: _size(name, said[name]) for name in names})
    known = BUNDLE_FIELDS if kind is BundleSizes else MATMUL_FIELDS
    return Mapped(sizes, strategy_from(said[_MAPPING], known).said())


def _size(name: str, attribute: ir.Attribute) -> int:
    size = int(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else -1
    if size < 0:
        raise ValueError(f"{name} is {attribute}")
    return size
