"""Whoever reads a padded tensor: results, matmuls and their tails, reshapes, other padding, sums that go on from it."""

from __future__ import annotations

import pytest
from judges import JUDGE
from profiles import spread

import npuflow
from npuflow.execute.verification import Status

# %p is %x padded to 8x12 by VALUE.
PADDED = """
  %v = arith.constant VALUE : ELEMENT
  %p = tensor.pad %x low[1, 2] high[2, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : ELEMENT
  } : tensor<5x7xELEMENT> to tensor<8x12xELEMENT>
"""

READERS = {
    "a result": ("", "", "%p : tensor<8x12xELEMENT>"),
    "two results, one of them computed": (
        "",
        "%q = SQUARE %p, %p : tensor<8x12xELEMENT>",
        "%p, %q, %p : tensor<8x12xELEMENT>, tensor<8x12xELEMENT>, tensor<8x12xELEMENT>",
    ),
    "a matmul": (
        ", %w: tensor<12x5xELEMENT>, %c: tensor<8x5xELEMENT>",
        """%r = linalg.matmul ins(%p, %w : tensor<8x12xELEMENT>, tensor<12x5xELEMENT>) outs(%c : tensor<8x5xELEMENT>)
           -> tensor<8x5xELEMENT>""",
        "%r : tensor<8x5xELEMENT>",
    ),
    "a matmul's tail": (
        ", %a: tensor<8x3xELEMENT>, %b: tensor<3x12xELEMENT>, %c: tensor<8x12xELEMENT>",
        """%m = linalg.matmul ins(%a, %b : tensor<8x3xELEMENT>, tensor<3x12xELEMENT>) outs(%c : tensor<8x12xELEMENT>)
           -> tensor<8x12xELEMENT>
           %r = SQUARE %m, %p : tensor<8x12xELEMENT>""",
        "%r : tensor<8x12xELEMENT>",
    ),
    "a sum that goes on from it": (
        ", %a: tensor<8x3xELEMENT>, %b: tensor<3x12xELEMENT>",
        """%r = linalg.matmul ins(%a, %b : tensor<8x3xELEMENT>, tensor<3x12xELEMENT>) outs(%p : tensor<8x12xELEMENT>)
           -> tensor<8x12xELEMENT>""",
        "%r : tensor<8x12xELEMENT>",
    ),
    "a reshape": (
        "",
        "%r = tensor.collapse_shape %p [[0, 1]] : tensor<8x12xELEMENT> into tensor<96xELEMENT>",
        "%r : tensor<96xELEMENT>",
    ),
    "other padding": (
        "",
        """%o = arith.constant OTHER : ELEMENT
           %r = tensor.pad %p low[0, 1] high[4, 0] {
           ^bb0(%i: index, %j: index):
             tensor.yield %o : ELEMENT
           } : tensor<8x12xELEMENT> to tensor<12x13xELEMENT>""",
        "%r : tensor<12x13xELEMENT>",
    ),
}
NUMBERS = {("i32", 0): ("0", "-7"), ("i32", 3): ("3", "0"), ("f32", 0): ("0.0", "0.5"), ("f32", 3): ("-0.0", "0.0")}


# Four numbers for three devices: every reader is on all of them.
CASES = [
    (reader, *number, device)
    for row, reader in enumerate(READERS)
    for column, number in enumerate(NUMBERS)
    for device in spread(row + column, ["toy", "npu1", "npu2"])
]


@pytest.mark.parametrize(("reader", "element", "number", "device"), CASES)
def test_readers_of_padding(reader: str, element: str, number: int, device: str) -> None:
    arguments, body, returned = READERS[reader]
    kinds = returned.partition(" : ")[2]
    text = f"func.func @f(%x: tensor<5x7xELEMENT>{arguments}) -> ({kinds}) {{{PADDED}{body}\n  return {returned}\n}}"
    value, other = NUMBERS[element, number]
    product = "arith.mulf" if element == "f32" else "arith.muli"
    for mark, meant in {"VALUE": value, "OTHER": other, "SQUARE": product, "ELEMENT": element}.items():
        text = text.replace(mark, meant)
    report = npuflow.compile(text, device=device).run(verify=True, judge=JUDGE)
    checks = [each.verified for each in report.sequences or report.functions]
    assert [check.status for check in checks] == [Status.OK], checks
