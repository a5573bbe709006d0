"""Networks of f32 in the array's own types: what is rounded or quantised, and how far that takes them off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from pathlib import PurePath

import numpy as np

from npuflow.bindings import ir
from npuflow.compiler.compiled_function import check_inputs
from npuflow.compiler.functions import show_what_is_private
from npuflow.compiler.given import schedules_in
from npuflow.compiler.layer_errors import (
    LAYERS,
    Deviation,
    LayerEnd,
    LayerError,
    deviation,
    ends_of_layers,
    number_layers,
    values_in,
)
from npuflow.compiler.sources import copy_of, sources_of
from npuflow.constants.known_tensors import KnownTensors
from npuflow.core.build import shape_of, tensor_bytes
from npuflow.core.diagnostics import DiagnosticSink, location_of
from npuflow.core.passes import ops_of
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.errors import UsageError, with_hint
from npuflow.execute.arrays import Array, signature_of
from npuflow.execute.data import arrays_for
from npuflow.frontend.added_ends import added_ends
from npuflow.frontend.fold_scales import SCALED
from npuflow.frontend.product_layers import ProductLayer, end_of, product_layers
from npuflow.frontend.quantize_products import RANGES
from npuflow.ops.linear import loop_extents

# Weights that have become others aren't read any more; `cse` leaves constants that it has seen a reader of.
_CLEAN = "cse,trivial-dce"
# What every network is brought to first, so that layers are single ops, and what is computed from constants is one.
_PREPARE = (
    "npuflow-import-program,npuflow-fold-batch-norm,npuflow-generalize-operators,npuflow-fold-constants,"
    f"npuflow-join-scales,{_CLEAN}"
)
# Errors of what computes more than this are only measured where it has to run for its ranges anyway: minutes. Nor are
# those of what has more weights: what runs takes all of them several times.
MEASURED_MACS = 1 << 34
MEASURED_BYTES = 1 << 31


class ComputeType(Enum):
    """What an f32 network's products are computed in."""

    BF16 = "bf16"
    I8 = "i8"

    @property
    def passes(self) -> str:
        narrow = f"npuflow-narrow-products,{_CLEAN}"
        if self is ComputeType.BF16:
            return narrow
        integers = "npuflow-quantize-products,npuflow-sum-integers"
        return f"{integers},{narrow},npuflow-fold-scales,npuflow-narrow-scales,{_CLEAN}"


@dataclass(frozen=True)
class Conversion:
    """What became of a function: its layers in order, its results, each with how far it is from f32.

    Where that was not measured, `unmeasured` says why, and there are neither.
    """

    name: str
    compute_type: ComputeType
    layers: tuple[LayerError, ...]
    results: tuple[Deviation, ...]
    unmeasured: str = ""


@dataclass(frozen=True)
class Converted:
    """A module in which products are of another type, and what that means for each of its public functions."""

    module: ir.Module
    conversions: tuple[Conversion, ...]


def convert(
    module: ir.Module,
    compute_type: ComputeType,
    inputs: Sequence[Array] | None = None,
    *,
    seed: int = 0,
    sink: DiagnosticSink | None = None,
) -> Converted:
    """A module whose sums of products of f32 are computed in another type.

    The module stays as it is. Ranges and errors are measured on `inputs`, of the only function, or on random ones, as
    verification draws them.
    """
    if schedules_in(module.operation):
        what = "a schedule computes what it says, in the types that it says"
        raise UsageError(with_hint(what, "give the program that it was made of, or no compute type"))
    base = copy_of(module)
    show_what_is_private(base.operation)
    if inputs is not None and len(sources_of(base)) != 1:
        what = f"inputs are given, and the module has {len(sources_of(base))} public functions"
        raise UsageError(with_hint(what, "give a module of one, or no inputs"))
    with base.context:
        return _converted(base, compute_type, inputs, seed, sink or DiagnosticSink())


def _converted(
    base: ir.Module, compute_type: ComputeType, inputs: Sequence[Array] | None, seed: int, sink: DiagnosticSink
) -> Converted:
    Runner(parse_pipeline(_PREPARE), sink=sink).run(base)
    number_layers(product_layers(base.operation))
    functions = [_Calibration(base, source.name, compute_type, inputs, seed) for source in sources_of(base)]
    if compute_type is ComputeType.I8:
        for each in functions:
            each.note_ranges()
    made = copy_of(base)
    Runner(parse_pipeline(compute_type.passes), sink=sink).run(made)
    conversions = tuple(each.conversion(made) for each in functions)
    for op in ops_of(made.operation):
        for name in (LAYERS, SCALED):
            if name in op.attributes:
                del op.attributes[name]
    return Converted(made, conversions)


@dataclass(frozen=True)
class _LayersRun:
    """What layers of a function hand on in a run, and its results."""

    ends: Sequence[LayerEnd]
    arrays: Sequence[Array]
    results: Sequence[Array]

    @property
    def values(self) -> Iterator[Array]:
        """What the arrays stand for."""
        return (np.asarray(array, np.float64) / end.scaled for end, array in zip(self.ends, self.arrays, strict=True))


@dataclass
class _Calibration:
    """A function of f32 on data: of `base`, whose layers are numbered, and which ranges are noted in."""

    base: ir.Module
    name: str
    compute_type: ComputeType
    given: Sequence[Array] | None
    seed: int

    def __post_init__(self) -> None:
        (function,) = (source.function for source in sources_of(self.base) if source.name == self.name)
        self.layers = product_layers(function)
        macs = sum(prod(loop_extents(layer.op)) for layer in self.layers)
        self.unmeasured = f"{macs:.3g} multiply-accumulates would take minutes" if macs > MEASURED_MACS else ""
        weights = sum(tensor_bytes(op.results[0]) for op in ops_of(function, "arith.constant") if _is_tensor(op))
        if not self.unmeasured and weights > MEASURED_BYTES:
            self.unmeasured = f"{weights / (1 << 30):.3g} GiB of weights would take several times that"
        signature = signature_of(function)
        self.inputs = arrays_for(function, signature.inputs, self.seed) if self.given is None else self.given
        self.before: _LayersRun | None = None
        check_inputs(signature, self.inputs)

    def note_ranges(self) -> None:
        """Says of each layer with weights how large its factors get; what layers hand on is found by the same run.

        Of those that are added to others, and go to memory for that, it says how large that gets as well.
        """
        alone = self._alone(self.base)
        layers = product_layers(alone.operation)
        beside = _beside_weights(layers)
        factors = dict.fromkeys(value for each in beside for value in each)
        added = added_ends(layers, factors)
        values = [*factors, *added]
        arrays, self.before = self._run(alone, values)
        found = dict(zip(values, map(_magnitude, arrays)))
        for layer, there, own in zip(self.layers, layers, beside, strict=True):
            ranges = [found[origin] if origin in own else 0.0 for origin in there.origins]
            end = end_of(there.op.results[0])
            if max(ranges) > 0:
                ranges += [found[end]] if end in added and found[end] > 0 else []
                with layer.op.location:
                    noted = [ir.FloatAttr.get(ir.F64Type.get(), most) for most in ranges]
                layer.op.attributes[RANGES] = ir.ArrayAttr.get(noted)

    def conversion(self, made: ir.Module) -> Conversion:
        """How far the function in `made` is from this one."""
        if self.unmeasured:
            return Conversion(self.name, self.compute_type, (), (), self.unmeasured)
        before = self.before or self._run(self._alone(self.base))[1]
        _, after = self._run(self._alone(made))
        errors = tuple(
            LayerError(_sizes(layer), _place(layer.op), self._factors(layer), deviation(now, then))
            for layer, then, now in zip(self.layers, before.values, after.values, strict=True)
        )
        results = tuple(deviation(now, then) for now, then in zip(after.results, before.results, strict=True))
        return Conversion(self.name, self.compute_type, errors, results)

    def _run(self, alone: ir.Module, asked: Sequence[ir.Value] = ()) -> tuple[list[Array], _LayersRun]:
        """What is `asked` for of a function, and what each layer hands on, in order, unless that isn't measured."""
        ends = [] if self.unmeasured else ends_of_layers(alone)
        arrays, results = values_in(alone, [*asked, *(end.value for end in ends)], self.inputs)
        return arrays[: len(asked)], _LayersRun(ends, arrays[len(asked) :], results)

    def _alone(self, module: ir.Module) -> ir.Module:
        return next(source for source in sources_of(module) if source.name == self.name).alone()

    def _factors(self, layer: ProductLayer) -> str:
        is_quantized = self.compute_type is ComputeType.I8 and RANGES in layer.op.attributes
        return (ComputeType.I8 if is_quantized else ComputeType.BF16).value


def _beside_weights(layers: Sequence[ProductLayer]) -> list[list[ir.Value]]:
    """What each layer multiplies with weights: none of those whose factors are both data, or both known."""
    known = KnownTensors(most_elements=None)
    unknown = ([origin for origin in layer.origins if known.once(origin) is None] for layer in layers)
    return [origins if len(origins) == 1 else [] for origins in unknown]


def _magnitude(array: Array) -> float:
    """The largest magnitude of numbers; 0 where they aren't all finite."""
    most = max(float(array.max(initial=0)), -float(array.min(initial=0)))
    return most if np.isfinite(most) else 0.0


def _is_tensor(constant: ir.Operation) -> bool:
    return isinstance(constant.results[0].type, ir.RankedTensorType)


def _place(op: ir.Operation) -> str:
    """`vision.py:34`: where the network says it, or what it is made of does."""
    place = location_of(op)
    return "" if place is None else f"{PurePath(place.file).name}:{place.line}"


def _sizes(layer: ProductLayer) -> str:
    """`1x64x58x58 by 64x64x3x3`."""
    return " by ".join("x".join(map(str, shape_of(layer.op.operands[position]))) for position in layer.factors)
