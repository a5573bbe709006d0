"""Schedules with one attribute changed: refused with a place, or run to an end, never a crash.

CI tries a few dozen changes, always the same; the nightly profile as many as NPUFLOW_TEST_EXAMPLES
says, all with 10000.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))

from hand_written import CHECKS, TEXT

IS_NIGHTLY = os.environ.get("NPUFLOW_TEST_PROFILE") == "nightly"
COUNT = int(os.environ.get("NPUFLOW_TEST_EXAMPLES", "400")) if IS_NIGHTLY else 30

_OTHERS = (
    *(
        '"x"',
        '""',
        '"row"',
        '"result"',
        '"task"',
        "unit",
        "i32",
        "true",
        "1.5 : f32",
        "{a = 1 : i64}",
        "@nowhere",
        "[]",
    ),
    *('["row"]', "[1, 2]", "array<i64: 1>", "dense<1> : tensor<2xi64>", "affine_map<(d0) -> (d0 mod 2)>"),
    *("memref<64xi32>", "memref<?xi32, 2>", "memref<i32, 2>", "memref<64xindex, 2>", "memref<64xi32, strided<[2]>, 2>"),
)
_NUMBERS = (-(1 << 63), -(1 << 40), -1, 0, 1, 2, 3, 1000, 1 << 31, 1 << 48, (1 << 63) - 1)
_EXPRESSIONS = ("0", "-1", "1000", "4611686018427387904", *("d0 * 3", "-d0", "d0 mod 2", "d0 * 4611686018427387904"))


def changes(attribute: ir.Attribute) -> Iterator[ir.Attribute]:
    """The attribute, changed in its own kind, and others in its place."""
    context = attribute.context

    def read(text: str) -> ir.Attribute:
        return ir.Attribute.parse(text, context)

    yield from map(read, _OTHERS)
    if isinstance(attribute, ir.IntegerAttr):
        yield from (read(f"{number} : i64") for number in _NUMBERS)
    elif isinstance(attribute, ir.ArrayAttr):
        items = list(attribute)
        yield from (ir.ArrayAttr.get(some, context) for some in (items[1:], items + items[-1:], items[::-1]))
        for place, item in enumerate(items):
            yield from (
                ir.ArrayAttr.get([*items[:place], other, *items[place + 1 :]], context) for other in changes(item)
            )
    elif isinstance(attribute, ir.AffineMapAttr):
        dims, count = ", ".join(f"d{d}" for d in range(attribute.value.n_dims)), len(attribute.value.results)
        expressions = [e for e in _EXPRESSIONS if dims or "d0" not in e]
        yield from (read(f"affine_map<({dims}) -> ({', '.join([e] * count)})>") for e in expressions)
        yield from (read(f"affine_map<({dims}) -> ({', '.join('0' * other)})>") for other in (0, count + 1))
        yield read(f"affine_map<({dims})[s0] -> ({', '.join(['s0'] * count)})>")
    elif isinstance(attribute, ir.DictAttr):
        fields = {named.name: named.attr for named in attribute}
        for name, value in fields.items():
            yield ir.DictAttr.get({key: other for key, other in fields.items() if key != name}, context)
            yield from (ir.DictAttr.get({**fields, name: other}, context) for other in changes(value))
    elif str(attribute).startswith("#npu.engine<"):
        yield from (
            read(f"#npu.engine<{other}>") for other in changes(ir.DynamicAttr(attribute).params[0]) if _is_dict(other)
        )


def _is_dict(attribute: ir.Attribute) -> bool:
    return isinstance(attribute, ir.DictAttr)


def mutations() -> list[tuple[int, str, str]]:
    """Every change of an attribute of ours in the schedule: the op's number, the attribute's name, its new text."""
    module = npuflow.parse(TEXT, npuflow.new_context())
    found = []
    for number, op in enumerate([module.operation, *ops_of(module.operation)]):
        for name, value in op.attributes.items():
            if op.name.startswith("npu.") or name.startswith("npu."):
                found += [(number, name, str(other)) for other in changes(value) if other != value]
    return found


def mutated(number: int, name: str, text: str) -> str:
    module = npuflow.parse(TEXT, npuflow.new_context())
    op = [module.operation, *ops_of(module.operation)][number]
    op.attributes[name] = ir.Attribute.parse(text, module.context)
    return module.operation.get_asm(print_generic_op_form=True)


def unplaced(text: str) -> list[str]:
    """What the checks say of a schedule without saying where; empty if it is right."""
    try:
        npuflow.run_pipeline(npuflow.parse(text, npuflow.new_context()), CHECKS)
    except InputError as error:
        return [diagnostic.message for diagnostic in error.diagnostics if not diagnostic.location]
    return []


def test_a_changed_attribute_is_refused_with_a_place_or_harmless() -> None:
    everything = mutations()
    assert len(everything) > 3000
    for change in random.Random(0).sample(everything, min(COUNT, len(everything))):
        assert unplaced(mutated(*change)) == [], change
