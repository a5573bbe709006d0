"""Bufferized IR to a `Nest`: buffers, loops, transfers and kernels, with every address affine in the loop counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from npuflow.bindings import ir
from npuflow.core.build import dynamic_marker, element_bytes, memory_space_of
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail
from npuflow.frontend.contraction import match_contraction
from npuflow.schedule.affine import Affine
from npuflow.schedule.indices import Extent, Number, evaluate_affine
from npuflow.schedule.layout import row_major
from npuflow.schedule.nest import (
    COLUMN,
    L1,
    L2,
    L3,
    ROW,
    Allocate,
    BufferInfo,
    Dimension,
    End,
    Factor,
    Kernel,
    Loop,
    Nest,
    Statement,
    Transfer,
)
from npuflow.schedule.views import View, kept_dims, limit_of, padded_size, swapped, tiled, whole_outer


@dataclass
class NestReader:
    """Reads one function; `kernels` keeps the ops that kernels stand for."""

    nest: Nest
    kernels: list[ir.Operation] = field(default_factory=list)
    _numbers: dict[ir.Value, Number] = field(default_factory=dict)
    _views: dict[ir.Value, View] = field(default_factory=dict)
    _zeroed: set[str] = field(default_factory=set)
    _names: dict[str, int] = field(default_factory=dict)

    def read(self, function: ir.Operation) -> Nest:
        block = function.regions[0].blocks[0]
        for index, argument in enumerate(block.arguments):
            buffer = self._buffer(argument, f"arg{index}", function)
            self.nest.arguments.append(buffer)
        self._block(block, self.nest.body)
        return self.nest

    def _block(self, block: ir.Block, body: list[Statement]) -> None:
        for child in block.operations:
            self._op(child.operation, body)

    def _op(self, op: ir.Operation, body: list[Statement]) -> None:
        handler = _HANDLERS.get(op.name)
        if handler is None:
            raise fail(op, f"{op.name} cannot be scheduled", f"supported are {', '.join(sorted(_HANDLERS))}")
        handler(self, op, body)

    # Numbers

    def _constant(self, op: ir.Operation, body: list[Statement]) -> None:
        if isinstance(op.results[0].type, ir.IndexType):
            self._numbers[op.results[0]] = Affine(int(ir.IntegerAttr(op.attributes["value"]).value))

    def _apply(self, op: ir.Operation, body: list[Statement]) -> None:
        self._numbers[op.results[0]] = self._expression(op, op.opview.map.value.results[0])

    def _min(self, op: ir.Operation, body: list[Statement]) -> None:
        found = [self._expression(op, result) for result in op.opview.map.value.results]
        constants = [n.constant for n in found if isinstance(n, Affine) and n.is_constant]
        others = [n for n in found if isinstance(n, Affine) and not n.is_constant]
        if len(constants) != 1 or len(others) != 1 or len(found) != 2:
            raise fail(op, "a minimum of other than a constant and an affine expression cannot be scheduled")
        self._numbers[op.results[0]] = Extent(constants[0], others[0])

    def _expression(self, op: ir.Operation, expression: ir.AffineExpr) -> Number:
        dims = op.opview.map.value.n_dims
        values = [self._number(value) for value in op.operands]
        return evaluate_affine(op, expression, values, dims)

    def _number(self, value: ir.Value) -> Number:
        return self._numbers[value]

    def _affine(self, op: ir.Operation, value: int | ir.Value) -> Affine:
        number = Affine(value) if isinstance(value, int) else self._number(value)
        if isinstance(number, Extent):
            raise fail(op, f"an offset of {op.name} is a minimum, which cannot be scheduled")
        return number

    def _extent(self, value: int | ir.Value) -> Extent:
        if isinstance(value, int):
            return Extent(value)
        number = self._number(value)
        if isinstance(number, Extent):
            return number
        return Extent(number.constant)

    # Structure

    def _for(self, op: ir.Operation, body: list[Statement]) -> None:
        lower, upper, step = (self._affine(op, value) for value in list(op.operands)[:3])
        if not (lower.is_constant and upper.is_constant and step.is_constant):
            raise fail(op, "the bounds of a loop are not constant", "make all shapes static")
        trips = max(0, -(-(upper.constant - lower.constant) // step.constant))
        loop = Loop(self._name("i"), trips)
        block = op.regions[0].blocks[0]
        self._numbers[block.arguments[0]] = Affine.counter(loop.counter, step.constant, lower.constant)
        self._block(block, loop.body)
        body.append(loop)

    def _forall(self, op: ir.Operation, body: list[Statement]) -> None:
        sizes = list(ir.DenseI64ArrayAttr(op.attributes["staticUpperBound"]))
        names = _grid_counters(op, len(sizes))
        rows, columns = (dict(zip(names, sizes)).get(name, 1) for name in (ROW, COLUMN))
        if self.nest.grid not in ((1, 1), (rows, columns)):
            raise fail(
                op, f"grids of {self.nest.grid[0]}x{self.nest.grid[1]} and {rows}x{columns} cores in one function"
            )
        self.nest.grid = (rows, columns)
        block = op.regions[0].blocks[0]
        for argument, name in zip(block.arguments, names):
            self._numbers[argument] = Affine.counter(name)
        outer = Loop(ROW, rows, grid=True)
        inner = Loop(COLUMN, columns, grid=True)
        outer.body.append(inner)
        self._block(block, inner.body)
        body.append(outer)

    def _skip(self, op: ir.Operation, body: list[Statement]) -> None:
        """Terminators and ops without an effect on the schedule."""

    def _return(self, op: ir.Operation, body: list[Statement]) -> None:
        for value in op.operands:
            buffer = self._view(value).buffer
            self.nest.results.append(buffer)
            if buffer in self.nest.intermediates:
                self.nest.intermediates.remove(buffer)

    # Memory

    def _name(self, prefix: str) -> str:
        number = self._names.get(prefix, 0)
        self._names[prefix] = number + 1
        return f"{prefix}{number}"

    def _buffer(self, value: ir.Value, name: str, op: ir.Operation) -> BufferInfo:
        kind = ir.MemRefType(value.type)
        if not kind.has_static_shape:
            raise fail(op, f"buffer of dynamic shape {kind}", "make every size static")
        element = kind.element_type
        space, width = memory_space_of(kind), element_bytes(element)
        buffer = BufferInfo(name, space, tuple(kind.shape), str(element), width, location_of(op))
        extents = tuple(Extent(size) for size in kind.shape)
        room = tuple(Affine(size) for size in kind.shape)
        self._views[value] = View(buffer, Affine(), extents, row_major(kind.shape), room)
        return buffer

    def _alloc(self, op: ir.Operation, body: list[Statement]) -> None:
        value = op.results[0]
        level = 3 - memory_space_of(ir.MemRefType(value.type))
        buffer = self._buffer(value, self._name(f"l{level}_"), op)
        if buffer.space == L3:
            self.nest.intermediates.append(buffer)
        else:
            body.append(Allocate(buffer))

    def _subview(self, op: ir.Operation, body: list[Statement]) -> None:
        view = op.opview
        source = self._view(op.operands[0])
        offsets = _mixed(view.static_offsets, view.offsets)
        sizes = _mixed(view.static_sizes, view.sizes)
        steps = _mixed(view.static_strides, view.strides)
        offset = source.offset
        starts = [self._affine(op, value) for value in offsets]
        for start, stride in zip(starts, source.strides):
            offset = offset + start * stride
        extents = [self._extent(size) for size in sizes]
        room = [left - start for left, start in zip(source.room, starts)]
        strides = [stride * int(step) for stride, step in zip(source.strides, steps)]
        kept = kept_dims([e.full if e.limit is None else None for e in extents], op.results[0])
        self._views[op.results[0]] = View(
            source.buffer,
            offset,
            tuple(extents[d] for d in kept),
            tuple(strides[d] for d in kept),
            tuple(room[d] for d in kept),
        )

    def _view(self, value: ir.Value) -> View:
        return self._views[value]

    # Movements

    def _copy(self, op: ir.Operation, body: list[Statement]) -> None:
        source, target = self._view(op.operands[0]), self._view(op.operands[1])
        pads = target.buffer.name in self._zeroed
        outer, inner = (source, target) if source.buffer.space == L3 else (target, source)
        widens = pads or (source.buffer.space, target.buffer.space) == (L2, L3)
        dimensions = []
        for d in range(len(source.extents)):
            size = source.extents[d].full
            size = padded_size(size, inner, d) if widens else size
            factor = Factor(size, 1, source.strides[d], target.strides[d])
            dimensions.append(Dimension((factor,), limit_of(outer, d, size)))
        self._transfer(op, source, target, dimensions, pads, body)

    def _pack(self, op: ir.Operation, body: list[Statement]) -> None:
        plain, packed = self._view(op.operands[0]), self._view(op.operands[1])
        pads = packed.buffer.name in self._zeroed or len(op.operands) > 2
        if pads:
            packed = whole_outer(packed, len(plain.extents))
        dimensions = [tiled(d, plain, packed, op) for d in range(len(plain.extents))]
        self._transfer(op, plain, packed, dimensions, pads, body)

    def _unpack(self, op: ir.Operation, body: list[Statement]) -> None:
        packed, plain = self._view(op.operands[0]), self._view(op.operands[1])
        dimensions = [swapped(tiled(d, plain, packed, op)) for d in range(len(plain.extents))]
        self._transfer(op, packed, plain, dimensions, False, body)

    def _transfer(
        self,
        op: ir.Operation,
        source: View,
        target: View,
        dimensions: Sequence[Dimension],
        pads: bool,
        body: list[Statement],
    ) -> None:
        kept = tuple(d for d in dimensions if d.extent != 1 or d.limit is not None)
        ends = End(source.buffer, source.offset), End(target.buffer, target.offset)
        body.append(Transfer(*ends, kept, pads, location_of(op)))

    # Kernels

    def _fill(self, op: ir.Operation, body: list[Statement]) -> None:
        target = self._view(op.operands[1])
        if target.buffer.space == L2:
            self._zeroed.add(target.buffer.name)
            return
        self._kernel(op, "fill", body)

    def _generic(self, op: ir.Operation, body: list[Statement]) -> None:
        self._kernel(op, "elementwise" if match_contraction(op) is None else "matmul", body)

    def _kernel(self, op: ir.Operation, kind: str, body: list[Statement]) -> None:
        shaped = [value for value in op.operands if isinstance(value.type, ir.MemRefType)]
        buffers = [self._view(value).buffer for value in shaped]
        outside = [b for b in buffers if b.space != L1]
        if outside:
            raise fail(op, f"{op.name} works on {outside[0].name}, which is not in L1", "promote its operands to L1")
        reads = tuple(buffers) if kind == "matmul" else tuple(buffers[:-1])
        body.append(Kernel(len(self.kernels), kind, reads, (buffers[-1],), location_of(op)))
        self.kernels.append(op)


_HANDLERS = {
    "arith.constant": NestReader._constant,
    "affine.apply": NestReader._apply,
    "affine.min": NestReader._min,
    "scf.for": NestReader._for,
    "scf.forall": NestReader._forall,
    "scf.yield": NestReader._skip,
    "scf.forall.in_parallel": NestReader._skip,
    "func.return": NestReader._return,
    "memref.alloc": NestReader._alloc,
    "memref.dealloc": NestReader._skip,
    "memref.subview": NestReader._subview,
    "memref.copy": NestReader._copy,
    "linalg.pack": NestReader._pack,
    "linalg.unpack": NestReader._unpack,
    "linalg.fill": NestReader._fill,
    "linalg.generic": NestReader._generic,
}


def read_nest(function: ir.Operation) -> tuple[Nest, list[ir.Operation]]:
    """The function's nest, and the op of each kernel."""
    reader = NestReader(Nest(str(ir.StringAttr(function.attributes["sym_name"]).value)))
    return reader.read(function), reader.kernels


def _grid_counters(op: ir.Operation, rank: int) -> list[str]:
    """Which coordinate each dimension of a forall is: thread<y> is the row, thread<x> the column."""
    mapping = [str(m) for m in ir.ArrayAttr(op.attributes["mapping"])] if "mapping" in op.attributes else []
    names = {"#gpu.thread<y>": ROW, "#gpu.thread<x>": COLUMN}
    if len(mapping) != rank or any(m not in names for m in mapping):
        raise fail(op, "scf.forall is not mapped to cores", "map its dimensions to #gpu.thread<y> and #gpu.thread<x>")
    return [names[m] for m in mapping]


def _mixed(static: Sequence[int], dynamic: Sequence[ir.Value]) -> list[int | ir.Value]:
    rest = iter(dynamic)
    return [next(rest) if s == dynamic_marker() else int(s) for s in ir.DenseI64ArrayAttr(static)]
