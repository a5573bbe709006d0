"""npuflow-fold-padding: zeros around what windows read are made up by the matrix engine, where it has a register."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.kernels.matrix_cycles import begins_in_engine, takes_windows
from npuflow.ops.linear import input_count
from npuflow.ops.padding import Padding, mark_padded, padding_read
from npuflow.ops.products import match_products
from npuflow.ops.window_sums import match_window_sums
from npuflow.target import Device


@register_pass
@dataclass(frozen=True)
class FoldPadding(Pass):
    """Marks windows that the matrix engine goes through, whose padding is a register of it.

    The register has the zeros on each side of a tile, up to a share of the window (`padding_share` of a device's patch
    engine), so that they are neither moved nor stored. Only tiles at an edge have any. `npu.padded` has the zeros
    before and behind each dimension, operand by operand; what isn't marked has its zeros inserted by transfers.

        %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] { tensor.yield %zero } : tensor<8x14x14xi8> to tensor<8x16x16xi8>
        %r = linalg.generic ... ins(%p, %w : tensor<8x16x16xi8>, tensor<16x8x3x3xi8>) ...

    becomes

        %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] { tensor.yield %zero } : tensor<8x14x14xi8> to tensor<8x16x16xi8>
        %r = linalg.generic ... {npu.padded = [array<i64: 0, 0, 1, 1, 1, 1>, array<i64>]} ins(%p, %w : ...) ...
    """

    name = "npuflow-fold-padding"
    group = "strategy"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        if not device.patch_engine.padding_share:
            return
        for inner in ops_of(op, "linalg.generic"):
            if _is_for_patches(inner, device):
                _mark(inner, device.patch_engine.padding_share, context)


def _is_for_patches(op: ir.Operation, device: Device) -> bool:
    """Whether the engine that has the register runs an op."""
    products = match_products(op)
    if products is None:
        return takes_windows(match_window_sums(op), device)
    return device.has_instruction(products.types) and begins_in_engine(products.types, device)


def _mark(op: ir.Operation, share: float, context: PassContext) -> None:
    paddings = [padding_read(op, number) for number in range(input_count(op))]
    for number, found in enumerate(paddings):
        beyond = next((one for one in found if one.most > int(share * one.window)), None)
        if beyond is not None:
            paddings[number] = ()
            context.remark(op, _refused(beyond, share))
    if any(one.most for found in paddings for one in found):
        mark_padded(op, paddings)
        context.count("ops marked")


def _refused(padding: Padding, share: float) -> str:
    have = f"a register holds up to {int(share * padding.window)} for a window of {padding.window}"
    return f"{padding.most} zeros on a side are inserted by transfers: {have}"
