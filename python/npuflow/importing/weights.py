"""Weights as resources of a module: their bytes stay where they are, and no text holds them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from npuflow.bindings import arith, ir, load_torch_importer
from npuflow.constants.resources import LEAST_RESOURCE_BYTES, resource_of
from npuflow.core.build import at
from npuflow.core.passes import ops_of
from npuflow.importing.packages import load_package

if TYPE_CHECKING:
    from torch import Tensor


def make_resource_hooks() -> Any:  # noqa: ANN401  (of a class that only exists once torch-mlir's importer is loaded)
    """What makes torch-mlir's importer take weights as they lie in memory, each once, however often it is used."""
    torch = load_package("torch", "reading weights")
    importer = load_torch_importer()
    # Each with the tensor that it was read from: as long as that lives, nothing else is at its address.
    held: dict[Hashable, tuple[ir.Attribute, object]] = {}

    class ResourceHooks(importer.FxImporterHooks):  # type: ignore[misc,name-defined]
        def resolve_literal(self, _importer: object, literal: object, info: object) -> ir.Value | None:
            if not isinstance(literal, torch.Tensor) or 0 < literal.nbytes < LEAST_RESOURCE_BYTES:
                return None
            typed = importer.create_mlir_tensor_type(literal)
            if literal.nbytes == 0:
                return _literal(literal, typed, ir.Attribute.parse(f"dense<> : {typed}"))
            key = (literal.data_ptr(), str(typed), literal.stride())
            if key not in held:
                bytes_there = literal.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
                held[key] = resource_of(bytes_there, _name_of(info), typed, literal.element_size()), literal
            return _literal(literal, typed, held[key][0])

    return ResourceHooks()


def _literal(weight: Tensor, typed: ir.RankedTensorType, value: ir.Attribute) -> ir.Value:
    shape = ",".join(map(str, weight.shape))
    of_torch = ir.Type.parse(f"!torch.vtensor<[{shape}],{typed.element_type}>")
    return ir.Operation.create("torch.vtensor.literal", results=[of_torch], attributes={"value": value}).result


def move_to_resources(module: ir.Module) -> None:
    """Makes large constants of a module resources, where an importer has left them in attributes."""
    for op in ops_of(module.operation, "arith.constant"):
        value, typed = op.attributes["value"], op.results[0].type
        if not isinstance(value, ir.DenseElementsAttr) or value.is_splat:
            continue
        if isinstance(typed.element_type, ir.BF16Type):  # numpy has no such, so the bindings hand none out
            continue
        data = np.array(value)
        if data.nbytes < LEAST_RESOURCE_BYTES or data.dtype == np.bool_:
            continue
        with at(op):
            resource = resource_of(data, "weight", typed, data.itemsize)
            op.results[0].replace_all_uses_with(arith.ConstantOp(typed, resource).result)
        op.erase()


def _name_of(info: object) -> str:
    """What the network itself calls a weight."""
    target = getattr(getattr(info, "input_spec", None), "target", None)
    return str(target or "weight")
