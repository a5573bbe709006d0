"""The model of the vector unit, on `toy` and with single numbers of it changed: every expectation is worked out here.

`toy`: vectors of 32 bytes, two loads, a store and an operation per cycle; a load's data is there after 2 cycles, a
result after 1; steps overlap.
"""

import dataclasses
from collections.abc import Sequence

import pytest

from npuflow.kernels.vector_cycles import LOADED, SUM, Node, VectorKernel, VectorOperand, VectorWork
from npuflow.target import Device, load_device
from npuflow.target.vector import Overlap, VectorKernelKind

TOY = load_device("toy")
ADD = Node("add", "f32", (LOADED,))


def cycles_of(work: VectorWork, sizes: Sequence[int], device: Device, kind: str = "") -> int:
    return VectorKernel(work, device, kind).cycles(sizes)


def device(overlap: Overlap = Overlap.ALL, vectors_per_step: int = 1, step_cycles: int = 0, **unit: int) -> Device:
    kind = VectorKernelKind(
        kind="k", overlap=overlap, vectors_per_step=vectors_per_step, step_cycles=step_cycles, call_cycles=0
    )
    return dataclasses.replace(TOY, vector=dataclasses.replace(TOY.vector, kernels=(kind,), **unit))


def elementwise(inputs: int, nodes: tuple[Node, ...], width: int = 4, widest: int = 4) -> VectorWork:
    operand = VectorOperand(width, frozenset({0}), (0,))
    return VectorWork(((0,),), (False,), (operand,) * inputs, (operand,), nodes, widest)


def dot() -> VectorWork:
    """c[i] += a[i, k] * b[k]."""
    a, b = VectorOperand(4, frozenset({0, 1}), (1,)), VectorOperand(4, frozenset({1}), (1,))
    c = VectorOperand(4, frozenset({0}), (0,))
    node = Node("multiply-add", "f32", (LOADED, SUM))
    return VectorWork(((0,), (1,)), (False, True), (a, b), (c,), (node,), 4)


def test_the_busiest_slot_decides_where_steps_overlap() -> None:
    # 64 numbers are 8 vectors; the last one's result is there after a load (2) and an addition (1).
    assert cycles_of(elementwise(2, (ADD,)), (64,), TOY) == 8 * 1 + 3
    # Four loads take two cycles; three operations three.
    assert cycles_of(elementwise(4, (ADD,)), (64,), TOY) == 8 * 2 + 3
    assert cycles_of(elementwise(1, (ADD, Node("add", "f32", (0,)), Node("add", "f32", (1,)))), (64,), TOY) == (
        8 * 3 + 2 + 3
    )
    # A part of a vector takes as long as a whole one, and nothing to read nothing to wait for.
    assert cycles_of(elementwise(2, (ADD,)), (65,), TOY) == 9 * 1 + 3
    assert cycles_of(elementwise(0, ()), (64,), TOY) == 8


def test_several_engines_of_a_core_each_do_a_part() -> None:
    """Along what costs least of what isn't summed up; the busiest part counts, and a sum by itself stays with one."""
    engines = tuple(dataclasses.replace(one, count=2) for one in TOY.engines)
    two = dataclasses.replace(TOY, engines=engines)
    # 65 numbers in parts of 33 and 32, so 5 vectors; one number is one part.
    assert cycles_of(elementwise(2, (ADD,)), (65,), two) == 5 * 1 + 3
    assert cycles_of(elementwise(2, (ADD,)), (1,), two) == cycles_of(elementwise(2, (ADD,)), (1,), TOY)
    # Three rows in parts of two and one; of one row neither engine can leave the sum to the other.
    assert cycles_of(dot(), (3, 64), two) == cycles_of(dot(), (2, 64), TOY)
    assert cycles_of(dot(), (1, 64), two) == cycles_of(dot(), (1, 64), TOY)


def test_no_call_takes_less_than_the_least() -> None:
    two = dataclasses.replace(TOY, engines=tuple(dataclasses.replace(one, count=2) for one in TOY.engines))
    for work, sizes in ((elementwise(2, (ADD,)), (512,)), (dot(), (64, 64))):
        call, step = VectorKernel(work, two).least_cycles()
        steps = sizes[0] if len(sizes) == 1 else sizes[0] * sizes[1]
        assert call + step * steps <= cycles_of(work, sizes, two)


def test_elements_of_a_vector_by_type() -> None:
    # 32 bytes are 16 numbers of 16 bits, but sums of 32 bits fill an accumulator of 32 bytes with 8.
    assert cycles_of(elementwise(1, (ADD,), 2, 2), (64,), TOY) == 4 + 3
    assert cycles_of(elementwise(1, (ADD,), 2, 4), (64,), TOY) == 8 + 3
    assert cycles_of(elementwise(1, (ADD,), 2, 4), (64,), device(accumulator_bytes=64)) == 4 + 3
    assert cycles_of(elementwise(1, (ADD,), 2, 4), (64,), device(accumulator_bytes=0)) == 4 + 3


def test_steps_that_do_not_overlap_take_a_chain_each() -> None:
    work = elementwise(2, (ADD,))
    alone = device(Overlap.NONE, step_cycles=4)
    # Load, addition and the loop itself.
    assert cycles_of(work, (64,), alone) == 8 * (2 + 1 + 4)
    # Two vectors side by side: the second one's loads start a cycle later.
    assert cycles_of(work, (64,), device(Overlap.NONE, 2, step_cycles=4)) == 4 * (2 + 1 + 1 + 4)
    # What is not on the longest chain costs nothing: x * (x + x) and the same with another addition beside.
    chain = (ADD, Node("add", "f32", (0, LOADED)))
    beside = (*chain, Node("add", "f32", (LOADED,)))
    assert cycles_of(elementwise(1, chain), (64,), alone) == cycles_of(elementwise(1, beside), (64,), alone)
    # Only loops that write are kept from overlapping by what they write.
    assert cycles_of(work, (64,), device(Overlap.SUMS, step_cycles=4)) == 8 * 7


def test_functions_cost_what_the_device_says() -> None:
    # On `toy` an exponential takes 4 cycles, started anew every 4.
    work = elementwise(1, (Node("exponential", "f32", (LOADED,)),))
    assert cycles_of(work, (64,), TOY) == 8 * 4 + 2 + 4
    assert cycles_of(work, (64,), device(Overlap.NONE)) == 8 * (2 + 4)


def test_a_sum_across_a_vector() -> None:
    # A row of 64 is 8 vectors, each of which waits for the sum of the one before (1 cycle); then load and
    # multiply-add of the last (3), and the vector in three halvings (1 each).
    assert cycles_of(dot(), (5, 64), device()) == 5 * (8 + 3 + 3)
    slow = device(latency_cycles=6)
    assert cycles_of(dot(), (5, 64), slow) == 5 * (8 * 6 + 2 + 6 + 3 * 6)
    # Sums may overlap where what is written may not, but the loop is paid for.
    sums = device(Overlap.SUMS, latency_cycles=6, step_cycles=4)
    assert cycles_of(dot(), (5, 64), sums) == 5 * (8 * (6 + 4) + 2 + 6 + 3 * 6)
    # Without any overlap: load, multiply-add and loop for each vector.
    none = device(Overlap.NONE, latency_cycles=6, step_cycles=4)
    assert cycles_of(dot(), (5, 64), none) == 5 * (8 * (2 + 6 + 4) + 3 * 6)


def test_a_window_is_summed_up_along_its_channels() -> None:
    # o[p, c] += x[p + k, c] * w[k, c] with 16 channels (two vectors): one multiply-add of 9 after the other for each,
    # then load and multiply-add of the last of all.
    x = VectorOperand(4, frozenset({0, 1, 2}), (1,))
    w, o = VectorOperand(4, frozenset({1, 2}), (1,)), VectorOperand(4, frozenset({0, 1}), (1,))
    node = Node("multiply-add", "f32", (LOADED, SUM))
    window = VectorWork(((0,), (1,), (2,)), (False, False, True), (x, w), (o,), (node,), 4)
    assert cycles_of(window, (7, 16, 9), TOY) == 7 * 2 * 9 + 3


def windows(stride: int) -> VectorWork:
    """o[p] += x[stride * p + k] * w[k]."""
    x = VectorOperand(4, frozenset({0, 1}), (1,), ((0, stride), (1, 1)))
    w, o = VectorOperand(4, frozenset({1}), (1,)), VectorOperand(4, frozenset({0}), (0,))
    node = Node("multiply-add", "f32", (LOADED, SUM))
    return VectorWork(((0,), (1,)), (False, True), (x, w), (o,), (node,), 4)


def test_pixels_of_windows_are_taken_out_of_what_is_loaded() -> None:
    # Eight pixels begin anywhere: two loads of 32 bytes, one shifted into the other, beside one of the weight.
    assert cycles_of(windows(1), (64, 3), TOY) == 8 * 3 * 2 + 3
    assert cycles_of(windows(1), (64, 3), device(loads_per_cycle=3)) == 8 * 3 * 2 + 3
    # Every second one: 15 numbers are in three loads; two are shifted in, then eight picked out, and multiplied.
    assert cycles_of(windows(2), (64, 3), device(loads_per_cycle=4)) == 8 * 3 * 4 + 3
    # Of those that lie further apart than a vector, each is loaded by itself.
    assert cycles_of(windows(9), (64, 3), device(loads_per_cycle=3)) == 8 * 3 * 3 + 3


def test_sums_are_worked_on_side_by_side_where_all_overlaps() -> None:
    late = device(latency_cycles=6, loads_per_cycle=3)
    # Of eight sums of three products others fill the six cycles; of one, each waits for the one before.
    assert cycles_of(windows(1), (64, 3), late) == 8 * 3 * 2 + 2 + 6
    assert cycles_of(windows(1), (8, 3), late) == 3 * 6 + 2 + 6
    # A sum of one product takes as long as its result is stored: 8 numbers to the place of each.
    column = dataclasses.replace(windows(1), outputs=(VectorOperand(4, frozenset({0}), ()),))
    assert cycles_of(column, (64, 1), late) == 8 * 8 + 2 + 6
    # Code whose sums alone overlap begins with one where the one before is done.
    sums = device(Overlap.SUMS, latency_cycles=6, loads_per_cycle=3)
    assert cycles_of(windows(1), (64, 3), sums) == 8 * (3 * 6 + 2 + 6)


def test_elements_that_lie_apart_are_moved_one_by_one() -> None:
    # A transposition: whichever loop is gone through in vectors, 8 loads or 8 stores for each.
    read, written = VectorOperand(4, frozenset({0, 1}), (0,)), VectorOperand(4, frozenset({0, 1}), (1,))
    work = VectorWork(((0,), (1,)), (False, False), (read,), (written,), (), 4)
    assert cycles_of(work, (16, 64), TOY) == 16 * 64 // 8 * 4 + 2


def test_a_vector_takes_several_short_rows() -> None:
    # Sums packed in pieces of 4 x 4, to each of which a column's number is added: y[i, j] = x[i, j] + b[j].
    x, b = VectorOperand(4, frozenset({0, 1}), (0, 1)), VectorOperand(4, frozenset({1}), (1,))
    work = VectorWork(((0,), (1,)), (False, False), (x, b), (x,), (ADD,), 4)
    # A vector of 8 has two rows of 4; their numbers are loaded twice, so three loads take two cycles.
    assert cycles_of(work, (6, 4), TOY) == 3 * 2 + 3
    assert cycles_of(work, (6, 4), device(loads_per_cycle=3)) == 3 * 1 + 3
    # Rows of whole vectors are gone through as they are: two loads in a cycle, in either order of the loops.
    assert cycles_of(work, (6, 16), TOY) == 6 * 2 * 1 + 3
    # Where rows lie apart, a vector ends with its row.
    apart = VectorOperand(4, frozenset({0, 1}), (1,))
    assert cycles_of(VectorWork(((0,), (1,)), (False, False), (apart,), (apart,), (ADD,), 4), (6, 4), TOY) == 6 + 3


@pytest.mark.parametrize("name", ["npu1", "npu1-hawk", "npu2", "toy", "toy-patch", "toy-scratchpad"])
def test_every_device_says_how_code_is_written(name: str) -> None:
    unit = load_device(name).vector
    assert unit.kernels[0].kind == "direct"
    # A kind that isn't listed is timed as the first.
    work = elementwise(2, (ADD,))
    assert cycles_of(work, (4096,), load_device(name), "nobody's") == cycles_of(work, (4096,), load_device(name))


def test_larger_tiles_never_take_less() -> None:
    npu2 = load_device("npu2")
    for kind in ("direct", "external", "hand-tuned"):
        cycles = [cycles_of(dot(), (8, k), npu2, kind) for k in range(1, 300)]
        assert cycles == sorted(cycles)
        assert cycles[-1] > cycles[0]
