"""npuflow-reshape-lines: pixels in one line are read as an image, where matrix instructions take patches of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.ops.contraction import match_contraction
from npuflow.ops.linear import linear_maps, loop_extents
from npuflow.ops.patches import patch_count
from npuflow.ops.products import RESHAPED, Products, match_products
from npuflow.strategy.describe_group import group_of_matmul
from npuflow.target import Device


@register_pass
@dataclass(frozen=True)
class ReshapeLines(Pass):
    """Marks sums of products over single pixels, whose lines the matrix engine may read and write as images.

    An instruction that takes a patch of 4x4 pixels is filled by rows of a matrix, or by an image that is one pixel
    wide, as soon as these are taken for 4 rows of 4. A place in a line is linear in both, so nothing moves: the engine
    steps differently. Products of windows see their neighbours, and stay. Without the mark, pixels are taken as they
    lie.

        %r = linalg.matmul ins(%a, %b : tensor<2048x48xi8>, tensor<48x256xi8>) ...

    becomes

        %r = linalg.matmul {npu.reshaped} ins(%a, %b : tensor<2048x48xi8>, tensor<48x256xi8>) ...
    """

    name = "npuflow-reshape-lines"
    group = "strategy"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        for inner in ops_of(op):
            found = _products_of(inner)
            if found is not None and _has_patches(found[0], device):
                _mark(inner, *found, device, context)


def _products_of(op: ir.Operation) -> tuple[Products, Sequence[int]] | None:
    """An op's sums of products and the sizes of its loops."""
    contraction = match_contraction(op) if op.name != "linalg.generic" else None
    if contraction is not None:
        group = group_of_matmul(contraction)
        products = group.work[0].products
        return None if products is None else (products, [group.sizes[loop] for loop in group.work[0].loops])
    products = match_products(op) if op.name == "linalg.generic" and linear_maps(op) is not None else None
    return None if products is None else (products, loop_extents(op))


def _has_patches(products: Products, device: Device) -> bool:
    return device.has_instruction(products.types) and bool(device.matmul_shapes(*products.types)[0].patch)


def _mark(op: ir.Operation, products: Products, sizes: Sequence[int], device: Device, context: PassContext) -> None:
    if any(sizes[loop] > 1 for loop in products.taps):
        return
    instruction = device.matmul_shapes(*products.types)[0]
    rows, columns = instruction.patch
    before, after = (replace(products, may_reshape=may).image(sizes, instruction) for may in (False, True))
    op.attributes[RESHAPED] = ir.UnitAttr.get(op.context)
    if before != after:
        patches = [patch_count(image, (rows, columns)) for image in (before, after)]
        what = f"{before[0]}x{before[1]} pixels are read as {after[0]}x{after[1]}"
        context.remark(op, f"{what}: {patches[1]} patches of {rows}x{columns} instead of {patches[0]}")
    context.count("ops marked")
