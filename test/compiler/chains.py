"""Functions of several groups of ops, written down op by op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

_IDENTITY = "affine_map<(d0, d1) -> (d0, d1)>"
_ROW = "affine_map<(d0, d1) -> (d0)>"
_COLUMN = "affine_map<(d0, d1) -> (d1)>"


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


@dataclass
class Program:
    """A function's text as it grows; every method adds an op and gives the name of its result."""

    name: str
    arguments: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def argument(self, *shape: int) -> str:
        value = f"%a{len(self.arguments)}"
        self.arguments.append(f"{value}: {tensor(shape)}")
        self.shapes[value] = shape
        return value

    def line(self, text: str, shape: tuple[int, ...]) -> str:
        value = f"%v{len(self.lines)}"
        self.lines.append(f"{value} = {text}")
        self.shapes[value] = shape
        return value

    def typed(self, value: str) -> str:
        return tensor(self.shapes[value])

    def constant(self, number: float, *shape: int) -> str:
        if not shape:
            return self.line(f"arith.constant {number:.6e} : f32", ())
        return self.line(f"arith.constant dense<{number:.6e}> : {tensor(shape)}", shape)

    def table(self, seed: int, rows: int, columns: int) -> str:
        """A constant of many values, as weights are."""
        numbers = np.random.default_rng(seed).integers(-8, 8, (rows, columns)) / 8
        elements = str(numbers.tolist())
        return self.line(f"arith.constant dense<{elements}> : {tensor((rows, columns))}", (rows, columns))

    def filled(self, number: float, *shape: int) -> str:
        scalar, empty = self.constant(number), self.line(f"tensor.empty() : {tensor(shape)}", shape)
        out = tensor(shape)
        return self.line(f"linalg.fill ins({scalar} : f32) outs({empty} : {out}) -> {out}", shape)

    def matmul(self, left: str, right: str, attributes: str = "") -> str:
        shape = (self.shapes[left][0], self.shapes[right][1])
        init, out = self.filled(0, *shape), tensor(shape)
        ins = f"ins({left}, {right} : {self.typed(left)}, {self.typed(right)})"
        return self.line(f"linalg.matmul {attributes}{ins} outs({init} : {out}) -> {out}", shape)

    def generic(self, maps: Sequence[str], kinds: str, inputs: Sequence[str], init: str, body: str) -> str:
        out, types = self.typed(init), ", ".join(map(self.typed, inputs))
        scalars = ", ".join(f"%i{number}: f32" for number in range(len(inputs)))
        head = f"indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]"
        text = f"linalg.generic {{{head}}} ins({', '.join(inputs)} : {types}) outs({init} : {out}) {{"
        return self.line(
            f"{text} ^bb0({scalars}, %o: f32): {body} linalg.yield %r : f32 }} -> {out}", self.shapes[init]
        )

    def elementwise(self, body: str, *inputs: str) -> str:
        shape = self.shapes[inputs[0]]
        loops = ", ".join(f"d{number}" for number in range(len(shape)))
        maps = [f"affine_map<({loops}) -> ({loops})>"] * (len(inputs) + 1)
        empty = self.line(f"tensor.empty() : {tensor(shape)}", shape)
        return self.generic(maps, ", ".join(['"parallel"'] * len(shape)), inputs, empty, body)

    def relu(self, value: str) -> str:
        return self.elementwise("%z = arith.constant 0.0 : f32 %r = arith.maximumf %i0, %z : f32", value)

    def add(self, left: str, right: str) -> str:
        return self.elementwise("%r = arith.addf %i0, %i1 : f32", left, right)

    def norm(self, value: str, gain: str, epsilon: float = 1e-3) -> str:
        """Divided by the root of the mean square of each row, times a gain per column."""
        rows, columns = self.shapes[value]
        square = "%s = arith.mulf %i0, %i0 : f32 %r = arith.addf %o, %s : f32"
        init = self.filled(0, rows)
        sums = self.generic([_IDENTITY, _ROW], '"parallel", "reduction"', [value], init, square)
        scale = f"%n = arith.constant {columns}.0 : f32 %e = arith.constant {epsilon:.6e} : f32"
        scale += " %m = arith.divf %i1, %n : f32 %g = arith.addf %m, %e : f32 %q = math.rsqrt %g : f32"
        scale += " %t = arith.mulf %i0, %q : f32"
        empty = self.line(f"tensor.empty() : {tensor((rows, columns))}", (rows, columns))
        maps = [_IDENTITY, _ROW, _COLUMN, _IDENTITY]
        body = f"{scale} %r = arith.mulf %t, %i2 : f32"
        return self.generic(maps, '"parallel", "parallel"', [value, sums, gain], empty, body)

    def softmax(self, value: str) -> str:
        shape, out = self.shapes[value], self.typed(value)
        empty = self.line(f"tensor.empty() : {out}", shape)
        return self.line(f"linalg.softmax dimension(1) ins({value} : {out}) outs({empty} : {out}) -> {out}", shape)

    def padded(self, value: str, border: int) -> str:
        batch, height, width, channels = self.shapes[value]
        shape = (batch, height + 2 * border, width + 2 * border, channels)
        zero, amount = self.constant(0), f"[0, {border}, {border}, 0]"
        body = f"{{ ^bb0(%i: index, %j: index, %k: index, %l: index): tensor.yield {zero} : f32 }}"
        types = f"{self.typed(value)} to {tensor(shape)}"
        return self.line(f"tensor.pad {value} low{amount} high{amount} {body} : {types}", shape)

    def window(self, op: str, value: str, weights: str, channels: int, start: float) -> str:
        batch, height, width, _ = self.shapes[value]
        kernel = self.shapes[weights][:2]
        shape = (batch, height - kernel[0] + 1, width - kernel[1] + 1, channels)
        init, out = self.filled(start, *shape), tensor(shape)
        attributes = "{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}"
        ins = f"ins({value}, {weights} : {self.typed(value)}, {self.typed(weights)})"
        return self.line(f"linalg.{op} {attributes} {ins} outs({init} : {out}) -> {out}", shape)

    def conv(self, value: str, weights: str) -> str:
        """A 3x3 convolution whose result is as large as what it reads."""
        channels = self.shapes[weights][3]
        return self.window("conv_2d_nhwc_hwcf", self.padded(value, 1), weights, channels, 0)

    def pool(self, value: str, size: int) -> str:
        window = self.line(f"tensor.empty() : {tensor((size, size))}", (size, size))
        return self.window("pooling_nhwc_sum", value, window, self.shapes[value][3], 0)

    def reshaped(self, value: str, groups: str, *shape: int) -> str:
        kind = "collapse" if len(shape) < len(self.shapes[value]) else "expand"
        sizes = f" output_shape [{', '.join(map(str, shape))}]" if kind == "expand" else ""
        return self.line(
            f"tensor.{kind}_shape {value} {groups}{sizes} : {self.typed(value)} into {tensor(shape)}", shape
        )

    def text(self, *results: str) -> str:
        types = ", ".join(map(self.typed, results))
        body = "\n  ".join([*self.lines, f"return {', '.join(results)} : {types}"])
        return f"func.func @{self.name}({', '.join(self.arguments)}) -> ({types}) {{\n  {body}\n}}\n"


def attention_like(name: str = "block", rows: int = 16, columns: int = 32, *, is_long: bool = False) -> str:
    """A norm, a matmul and a softmax; a long one has a matmul behind it, whose buffers take more locks than toy has."""
    p = Program(name)
    x, gain, weights = p.argument(rows, columns), p.argument(columns), p.argument(columns, columns)
    value = p.softmax(p.matmul(p.norm(x, gain), weights))
    return p.text(p.matmul(value, p.argument(columns, 2 * columns)) if is_long else value)


def residual(size: int = 8, channels: int = 4) -> str:
    """conv, relu, conv, a pool, and the input added."""
    p = Program("residual")
    x = p.argument(1, size, size, channels)
    first, second = p.argument(3, 3, channels, channels), p.argument(3, 3, channels, channels)
    y = p.conv(p.relu(p.conv(x, first)), second)
    return p.text(p.add(p.pool(p.padded(y, 1), 3), x))


def chain(length: int, size: int = 16, growth: float = 0.0) -> str:
    """Matmuls and norms by turns, all alike unless what norms add grows."""
    p = Program("chain")
    value, gain, weights = p.argument(size, size), p.argument(size), p.argument(size, size)
    for number in range(length):
        value = p.norm(value, gain, 1e-3 + growth * number) if number % 2 else p.matmul(value, weights)
    return p.text(value)


def layers(count: int, size: int = 16, name: str = "layers") -> str:
    """Matmuls in a row, each with weights of its own, which are constants."""
    p = Program(name)
    value = p.argument(size, size)
    for number in range(count):
        value = p.matmul(value, p.table(number, size, size))
    return p.text(value)


def norms(length: int, size: int = 16) -> str:
    """Norms in a row: rows stay where they are, so nothing but the size of a core's program ends a bundle of them."""
    p = Program("norms")
    value, gain = p.argument(size, size), p.argument(size)
    for _ in range(length):
        value = p.norm(value, gain)
    return p.text(value)
