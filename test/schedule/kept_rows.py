"""Bufferized 3x3 convolutions in a row whose cores keep rows: what a core makes of a strip goes step by step.

Each convolution but the last has a line, of the rows that it makes in a step and of the two before them. A core's
strip begins with the first rows of each; behind each step, of two rows at least, a line's last two move to its front.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent

_KEPT = 2
_PARALLEL, _REDUCTION = '"parallel"', '"reduction"'
_MAPS = """\
#read = affine_map<(h, w, c, i, j, k) -> (h + i, w + j, k)>
#weights = affine_map<(h, w, c, i, j, k) -> (i, j, k, c)>
#sums = affine_map<(h, w, c, i, j, k) -> (h, w, c)>
#whole = affine_map<(h, w, c) -> (h, w, c)>
"""


@dataclass(frozen=True)
class Strips:
    """Convolutions over an image of i8 without padding, ReLUs behind them; cores have strips of steps x rows."""

    convolutions: int
    grid: tuple[int, int] = (2, 2)
    steps: int = 3
    rows: int = 4
    columns: int = 8
    channels: int = 8

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and channels of the result."""
        return self.grid[0] * self.steps * self.rows, self.grid[1] * self.columns, self.channels

    def halo(self, number: int) -> int:
        """How much more rows, and columns, than of the result there are of a convolution's; 0 stands for the image."""
        return _KEPT * (self.convolutions - number)

    def _numbers(self) -> range:
        return range(1, self.convolutions + 1)

    def text(self, device: str) -> str:
        rows, columns, channels = self.shape
        halo = self.halo(0)
        image, result = self._shape(rows + halo, columns + halo), self._shape(rows, columns)
        weights = f"3x3x{channels}x{channels}xi8"
        arguments = ", ".join(f"%w{number}: memref<{weights}>" for number in self._numbers())
        into_l2 = [("x", image), *((f"w{number}", weights) for number in self._numbers())]
        lines = [
            "%zero = arith.constant 0 : i32",
            "%none = arith.constant 0 : i8",
            *(f"%n{n} = arith.constant {n} : index" for n in sorted({0, 1, self.steps})),
            *(
                line
                for name, shape in into_l2
                for line in _copied(f"%{name}", f"{name}_l2", f"memref<{shape}>", shape, 1)
            ),
            f"%out = memref.alloc() : memref<{result}, 1>",
            f"scf.forall (%y, %x0) in ({self.grid[0]}, {self.grid[1]}) {{",
            *self._core(image, result, weights),
            "} {mapping = [#gpu.thread<y>, #gpu.thread<x>]}",
            *_copied("%out", "result", f"memref<{result}, 1>", result, 0),
            f"return %result : memref<{result}>",
        ]
        body = indent("\n".join(lines), "  ")
        head = f"func.func @chain(%x: memref<{image}>, {arguments}) -> memref<{result}> {{"
        return f'{_MAPS}module attributes {{npu.device = #npu.device<"{device}", {{}}>}} {{\n{head}\n{body}\n}}\n}}\n'

    def _core(self, image: str, result: str, weights: str) -> Iterator[str]:
        for number in self._numbers():
            yield from _copied(f"%w{number}_l2", f"k{number}", f"memref<{weights}, 1>", weights, 2)
        strip = self.steps * self.rows
        yield f"%left = affine.apply affine_map<(x) -> (x * {self.columns})>(%x0)"
        yield f"%top = affine.apply affine_map<(y) -> (y * {strip})>(%y)"
        yield from self._read("first0", "%top", self.halo(0), image)
        for number in self._numbers()[:-1]:
            yield from self._begun(number)
        yield "scf.for %t = %n0 to %n" + str(self.steps) + " step %n1 {"
        below = f"(y, t) -> (y * {strip} + t * {self.rows}"
        yield f"%row = affine.apply affine_map<{below} + {self.halo(1)})>(%y, %t)"
        yield from self._read("line0", "%row", self.rows + _KEPT, image)
        for number in self._numbers()[:-1]:
            target, kind = f"new{number}", self._part(number, _KEPT, self.rows)
            yield from self._view(target, number, _KEPT, self.rows)
            yield from self._convolved(number, f"%line{number - 1}", self.rows, f"%{target}", kind)
        made = self._line(self.convolutions, self.rows)
        yield f"%made = memref.alloc() : {made}"
        yield from self._convolved(self.convolutions, f"%line{self.convolutions - 1}", self.rows, "%made", made)
        yield f"%place = affine.apply affine_map<{below})>(%y, %t)"
        yield from _window("there", "%out", result, "%place", "%left", made)
        yield f"memref.copy %made, %there : {made} to {_strided(result, made, 1)}"
        for number in self._numbers()[:-1]:
            yield from self._view(f"last{number}", number, self.rows, _KEPT)
            yield from self._moved(f"%last{number}", self._part(number, self.rows, _KEPT), number)
        yield "}"

    def _begun(self, number: int) -> Iterator[str]:
        """The first rows of a convolution, and its line with the last two of these."""
        line, rows = self._line(number, self.rows + _KEPT), self.halo(number)
        first = self._line(number, rows)
        yield f"%first{number} = memref.alloc() : {first}"
        yield from self._convolved(number, f"%first{number - 1}", rows, f"%first{number}", first)
        yield f"%line{number} = memref.alloc() : {line}"
        yield f"linalg.fill ins(%none : i8) outs(%line{number} : {line})"
        source = f"memref<{self._shape(rows, self._across(number))}, 2>"
        kind = _strided_by_rows(source, rows - _KEPT, _KEPT)
        if rows > _KEPT:
            yield _subview(f"begun{number}", f"%first{number}", source, rows - _KEPT, _KEPT, kind)
        yield from self._view(f"front{number}", number, 0, _KEPT)
        yield from self._moved(f"%begun{number}" if rows > _KEPT else f"%first{number}", kind, number)

    def _convolved(self, number: int, read: str, rows: int, target: str, kind: str) -> Iterator[str]:
        """Rows of a convolution, summed up and cut off to i8."""
        before = self._line(number - 1, rows + _KEPT)
        sums = self._line(number, rows, "i32")
        name = f"%s{number}_{rows}_{target[1:]}"
        loops = ", ".join([_PARALLEL] * 3 + [_REDUCTION] * 3)
        weights = f"memref<3x3x{self.channels}x{self.channels}xi8, 2>"
        yield f"{name} = memref.alloc() : {sums}"
        yield f"linalg.fill ins(%zero : i32) outs({name} : {sums})"
        yield f"linalg.generic {{indexing_maps = [#read, #weights, #sums], iterator_types = [{loops}]}}"
        yield f"ins({read}, %k{number} : {before}, {weights}) outs({name} : {sums}) {{"
        yield "^bb0(%a: i8, %b: i8, %o: i32):"
        yield "%a2 = arith.extsi %a : i8 to i32"
        yield "%b2 = arith.extsi %b : i8 to i32"
        yield "%p = arith.muli %a2, %b2 : i32"
        yield "%q = arith.addi %o, %p : i32"
        yield "linalg.yield %q : i32 }"
        yield from _elementwise(name, sums, target, kind)
        yield "%m = arith.maxsi %a, %zero : i32"
        yield "%q = arith.trunci %m : i32 to i8"
        yield "linalg.yield %q : i8 }"

    def _moved(self, source: str, kind: str, number: int) -> Iterator[str]:
        """Two rows to the front of a line."""
        yield from _elementwise(source, kind, f"%front{number}", self._part(number, 0, _KEPT), "i8")
        yield "linalg.yield %a : i8 }"

    def _read(self, name: str, row: str, rows: int, image: str) -> Iterator[str]:
        """Rows of the image in L1."""
        kind = self._line(0, rows)
        yield from _window(f"{name}_l2", "%x_l2", image, row, "%left", kind)
        yield f"%{name} = memref.alloc() : {kind}"
        yield f"memref.copy %{name}_l2, %{name} : {_strided(image, kind, 1)} to {kind}"

    def _view(self, name: str, number: int, row: int, rows: int) -> Iterator[str]:
        whole = self._line(number, self.rows + _KEPT)
        yield _subview(name, f"%line{number}", whole, row, rows, self._part(number, row, rows))

    def _part(self, number: int, row: int, rows: int) -> str:
        return _strided_by_rows(self._line(number, self.rows + _KEPT), row, rows)

    def _line(self, number: int, rows: int, element: str = "i8") -> str:
        return f"memref<{self._shape(rows, self._across(number), element)}, 2>"

    def _across(self, number: int) -> int:
        return self.columns + self.halo(number)

    def _shape(self, rows: int, columns: int, element: str = "i8") -> str:
        return f"{rows}x{columns}x{self.channels}x{element}"


def _copied(source: str, name: str, kind: str, shape: str, space: int) -> list[str]:
    target = f"memref<{shape}, {space}>" if space else f"memref<{shape}>"
    return [f"%{name} = memref.alloc() : {target}", f"memref.copy {source}, %{name} : {kind} to {target}"]


def _elementwise(source: str, read: str, target: str, written: str, element: str = "i32") -> list[str]:
    """The head of an elementwise op, up to its block's arguments."""
    loops = ", ".join([_PARALLEL] * 3)
    return [
        f"linalg.generic {{indexing_maps = [#whole, #whole], iterator_types = [{loops}]}}",
        f"ins({source} : {read}) outs({target} : {written}) {{",
        f"^bb0(%a: {element}, %o: i8):",
    ]


def _sizes(kind: str) -> list[int]:
    shape = kind.removeprefix("memref<").split(",")[0].removesuffix(">")
    return [int(size) for size in shape.split("x")[:3]]


def _window(name: str, source: str, whole: str, row: str, column: str, kind: str) -> list[str]:
    """A part of an image in L2."""
    sizes = ", ".join(map(str, _sizes(kind)))
    made = _strided(whole, kind, 1)
    of = f"memref<{whole}, 1>"
    return [f"%{name} = memref.subview {source}[{row}, {column}, 0] [{sizes}] [1, 1, 1] : {of} to {made}"]


def _strided(whole: str, kind: str, space: int) -> str:
    """The type of a part of an image, from some index on."""
    _, columns, channels = _sizes(whole)
    shape = "x".join(map(str, _sizes(kind)))
    return f"memref<{shape}xi8, strided<[{columns * channels}, {channels}, 1], offset: ?>, {space}>"


def _strided_by_rows(whole: str, row: int, rows: int) -> str:
    """The type of some rows of a line; all of them are the line."""
    have, columns, channels = _sizes(whole)
    if rows == have:
        return whole
    offset = f", offset: {row * columns * channels}" if row else ""
    return f"memref<{rows}x{columns}x{channels}xi8, strided<[{columns * channels}, {channels}, 1]{offset}>, 2>"


def _subview(name: str, source: str, whole: str, row: int, rows: int, kind: str) -> str:
    _, columns, channels = _sizes(whole)
    return (
        f"%{name} = memref.subview {source}[{row}, 0, 0] [{rows}, {columns}, {channels}] [1, 1, 1] : {whole} to {kind}"
    )
