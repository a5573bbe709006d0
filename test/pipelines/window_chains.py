"""Programs of convolutions in a row, as text: windows, strides, padding, what is between them, and a skip."""

from __future__ import annotations

from dataclasses import dataclass, field

_WHOLE = "affine_map<(n, h, w, c) -> (n, h, w, c)>"
_CHANNEL = "affine_map<(n, h, w, c) -> (c)>"
_PARALLEL = '["parallel", "parallel", "parallel", "parallel"]'


@dataclass(frozen=True)
class Window:
    """A convolution, depthwise where it makes no channels of its own, with a ReLU behind it.

    With `bias`, its sums begin with a number for each channel.
    """

    kernel: int = 3
    stride: int = 1
    pad: int = 0
    channels: int | None = None
    bias: bool = False


@dataclass
class _Text:
    size: int
    channels: int
    lines: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)

    def kind(self, element: str, size: int | None = None, channels: int | None = None) -> str:
        return f"tensor<1x{size or self.size}x{size or self.size}x{channels or self.channels}x{element}>"

    def window(self, number: int, window: Window, value: str) -> str:
        """The lines of one window; returns its result's name."""
        if window.pad:
            padded = self.kind("i8", self.size + 2 * window.pad)
            low = f"[0, {window.pad}, {window.pad}, 0]"
            self.lines += [
                f"%p{number} = tensor.pad {value} low{low} high{low} {{",
                "^bb0(%i: index, %j: index, %k: index, %l: index):",
                f"tensor.yield %zero : i8 }} : {self.kind('i8')} to {padded}",
            ]
            value = f"%p{number}"
        read = self.kind("i8", self.size + 2 * window.pad)
        sides = f"{window.kernel}x{window.kernel}x{self.channels}"
        weights = f"tensor<{sides}xi8>" if window.channels is None else f"tensor<{sides}x{window.channels}xi8>"
        name = "conv_2d_nhwc_hwcf" if window.channels else "depthwise_conv_2d_nhwc_hwc"
        self.arguments.append(f"%w{number}: {weights}")
        self.size = (self.size + 2 * window.pad - window.kernel) // window.stride + 1
        self.channels = window.channels or self.channels
        sums = self.kind("i32")
        self.lines += [
            f"%e{number} = tensor.empty() : {sums}",
            *(self.bias(number) if window.bias else [self.zeros(number)]),
            f"%c{number} = linalg.{name} {{strides = dense<{window.stride}> : tensor<2xi64>}}",
            f"ins({value}, %w{number} : {read}, {weights}) outs(%f{number} : {sums}) -> {sums}",
        ]
        return self.elementwise(f"r{number}", f"%c{number}", "i32", "")

    def zeros(self, number: int) -> str:
        sums = self.kind("i32")
        return f"%f{number} = linalg.fill ins(%none : i32) outs(%e{number} : {sums}) -> {sums}"

    def bias(self, number: int) -> list[str]:
        """What sums begin with: a number for each channel, everywhere."""
        sums, bias = self.kind("i32"), f"tensor<{self.channels}xi32>"
        self.arguments.append(f"%b{number}: {bias}")
        return [
            f"%f{number} = linalg.generic {{indexing_maps = [{_CHANNEL}, {_WHOLE}], iterator_types = {_PARALLEL}}}",
            f"ins(%b{number} : {bias}) outs(%e{number} : {sums}) {{",
            f"^bb0(%a: i32, %o: i32): linalg.yield %a : i32 }} -> {sums}",
        ]

    def elementwise(self, name: str, value: str, element: str, skip: str) -> str:
        """A ReLU cut off to i8, or a sum with what is skipped to."""
        kind, made = self.kind(element), self.kind("i8")
        body = ["%m = arith.maxsi %a, %none : i32", "%t = arith.trunci %m : i32 to i8"]
        if skip:
            body = ["%t = arith.addi %a, %b : i8"]
        ins = f"{value}, {skip} : {kind}, {kind}" if skip else f"{value} : {kind}"
        maps = ", ".join([_WHOLE] * (3 if skip else 2))
        self.lines += [
            f"%o{name} = tensor.empty() : {made}",
            f"%{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = {_PARALLEL}}}",
            f"ins({ins}) outs(%o{name} : {made}) {{",
            f"^bb0(%a: {element}, {'%b: i8, ' if skip else ''}%o: i8):",
            *body,
            f"linalg.yield %t : i8 }} -> {made}",
        ]
        return f"%{name}"


def chain(size: int, channels: int, *windows: Window, skip: bool = False) -> str:
    """Windows in a row over an image of i8; with `skip`, the image is added to what comes out."""
    text = _Text(size, channels)
    first, value = text.kind("i8"), "%x"
    for number, window in enumerate(windows):
        value = text.window(number, window, value)
    if skip:
        value = text.elementwise("s", value, "i8", "%x")
    lines = "\n  ".join(text.lines)
    return (
        f"func.func @chain({', '.join([f'%x: {first}', *text.arguments])}) -> {text.kind('i8')} {{\n"
        f"  %none = arith.constant 0 : i32\n  %zero = arith.constant 0 : i8\n  {lines}\n"
        f"  return {value} : {text.kind('i8')}\n}}\n"
    )
