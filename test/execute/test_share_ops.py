"""Ops that are alike are compiled once, where that changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.execute.jit import compile_function
from npuflow.execute.lowering import isolated, lower_to_llvm
from npuflow.execute.share_ops import SHARED

_MAP = "affine_map<(i) -> (i)>"


def scaled(result: str, source: str, factor: str, into: str = "%empty") -> str:
    """Each element times a number from outside of the body."""
    return f"""
      {result} = linalg.generic {{indexing_maps = [{_MAP}, {_MAP}], iterator_types = ["parallel"]}}
        ins({source} : tensor<8xf32>) outs({into} : tensor<8xf32>) {{
        ^bb0(%in: f32, %out: f32):
          %product = arith.mulf %in, {factor} : f32
          linalg.yield %product : f32
        }} -> tensor<8xf32>"""


def shared_in(module: ir.Module) -> int:
    """How many functions are there for several ops."""
    lowered = lower_to_llvm(isolated(module.operation, "f"), "f", poison=False)
    names = [str(op.attributes["sym_name"]) for op in ops_of(lowered.module.operation, "llvm.func")]
    return sum(SHARED in name for name in names)


def program(*ops: str) -> str:
    body = "\n".join(ops)
    return f"""
      func.func @f(%x: tensor<8xf32>, %given: f32) -> tensor<8xf32> {{
        %two = arith.constant 2.0 : f32
        %three = arith.constant 3.0 : f32
        %empty = tensor.empty() : tensor<8xf32>
        {body}
        return %r : tensor<8xf32>
      }}"""


def chain(*factors: str) -> list[str]:
    """The first op has a buffer of its own to write to, the others write where they read."""
    names = ["%x", *(f"%{number}" for number in range(len(factors) - 1)), "%r"]
    return [scaled(names[number + 1], names[number], factor) for number, factor in enumerate(factors)]


@pytest.mark.parametrize(
    ("factors", "shared", "factor"),
    [
        pytest.param(("%two", "%two", "%two"), 1, 8, id="alike"),
        pytest.param(("%two", "%two"), 0, 4, id="other buffers"),
        pytest.param(("%two", "%two", "%three"), 0, 12, id="other constants"),
        pytest.param(("%two", "%given", "%given"), 1, 50, id="numbers that are given"),
        pytest.param(("%two", "%two", "%three", "%two", "%three"), 2, 72, id="two kinds"),
    ],
)
def test_what_is_alike_is_one_function(factors: tuple[str, ...], shared: int, factor: float) -> None:
    module = npuflow.parse(program(*chain(*factors)), npuflow.new_context())
    assert shared_in(module) == shared
    x = np.arange(8, dtype=np.float32)
    (result,) = compile_function(module.operation, "f").run([x, np.array(5, np.float32)]).results
    assert np.array_equal(result, x * factor)


def added(source: str) -> str:
    """Adds a buffer, or a part of it, to the first half of another one."""
    kind = "memref<4xf32, strided<[1], offset: ?>>" if source == "%some" else "memref<4xf32, strided<[1]>>"
    return f"""
      linalg.generic {{indexing_maps = [{_MAP}, {_MAP}], iterator_types = ["parallel"]}}
        ins({source} : {kind}) outs(%low : memref<4xf32, strided<[1]>>) {{
        ^bb0(%in: f32, %out: f32):
          %sum = arith.addf %in, %out : f32
          linalg.yield %sum : f32
        }}"""


@pytest.mark.parametrize(("source", "shared"), [("%low", 1), ("%other", 0)])
def test_what_may_lie_where_an_op_writes_is_not_shared(source: str, shared: int) -> None:
    text = f"""
      func.func @f(%x: memref<8xf32>) {{
        %low = memref.subview %x[0][4][1] : memref<8xf32> to memref<4xf32, strided<[1]>>
        %other = memref.subview %x[0][4][1] : memref<8xf32> to memref<4xf32, strided<[1]>>
        {added(source)}
        {added(source)}
        return
      }}"""
    module = npuflow.parse(text, npuflow.new_context())
    assert shared_in(module) == shared
    x = np.arange(8, dtype=np.float32)
    (after,) = compile_function(module.operation, "f").run([x]).arguments
    assert np.array_equal(after, [0, 4, 8, 12, 4, 5, 6, 7])
