"""Bufferized programs that are no matmuls, as text: windows over padded images, row by row on a grid of cores."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True)
class Axis:
    """How one dimension of an image is gone through.

    Windows of `taps` elements, `dilation` apart, every `step` elements, with so many zeros `before` and `behind`. A
    core makes `tile` of the results, and `cores` of them one block.
    """

    size: int
    taps: int = 1
    step: int = 1
    dilation: int = 1
    before: int = 0
    behind: int = 0
    tile: int = 1
    cores: int = 1

    @property
    def window(self) -> int:
        return self.dilation * (self.taps - 1) + 1

    @property
    def results(self) -> int:
        return (self.size + self.before + self.behind - self.window) // self.step + 1

    @property
    def block(self) -> int:
        return self.tile * self.cores

    def reads(self, results: int) -> int:
        """How many elements so many results are made of."""
        return (results - 1) * self.step + self.window


@dataclass(frozen=True)
class Window:
    """A sum of products over windows of an image of height, width and channels, each channel on its own.

    `rows` and `columns` say which axes the rows and columns of cores go along. `clamped` blocks may lie wholly in the
    padding.
    """

    h: Axis
    w: Axis
    channels: int
    rows: str
    columns: str
    grid: tuple[int, int]
    clamped: bool = False
    depth: int = 1

    def place(self, axis: str) -> str:
        """The first of a core's results along an axis, from its row y and column x."""
        y, x = (("y" if self.rows == axis else ""), ("x" if self.columns == axis else ""))
        if y and x:
            return f"x * {self.grid[0]} + y"
        return y or x or "0"

    def text(self) -> str:
        h, w, c = self.h, self.w, self.channels
        tc = c // ((self.grid[0] if self.rows == "c" else 1) * (self.grid[1] if self.columns == "c" else 1))
        depths = ", ".join(f"depth_{name} = {self.depth}" for name in ("l1", "l2", "result"))
        shapes = {
            "image": f"{h.size}x{w.size}x{c}",
            "filter": f"{h.taps}x{w.taps}x{c}",
            "result": f"{h.results}x{w.results}x{c}",
            "block": f"{h.reads(h.block)}x{w.reads(w.block)}x{c}",
            "tile": f"{h.reads(h.tile)}x{w.reads(w.tile)}x{tc}",
            "taps": f"{h.taps}x{w.taps}x{tc}",
            "made": f"{h.tile}x{w.tile}x{tc}",
            "out": f"{h.block}x{w.block}x{c}",
        }
        strides = {
            "si": f"strided<[{w.size * c}, {c}, 1], offset: ?>",
            "sb": f"strided<[{w.reads(w.block) * c}, {c}, 1], offset: ?>",
            "sr": f"strided<[{w.results * c}, {c}, 1], offset: ?>",
            "so": f"strided<[{w.block * c}, {c}, 1], offset: ?>",
            "sv": f"strided<[{w.block * c}, {c}, 1]>",
            "sf": f"strided<[{w.taps * c}, {c}, 1], offset: ?>",
        }
        places = {
            "ph": f"({self.place('h')}) * {h.tile}",
            "pw": f"({self.place('w')}) * {w.tile}",
            "pc": f"({self.place('c')}) * {tc}",
        }
        numbers = {
            "tc": tc,
            "c": c,
            "rows": self.grid[0],
            "columns": self.grid[1],
            "strategy": f"npu.strategy = #npu.strategy<{{{depths}}}>",
        }
        for name, axis in (("h", h), ("w", w)):
            numbers |= {
                f"{name}size": axis.size,
                f"{name}results": axis.results,
                f"{name}block": axis.block,
                f"{name}taps": axis.taps,
                f"{name}step": axis.step,
                f"{name}dilation": axis.dilation,
                f"{name}before": axis.before,
                f"{name}reads": axis.reads(axis.block),
                f"{name}tile": axis.tile,
                f"{name}tilereads": axis.reads(axis.tile),
            }
        clips = "".join(self._clip(name, axis) for name, axis in (("h", h), ("w", w)))
        return _PROGRAM.substitute(shapes, **strides, **places, **numbers, clips=clips)

    def _clip(self, name: str, axis: Axis) -> str:
        """Where a block's input begins and ends, and how much of it exists."""
        begin, end = (
            f"affine.max affine_map<(o) -> (0, o)>(%o{name})",
            f"affine.min affine_map<(o) -> ({axis.size}, o + {axis.reads(axis.block)})>(%o{name})",
        )
        lines = [f"%o{name} = affine.apply affine_map<(b) -> (b * {axis.step} - {axis.before})>(%b{name})"]
        if self.clamped:
            lines += [f"%m{name} = {begin}", f"%begin{name} = affine.min affine_map<(m) -> ({axis.size}, m)>(%m{name})"]
            lines += [f"%n{name} = {end}", f"%end{name} = affine.max affine_map<(n) -> (0, n)>(%n{name})"]
        else:
            lines += [f"%begin{name} = {begin}", f"%end{name} = {end}"]
        lines.append(f"%size{name} = affine.apply affine_map<(e, b) -> (e - b)>(%end{name}, %begin{name})")
        lines.append(f"%low{name} = affine.apply affine_map<(b, o) -> (b - o)>(%begin{name}, %o{name})")
        room = f"affine.min affine_map<(b) -> ({axis.block}, {axis.results} - b)>(%b{name})"
        lines.append(f"%cut{name} = {room}")
        return "".join(f"    {line}\n" for line in lines)


_PROGRAM = Template("""
#in = affine_map<(h, w, c, kh, kw) -> (h * $hstep + kh * $hdilation, w * $wstep + kw * $wdilation, c)>
#taps = affine_map<(h, w, c, kh, kw) -> (kh, kw, c)>
#out = affine_map<(h, w, c, kh, kw) -> (h, w, c)>
func.func @window(%x: memref<${image}xi8>, %f: memref<${filter}xi8>) -> memref<${result}xi32> {
  %c0 = arith.constant 0 : index
  %hresults = arith.constant $hresults : index
  %wresults = arith.constant $wresults : index
  %hblock = arith.constant $hblock : index
  %wblock = arith.constant $wblock : index
  %zero8 = arith.constant 0 : i8
  %zero = arith.constant 0 : i32
  %result = memref.alloc() : memref<${result}xi32>
  scf.for %bh = %c0 to %hresults step %hblock { scf.for %bw = %c0 to %wresults step %wblock {
$clips
    %l2 = memref.alloc() : memref<${block}xi8, 1>
    linalg.fill ins(%zero8 : i8) outs(%l2 : memref<${block}xi8, 1>)
    %src = memref.subview %x[%beginh, %beginw, 0] [%sizeh, %sizew, $c] [1, 1, 1]
      : memref<${image}xi8> to memref<?x?x${c}xi8, $si>
    %dst = memref.subview %l2[%lowh, %loww, 0] [%sizeh, %sizew, $c] [1, 1, 1]
      : memref<${block}xi8, 1> to memref<?x?x${c}xi8, $sb, 1>
    memref.copy %src, %dst : memref<?x?x${c}xi8, $si> to memref<?x?x${c}xi8, $sb, 1>
    %f2 = memref.alloc() : memref<${filter}xi8, 1>
    memref.copy %f, %f2 : memref<${filter}xi8> to memref<${filter}xi8, 1>
    %l2_out = memref.alloc() : memref<${out}xi32, 1>
    scf.forall (%y, %x_) in ($rows, $columns) {
      %ph = affine.apply affine_map<(y, x) -> ($ph)>(%y, %x_)
      %pw = affine.apply affine_map<(y, x) -> ($pw)>(%y, %x_)
      %pc = affine.apply affine_map<(y, x) -> ($pc)>(%y, %x_)
      %qh = affine.apply affine_map<(p) -> (p * $hstep)>(%ph)
      %qw = affine.apply affine_map<(p) -> (p * $wstep)>(%pw)
      %piece = memref.subview %l2[%qh, %qw, %pc] [$htilereads, $wtilereads, $tc] [1, 1, 1]
        : memref<${block}xi8, 1> to memref<${tile}xi8, $sb, 1>
      %l1 = memref.alloc() : memref<${tile}xi8, 2>
      memref.copy %piece, %l1 : memref<${tile}xi8, $sb, 1> to memref<${tile}xi8, 2>
      %fpiece = memref.subview %f2[0, 0, %pc] [$htaps, $wtaps, $tc] [1, 1, 1]
        : memref<${filter}xi8, 1> to memref<${taps}xi8, $sf, 1>
      %f1 = memref.alloc() : memref<${taps}xi8, 2>
      memref.copy %fpiece, %f1 : memref<${taps}xi8, $sf, 1> to memref<${taps}xi8, 2>
      %l1_out = memref.alloc() : memref<${made}xi32, 2>
      linalg.fill ins(%zero : i32) outs(%l1_out : memref<${made}xi32, 2>)
      linalg.generic {
        indexing_maps = [#in, #taps, #out],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
      } ins(%l1, %f1 : memref<${tile}xi8, 2>, memref<${taps}xi8, 2>) outs(%l1_out : memref<${made}xi32, 2>)
        attrs = {$strategy} {
      ^bb0(%a: i8, %b: i8, %s: i32):
        %wide_a = arith.extsi %a : i8 to i32
        %wide_b = arith.extsi %b : i8 to i32
        %product = arith.muli %wide_a, %wide_b : i32
        %sum = arith.addi %s, %product : i32
        linalg.yield %sum : i32
      }
      %place = memref.subview %l2_out[%ph, %pw, %pc] [$htile, $wtile, $tc] [1, 1, 1]
        : memref<${out}xi32, 1> to memref<${made}xi32, $so, 1>
      memref.copy %l1_out, %place : memref<${made}xi32, 2> to memref<${made}xi32, $so, 1>
    } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
    %valid = memref.subview %l2_out[0, 0, 0] [%cuth, %cutw, $c] [1, 1, 1]
      : memref<${out}xi32, 1> to memref<?x?x${c}xi32, $sv, 1>
    %there = memref.subview %result[%bh, %bw, 0] [%cuth, %cutw, $c] [1, 1, 1]
      : memref<${result}xi32> to memref<?x?x${c}xi32, $sr>
    memref.copy %valid, %there : memref<?x?x${c}xi32, $sv, 1> to memref<?x?x${c}xi32, $sr>
  }}
  return %result : memref<${result}xi32>
}
""")


@dataclass(frozen=True)
class Rows:
    """An op on rows of some matrices, `tile` rows per core, and on a vector as long as the rows that all cores read.

    With `sums`, each row becomes one number: the matrix by the vector.
    """

    rows: int
    length: int
    grid: tuple[int, int]
    tile: int
    matrices: int = 1
    sums: bool = False
    depth: int = 1

    def text(self) -> str:
        block, count = self.grid[0] * self.grid[1] * self.tile, self.matrices
        made = f"{self.tile}" if self.sums else f"{self.tile}x{self.length}"
        tail = "" if self.sums else f"x{self.length}"
        depths = ", ".join(f"depth_{name} = {self.depth}" for name in ("l1", "l2", "result"))
        each = range(count)
        return _ROWS.substitute(
            arguments="".join(f"%x{i}: memref<{self.rows}x{self.length}xi32>, " for i in each),
            into="".join(_INTO.substitute(i=i, rows=self.rows, length=self.length, block=block) for i in each),
            inward="".join(_INWARD.substitute(i=i, block=block, length=self.length, tile=self.tile) for i in each),
            ins=", ".join(f"%l1_{i}" for i in each),
            kinds=", ".join(f"memref<{self.tile}x{self.length}xi32, 2>" for _ in each),
            maps="#id, " * count,
            result="#row" if self.sums else "#id",
            kind="reduction" if self.sums else "parallel",
            block_arguments=", ".join(f"%a{i}: i32" for i in each),
            work="".join(f"        %t{i + 1} = arith.muli %t{i}, %a{i} : i32\n" for i in each),
            last=f"arith.addi %t{count}, %o : i32" if self.sums else f"arith.addi %t{count}, %v_ : i32",
            strategy=f"npu.strategy = #npu.strategy<{{{depths}}}>",
            rows=self.rows,
            length=self.length,
            block=block,
            tile=self.tile,
            height=self.grid[0],
            width=self.grid[1],
            made=made,
            start=f"linalg.fill ins(%zero : i32) outs(%l1_out : memref<{made}xi32, 2>)" if self.sums else "",
            out=f"{self.rows}{tail}",
            out_block=f"{block}{tail}",
            cut=f"?{tail}",
            offsets="" if self.sums else ", 0",
            sizes="" if self.sums else f", {self.length}",
            ones="" if self.sums else ", 1",
            strides="1" if self.sums else f"{self.length}, 1",
        )


_INTO = Template("""
    %l2_$i = memref.alloc() : memref<${block}x${length}xi32, 1>
    linalg.fill ins(%zero : i32) outs(%l2_$i : memref<${block}x${length}xi32, 1>)
    %src$i = memref.subview %x$i[%b, 0] [%cut, $length] [1, 1]
      : memref<${rows}x${length}xi32> to memref<?x${length}xi32, strided<[$length, 1], offset: ?>>
    %dst$i = memref.subview %l2_$i[0, 0] [%cut, $length] [1, 1]
      : memref<${block}x${length}xi32, 1> to memref<?x${length}xi32, strided<[$length, 1]>, 1>
    memref.copy %src$i, %dst$i
      : memref<?x${length}xi32, strided<[$length, 1], offset: ?>> to memref<?x${length}xi32, strided<[$length, 1]>, 1>
""")
_INWARD = Template("""
      %part$i = memref.subview %l2_$i[%p, 0] [$tile, $length] [1, 1]
        : memref<${block}x${length}xi32, 1> to memref<${tile}x${length}xi32, strided<[$length, 1], offset: ?>, 1>
      %l1_$i = memref.alloc() : memref<${tile}x${length}xi32, 2>
      memref.copy %part$i, %l1_$i
        : memref<${tile}x${length}xi32, strided<[$length, 1], offset: ?>, 1> to memref<${tile}x${length}xi32, 2>
""")
_ROWS = Template("""
#id = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#column = affine_map<(r, c) -> (c)>
func.func @rows($arguments%v: memref<${length}xi32>) -> memref<${out}xi32> {
  %c0 = arith.constant 0 : index
  %block = arith.constant $block : index
  %rows = arith.constant $rows : index
  %zero = arith.constant 0 : i32
  %result = memref.alloc() : memref<${out}xi32>
  %v2 = memref.alloc() : memref<${length}xi32, 1>
  memref.copy %v, %v2 : memref<${length}xi32> to memref<${length}xi32, 1>
  scf.for %b = %c0 to %rows step %block {
    %cut = affine.min affine_map<(b) -> ($block, $rows - b)>(%b)
    $into
    %l2_out = memref.alloc() : memref<${out_block}xi32, 1>
    scf.forall (%y, %x_) in ($height, $width) {
      %p = affine.apply affine_map<(y, x) -> ((x * $height + y) * $tile)>(%y, %x_)
      $inward
      %v1 = memref.alloc() : memref<${length}xi32, 2>
      memref.copy %v2, %v1 : memref<${length}xi32, 1> to memref<${length}xi32, 2>
      %l1_out = memref.alloc() : memref<${made}xi32, 2>
      $start
      linalg.generic {indexing_maps = [$maps#column, $result], iterator_types = ["parallel", "$kind"]}
        ins($ins, %v1 : $kinds, memref<${length}xi32, 2>) outs(%l1_out : memref<${made}xi32, 2>) attrs = {$strategy} {
      ^bb0($block_arguments, %v_: i32, %o: i32):
        %t0 = arith.addi %v_, %zero : i32
$work
        %last = $last
        linalg.yield %last : i32
      }
      %place = memref.subview %l2_out[%p$offsets] [$tile$sizes] [1$ones]
        : memref<${out_block}xi32, 1> to memref<${made}xi32, strided<[$strides], offset: ?>, 1>
      memref.copy %l1_out, %place : memref<${made}xi32, 2> to memref<${made}xi32, strided<[$strides], offset: ?>, 1>
    } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
    %valid = memref.subview %l2_out[0$offsets] [%cut$sizes] [1$ones]
      : memref<${out_block}xi32, 1> to memref<${cut}xi32, strided<[$strides]>, 1>
    %there = memref.subview %result[%b$offsets] [%cut$sizes] [1$ones]
      : memref<${out}xi32> to memref<${cut}xi32, strided<[$strides], offset: ?>>
    memref.copy %valid, %there
      : memref<${cut}xi32, strided<[$strides]>, 1> to memref<${cut}xi32, strided<[$strides], offset: ?>>
  }
  return %result : memref<${out}xi32>
}
""")
