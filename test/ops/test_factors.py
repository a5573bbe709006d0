"""What an op sums: two factors, the inputs behind each, and what is computed of them before they are multiplied."""

from __future__ import annotations

import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.ops.factors import ProductFactor, factors_of
from npuflow.ops.products import match_products

# Body, and the factors: (inputs, operations, type) of each; None where the op sums no product.
BARE = "%x = arith.extsi %a : i8 to i32  %y = arith.extsi %b : i8 to i32  %p = arith.muli %x, %y : i32"
SUM = "%s = arith.addi %p, %o : i32  linalg.yield %s : i32"
BODIES = [
    (f"{BARE} {SUM}", (((0,), 0, "i8"), ((1,), 0, "i8"))),
    (
        (
            "%z = arith.constant 3 : i32  %x = arith.extsi %a : i8 to i32  %c = arith.subi %x, %z : i32"
            f"  %y = arith.extsi %b : i8 to i32  %p = arith.muli %c, %y : i32  {SUM}"
        ),
        (((0,), 1, "i8"), ((1,), 0, "i8")),
    ),
    (
        (
            "%z = arith.constant 0 : i8  %t = arith.cmpi ne, %m, %z : i8  %v = arith.select %t, %a, %z : i8"
            "  %x = arith.extsi %v : i8 to i32  %y = arith.extsi %b : i8 to i32"
            f"  %p = arith.muli %y, %x : i32  {SUM}"
        ),
        (((1,), 0, "i8"), ((0, 2), 2, "i8")),
    ),
    # One input in both factors, the output in a product, and a difference are no sums of products.
    (f"%x = arith.extsi %a : i8 to i32  %p = arith.muli %x, %x : i32  {SUM}", None),
    ("%x = arith.extsi %a : i8 to i32  %p = arith.muli %o, %x : i32  linalg.yield %p : i32", None),
    (f"{BARE} %s = arith.subi %p, %o : i32  linalg.yield %s : i32", None),
]
PROGRAM = """
func.func @f(%lhs: tensor<8x16xi8>, %rhs: tensor<16x4xi8>, %mask: tensor<8xi8>, %e: tensor<8x4xi32>)
    -> tensor<8x4xi32> {{
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%lhs, %rhs, %mask : tensor<8x16xi8>, tensor<16x4xi8>, tensor<8xi8>) outs(%e : tensor<8x4xi32>) {{
    ^bb0(%a: i8, %b: i8, %m: i8, %o: i32):
      {body}
  }} -> tensor<8x4xi32>
  return %r : tensor<8x4xi32>
}}
"""


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_factors(body: str, expected: tuple[tuple[tuple[int, ...], int, str], ...] | None) -> None:
    with npuflow.new_context():
        module = ir.Module.parse(PROGRAM.format(body=body))
        (op,) = ops_of(module.operation, "linalg.generic")
        found = factors_of(op)
        assert found == (None if expected is None else tuple(ProductFactor(*each) for each in expected))
        products = match_products(op)
    assert (products is None) == (expected is None)
    if products is not None and expected is not None:
        assert sum(head.steps([8, 4, 16]) for head in products.heads) == 128 * sum(each[1] for each in expected)
