"""Programs that are changed at random compile or are refused where they are wrong: nothing else may happen."""

from __future__ import annotations

import re
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

import npuflow
from npuflow.errors import InputError

MAPS = "#id = affine_map<(d0, d1) -> (d0, d1)>\n#row = affine_map<(d0, d1) -> (d0)>\n"
PROGRAMS = (
    MAPS
    + """
      func.func @f(%a: tensor<8x12xf32>, %b: tensor<8xf32>) -> tensor<8x12xf32> {
        %e = tensor.empty() : tensor<8x12xf32>
        %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
            ins(%a, %b : tensor<8x12xf32>, tensor<8xf32>) outs(%e : tensor<8x12xf32>) {
        ^bb0(%x: f32, %y: f32, %o: f32):
          %s = arith.addf %x, %y : f32
          %m = math.exp %s : f32
          linalg.yield %m : f32
        } -> tensor<8x12xf32>
        return %r : tensor<8x12xf32>
      }""",
    MAPS
    + """
      func.func @f(%a: tensor<6x10xi16>) -> (tensor<6xi32>, tensor<6x10xi16>) {
        %z = arith.constant 0 : i32
        %e = tensor.empty() : tensor<6xi32>
        %f = linalg.fill ins(%z : i32) outs(%e : tensor<6xi32>) -> tensor<6xi32>
        %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
            ins(%a : tensor<6x10xi16>) outs(%f : tensor<6xi32>) {
        ^bb0(%x: i16, %o: i32):
          %y = arith.extsi %x : i16 to i32
          %s = arith.addi %y, %o : i32
          linalg.yield %s : i32
        } -> tensor<6xi32>
        return %r, %a : tensor<6xi32>, tensor<6x10xi16>
      }""",
    """
      func.func @f(%a: tensor<8x16xi8>, %b: tensor<16x8xi8>, %s: tensor<8x8xi32>) -> tensor<8x8xi32> {
        %z = arith.constant 0 : i32
        %e = tensor.empty() : tensor<8x8xi32>
        %f = linalg.fill ins(%z : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
        %r = linalg.matmul ins(%a, %b : tensor<8x16xi8>, tensor<16x8xi8>) outs(%f : tensor<8x8xi32>) -> tensor<8x8xi32>
        %q = linalg.matmul ins(%b, %a : tensor<16x8xi8>, tensor<8x16xi8>) outs(%s : tensor<8x8xi32>) -> tensor<8x8xi32>
        %t = linalg.add ins(%r, %q : tensor<8x8xi32>, tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
        return %t : tensor<8x8xi32>
      }""",
)
TYPES = "i1 i4 i8 i16 i32 i64 i128 index f16 bf16 f32 f64 f128 complex<f32> ui8 vector<4xf32> !llvm.ptr".split()
SIZES = "0 1 2 3 7 100 4096 4294967296 9223372036854775807 ?".split()
INDICES = ["d1", "d0, d0", "d0 + d1", "d0 + 1, d1", "3, d1", "d0 mod 3, d1", "7 - d0, d1", "", "d0 * 2, d1"]
WORDS = {
    "addf": ("mulf", "divf", "maximumf"),
    "addi": ("divsi", "muli", "shli"),
    "exp": ("isinf", "rsqrt", "fma"),
    "empty": ("dim",),
    "parallel": ("reduction",),
    "reduction": ("parallel",),
    "matmul": ("add", "dot"),
    "return": ("func.call @f",),
}


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A program with one to three changes: of a type or a size, once or everywhere; of a map, an op, a line."""
    text = draw(st.sampled_from(PROGRAMS))
    for _ in range(draw(st.integers(1, 3))):
        changes = [
            (r"(?<=x)[if]\d+|\b[if]\d+", TYPES),
            (r"(?<=[<x])\d+(?=x)", SIZES),
            (r"(?<=-> \()[d0-9, ]+", INDICES),
        ]
        changes += [(rf"\b{word}\b", others) for word, others in WORDS.items()]
        pattern, others = draw(st.sampled_from([(p, o) for p, o in changes if re.search(p, text)]))
        found = draw(st.sampled_from(list(re.finditer(pattern, text))))
        other = draw(st.sampled_from(others))
        everywhere = re.sub(rf"(?<![a-z0-9.%]){found[0]}\b|(?<=x){found[0]}\b", other, text)
        text = everywhere if draw(st.booleans()) else text[: found.start()] + other + text[found.end() :]
    return text


@settings(max_examples=60, deadline=None)
@given(mutated())
def test_a_changed_program_is_compiled_or_refused(text: str) -> None:
    with suppress(InputError):
        module = npuflow.parse(text, npuflow.new_context())
        npuflow.run_pipeline(module, "npuflow-stream-k{device=toy},npuflow-schedule{device=toy}")
