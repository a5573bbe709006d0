"""Bufferized IR to a `Nest`: buffers, loops, transfers and kernels, with every address affine in the loop counters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, memory_space_of
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.nest.indices import Bounds, evaluate_affine
from npuflow.schedule.nest.kernel_code import kernel_code
from npuflow.schedule.nest.kernel_operands import is_zero, read_kernel
from npuflow.schedule.nest.nest import COLUMN, L1, L3, ROW, Allocate, BufferInfo, Loop, Nest, Statement, Transfer
from npuflow.schedule.nest.read_movements import (
    is_movement,
    read_copy,
    read_gather,
    read_pack,
    read_transpose,
    read_unpack,
)
from npuflow.schedule.nest.read_views import read_reshape, read_subview
from npuflow.schedule.nest.views import View


@dataclass
class NestReader:
    """Reads one function; `kernels` keeps the ops that kernels stand for."""

    nest: Nest
    kernels: list[ir.Operation] = field(default_factory=list)
    _numbers: dict[ir.Value, Affine] = field(default_factory=dict)
    _bounds: Bounds = field(default_factory=Bounds)
    _views: dict[ir.Value, View] = field(default_factory=dict)
    _zeroed: set[str] = field(default_factory=set)
    _names: dict[str, int] = field(default_factory=dict)
    _transfers: int = 0

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
        (self._numbers[op.results[0]],) = self._results(op)

    def _min(self, op: ir.Operation, body: list[Statement]) -> None:
        self._numbers[op.results[0]] = self._bounds.smallest(self._results(op))

    def _max(self, op: ir.Operation, body: list[Statement]) -> None:
        self._numbers[op.results[0]] = self._bounds.largest(self._results(op))

    def _results(self, op: ir.Operation) -> list[Affine]:
        """What an op's affine map gives for its operands."""
        value = op.opview.map.value
        values = [self._numbers[operand] for operand in op.operands]
        return [evaluate_affine(op, e, values, value.n_dims, self._bounds.tiles) for e in value.results]

    def _number(self, value: int | ir.Value) -> Affine:
        return Affine(value) if isinstance(value, int) else self._numbers[value]

    # Structure

    def _for(self, op: ir.Operation, body: list[Statement]) -> None:
        lower, upper, step = (self._number(value) for value in list(op.operands)[:3])
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
            buffer = self._views[value].buffer
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
        self._views[value] = View.whole(buffer)
        return buffer

    def _alloc(self, op: ir.Operation, body: list[Statement]) -> None:
        value = op.results[0]
        level = 3 - memory_space_of(ir.MemRefType(value.type))
        buffer = self._buffer(value, self._name(f"l{level}_"), op)
        if buffer.space == L3:
            self.nest.intermediates.append(buffer)
        else:
            body.append(Allocate(buffer))

    def _get_global(self, op: ir.Operation, body: list[Statement]) -> None:
        name = str(ir.FlatSymbolRefAttr(op.attributes["name"]).value)
        buffer = self._buffer(op.results[0], name, op)
        known = {constant.name: constant for constant in self.nest.constants}
        if name in known:
            self._views[op.results[0]] = View.whole(known[name])
        else:
            self.nest.constants.append(buffer)

    def _subview(self, op: ir.Operation, body: list[Statement]) -> None:
        view = read_subview(op, self._views[op.operands[0]], self._number, self._bounds)
        self._views[op.results[0]] = view

    def _cast(self, op: ir.Operation, body: list[Statement]) -> None:
        self._views[op.results[0]] = self._views[op.operands[0]]

    def _reshape(self, op: ir.Operation, body: list[Statement]) -> None:
        self._views[op.results[0]] = read_reshape(op, self._views[op.operands[0]])

    # Movements

    def _move(self, transfer: Transfer, body: list[Statement]) -> None:
        body.append(replace(transfer, key=self._transfers))
        self._transfers += 1

    def _copy(self, op: ir.Operation, body: list[Statement]) -> None:
        source, target = self._ends(op)
        self._move(read_copy(op, source, target, self._pads(target)), body)

    def _pack(self, op: ir.Operation, body: list[Statement]) -> None:
        plain, packed = self._ends(op)
        self._move(read_pack(op, plain, packed, self._pads(packed)), body)

    def _unpack(self, op: ir.Operation, body: list[Statement]) -> None:
        self._move(read_unpack(op, *self._ends(op)), body)

    def _transpose(self, op: ir.Operation, body: list[Statement]) -> None:
        source, target = self._ends(op)
        if source.buffer.space == target.buffer.space == L1:
            self._kernel(op, body)
        else:
            self._move(read_transpose(op, source, target, self._pads(target)), body)

    def _ends(self, op: ir.Operation) -> tuple[View, View]:
        return self._views[op.operands[0]], self._views[op.operands[1]]

    def _pads(self, target: View) -> bool:
        return target.buffer.name in self._zeroed

    # Kernels

    def _fill(self, op: ir.Operation, body: list[Statement]) -> None:
        target = self._views[op.operands[1]]
        if target.buffer.space == L1:
            self._kernel(op, body)
            return
        if target.buffer.space == L3 or not is_zero(op.operands[0]):
            what = f"{op.name} of {target.buffer.name} outside of L1 with other than zeros"
            raise fail(op, what, "pad with zeros, or fill a buffer in L1")
        self._zeroed.add(target.buffer.name)

    def _generic(self, op: ir.Operation, body: list[Statement]) -> None:
        if is_movement(op) and isinstance(op.operands[0].type, ir.MemRefType):
            source, target = self._ends(op)
            if (source.buffer.space, target.buffer.space) != (L1, L1):
                self._move(read_gather(op, source, target, self._pads(target)), body)
                return
        self._kernel(op, body)

    def _kernel(self, op: ir.Operation, body: list[Statement]) -> None:
        body.append(read_kernel(op, len(self.kernels), kernel_code(op), lambda value: self._views[value].buffer))
        self.kernels.append(op)


_HANDLERS = {
    "arith.constant": NestReader._constant,
    "affine.apply": NestReader._apply,
    "affine.max": NestReader._max,
    "affine.min": NestReader._min,
    "scf.for": NestReader._for,
    "scf.forall": NestReader._forall,
    "scf.yield": NestReader._skip,
    "scf.forall.in_parallel": NestReader._skip,
    "func.return": NestReader._return,
    "memref.alloc": NestReader._alloc,
    "memref.dealloc": NestReader._skip,
    "memref.cast": NestReader._cast,
    "memref.collapse_shape": NestReader._reshape,
    "memref.expand_shape": NestReader._reshape,
    "memref.get_global": NestReader._get_global,
    "memref.subview": NestReader._subview,
    "memref.copy": NestReader._copy,
    "linalg.pack": NestReader._pack,
    "linalg.unpack": NestReader._unpack,
    "linalg.fill": NestReader._fill,
    "linalg.generic": NestReader._generic,
    "linalg.transpose": NestReader._transpose,
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
