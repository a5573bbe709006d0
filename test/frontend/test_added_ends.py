"""Which layers' ends go to memory to be added to another layer's."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.frontend.added_ends import added_ends
from npuflow.frontend.product_layers import product_layers

SAME = "affine_map<(a, b, c, d) -> (a, b, c, d)>"
IMAGE = "tensor<1x4x6x6xf32>"
ALONG = '["parallel", "parallel", "parallel", "parallel"]'
ELEMENTWISE = f"{{indexing_maps = [{SAME}, {SAME}, {SAME}], iterator_types = {ALONG}}}"


def branch(name: str, size: int) -> str:
    """A convolution of the image with windows of a size."""
    around, read, kind = size // 2, "%x", IMAGE
    text = f"      %w{name} = arith.constant dense<0.5> : tensor<4x4x{size}x{size}xf32>"
    if around:
        read, kind = f"%p{name}", f"tensor<1x4x{6 + 2 * around}x{6 + 2 * around}xf32>"
        text += f"""
      {read} = tensor.pad %x low[0, 0, {around}, {around}] high[0, 0, {around}, {around}] {{
      ^bb0(%a: index, %b: index, %c: index, %d: index):
        tensor.yield %zero : f32
      }} : {IMAGE} to {kind}"""
    return f"""{text}
      %{name} = linalg.conv_2d_nchw_fchw ins({read}, %w{name} : {kind}, tensor<4x4x{size}x{size}xf32>)
          outs(%z : {IMAGE}) -> {IMAGE}"""


def network(first: int, second: int, op: str = "addf") -> str:
    """What becomes of two branches, and a layer that reads that."""
    return f"""func.func @f(%x: {IMAGE}) -> {IMAGE} {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {IMAGE}
      %z = linalg.fill ins(%zero : f32) outs(%e : {IMAGE}) -> {IMAGE}
{branch("f", first)}
{branch("s", second)}
      %m = linalg.generic {ELEMENTWISE} ins(%f, %s : {IMAGE}, {IMAGE}) outs(%e : {IMAGE}) {{
      ^bb0(%a: f32, %b: f32, %o: f32):
        %t = arith.{op} %a, %b : f32
        linalg.yield %t : f32
      }} -> {IMAGE}
      %h = linalg.generic {ELEMENTWISE} ins(%m, %z : {IMAGE}, {IMAGE}) outs(%e : {IMAGE}) {{
      ^bb0(%a: f32, %b: f32, %o: f32):
        %t = arith.maximumf %a, %b : f32
        linalg.yield %t : f32
      }} -> {IMAGE}
      %w = arith.constant dense<0.25> : tensor<4x4x1x1xf32>
      %r = linalg.conv_2d_nchw_fchw ins(%h, %w : {IMAGE}, tensor<4x4x1x1xf32>) outs(%z : {IMAGE}) -> {IMAGE}
      return %r : {IMAGE}
    }}"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # The last one has the addition as its tail, but a matmul, as of windows of one pixel, before a convolution.
        (network(3, 3), [0]),
        (network(1, 1), [0]),
        (network(3, 1), [0]),
        (network(1, 3), [1]),
        (network(3, 3, "subf"), [0]),
        # What is multiplied may be small where the other is large.
        (network(3, 3, "mulf"), []),
    ],
)
def test_of_two_that_are_added_one_goes_to_memory(text: str, found: list[int]) -> None:
    module = npuflow.parse(text, npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-import-program,npuflow-generalize-operators")
    first, second, last = product_layers(module.operation)
    ends = [first.op.results[0], second.op.results[0]]
    assert added_ends([first, second, last], [last.origins[0]]) == [ends[number] for number in found]
    # What isn't rounded anyway stays as exact as it is.
    assert added_ends([first, second, last], []) == []
