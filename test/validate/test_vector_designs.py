"""Rows without matrix instructions: their functions, how they are built, and what the vector unit makes of them."""

import dataclasses
from collections import Counter
from math import ceil

import numpy as np
import pytest

import npuflow
import npuflow.pipelines
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.execute.arrays import signature_of
from npuflow.execute.oracle import run_iree
from npuflow.schedule.data.model import Acquire, Configure, Each, Repeat, Step
from npuflow.schedule.ir.read_schedule import schedules_of
from npuflow.simulate.flatten import flatten
from npuflow.simulate.kernel_functions import compile_schedule_kernels
from npuflow.simulate.run import execute, simulate
from npuflow.target import load_device
from npuflow.validate.constants import constant, with_constants
from npuflow.validate.measurements import Measurement
from npuflow.validate.predict import Prepared, predict_us, prepare
from npuflow.validate.roofline import fit_rooflines, key_of, traffic_bytes
from npuflow.validate.stacks import stack_named
from npuflow.validate.vector_designs import spread, vector_design_of, vector_work
from npuflow.validate.vector_texts import vector_module_text

NPU2 = load_device("npu2")
ADD = Measurement(
    "r", "npu2", "test", "add", "bf16", "bf16", m=262144, k=0, n=0, l1_m=2048, l1_k=0, l1_n=0, l2_k=0, rows=1,
    cols=8, kernel="direct", kernel_macs_per_cycle=0, time_us=100, note="",
)  # fmt: skip
GELU = dataclasses.replace(ADD, op="gelu", rows=2)
SILU = dataclasses.replace(ADD, op="silu_mul")
NORM = dataclasses.replace(ADD, op="rmsnorm", m=256, n=512, l1_m=0)
MATVEC = dataclasses.replace(
    ADD, op="matvec", m=512, k=1024, n=1, l1_m=8, l1_k=1024, l1_n=1, kernel="external", stack=stack_named("mlir-air")
)
LAYER_NORM = dataclasses.replace(NORM, op="layernorm")
SOFTMAX = dataclasses.replace(NORM, op="softmax", rows=4)
ROPE = dataclasses.replace(NORM, op="rope", n=64, rows=4, cols=2)
ALL = {row.op: row for row in (ADD, GELU, SILU, NORM, MATVEC, LAYER_NORM, SOFTMAX, ROPE)}


def prepared(row: Measurement) -> Prepared:
    found = prepare(row, npuflow.run_pipeline)
    assert isinstance(found, Prepared), found.reason
    return found


@pytest.mark.parametrize("op", ALL)
def test_a_row_is_one_bundle_on_its_grid(op: str) -> None:
    row = ALL[op]
    module = parse(vector_module_text(row, vector_design_of(row).strategy), new_context(), row.id)
    npuflow.run_pipeline(module, "npuflow-stream-k{device=npu2}")
    (grid,) = ops_of(module.operation, "scf.forall")
    assert f"({row.rows}, {row.cols})" in str(grid).splitlines()[0]


def tasks(row: Measurement) -> Counter[str]:
    """How many tasks the control processor sets up, and how often it takes a place in the result's queue."""

    def count(steps: tuple[Step, ...]) -> Counter[str]:
        found: Counter[str] = Counter()
        for step in steps:
            if isinstance(step, (Repeat, Each)):
                times = step.trips if isinstance(step, Repeat) else step.count
                found.update({kind: times * inner for kind, inner in count(step.body).items()})
            elif isinstance(step, Configure) or (isinstance(step, Acquire) and step.semaphore.name == "shim_in_room"):
                found[type(step).__name__] += 1
        return found

    scheduled = prepared(row).scheduled
    assert scheduled is not None
    return count(scheduled.schedule.engines["control"].program)


def folding(blocks: int, note: str = "") -> Measurement:
    """A product of 8 blocks of 64 rows whose stack makes one task of so many."""
    assert MATVEC.stack is not None
    return dataclasses.replace(MATVEC, stack=dataclasses.replace(MATVEC.stack, matvec_folds=blocks), note=note)


def test_blocks_that_follow_one_another_are_one_task_and_are_waited_for() -> None:
    # For each group, 8 columns send their rows of the matrix and take their results, and one sends the vector.
    each, pairs, fours = (tasks(folding(blocks)) for blocks in (1, 2, 4))
    assert (each["Configure"], pairs["Configure"], fours["Configure"]) == (8 * 17, 4 * 17, 2 * 17)
    # Each group takes a place for its result; each wait, and that at the end, takes all places that there are.
    places = prepared(folding(4)).scheduled.schedule.semaphores["shim_in_room"].initial  # type: ignore[union-attr]
    for found, groups in ((each, 8), (pairs, 4), (fours, 2)):
        assert found["Acquire"] == 8 * (groups + places * (groups + 1))


def test_what_all_blocks_read_alike_comes_for_each_of_them() -> None:
    def read_bytes(row: Measurement) -> int:
        scheduled = prepared(row).scheduled
        assert scheduled is not None
        results = simulate(flatten(scheduled.schedule, NPU2, scheduled.kernel_cycles()))
        # The whole result is written, and all locks are left as they were.
        assert results.level_traffic(3).written_bytes == 512 * 2
        assert results.unbalanced_semaphores() == left_taken
        return results.level_traffic(3).read_bytes

    ahead = prepared(folding(0)).scheduled
    assert ahead is not None
    left_taken = simulate(flatten(ahead.schedule, NPU2, ahead.kernel_cycles())).unbalanced_semaphores()
    matrix, vector = 512 * 1024 * 2, 1024 * 2
    assert read_bytes(folding(4)) == matrix + 8 * vector
    # Twice as many tiles of half the rows.
    assert read_bytes(dataclasses.replace(folding(4), l1_m=4)) == matrix + 16 * vector
    assert read_bytes(folding(0)) == matrix + vector


@pytest.mark.parametrize("blocks", [0, 1, 4])
def test_products_in_groups_are_right(blocks: int) -> None:
    row = dataclasses.replace(folding(blocks), in_type="f32", out_type="f32", k=64, l1_m=4)
    module = parse(vector_module_text(row, vector_design_of(row).strategy), new_context(), row.id)
    npuflow.run_pipeline(module, "npuflow-stream-k{device=npu2}")
    npuflow.run_pipeline(module, "npuflow-project-engines{device=npu2}")
    (op,) = schedules_of(module.operation)  # its kernels are those of the schedule with groups
    scheduled = prepared(row).scheduled
    assert scheduled is not None
    numbers = np.random.default_rng(0)
    matrix, vector = (numbers.integers(-8, 8, shape).astype(np.float32) for shape in ((512, 64), (64,)))
    program = flatten(scheduled.schedule, NPU2, scheduled.kernel_cycles())
    inputs = dict(zip(scheduled.schedule.arguments, (matrix, vector), strict=True))
    executed = execute(program, inputs, compile_schedule_kernels(op, program))
    (result,) = scheduled.schedule.results
    np.testing.assert_array_equal(executed.memories[result].view(np.float32), matrix @ vector)
    assert executed.results.hazards == ()


def test_a_group_is_the_largest_that_divides_how_many_blocks_there_are() -> None:
    def folded(blocks: int, most: int, note: str = "", rows: int = 8) -> int:
        return vector_design_of(dataclasses.replace(folding(most, note), m=64 * blocks, l1_m=rows)).folded

    assert [folded(blocks, 4) for blocks in (128, 70, 7, 1)] == [4, 2, 1, 1]
    assert folded(70, 16) == 14
    # A block of 8 rows in each column is two tiles of 4.
    assert folded(128, 4, "rows per column per launch 8", rows=4) == 8
    assert folded(128, 0) == 0


def test_a_note_gives_a_product_two_slots() -> None:
    assert vector_design_of(MATVEC).depth == 1
    assert vector_design_of(dataclasses.replace(MATVEC, note="A double-buffered")).depth == 2


def test_streams_straight_into_cores_have_channels_of_any_column() -> None:
    # Eight cores of 2 columns read two inputs each, on 16 channels: those of all 8 columns' shims.
    stack = stack_named("mlir-air")
    assert stack is not None
    row = dataclasses.replace(ROPE, m=65536, stack=stack)
    assert (spread(row, 8).rows, spread(row, 8).cols) == (1, 8)
    assert (spread(row, 3).rows, spread(row, 3).cols) == (4, 2)
    for kept in (ROPE, dataclasses.replace(MATVEC, rows=4, cols=2)):
        assert spread(kept, 8) == kept
    across, through = dataclasses.replace(row, rows=1, cols=8), dataclasses.replace(stack, straight=False)
    made = map(prepared, (row, across, dataclasses.replace(row, stack=through)))
    times = [predict_us(each, each.device) for each in made]
    assert times[0] == times[1] < times[2]


def test_waits_cost_what_setting_up_takes() -> None:
    # Fewer groups are waited for where they are larger: of 32 blocks of 1 MiB, 32 waits, then 8.
    def time_us(blocks: int) -> float:
        return predict_us(prepared(dataclasses.replace(folding(blocks), m=2048, k=2048)), NPU2)

    apart, fours = time_us(1), time_us(4)
    per_wait_us = (apart - fours) / 24
    # Between the first of a group's tasks and all 17 of them; data that is under way meanwhile hides some.
    assert NPU2.control.descriptor_seconds * 1e6 < per_wait_us < 17 * NPU2.control.descriptor_seconds * 1e6


def silu_mul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x)) * y


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def rmsnorm(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + 1e-5) * weights


def layernorm(x: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5) * weights + biases


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def stand_in_for_rope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x * y + x * x


MEANT = {
    "layernorm": layernorm,
    "softmax": softmax,
    "rope": stand_in_for_rope,
    "add": np.add,
    "gelu": gelu,
    "silu_mul": silu_mul,
    "rmsnorm": rmsnorm,
    "matvec": np.matmul,
}


@pytest.mark.parametrize("op", ALL)
def test_functions_compute_what_they_are_called(op: str) -> None:
    # In 32 bits, so that only a wrong formula is this far off: rounding is below 1e-5 of sums over 1024 numbers.
    row = dataclasses.replace(ALL[op], in_type="f32", out_type="f32", m=64)
    module = parse(vector_module_text(row, vector_design_of(row).strategy), new_context(), row.id)
    signature = signature_of(ops_of(module.operation, "func.func")[0])
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(spec.shape).astype(np.float32) for spec in signature.inputs]
    (result,) = run_iree(module.operation, signature, inputs)
    np.testing.assert_allclose(result, MEANT[op](*(x.astype(np.float64) for x in inputs)), rtol=1e-4, atol=1e-4)


def test_traffic_and_work() -> None:
    assert traffic_bytes(ADD) == 3 * 262144 * 2
    assert traffic_bytes(GELU) == 2 * 262144 * 2
    assert traffic_bytes(NORM) == (2 * 256 * 512 + 512) * 2
    assert traffic_bytes(MATVEC) == (512 * 1024 + 1024 + 512) * 2
    assert traffic_bytes(LAYER_NORM) == (2 * 256 * 512 + 2 * 512) * 2
    assert traffic_bytes(SOFTMAX) == 2 * 256 * 512 * 2
    assert traffic_bytes(ROPE) == 3 * 256 * 64 * 2
    assert [vector_work(row) for row in (ADD, NORM, MATVEC)] == [262144, 256 * 512, 512 * 1024]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (dataclasses.replace(ADD, l1_m=0), "add without a shape, tile or grid"),
        (dataclasses.replace(NORM, n=0), "rmsnorm without a shape, tile or grid"),
        (dataclasses.replace(MATVEC, k=0), "matvec without a shape, tile or grid"),
        (dataclasses.replace(ADD, l1_m=1 << 20), "L1"),
        (dataclasses.replace(ADD, in_type="i8", out_type="i8"), "must be one type of bf16, f16, f32"),
        (dataclasses.replace(SOFTMAX, out_type="f32"), "softmax of bf16 into f32"),
    ],
)
def test_what_cannot_be_built_says_why(row: Measurement, reason: str) -> None:
    skipped = prepare(row, npuflow.run_pipeline)
    assert not isinstance(skipped, Prepared)
    assert reason in skipped.reason


def test_a_step_of_an_addition_is_a_chain_from_load_to_result() -> None:
    # 16 elements of bf16 at a time; load (7), addition (6) and the loop; nothing overlaps, as each step writes.
    (cycles,) = prepared(ADD).scheduled.kernel_cycles().values()  # type: ignore[union-attr]
    step = 7 + 6 + constant(NPU2, "vector.kernels.direct.step_cycles")
    assert cycles == 30 + ceil(2048 / 16 * step)


def test_four_vectors_of_a_matrix_vector_product_share_a_step() -> None:
    # 8 rows of 16 steps of 64 elements: load (7) and multiply-add (6) of the last of four vectors, which starts 3
    # cycles after the first; then 16 sums are added up in 4 halvings.
    cycles = list(prepared(MATVEC).scheduled.kernel_cycles().values())  # type: ignore[union-attr]
    step = 7 + 6 + 3 + constant(NPU2, "vector.kernels.external.step_cycles")
    assert max(cycles) == 100 + ceil(8 * (16 * step + 4 * 6))


def test_matrix_vector_products_wait_for_their_buffers() -> None:
    # A tile's way in, 16 KiB at 6 bytes per cycle, and its kernel take turns: nothing is double-buffered.
    row = prepared(dataclasses.replace(MATVEC, m=8192))
    turn = 8 * 1024 * 2 / NPU2.dma(1).bytes_per_cycle + max(row.scheduled.kernel_cycles().values())  # type: ignore[union-attr]
    tiles = 8192 / 8 / 8
    assert predict_us(row, NPU2) > tiles * turn / 1800


def test_the_rate_of_both_directions_is_its_own() -> None:
    row = prepared(dataclasses.replace(ADD, m=1 << 22))
    slower = with_constants(NPU2, {"dram.total_bytes_per_second": 30e9})
    # 24 MiB at 30 GB/s, and what is in front of it.
    assert predict_us(row, slower) > 3 * (1 << 22) * 2 / 30e9 * 1e6
    assert predict_us(row, slower) > predict_us(row, NPU2)


def test_rooflines_are_of_an_operator() -> None:
    rows = [(dataclasses.replace(row, time_us=us), NPU2) for row, us in ((ADD, 100), (GELU, 300))]
    fitted = fit_rooflines(rows)
    assert {key_of(row, device) for row, device in rows} == set(fitted)
    for row, device in rows:
        assert fitted[key_of(row, device)].predict_us(row, device) == pytest.approx(row.time_us, rel=0.02)


def test_constants_of_the_vector_unit_by_name() -> None:
    changed = with_constants(
        NPU2, {"vector.kernels.direct.step_cycles": 9.5, "vector.operations.tanh.latency_cycles": 40}
    )
    assert constant(changed, "vector.kernels.direct.step_cycles") == 9.5
    assert constant(changed, "vector.kernels.external.step_cycles") != 9.5
    assert constant(changed, "vector.operations.tanh.latency_cycles") == 40
