"""How long a kernel's program is: an estimate from its body, since others compile it. Reads IR and changes nothing.

An operation takes an instruction for each cycle in which it occupies its unit, functions as exp at least those of a
table look-up; loops of more than one turn, operands, and entering and leaving take some each. All of these counts are
assumed: nobody has published the sizes of such programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.kernels.body_nodes import kind_of, type_of
from npuflow.kernels.describe_vector import describe_vector_work
from npuflow.ops.contraction import match_contraction, producer
from npuflow.ops.linear import linear_maps, loop_extents
from npuflow.target import Device, KernelClass

_FRAME, _LOOP, _OPERAND = 16, 8, 2  # entering and leaving; each loop; each operand's addresses
_MATRIX = 192  # a matrix kernel's accumulators, unrolled, and their way in and out
_FUNCTION = 16
_FUNCTIONS = ("divide", "root", "exponential", "logarithm", "tanh", "erf")


def kernel_bytes(op: ir.Operation, device: Device, sizes: Sequence[int] = ()) -> int:
    """The code of a linalg op's kernel: 496 bytes for an addition of two tensors, 256 more for an exp behind it.

    `sizes` are those of the op's loops, where it is to be compiled for others than it has.
    """
    work = describe_vector_work(op)
    contraction = match_contraction(op)
    is_matmul = contraction is not None and contraction.m and contraction.n and contraction.k
    matrix = _MATRIX if is_matmul else 0
    body = sum(_instructions(node.operation, node.type, device) for node in work.nodes)
    own = sizes or (loop_extents(op) if op.name == "linalg.generic" and linear_maps(op) is not None else ())
    loops = [run for run in work.runs if not own or prod(own[loop] for loop in run) > 1]
    around = _FRAME + _LOOP * len(loops) + _OPERAND * len((*work.inputs, *work.outputs))
    kernels = KernelClass.MATRIX if is_matmul else KernelClass.VECTOR
    return device.engine(kernels).instruction_bytes * (around + matrix + body)


def outlined_bytes(op: ir.Operation, device: Device, sizes: Sequence[int] = ()) -> int:
    """The code of the function that an op's kernel becomes: with its constants, each once, and its return."""
    values = [*op.operands, *(value for inner in ops_of(op) for value in inner.operands)]
    sources = (value.owner.operation for value in values if not isinstance(value.owner, ir.Block))
    constants = {str(source.attributes["value"]) for source in sources if source.name == "arith.constant"}
    instruction_bytes = device.engine(KernelClass.VECTOR).instruction_bytes
    return kernel_bytes(op, device, sizes) + instruction_bytes * (1 + len(constants))


def move_bytes(device: Device) -> int:
    """The code of a kernel that moves rows within L1, or fills them: a loop, two views, and the return."""
    return device.engine(KernelClass.VECTOR).instruction_bytes * (_FRAME + _LOOP + 2 * _OPERAND + 3)


def function_bytes(function: ir.Operation, device: Device) -> int:
    """The code of a kernel that is a function, of linalg ops or written out in loops."""
    return sum(_block_bytes(block, device) for region in function.regions for block in region.blocks)


def _block_bytes(block: ir.Block, device: Device) -> int:
    size = 0
    for child in block.operations:
        op = child.operation
        if op.name.startswith("linalg.") and op.operands and op.name != "linalg.yield":
            size += kernel_bytes(op, device)
            continue
        type_ = str(op.results[0].type) if op.results else ""
        is_function = op.name.startswith("math.")
        instructions = _instructions(kind_of(op), type_, device) if is_function else 1
        size += device.engine(KernelClass.VECTOR).instruction_bytes * instructions
        size += sum(_block_bytes(inner, device) for region in op.regions for inner in region.blocks)
    return size


def op_bytes(inner: ir.Operation, device: Device) -> int:
    """The code of an op of a body at most, with its constants: others may read these as well."""
    done = [each for each in (inner, *ops_of(inner)) if len(each.operands)]
    count = sum(_instructions(kind_of(each), type_of(each), device) for each in done)
    count += sum(producer(value, "arith.constant") is not None for each in done for value in each.operands)
    return device.engine(KernelClass.VECTOR).instruction_bytes * count


def _instructions(operation: str, type_: str, device: Device) -> int:
    least = _FUNCTION if operation in _FUNCTIONS else 1
    return max(least, device.vector.operation(operation, type_).issue_cycles)
