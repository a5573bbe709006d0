"""The definition of the `npu` dialect; `dialects/npu.irdl.mlir` is generated from it.

    #npu.device<"npu2", {rows = 4, columns = 8}>
    #npu.strategy<{grid = [2, 2], tile_l2 = [64, 64, 256], tile_l1 = [32, 32, 32], pack = [4, 8, 8]}>

IRDL checks the kinds of the parameters; `attributes.py` checks what is inside.
"""

import threading  # annotations below are read by `ext` as objects, so they must not be postponed

from npuflow.bindings import ext, ir


class Npu(ext.Dialect, name="npu"):  # type: ignore[call-arg]
    """What a spatial NPU does, explicitly."""


class DeviceAttr(Npu.Attribute, name="device"):  # type: ignore[name-defined, call-arg]
    """The device a module is compiled for: its name and, where the program uses only part of it, how much."""

    device: ir.StringAttr
    fields: ir.DictAttr


class StrategyAttr(Npu.Attribute, name="strategy"):  # type: ignore[name-defined, call-arg]
    """How one op is to be mapped: core grid, tiles per level, packed inner shape, buffer depths."""

    fields: ir.DictAttr


_LOAD_LOCK = threading.Lock()


def load_dialect(context: ir.Context) -> None:
    """Makes the dialect known to a context; calling it twice is harmless."""
    with _LOAD_LOCK, context, ir.Location.unknown():
        if not context.is_dialect_loaded("npu"):
            Npu.load()


def irdl_text() -> str:
    """The dialect as IRDL, as other MLIR tools read it."""
    context = ir.Context()
    with _LOAD_LOCK, context, ir.Location.unknown():
        Npu.load()
        return str(Npu._mlir_module)
