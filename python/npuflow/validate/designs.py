"""What a measurement's design is to npuflow: a function, a strategy on its matmul, a pipeline and a device. Pure.

A row's note says what its columns don't: how B lies in DRAM, whether C is double-buffered, which way the grid lies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil

from npuflow.strategy.strategy import Tile
from npuflow.target import Device, load_device
from npuflow.validate.measurements import Measurement
from npuflow.validate.vector_designs import lacks_sizes
from npuflow.validate.vector_texts import is_vector_op

CAST = "fused-cast"
# Kernels that convert their sum in a phase of its own.
DRAIN = "drain"
_FLOATS = ("bf16", "f16", "f32")
_SET_UP = re.compile(r"(?P<rows>[1-9]\d{0,8})x(?P<columns>[1-9]\d{0,8}) blocks set up at a time")


@dataclass(frozen=True)
class Design:
    """How one row is built.

    `together` is how many rows and columns of blocks are set up at a time, the next when these are written (None: all
    are set up ahead); `cast_elements` are converted by a launch of their own, behind the matmul.
    """

    types: tuple[str, str, str]
    result_type: str
    grid: tuple[int, int]
    turned: bool
    tile_l1: Tile
    l2_k: int
    whole_k: bool
    columns_of_b: bool
    depth_result: int
    together: tuple[int, int] | None = None
    cast_elements: int = 0

    @property
    def tile_l2(self) -> Tile:
        return (self.grid[0] * self.tile_l1[0], self.grid[1] * self.tile_l1[1], self.l2_k)

    @property
    def pipeline(self) -> str:
        return "npuflow-pad-pack" if self.whole_k else "npuflow-stream-k"


def device_of(row: Measurement) -> str:
    """The device file that a row was measured on."""
    return "npu1-hawk" if row.device == "npu1" and "Hawk Point" in row.note else row.device


def array_of(row: Measurement, device: Device) -> Device:
    """The columns of a device that a row's design uses: what it moves passes their shims and memory tiles alone."""
    return device.partial(columns=min(row.cols, device.columns)) if row.cols else device


def kind_of(row: Measurement) -> str:
    """The kind of kernel, by the name that device files have for it.

    That is without the block behind `-L2-`, and as the row's stack calls it: a GEMM in front of a cast is an external
    kernel like others. A kind that the device's file doesn't know is empty: it is timed as the first that the file has
    for its types.
    """
    kind = row.stack.kind_of(row.kernel, row.op) or row.kernel.partition("-L2-")[0]
    device = load_device(device_of(row))
    known = device.vector.kernels if is_vector_op(row.op) else device.kernels
    return kind if kind in {entry.kind for entry in known} else ""


def why_unsupported(row: Measurement) -> str | None:
    """Why a row's design cannot be built; None if it can."""
    if is_vector_op(row.op):
        if row.in_type not in _FLOATS or row.out_type != row.in_type:
            return f"{row.op} of {row.in_type} into {row.out_type}, which must be one type of {', '.join(_FLOATS)}"
        return f"{row.op} without a shape, tile or grid" if lacks_sizes(row) else None
    if row.op not in ("matmul", "core_kernel"):
        return f"operator {row.op}"
    if not (row.k and row.n and row.l1_m and row.l1_k and row.l1_n and row.rows and row.cols):
        return f"{row.op} without a shape, tile or grid"
    return None


def design_of(row: Measurement) -> Design:
    """The design that a supported matmul row describes.

    Where a row doesn't say how much of K is in L2, it is one L1 tile: all such rows are of a compiler whose public
    pipeline (pack-peel of iree-amd-aie) packs K once, for L1, and moves one pack at a time into L2.
    """
    turned = "M over cols" in row.note
    grid = (row.cols, row.rows) if turned else (row.rows, row.cols)
    tile_l1 = (row.l1_m, row.l1_n, row.l1_k)
    whole_k = "whole K resident" in row.note
    if whole_k:
        block = _block(row.kernel)
        tile_l1 = (block[0] // grid[0], block[1] // grid[1], row.l1_k) if block else tile_l1
    cast = row.m * row.n if row.kernel == CAST else 0
    result = "f32" if cast else row.out_type
    return Design(
        (row.in_type, row.in_type, _sum_type(row, result)),
        result,
        grid,
        turned,
        tile_l1,
        row.l2_k or row.l1_k,
        whole_k,
        "B column-major" in row.note,
        2 if "C double-buffered" in row.note else 1,
        _together(row, (grid[0] * tile_l1[0], grid[1] * tile_l1[1])),
        cast,
    )


def _together(row: Measurement, block: tuple[int, int]) -> tuple[int, int] | None:
    """What a row's note says is set up at a time, or else what its stack does with as many blocks."""
    said = _SET_UP.search(row.note)
    if said is not None:
        return (int(said["rows"]), int(said["columns"]))
    return row.stack.blocks_together(row.kernel, (ceil(row.m / block[0]), ceil(row.n / block[1])))


def _block(kernel: str) -> tuple[int, int] | None:
    """The block that a kernel's name ends with, as in `...-L2-256x256`."""
    m, _, n = kernel.rpartition("-")[2].partition("x")
    return (int(m), int(n)) if m.isdecimal() and n.isdecimal() else None


def _sum_type(row: Measurement, result: str) -> str:
    """What the sum is kept in between calls: kernels that drain keep 32 bits and convert on the way out."""
    wide = "f32" if row.in_type in ("bf16", "f32") else "i32"
    return wide if row.kernel == DRAIN else result


def module_text(row: Measurement, design: Design, pack: Tile) -> str:
    """A row's function as MLIR."""
    m, k, n = row.m, row.k, row.n
    lhs_type, rhs_type, sum_type = design.types
    b_shape = f"{n}x{k}" if design.columns_of_b else f"{k}x{n}"
    a, b, c = f"tensor<{m}x{k}x{lhs_type}>", f"tensor<{b_shape}x{rhs_type}>", f"tensor<{m}x{n}x{sum_type}>"
    zero = "0.0" if sum_type[0] in "bf" else "0"
    result = f"tensor<{m}x{n}x{design.result_type}>"
    return f"""
func.func @matmul(%a: {a}, %b: {b}) -> {result} {{
  %zero = arith.constant {zero} : {sum_type}
  %empty = tensor.empty() : {c}
  %filled = linalg.fill ins(%zero : {sum_type}) outs(%empty : {c}) -> {c}
  %sum = linalg.matmul {_maps(design)}{{npu.strategy = {_strategy(design, pack)}}}
    ins(%a, %b : {a}, {b}) outs(%filled : {c}) -> {c}
  {_conversion(design, c, result)}
}}
"""


def _maps(design: Design) -> str:
    if not design.columns_of_b:
        return ""
    reads = ("(m, k)", "(n, k)", "(m, n)")
    return f"indexing_maps = [{', '.join(f'affine_map<(m, n, k) -> {read}>' for read in reads)}] "


def _strategy(design: Design, pack: Tile) -> str:
    fields = {"grid": list(design.grid), "tile_l2": list(design.tile_l2), "tile_l1": list(design.tile_l1)}
    text = ", ".join(f"{name} = {value}" for name, value in (*fields.items(), ("pack", list(pack))))
    turned = ", turned = 1" if design.turned else ""
    return f"#npu.strategy<{{{text}, depth_result = {design.depth_result}{turned}}}>"


def _conversion(design: Design, sum_tensor: str, result: str) -> str:
    """The result from the sum: itself, or every element in a narrower type."""
    wide, narrow = design.types[2], design.result_type
    if wide == narrow:
        return f"return %sum : {result}"
    operation = "arith.truncf" if wide[0] == "f" else "arith.trunci"
    same = "affine_map<(m, n) -> (m, n)>"
    return f"""%out = tensor.empty() : {result}
  %narrow = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}}
    ins(%sum : {sum_tensor}) outs(%out : {result}) {{
  ^bb0(%x: {wide}, %_: {narrow}):
    %y = {operation} %x : {wide} to {narrow}
    linalg.yield %y : {narrow}
  }} -> {result}
  return %narrow : {result}"""
