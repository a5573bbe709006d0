"""Programs that move alike have one name, whatever numbers their kernels have."""

from __future__ import annotations

import npuflow
from npuflow.compiler.known_residents import KnownResidents


def scaled(name: str, rows: int, factor: float) -> str:
    kind = f"tensor<{rows}x64xf32>"
    same = "affine_map<(i, j) -> (i, j)>"
    return f"""
      func.func @{name}(%x: {kind}) -> {kind} {{
        %e = tensor.empty() : {kind}
        %r = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}}
          ins(%x : {kind}) outs(%e : {kind}) {{
          ^bb0(%in: f32, %out: f32):
            %c = arith.constant {factor} : f32
            %p = arith.mulf %in, %c : f32
            linalg.yield %p : f32
          }} -> {kind}
        return %r : {kind}
      }}"""


def test_kernels_that_differ_in_numbers_are_moved_alike() -> None:
    text = scaled("one", 64, 2.5) + scaled("other", 64, 3.5) + scaled("larger", 128, 2.5)
    parts = {function.name: function.compiled for function in npuflow.compile(text, device="npu2").functions}
    known = KnownResidents()
    names = {name: known.name_of(part) for name, part in parts.items()}
    assert names["one"] == names["other"] != names["larger"]
    assert parts["one"].program is not parts["other"].program
    assert known.name_of(parts["one"]) == names["one"]
