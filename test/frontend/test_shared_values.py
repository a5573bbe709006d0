"""What is read twice by what is read twice, and so on, is gone through once: there are 2^60 ways through it."""

from __future__ import annotations

import npuflow
from npuflow.core.passes import ops_of
from npuflow.frontend.split_body import needed_for

STEPS = 60
ELEMENTWISE = """indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
    iterator_types = ["parallel", "parallel"]"""


def test_ops_that_a_value_needs_are_found_once() -> None:
    body = "\n".join(f"%v{step + 1} = arith.mulf %v{step}, %v{step} : f32" for step in range(STEPS))
    program = f"""
    func.func @powers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
      %e = tensor.empty() : tensor<4x8xf32>
      %r = linalg.generic {{{ELEMENTWISE}}} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {{
      ^bb0(%v0: f32, %o: f32):
        {body}
        linalg.yield %v{STEPS} : f32
      }} -> tensor<4x8xf32>
      return %r : tensor<4x8xf32>
    }}"""
    module = npuflow.parse(program, npuflow.new_context())
    steps = ops_of(module.operation, "arith.mulf")
    assert list(needed_for(steps[-1].results[0])) == steps


def test_constants_that_are_computed_of_others_are_found_once() -> None:
    """As those of an orthogonal weight, which PyTorch computes of its parameters by series of products."""
    square = "linalg.matmul ins({0}, {0} : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)"
    products = "\n".join(f"%v{step + 1} = {square.format(f'%v{step}')} -> tensor<4x4xf32>" for step in range(STEPS))
    program = f"""
    func.func @scaled(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {{
      %e = tensor.empty() : tensor<4x4xf32>
      %v0 = arith.constant dense<0.5> : tensor<4x4xf32>
      {products}
      %zero = arith.constant 0.0 : f32
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
      %p = linalg.matmul ins(%x, %v{STEPS} : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>)
        -> tensor<4x4xf32>
      %scale = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %r = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
          affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
          ins(%p, %scale : tensor<4x4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) {{
      ^bb0(%a: f32, %b: f32, %o: f32):
        %s = arith.mulf %a, %b : f32
        linalg.yield %s : f32
      }} -> tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    }}"""
    module = npuflow.parse(program, npuflow.new_context())
    npuflow.run_pipeline(module, "npuflow-fold-batch-norm")
    (scaled,) = ops_of(module.operation, "linalg.generic")
    *_, product = ops_of(module.operation, "linalg.matmul")
    assert product.operands[1] == scaled.results[0]
