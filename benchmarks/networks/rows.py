"""Operators of networks that go by rows, as MLIR text: norms, softmax, activations, residuals; bf16, summed in f32."""

from __future__ import annotations

from dataclasses import dataclass

from operators import generic, tensor

_TYPES = ("bf16", "bf16", "f32")
_ROW = "(r, c) -> (r, c)"
_OF_ROW = "(r, c) -> (r)"


@dataclass(frozen=True)
class Rows:
    """What all operators by rows have: `rows` of `width` elements, and no matrix work."""

    rows: int
    width: int

    macs = 0
    types = _TYPES

    @property
    def sizes(self) -> str:
        return f"{self.rows} rows of {self.width}"

    @property
    def whole(self) -> str:
        return tensor((self.rows, self.width), "bf16")


@dataclass(frozen=True)
class RmsNorm(Rows):
    """Each row over the root of its mean square, times a weight per column."""

    def text(self, strategy: str = "") -> str:
        each, weights = tensor((self.rows,), "f32"), tensor((self.width,), "bf16")
        return f"""
func.func @layer(%x: {self.whole}, %w: {weights}) -> {self.whole} {{
  %zero = arith.constant 0.0 : f32
  %width = arith.constant {float(self.width)} : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %sum_empty = tensor.empty() : {each}
  %init = linalg.fill ins(%zero : f32) outs(%sum_empty : {each}) -> {each}
  %squares = {generic([_ROW, _OF_ROW], "pr")} ins(%x : {self.whole}) outs(%init : {each}) {{
  ^bb0(%v: bf16, %s: f32):
    %wide = arith.extf %v : bf16 to f32
    %square = arith.mulf %wide, %wide : f32
    %next = arith.addf %s, %square : f32
    linalg.yield %next : f32
  }} -> {each}
  %empty = tensor.empty() : {self.whole}
  %result = {generic([_ROW, _OF_ROW, "(r, c) -> (c)", _ROW], "pp", strategy)}
      ins(%x, %squares, %w : {self.whole}, {each}, {weights}) outs(%empty : {self.whole}) {{
  ^bb0(%v: bf16, %s: f32, %g: bf16, %o: bf16):
    %wide = arith.extf %v : bf16 to f32
    %gain = arith.extf %g : bf16 to f32
    %mean = arith.divf %s, %width : f32
    %above = arith.addf %mean, %epsilon : f32
    %scale = math.rsqrt %above : f32
    %normal = arith.mulf %wide, %scale : f32
    %scaled = arith.mulf %normal, %gain : f32
    %narrow = arith.truncf %scaled : f32 to bf16
    linalg.yield %narrow : bf16
  }} -> {self.whole}
  return %result : {self.whole}
}}
"""


@dataclass(frozen=True)
class Softmax(Rows):
    """Each row's exponentials over their sum, the row's largest subtracted before."""

    def text(self, strategy: str = "") -> str:
        each, wide = tensor((self.rows,), "f32"), tensor((self.rows, self.width), "f32")
        return f"""
func.func @layer(%x: {self.whole}) -> {self.whole} {{
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %each_empty = tensor.empty() : {each}
  %init_largest = linalg.fill ins(%least : f32) outs(%each_empty : {each}) -> {each}
  %largest = {generic([_ROW, _OF_ROW], "pr")} ins(%x : {self.whole}) outs(%init_largest : {each}) {{
  ^bb0(%v: bf16, %s: f32):
    %wide = arith.extf %v : bf16 to f32
    %next = arith.maximumf %s, %wide : f32
    linalg.yield %next : f32
  }} -> {each}
  %wide_empty = tensor.empty() : {wide}
  %powers = {generic([_ROW, _OF_ROW, _ROW], "pp")}
      ins(%x, %largest : {self.whole}, {each}) outs(%wide_empty : {wide}) {{
  ^bb0(%v: bf16, %l: f32, %o: f32):
    %wide = arith.extf %v : bf16 to f32
    %shifted = arith.subf %wide, %l : f32
    %power = math.exp %shifted : f32
    linalg.yield %power : f32
  }} -> {wide}
  %init_sum = linalg.fill ins(%zero : f32) outs(%each_empty : {each}) -> {each}
  %sum = {generic([_ROW, _OF_ROW], "pr")} ins(%powers : {wide}) outs(%init_sum : {each}) {{
  ^bb0(%v: f32, %s: f32):
    %next = arith.addf %s, %v : f32
    linalg.yield %next : f32
  }} -> {each}
  %empty = tensor.empty() : {self.whole}
  %result = {generic([_ROW, _OF_ROW, _ROW], "pp", strategy)}
      ins(%powers, %sum : {wide}, {each}) outs(%empty : {self.whole}) {{
  ^bb0(%v: f32, %s: f32, %o: bf16):
    %share = arith.divf %v, %s : f32
    %narrow = arith.truncf %share : f32 to bf16
    linalg.yield %narrow : bf16
  }} -> {self.whole}
  return %result : {self.whole}
}}
"""


@dataclass(frozen=True)
class SiluProduct(Rows):
    """x * sigmoid(x) * y: a gated layer's activation."""

    def text(self, strategy: str = "") -> str:
        return self._elementwise(
            """
    %one = arith.constant 1.0 : f32
    %minus = arith.negf %a : f32
    %power = math.exp %minus : f32
    %below = arith.addf %one, %power : f32
    %silu = arith.divf %a, %below : f32
    %r = arith.mulf %silu, %b : f32""",
            strategy,
        )

    def _elementwise(self, body: str, strategy: str) -> str:
        return f"""
func.func @layer(%x: {self.whole}, %y: {self.whole}) -> {self.whole} {{
  %empty = tensor.empty() : {self.whole}
  %result = {generic([_ROW] * 3, "pp", strategy)}
      ins(%x, %y : {self.whole}, {self.whole}) outs(%empty : {self.whole}) {{
  ^bb0(%v: bf16, %u: bf16, %o: bf16):
    %a = arith.extf %v : bf16 to f32
    %b = arith.extf %u : bf16 to f32{body}
    %narrow = arith.truncf %r : f32 to bf16
    linalg.yield %narrow : bf16
  }} -> {self.whole}
  return %result : {self.whole}
}}
"""


@dataclass(frozen=True)
class Sum(SiluProduct):
    """x + y: a residual."""

    def text(self, strategy: str = "") -> str:
        return self._elementwise("\n    %r = arith.addf %a, %b : f32", strategy)
