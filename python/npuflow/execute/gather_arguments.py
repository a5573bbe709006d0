"""Fewer arguments, which are longer: IREE binds at most 32 tensors, arguments and results, and functions may have more.

    func.func @f(%a: tensor<2x3xi8>, %b: tensor<4xi8>, ...)

becomes

    func.func @f(%i8: tensor<10xi8>, ...) {
      %0 = tensor.extract_slice %i8[0] [6] [1] : tensor<10xi8> to tensor<6xi8>
      %a = tensor.expand_shape %0 [[0, 1]] output_shape [2, 3] : tensor<6xi8> into tensor<2x3xi8>
      %b = tensor.extract_slice %i8[6] [4] [1] : tensor<10xi8> to tensor<4xi8>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from npuflow.bindings import ir, tensor
from npuflow.core.build import extract_slice
from npuflow.execute.arrays import Array, ArraySpec, Signature, signature_of

_MOST_TENSORS = 32


def gathered(signature: Signature, inputs: Sequence[Array]) -> tuple[list[Array], list[ArraySpec]]:
    """What a function takes after `gather_arguments`; what it takes anyhow where it has few enough tensors."""
    if not _has_many(signature):
        return list(inputs), list(signature.inputs)
    pairs = list(zip(inputs, signature.inputs, strict=True))
    scalars = [(array, spec) for array, spec in pairs if spec.is_scalar]
    wholes = [
        np.concatenate([array.reshape(-1) for array, spec in pairs if not spec.is_scalar and spec.element == element])
        for element in _elements(signature.inputs)
    ]
    specs = [
        ArraySpec(element, whole.shape) for element, whole in zip(_elements(signature.inputs), wholes, strict=True)
    ]
    return [array for array, _ in scalars] + wholes, [spec for _, spec in scalars] + specs


def gather_arguments(function: ir.Operation) -> None:
    """Gives a function of too many tensors one argument per element type, behind those that are scalars."""
    signature = signature_of(function)
    if not _has_many(signature):
        return
    block = function.regions[0].blocks[0]
    given = list(block.arguments)
    with function.context, function.location, ir.InsertionPoint.at_block_begin(block):
        for element in _elements(signature.inputs):
            own = [i for i, spec in enumerate(signature.inputs) if not spec.is_scalar and spec.element == element]
            sizes = [prod(signature.inputs[i].shape) for i in own]
            kind = ir.RankedTensorType(given[own[0]].type).element_type
            whole = block.add_argument(ir.RankedTensorType.get([sum(sizes)], kind), function.location)
            for position, (index, size) in enumerate(zip(own, sizes, strict=True)):
                part = extract_slice(whole, [sum(sizes[:position])], [size])
                given[index].replace_all_uses_with(_reshaped(part, given[index].type))
        for index in reversed(range(len(given))):
            if not signature.inputs[index].is_scalar:
                block.erase_argument(index)
        results = ir.FunctionType(function.opview.type).results
        kind = ir.FunctionType.get([argument.type for argument in block.arguments], results)
        function.attributes["function_type"] = ir.TypeAttr.get(kind)


def _has_many(signature: Signature) -> bool:
    return sum(not spec.is_scalar for spec in (*signature.inputs, *signature.outputs)) > _MOST_TENSORS


def _elements(specs: Iterable[ArraySpec]) -> list[str]:
    """The element types of what is no scalar, in the order in which they come."""
    return list(dict.fromkeys(spec.element for spec in specs if not spec.is_scalar))


def _reshaped(part: ir.Value, kind: ir.RankedTensorType) -> ir.Value:
    if kind.rank == 0:
        return tensor.CollapseShapeOp(kind, part, []).result
    if kind.rank == 1:
        return part
    return tensor.ExpandShapeOp(kind, part, [list(range(kind.rank))], [], list(kind.shape)).result
