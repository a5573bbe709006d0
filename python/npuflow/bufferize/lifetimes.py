"""Which buffers of memrefs are alive at the same time, as the program stands: the least that any schedule of it takes.

A schedule runs engines side by side, and so may have more of them alive (`schedule/data/order`), never less.
"""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, memory_space_of
from npuflow.ops.contraction import producer
from npuflow.ops.padding import marked_padding


def peak_of(op: ir.Operation, space: int) -> tuple[int, list[ir.Operation]]:
    """The most bytes of `space` alive at once below `op`, and whose they are."""
    peaks = [_block_peak(block, space) for region in op.regions for block in region.blocks]
    return max(peaks, key=lambda peak: peak[0], default=(0, []))


def _block_peak(block: ir.Block, space: int) -> tuple[int, list[ir.Operation]]:
    """A buffer lives from its allocation to the last op of the block that uses it, itself or inside."""
    ops = [child.operation for child in block.operations]
    last_use: dict[int, list[ir.Operation]] = {}
    alive: list[ir.Operation] = []
    best: tuple[int, list[ir.Operation]] = (0, [])
    positions = {op: index for index, op in enumerate(ops)}
    for index, op in enumerate(ops):
        if _is_alloc(op, space):
            alive.append(op)
            last_use.setdefault(_last_use(op.results[0], positions, index), []).append(op)
        inside = peak_of(op, space) if op.regions and not op.name.startswith("linalg.") else (0, [])
        now = sum(map(bytes_of, alive)) + inside[0]
        if now > best[0]:
            best = (now, [*alive, *inside[1]])
        for ended in last_use.pop(index, []):
            alive.remove(ended)
    return best


def _last_use(buffer: ir.Value, positions: dict[ir.Operation, int], start: int) -> int:
    """The last op of the block that reads or writes the buffer, through views too."""
    last = start
    for use in buffer.uses:
        user = use.owner.operation
        for result in user.results:
            if isinstance(result.type, ir.MemRefType):
                last = max(last, _last_use(result, positions, start))
        while user not in positions:
            user = user.parent.operation
        last = max(last, positions[user])
    return last


def _is_alloc(op: ir.Operation, space: int) -> bool:
    if op.name != "memref.alloc":
        return False
    return memory_space_of(ir.MemRefType(op.results[0].type)) == space


def bytes_of(op: ir.Operation) -> int:
    """What a buffer takes."""
    kind = ir.MemRefType(op.results[0].type)
    return element_bytes(kind.element_type) * prod(kind.shape)


def padding_bytes(op: ir.Operation) -> int:
    """How much of a buffer is zeros whatever is copied into it: what the tensor it comes from is smaller by."""
    tensor = _padded_tensor(op)
    return 0 if tensor is None else _beyond(op, tensor)


def made_up_bytes(op: ir.Operation) -> int:
    """How much of a buffer in L1 is zeros that the engines of all who read it make up."""
    users = [use.owner.operation for use in op.results[0].uses]
    writers = [user for user in users if user.name == "memref.copy" and user.operands[1] == op.results[0]]
    readers = [user for user in users if user.name not in ("memref.copy", "memref.dealloc")]
    if len(writers) != 1 or not all(_makes_up(reader, op.results[0]) for reader in readers):
        return 0
    whole = _root(writers[0].operands[0])
    tensor = None if isinstance(whole.owner, ir.Block) else _padded_tensor(whole.owner.operation)
    return 0 if tensor is None else _beyond(op, tensor)


def _makes_up(reader: ir.Operation, buffer: ir.Value) -> bool:
    return all(marked_padding(reader, number) for number, value in enumerate(reader.operands) if value == buffer)


def _beyond(op: ir.Operation, tensor: ir.MemRefType) -> int:
    """How much a buffer has more than there is of the tensor that it comes from."""
    kind = ir.MemRefType(op.results[0].type)
    if tensor.rank != kind.rank:
        return 0
    stored = prod(min(size, exists) for size, exists in zip(kind.shape, tensor.shape))
    return bytes_of(op) - element_bytes(kind.element_type) * stored


def _padded_tensor(op: ir.Operation) -> ir.MemRefType | None:
    """The tensor in L3 that a buffer comes from, with zeros around it; None of others."""
    users = [use.owner.operation for use in op.results[0].uses]
    parts = [view.results[0] for view in users if view.name == "memref.subview"]
    into = [use.owner.operation for part in parts for use in part.uses if use.owner.operation.name == "memref.copy"]
    writers = [copy for copy in into if copy.operands[1] in parts]
    if len(writers) != 1 or not any(user.name == "linalg.fill" for user in users):
        return None
    tensor = ir.MemRefType(_root(writers[0].operands[0]).type)
    return None if memory_space_of(tensor) else tensor


def _root(value: ir.Value) -> ir.Value:
    """The buffer that a view is of."""
    view = producer(value, "memref.subview", "memref.cast")
    return value if view is None else _root(view.operands[0])
