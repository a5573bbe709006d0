"""How far a converted function's layers and results are from those of the f32 function that it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from npuflow.bindings import func, ir
from npuflow.core.passes import ops_of
from npuflow.execute.arrays import Array, functions_of
from npuflow.execute.jit import compile_function
from npuflow.frontend.fold_scales import SCALED
from npuflow.frontend.product_layers import ProductLayer, end_of

# On the op that makes what layers hand on, their numbers: it is what it was, before and after a conversion.
LAYERS = "npu.layers"


@dataclass(frozen=True)
class Deviation:
    """How far an array is off: the error's norm by the array's, the largest error, the largest magnitude."""

    relative: float
    largest: float
    magnitude: float


@dataclass(frozen=True)
class LayerError:
    """A sum of products, `sizes` of what it multiplies, what `factors` are of now, and how far it is off.

    What comes before it is converted as well, so errors add up from layer to layer.
    """

    sizes: str
    place: str
    factors: str
    error: Deviation


def deviation(found: Array, expected: Array) -> Deviation:
    """How far `found` is from `expected`; where both are the same infinity, as masked scores are, nothing is said."""
    given, wanted = (np.asarray(each, np.float64).reshape(-1) for each in (found, expected))
    told = ~(np.isinf(wanted) & (given == wanted))
    given, wanted = given[told], wanted[told]
    norm, error = float(np.linalg.norm(wanted)), np.abs(given - wanted)
    relative = float(np.linalg.norm(error)) / norm if norm else float(bool(error.any()))
    return Deviation(relative, float(error.max(initial=0.0)), float(np.abs(wanted).max(initial=0.0)))


@dataclass(frozen=True)
class LayerEnd:
    """What a layer hands on, in f32, and how many times as large it is as what it stands for."""

    value: ir.Value
    scaled: float


def number_layers(layers: Iterable[ProductLayer]) -> None:
    """Says of layers in order, where they end, which these are."""
    for number, layer in enumerate(layers):
        op = end_of(layer.op.results[0]).owner.operation
        before = ir.DenseI64ArrayAttr(op.attributes[LAYERS]) if LAYERS in op.attributes else ()
        op.attributes[LAYERS] = ir.DenseI64ArrayAttr.get([*before, number], op.context)


def ends_of_layers(module: ir.Module) -> list[LayerEnd]:
    """What layers hand on, in the order of their numbers."""
    found: dict[int, LayerEnd] = {}
    for op in ops_of(module.operation):
        times = ir.FloatAttr(op.attributes[SCALED]).value if SCALED in op.attributes else 1.0
        for number in ir.DenseI64ArrayAttr(op.attributes[LAYERS]) if LAYERS in op.attributes else ():
            found.setdefault(number, LayerEnd(op.results[0], times))
    return [end for _, end in sorted(found.items())]


def values_in(
    module: ir.Module, values: Sequence[ir.Value], inputs: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """What tensors of a module's only function are on these inputs, and its results; it returns all afterwards."""
    (function,) = functions_of(module.operation)
    (returned,) = ops_of(function, "func.return")
    operands = [*values, *returned.operands]
    with ir.InsertionPoint(returned), returned.location:
        func.ReturnOp(operands)
    returned.erase()
    view = function.opview
    kinds = ir.FunctionType.get(ir.FunctionType(view.type).inputs, [value.type for value in operands], module.context)
    function.attributes["function_type"] = ir.TypeAttr.get(kinds, module.context)
    found = compile_function(module.operation, str(view.name.value), poison=False).run(inputs).results
    return found[: len(values)], found[len(values) :]
