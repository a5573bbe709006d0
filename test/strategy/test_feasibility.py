"""What doesn't fit is said with the numbers that decide it, and following the hint makes it fit."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.strategy.choose import complete
from npuflow.strategy.feasibility import obstacles
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.room import fullest_l2_bytes, l1_buffers, l2_buffers, total_l1_bytes
from npuflow.strategy.strategy import Strategy

sys.path.insert(0, str(Path(__file__).parent))
from problems import DEVICES, devices, givens, matmul_group, nested, problems

I32 = matmul_group(1024, 512, 2048, types=("i32", "i32", "i32"))
SEED = Strategy((2, 2), (64, 64, 256), (32, 32, 32), (4, 8, 8), depth_l2=2, depth_l1=2)
BYTES = re.compile(r"needs (\d+) bytes, has (\d+)")
LOWER_K = re.compile(r"lower tile-l([12]) k from \d+ to (\d+)")
LOWER_MN = re.compile(r"lower tile-l([12]) m,n from \d+,\d+ to (\d+),(\d+)")
LOWER_ALL = re.compile(r"lower tile-l([12]) from [\d,]+ to (\d+),(\d+),(\d+)(?: and depth_l[12] from \d+ to (1))?")
LAST_RESORTS = ("not even one instruction's operands fit", "use more columns")
LOWER_DEPTH = re.compile(r"lower depth_l([12]) from \d+ to (\d+)")


def followed(strategy: Strategy, hint: str) -> Strategy | None:
    """The strategy with a hint about sizes taken, None for other hints."""
    if found := LOWER_K.match(hint):
        name = f"tile_l{found[1]}"
        return replace(strategy, **{name: (*getattr(strategy, name)[:2], int(found[2]))})
    if found := LOWER_MN.match(hint):
        name = f"tile_l{found[1]}"
        return replace(strategy, **{name: (int(found[2]), int(found[3]), getattr(strategy, name)[2])})
    if found := LOWER_ALL.match(hint):
        level, *tile, depth = found.groups()
        smaller = replace(strategy, **{f"tile_l{level}": tuple(map(int, tile))})
        return replace(smaller, **{f"depth_l{level}": 1}) if depth else smaller
    if found := LOWER_DEPTH.match(hint):
        return replace(strategy, **{f"depth_l{found[1]}": int(found[2])})
    return None


def test_the_seed_case_fits() -> None:
    assert obstacles(I32, SEED, DEVICES["npu1"]) == ()


def test_all_of_k_of_the_seed_case_does_not_fit() -> None:
    """64 x 2048 x 4 of each operand and 64 x 64 x 4 of the result, in two memory tiles of 512 KiB."""
    (found,) = obstacles(I32, replace(SEED, depth_l2=1), DEVICES["npu1"], whole_k=True)
    assert found.message == "L2 of 2 columns needs 1064960 bytes, has 1048576 (lhs 524288, rhs 524288, result 16384)"
    assert found.hint == "lower tile-l2 m,n from 64,64 to 32,64"


@given(st.data())
def test_a_strategy_that_passes_fits(data: st.DataObject) -> None:
    device, whole_k = data.draw(devices()), data.draw(st.booleans())
    group = data.draw(problems(device))
    strategy = complete(group, data.draw(givens()), device, whole_k=whole_k)
    found = obstacles(group, strategy, device, whole_k=whole_k)
    if found:
        assert all(v.message and v.hint for v in found)
        return
    rows, columns = strategy.grid
    assert all(have <= most for have, most in zip(strategy.array, (device.rows, device.columns)))
    mapping = mapping_of(group, strategy, whole_k=whole_k)
    in_l1, in_l2 = l1_buffers(group, mapping), l2_buffers(group, mapping, device.columns)
    assert total_l1_bytes(in_l1, device.level(1).alignment_bytes) <= device.capacity_bytes(1, *strategy.array)
    assert fullest_l2_bytes(in_l2) <= device.capacity_bytes(2, 1, 1)
    assert [t % p for t, p in zip(strategy.tile_l1, strategy.pack)] == [0, 0, 0]
    assert strategy.tile_l2[:2] == (strategy.tile_l1[0] * rows, strategy.tile_l1[1] * columns)
    assert strategy.tile_l2[2] % strategy.tile_l1[2] == 0


@given(st.data())
def test_following_hints_ends_at_a_strategy_that_fits(data: st.DataObject) -> None:
    """Each hint with sizes removes its obstacle; the others say that no sizes help."""
    device, whole_k = data.draw(devices()), data.draw(st.booleans())
    group = data.draw(problems(device))
    strategy = data.draw(nested(group, device))
    for _ in range(2):
        found = [v for v in obstacles(group, strategy, device, whole_k=whole_k) if BYTES.search(v.message)]
        if not found:
            return
        better = followed(strategy, found[0].hint)
        assert (better is None) == (found[0].hint in LAST_RESORTS or "use npuflow-stream-k" in found[0].hint)
        if better is None:
            return
        left = [v.message[:2] for v in obstacles(group, better, device, whole_k=whole_k) if BYTES.search(v.message)]
        assert found[0].message[:2] not in left
        strategy = better


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": (5, 2)}, "grid 5x2 is larger than the 4x4 cores of npu1"),
        ({"tile_l1": (30, 32, 32)}, "tile-l1 m=30 is no multiple of pack m=4"),
        ({"tile_l2": (64, 96, 256)}, "tile-l2 n=96 is not 2 grid columns times tile-l1 n=32"),
        ({"tile_l2": (64, 64, 240)}, "tile-l2 k=240 is no multiple of tile-l1 k=32"),
    ],
)
def test_each_rule_alone(change: dict[str, tuple[int, ...]], message: str) -> None:
    found = obstacles(I32, replace(SEED, **change), DEVICES["npu1"])
    assert message in [v.message for v in found]


def test_an_instruction_of_a_fixed_shape_is_asked_for() -> None:
    (found,) = obstacles(matmul_group(1024, 512, 2048), replace(SEED, pack=(4, 4, 8)), DEVICES["npu1"])
    assert found.message == "pack 4,4,8 is no matmul instruction of npu1 for i8 x i8 -> i32"
    assert found.hint == "use pack=4,8,8"
