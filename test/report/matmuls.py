"""Programs that the report's tests compile."""

from __future__ import annotations

import npuflow
from npuflow.compiler.compiled import Function


def matmul(m: int, n: int, k: int, inputs: str = "i8", result: str = "i32", name: str = "matmul") -> str:
    zero = "0" if result.startswith("i") else "0.0"
    lhs, rhs, out = f"tensor<{m}x{k}x{inputs}>", f"tensor<{k}x{n}x{inputs}>", f"tensor<{m}x{n}x{result}>"
    return f"""func.func @{name}(%a: {lhs}, %b: {rhs}) -> {out} {{
  %zero = arith.constant {zero} : {result}
  %empty = tensor.empty() : {out}
  %fill = linalg.fill ins(%zero : {result}) outs(%empty : {out}) -> {out}
  %sum = linalg.matmul ins(%a, %b : {lhs}, {rhs}) outs(%fill : {out}) -> {out}
  return %sum : {out}
}}
"""


SMALL = matmul(64, 64, 128)
TILES = "{grid=2,2 tile-l2=32,32,64 tile-l1=16,16,32}"


def small(options: str = TILES, device: str = "toy") -> Function:
    """2x2 blocks, two steps of K in L2, two in L1 each, on four cores."""
    return npuflow.compile(SMALL, f"npuflow-stream-k{options}", device=device).functions[0]
