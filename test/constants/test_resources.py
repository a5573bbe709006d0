"""What stands behind a module is read as it was put there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import drawn

from npuflow.bindings import arith, ir
from npuflow.constants.known_tensors import KnownTensors
from npuflow.constants.moved import moved_to
from npuflow.constants.resources import resource_bytes, resource_of
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse, parse_again
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context


@drawn(40, 1000)
@given(st.integers(1, 70000), st.sampled_from((1, 4, 16, 64, 256)))
def test_bytes_of_any_size_and_alignment(size: int, alignment: int) -> None:
    data = (np.arange(size) * 37 % 251).astype(np.uint8)
    with new_context(), ir.Location.unknown() as where:
        kind = ir.RankedTensorType.get([size], ir.IntegerType.get_signless(8))
        module = ir.Module.create()
        module.operation.attributes["x.held"] = resource_of(data, "weights", kind, alignment)
        assert bytes(resource_bytes(module.operation.attributes["x.held"], where)) == data.tobytes()
    again = parse_again(module.operation, new_context(), DiagnosticSink())
    assert bytes(resource_bytes(again.operation.attributes["x.held"], again.operation.location)) == data.tobytes()


@pytest.mark.parametrize(
    ("blob", "expected"), [('w: "0x400000000000803F00000040"', "0000803f00000040"), ('w: "0x04000000"', ""), ("", "")]
)
def test_bytes_that_a_file_says_or_leaves_out(blob: str, expected: str) -> None:
    behind = f"{{-# dialect_resources: {{ builtin: {{ {blob} }} }} #-}}" if blob else ""
    module = parse(f"module attributes {{x.held = dense_resource<w> : tensor<2xf32>}} {{}}\n{behind}", new_context())
    held = module.operation.attributes["x.held"]
    assert resource_bytes(held, module.operation.location).hex() == expected


@pytest.mark.parametrize("alignment", ["04", "40"])
def test_a_module_in_another_context_has_what_stood_behind_it(alignment: str) -> None:
    behind = f'{{-# dialect_resources: {{ builtin: {{ w: "0x{alignment}0000000000803F00000040" }} }} #-}}'
    body = "%0 = arith.constant dense_resource<w> : tensor<2xf32>\nreturn %0 : tensor<2xf32>"
    module = parse(f"func.func @f() -> tensor<2xf32> {{\n{body}\n}}\n{behind}", new_context(), "given.mlir")
    again = moved_to(new_context(), module, DiagnosticSink())
    (before,), (constant,) = (ops_of(each.operation, "arith.constant") for each in (module, again))
    assert again.context != module.context
    assert str(constant.location) == str(before.location)
    found = KnownTensors().of(constant.results[0])
    assert found is not None
    assert found.tolist() == [1.0, 2.0]


def test_a_module_in_another_context_shares_what_arrays_hold() -> None:
    data = np.arange(1024, dtype=np.float32)
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(
            "func.func @f(%x: tensor<1024xf32>) -> tensor<1024xf32> { return %x : tensor<1024xf32> }"
        )
        kind = ir.RankedTensorType.get([1024], ir.F32Type.get())
        attribute = resource_of(data.view(np.uint8), "layer.0", kind, 4)
        with ir.InsertionPoint.at_block_begin(module.body.operations[0].regions[0].blocks[0]):
            for _ in range(2):
                arith.ConstantOp(kind, attribute)
        given = str(module)
        again = moved_to(new_context(), moved_to(new_context(), module, DiagnosticSink()), DiagnosticSink())
    assert str(module) == given
    assert str(again).splitlines() == given.splitlines()
    known = KnownTensors()
    for constant in ops_of(again.operation, "arith.constant"):
        found = known.of(constant.results[0])
        assert found is not None
        assert np.shares_memory(found, data)
    again.operation.verify()
