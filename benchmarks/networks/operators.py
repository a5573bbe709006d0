"""Operators of networks as MLIR text: each class is an operator with its sizes, what it multiplies, and its program.

Convolutions are quantised: i8 activations and weights, i32 sums, and a tail that adds a bias per channel, shifts with
rounding, clamps and narrows. Contractions are bf16 with f32 sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, prod, sqrt
from typing import Protocol


class Operator(Protocol):
    """An operator of a network; `text` may say a strategy, as `#npu.strategy<...>`, for the op that it is about."""

    @property
    def macs(self) -> int:
        """Multiply-accumulates of matrix work; 0 where there is none."""

    @property
    def types(self) -> tuple[str, str, str]:
        """The types that are multiplied and summed."""

    @property
    def sizes(self) -> str:
        """The sizes, as the table shows them."""

    def text(self, strategy: str = "") -> str:
        """The program: one public function."""


# Random i8 data has a standard deviation of about 74, so a sum of K products one of 74 * 74 * sqrt(K); a shift brings
# it down to 64, so that what is compared is neither all zero nor all clamped.
_DEVIATION, _WANTED = 74.0, 64.0
_PARALLEL, _REDUCTION = '"parallel"', '"reduction"'


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def generic(maps: list[str], kinds: str, strategy: str = "") -> str:
    """The head of a linalg.generic; `kinds` has a letter for each loop, p or r."""
    listed = ", ".join(f"affine_map<{one}>" for one in maps)
    names = ", ".join(_PARALLEL if kind == "p" else _REDUCTION for kind in kinds)
    said = f", npu.strategy = {strategy}" if strategy else ""
    return f"linalg.generic {{indexing_maps = [{listed}], iterator_types = [{names}]{said}}}"


def _filled(name: str, kind: str, element: str) -> str:
    zero = "0.0" if element.startswith(("f", "bf")) else "0"
    return f"""
  %{name}_zero = arith.constant {zero} : {element}
  %{name}_empty = tensor.empty() : {kind}
  %{name} = linalg.fill ins(%{name}_zero : {element}) outs(%{name}_empty : {kind}) -> {kind}"""


def _requantized(shape: tuple[int, ...], depth: int, lowest: int, strategy: str) -> str:
    """From %sum of i32 to %result of i8; `depth` products are in a sum."""
    shift = max(1, round(log2(_DEVIATION**2 * sqrt(depth) / _WANTED)))
    result = tensor(shape, "i8")
    same = "(n, h, w, c) -> (n, h, w, c)"
    return f"""
  %shift = arith.constant {shift} : i32
  %half = arith.constant {1 << (shift - 1)} : i32
  %lowest = arith.constant {lowest} : i32
  %highest = arith.constant 127 : i32
  %result_empty = tensor.empty() : {result}
  %result = {generic([same, "(n, h, w, c) -> (c)", same], "pppp", strategy)}
      ins(%sum, %bias : {tensor(shape, "i32")}, {tensor(shape[-1:], "i32")}) outs(%result_empty : {result}) {{
  ^bb0(%s: i32, %b: i32, %o: i8):
    %biased = arith.addi %s, %b : i32
    %rounded = arith.addi %biased, %half : i32
    %shifted = arith.shrsi %rounded, %shift : i32
    %above = arith.maxsi %shifted, %lowest : i32
    %within = arith.minsi %above, %highest : i32
    %narrow = arith.trunci %within : i32 to i8
    linalg.yield %narrow : i8
  }} -> {result}
  return %result : {result}"""


@dataclass(frozen=True)
class Convolution:
    """A square convolution of `size` x `size` pixels, padded so that stride 1 keeps the size; NHWC by HWCF.

    `depthwise` has one filter per channel; `is_relu` says whether negative results become zero.
    """

    size: int
    inputs: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    batch: int = 1
    depthwise: bool = False
    is_relu: bool = True

    types = ("i8", "i8", "i32")

    @property
    def macs(self) -> int:
        return prod(self._result) * self._depth

    @property
    def sizes(self) -> str:
        batch = f"{self.batch}x" if self.batch > 1 else ""
        stride = f" /{self.stride}" if self.stride > 1 else ""
        channels = f"{self.inputs}" if self.depthwise else f"{self.inputs} to {self.outputs}"
        return f"{batch}{self.size}x{self.size}, {self.kernel}x{self.kernel}{stride}, {channels}"

    @property
    def _depth(self) -> int:
        return self.kernel**2 * (1 if self.depthwise else self.inputs)

    @property
    def _result(self) -> tuple[int, int, int, int]:
        size = -(-self.size // self.stride)
        return (self.batch, size, size, self.outputs)

    def text(self, strategy: str = "") -> str:
        weights = (self.kernel, self.kernel, self.inputs, self.outputs)[: 3 if self.depthwise else 4]
        name = "depthwise_conv_2d_nhwc_hwc" if self.depthwise else "conv_2d_nhwc_hwcf"
        given = tensor((self.batch, self.size, self.size, self.inputs), "i8")
        padded, pad = self._padded(given)
        by, total = tensor(weights, "i8"), tensor(self._result, "i32")
        attributes = f"dilations = dense<1> : tensor<2xi64>, strides = dense<{self.stride}> : tensor<2xi64>"
        lowest = 0 if self.is_relu else -128
        return f"""
func.func @layer(%x: {given}, %w: {by}, %bias: {tensor((self.outputs,), "i32")}) -> {tensor(self._result, "i8")} {{{
            pad
        }{_filled("init", total, "i32")}
  %sum = linalg.{name} {{{attributes}}} ins(%{"padded" if pad else "x"}, %w : {padded}, {by})
      outs(%init : {total}) -> {total}{_requantized(self._result, self._depth, lowest, strategy)}
}}
"""

    def _padded(self, given: str) -> tuple[str, str]:
        """The type that the convolution reads, and the padding in front of it; with strides there is less behind."""
        reach = (self._result[1] - 1) * self.stride + self.kernel
        low = self.kernel // 2
        high = reach - self.size - low
        if (low, high) == (0, 0) or reach < self.size:
            return given, ""
        padded = tensor((self.batch, reach, reach, self.inputs), "i8")
        return (
            padded,
            f"""
  %none = arith.constant 0 : i8
  %padded = tensor.pad %x low[0, {low}, {low}, 0] high[0, {high}, {high}, 0] {{
  ^bb0(%n: index, %h: index, %v: index, %c: index):
    tensor.yield %none : i8
  }} : {given} to {padded}""",
        )


@dataclass(frozen=True)
class Contraction:
    """`batch` matmuls of m x k by k x n in bf16, summed in f32, narrowed to bf16; vectors where m is 1.

    Weights lie as n x k (`is_transposed`), as a linear layer keeps them.
    """

    m: int
    n: int
    k: int
    batch: int = 1
    is_transposed: bool = True

    types = ("bf16", "bf16", "f32")

    @property
    def macs(self) -> int:
        return self.batch * self.m * self.n * self.k

    @property
    def sizes(self) -> str:
        batch = f"{self.batch} of " if self.batch > 1 else ""
        return f"{batch}{self.m}x{self.k} by {self.k}x{self.n}"

    def text(self, strategy: str = "") -> str:
        loops = "b, m, n, k" if self.batch > 1 else "m, n, k"
        lead, kinds = ("b, ", "pppr") if self.batch > 1 else ("", "ppr")
        batch = (self.batch,) if self.batch > 1 else ()
        by = (self.n, self.k) if self.is_transposed else (self.k, self.n)
        left, right = tensor((*batch, self.m, self.k), "bf16"), tensor((*batch, *by), "bf16")
        total, result = tensor((*batch, self.m, self.n), "f32"), tensor((*batch, self.m, self.n), "bf16")
        maps = [
            f"({loops}) -> ({lead}m, k)",
            f"({loops}) -> ({lead}{'n, k' if self.is_transposed else 'k, n'})",
            f"({loops}) -> ({lead}m, n)",
        ]
        same = f"({lead}m, n) -> ({lead}m, n)"
        return f"""
func.func @layer(%a: {left}, %b: {right}) -> {result} {{{_filled("init", total, "f32")}
  %sum = {generic(maps, kinds, strategy)} ins(%a, %b : {left}, {right}) outs(%init : {total}) {{
  ^bb0(%p: bf16, %q: bf16, %s: f32):
    %wide_p = arith.extf %p : bf16 to f32
    %wide_q = arith.extf %q : bf16 to f32
    %product = arith.mulf %wide_p, %wide_q : f32
    %next = arith.addf %s, %product : f32
    linalg.yield %next : f32
  }} -> {total}
  %result_empty = tensor.empty() : {result}
  %result = {generic([same, same], kinds[:-1])} ins(%sum : {total}) outs(%result_empty : {result}) {{
  ^bb0(%s: f32, %o: bf16):
    %narrow = arith.truncf %s : f32 to bf16
    linalg.yield %narrow : bf16
  }} -> {result}
  return %result : {result}
}}
"""
