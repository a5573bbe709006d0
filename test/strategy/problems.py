"""What the tests of the strategy draw: devices, matmuls and what a user may say of a strategy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from npuflow.kernels.vector_cycles import LOADED, SUM, Node, VectorOperand, VectorWork
from npuflow.ops.linear import Linear
from npuflow.ops.products import Products
from npuflow.strategy.group import BATCH, Group, K, M, MatmulOperand, N, OpWork, Role, Tensor
from npuflow.strategy.strategy import Sizes, Strategy
from npuflow.target import Device, load_device

DEVICES = {name: load_device(name) for name in ("toy", "npu1", "npu2")}
ELEMENT_BYTES = {"i8": 1, "i16": 2, "i32": 4, "f16": 2, "bf16": 2, "f32": 4}
SIZES = st.one_of(st.integers(1, 40), st.integers(1, 5000), st.sampled_from([1, 64, 1024, 4096]))
TILE_SIZES = st.one_of(st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128]), st.integers(1, 200), st.just(2**62))


@dataclass(frozen=True)
class TailOperand:
    """A tensor that a tail reads beside the sum: the loops that it follows, of which there is a dimension each."""

    loops: tuple[int, ...]
    element_bytes: int


def matmul_group(
    m: int,
    n: int,
    k: int,
    batch: int = 1,
    types: tuple[str, str, str] = ("i8", "i8", "i32"),
    *,
    result_bytes: int | None = None,
    tail_operands: tuple[TailOperand, ...] = (),
    is_filled: bool = True,
    rhs_along_k: bool = False,
) -> Group:
    """The group that a matmul is described as: its sum is its result unless a tail reads operands or makes results.

    A tail adds once for each element. A sum that is not filled continues a given one. With `rhs_along_k` the right
    operand's elements lie side by side along k.
    """
    extents, (lhs_bytes, rhs_bytes, acc_bytes) = (m, n, batch, k), (ELEMENT_BYTES[type_] for type_ in types)
    outer = (BATCH,) if batch > 1 else ()

    def tensor(name: str, role: Role, operand: MatmulOperand | None, loops: Sizes, element_bytes: int) -> Tensor:
        dims = tuple(Linear(((loop, 1),)) for loop in loops)
        user = 1 if operand is MatmulOperand.TAIL else 0
        return Tensor(
            name, role, dims, tuple(extents[loop] for loop in loops), element_bytes, False, operand, user, user
        )

    made = (*outer, M, N)
    along_rhs = (*outer, N, K) if rhs_along_k else (*outer, K, N)
    tensors = [
        tensor("lhs", Role.INPUT, MatmulOperand.LHS, (*outer, M, K), lhs_bytes),
        tensor("rhs", Role.INPUT, MatmulOperand.RHS, along_rhs, rhs_bytes),
    ]
    work = [OpWork((M, N, BATCH, K), None, Products(types, (M,), (N,), (K,), (BATCH,)), pieced=True)]
    if not is_filled:
        tensors.append(tensor("sum", Role.INPUT, MatmulOperand.START, made, acc_bytes))
    if result_bytes is None and not tail_operands:
        tensors.append(tensor("result", Role.OUTPUT, MatmulOperand.SUM, made, acc_bytes))
    else:
        own = acc_bytes if result_bytes is None else result_bytes
        tensors.append(replace(tensor("sum", Role.LOCAL, MatmulOperand.SUM, made, acc_bytes), handed_over=True))
        tensors.append(tensor("result", Role.OUTPUT, None, made, own))
        for number, one in enumerate(tail_operands):
            tensors.append(tensor(f"tail{number}", Role.INPUT, MatmulOperand.TAIL, one.loops, one.element_bytes))
        work.append(OpWork((M, N, BATCH), _tail(types[2], own, tail_operands)))
    return Group(extents, 3, (K,), tuple(tensors), tuple(work), pads_streamed=True, packed=True)


def _tail(sum_type: str, result_bytes: int, operands: tuple[TailOperand, ...]) -> VectorWork:
    """An addition on packed sums: loops over pieces along m and n and inside of them."""

    def walked(loops: Sizes, element_bytes: int) -> VectorOperand:
        along = tuple(loop for loop in range(4) if (M, N)[loop % 2] in loops)
        return VectorOperand(element_bytes, frozenset(along), along)

    read = (walked((M, N), ELEMENT_BYTES[sum_type]), *(walked(one.loops, one.element_bytes) for one in operands))
    made, add = walked((M, N), result_bytes), Node("add", sum_type, (LOADED,))
    return VectorWork(((0,), (1,), (2,), (3,)), (False,) * 4, read, (made,), (add,), ELEMENT_BYTES[sum_type])


def adding(loops: int, sums: Sizes = ()) -> VectorWork:
    """An addition of what is read, along the loops in `sums`."""
    every, kept = tuple(range(loops)), tuple(loop for loop in range(loops) if loop not in sums)
    read, made = VectorOperand(1, frozenset(every), every), VectorOperand(4, frozenset(kept), kept)
    is_sum = tuple(loop in sums for loop in every)
    return VectorWork(
        tuple((loop,) for loop in every), is_sum, (read,), (made,), (Node("add", "i32", (LOADED, SUM)),), 4
    )


def devices() -> st.SearchStrategy[Device]:
    return st.sampled_from(list(DEVICES.values()))


@st.composite
def problems(draw: st.DrawFn, device: Device) -> Group:
    """A matmul of types that the device multiplies, with or without a tail."""
    types = draw(st.sampled_from(device.supported_types()))
    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    loops = st.sampled_from([(), (M,), (N,), (M, N)])
    tail = draw(st.lists(st.builds(TailOperand, loops, st.sampled_from([1, 4])), max_size=2))
    has_tail = bool(tail) or draw(st.booleans())
    result = draw(st.sampled_from([1, ELEMENT_BYTES[types[2]]])) if has_tail else None
    batch, is_filled = draw(st.integers(1, 3)), draw(st.booleans())
    return matmul_group(m, n, k, batch, types, result_bytes=result, tail_operands=tuple(tail), is_filled=is_filled)


def tiles() -> st.SearchStrategy[tuple[int, int, int]]:
    return st.tuples(TILE_SIZES, TILE_SIZES, TILE_SIZES)


def givens() -> st.SearchStrategy[Strategy]:
    """Anything positive, sensible or not; by default nothing is said."""
    unsaid, depths = st.just(()), st.none() | st.integers(1, 5)
    both = unsaid | st.tuples(st.integers(1, 5), st.integers(1, 5))
    said = st.builds(
        Strategy,
        grid=unsaid | st.tuples(st.integers(1, 9), st.integers(1, 9)),
        tile_l2=unsaid | tiles(),
        tile_l1=unsaid | tiles(),
        pack=unsaid | tiles(),
        depth_l2=depths,
        depth_l1=depths,
    )
    seldom = st.builds(
        Strategy,
        depth_lhs=both,
        depth_rhs=both,
        depth_result=depths,
        depth_tail=depths,
        turned=st.none() | st.integers(0, 1),
    )
    return said | st.builds(lambda one, other: replace(one, **other.said()), said, seldom)


@st.composite
def nested(draw: st.DrawFn, group: Group, device: Device) -> Strategy:
    """A strategy whose sizes nest as they must, of any size."""
    assert group.types is not None
    shape = device.matmul_shapes(*group.types)[0]
    pack = (shape.m, shape.n, shape.k)
    grid = draw(st.integers(1, device.rows)), draw(st.integers(1, device.columns))
    times = st.sampled_from([1, 2, 3, 8, 16, 100, 10**6])
    m, n, k = (p * draw(times) for p in pack)
    tile_l2 = (m * grid[0], n * grid[1], k * draw(times))
    slots = st.integers(1, 9)
    return Strategy(grid, tile_l2, (m, n, k), pack, depth_l2=draw(slots), depth_l1=draw(slots))
