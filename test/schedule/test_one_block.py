"""A program of one block: what it reads comes in the order in which its ops need it, and nothing waits for the rest."""

from __future__ import annotations

import npuflow
from npuflow.schedule.data.model import Acquire, Receive, Release, Send

DEPTHWISE = """
#window = affine_map<(y, x, c, v, u) -> (y * 2 + v, x * 2 + u, c)>
#taps = affine_map<(y, x, c, v, u) -> (v, u, c)>
#pixel = affine_map<(y, x, c, v, u) -> (y, x, c)>
#same = affine_map<(y, x, c) -> (y, x, c)>
#terms = affine_map<(y, x, c) -> (c)>
func.func @f(%x: tensor<57x57x144xi8>, %w: tensor<3x3x144xi8>, %b: tensor<144xi32>) -> tensor<28x28x144xi8> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<28x28x144xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<28x28x144xi32>) -> tensor<28x28x144xi32>
  %s = linalg.generic {indexing_maps = [#window, #taps, #pixel],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<57x57x144xi8>, tensor<3x3x144xi8>) outs(%f : tensor<28x28x144xi32>) {
  ^bb0(%p: i8, %q: i8, %sum: i32):
    %1 = arith.extsi %p : i8 to i32
    %2 = arith.extsi %q : i8 to i32
    %3 = arith.muli %1, %2 : i32
    %4 = arith.addi %sum, %3 : i32
    linalg.yield %4 : i32
  } -> tensor<28x28x144xi32>
  %n = tensor.empty() : tensor<28x28x144xi8>
  %r = linalg.generic {indexing_maps = [#same, #terms, #same],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %b : tensor<28x28x144xi32>, tensor<144xi32>) outs(%n : tensor<28x28x144xi8>) {
  ^bb0(%p: i32, %q: i32, %o: i8):
    %1 = arith.addi %p, %q : i32
    %2 = arith.trunci %1 : i32 to i8
    linalg.yield %2 : i8
  } -> tensor<28x28x144xi8>
  return %r : tensor<28x28x144xi8>
}
"""


def test_a_memory_tile_sends_on_what_is_there_and_waits_then_for_the_next() -> None:
    (function,) = npuflow.compile(DEPTHWISE, device="npu2").functions
    engines = function.compiled.schedule.engines
    program = engines["memory_out0"].program
    assert [type(step) for step in program] == 2 * [Acquire, Send, Release]
    sent = [step.access.buffer.name for step in program if isinstance(step, Send)]
    assert sent == [step.access.buffer.name for step in engines["memory_in0"].program if isinstance(step, Receive)]
    weights, bias = (function.compiled.schedule.buffers[name].shape for name in sent)
    assert (weights, bias) == ((3, 3, *bias), bias)
