"""Builders of quantised arithmetic: numbers of i8 that a scale makes those of f32, and sums of their products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from npuflow.bindings import arith, ir, linalg, math
from npuflow.constants.known_tensors import weight_constant
from npuflow.constants.scalar_values import Numbers
from npuflow.core.build import element_type_of, empty, fill, generic_op, shape_of, zero
from npuflow.ops.bundle_ops import is_filled_with_zeros
from npuflow.ops.contraction import operand_loops
from npuflow.ops.linear import maps_of

# As many numbers below 0 as above, so that 0 is 0.
GREATEST = 127


@dataclass(frozen=True)
class Scale:
    """What 1 is worth: a number, or one for each index of these dimensions of what is scaled."""

    values: Numbers
    dims: tuple[int, ...] = ()


def quantized(value: ir.Value, scale: float) -> ir.Value:
    """A tensor of f32 as the nearest multiples of a scale, in i8."""
    i8 = ir.IntegerType.get_signless(8)
    op, block = _elementwise([value], [ir.AffineMap.get_identity(len(shape_of(value)))], i8)
    with ir.InsertionPoint(block):
        scaled = arith.MulFOp(block.arguments[0], _number(1 / scale)).result
        rounded = math.RoundEvenOp(scaled).result
        low = arith.MaximumFOp(rounded, _number(-GREATEST)).result
        linalg.YieldOp([arith.FPToSIOp(i8, arith.MinimumFOp(low, _number(GREATEST)).result).result])
    return op.results[0]


def dequantized(value: ir.Value, scale: float) -> ir.Value:
    """Integers as the numbers of f32 that they stand for."""
    return rescaled(value, [Scale(np.asarray(scale))], None)


def integer_sums(op: ir.Operation, factors: Mapping[int, ir.Value]) -> ir.Value:
    """What an op sums up of products, of these operands instead of its own, in i32."""
    i32 = ir.IntegerType.get_signless(32)
    operands = [factors[position] for position in range(len(factors))]
    begin = fill(zero(i32), empty(shape_of(op.results[0]), i32))
    maps, kept = maps_of(op), operand_loops(op)[-1]
    kinds = ["parallel" if loop in kept else "reduction" for loop in range(maps[0].n_dims)]
    made = generic_op(operands, [begin], maps, kinds)
    block = made.regions[0].blocks.append(*map(element_type_of, operands), i32)
    left, right, total = block.arguments
    with ir.InsertionPoint(block):
        product = arith.MulIOp(arith.ExtSIOp(i32, left).result, arith.ExtSIOp(i32, right).result).result
        linalg.YieldOp([arith.AddIOp(total, product).result])
    return made.results[0]


def rescaled(value: ir.Value, scales: Sequence[Scale], begun_at: ir.Value | None) -> ir.Value:
    """Integers times what 1 is worth, in f32, and with what a sum began at, if that isn't 0."""
    rank, f32 = len(shape_of(value)), ir.F32Type.get()
    same = ir.AffineMap.get_identity(rank)
    common = float(np.prod([scale.values for scale in scales if not scale.dims]))
    tables = [scale for scale in scales if scale.dims]
    inputs, maps = [value], [same]
    for number, table in enumerate(tables):
        inputs.append(weight_constant(table.values * (common if number == 0 else 1), f32))
        maps.append(ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(d) for d in table.dims]))
    if begun_at is not None and not is_filled_with_zeros(begun_at):
        inputs.append(begun_at)
        maps.append(same)
    op, block = _elementwise(inputs, maps, f32)
    with ir.InsertionPoint(block):
        result = arith.SIToFPOp(f32, block.arguments[0]).result
        for factor in list(block.arguments)[1 : 1 + len(tables)] or [_number(common)]:
            result = arith.MulFOp(result, factor).result
        for term in list(block.arguments)[1 + len(tables) : len(inputs)]:
            result = arith.AddFOp(result, term).result
        linalg.YieldOp([result])
    return op.results[0]


def _elementwise(
    inputs: Sequence[ir.Value], maps: Sequence[ir.AffineMap], kind: ir.Type
) -> tuple[ir.Operation, ir.Block]:
    """An op for each element of its first input, and the block that is to say what it does."""
    same = ir.AffineMap.get_identity(len(shape_of(inputs[0])))
    outputs = [empty(shape_of(inputs[0]), kind)]
    op = generic_op(inputs, outputs, [*maps, same], ["parallel"] * same.n_dims)
    return op, op.regions[0].blocks.append(*map(element_type_of, inputs), kind)


def _number(value: float) -> ir.Value:
    return arith.ConstantOp(ir.F32Type.get(), float(value)).result
