"""Reports say what was simulated: traffic by level and tensor, and the same numbers in text and JSON."""

from __future__ import annotations

import json

import pytest
from matmuls import SMALL, TILES, matmul

import npuflow
from npuflow.execute.limits import byte_text
from npuflow.report.json_report import json_of
from npuflow.report.text import text_of
from npuflow.report.words import percent, quantity

PIPELINES = ("npuflow-stream-k", "npuflow-pack-peel")


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_traffic_is_what_the_blocks_ask_for(pipeline: str) -> None:
    # 16x8 blocks of 64x64, each with its 64x2048 of A and 2048x64 of B, i32: A is read 8 times, B 16 times.
    options = "{grid=2,2 tile-l2=64,64,256 tile-l1=32,32,32 pack=4,8,8}"
    source = matmul(1024, 512, 2048, "i32", "i32")
    report = npuflow.compile(source, pipeline + options, device="npu1").run(verify=False)
    l3, l2 = report.functions[0].traffic
    moved = {tensor.tensor: (tensor.read_bytes, tensor.write_bytes) for tensor in l3.tensors}
    assert moved == {"arg0": (64 << 20, 0), "arg1": (64 << 20, 0), "result0": (0, 2 << 20)}
    assert l3.compulsory_bytes == (8 << 20) + (4 << 20) + (2 << 20)
    # What comes into L2 goes on to the cores once, multicast along rows and columns.
    assert {tensor.tensor: (tensor.read_bytes, tensor.write_bytes) for tensor in l2.tensors} == moved
    assert l3.compulsory_bytes <= (l3.lower_bound_bytes or 0) <= l3.read_bytes + l3.write_bytes


def test_rates_follow_from_cycles() -> None:
    function = npuflow.compile(SMALL, f"npuflow-stream-k{TILES}", device="toy").run().functions[0]
    seconds = function.cycles / 1e9
    assert function.macs == function.executed_macs == 64 * 64 * 128
    assert function.ops_per_second == pytest.approx(2 * 64 * 64 * 128 / seconds)
    # four cores of 64 MAC/cycle at 1 GHz
    assert function.peak_ops_per_second == pytest.approx(2 * 64 * 4 * 1e9)
    assert function.efficiency == pytest.approx(function.ops_per_second / function.peak_ops_per_second)
    assert function.verified.status.value == "ok"


def test_an_engine_class_spends_all_of_its_time_on_something() -> None:
    for engines in npuflow.compile(SMALL, device="npu2").run(verify=False).functions[0].engines:
        assert sum(engines.shares.values()) == pytest.approx(1.0)


def test_json_has_the_keys_that_are_promised() -> None:
    report = npuflow.compile(SMALL, device="toy").run()
    data = json.loads(json_of(report))
    function = data["functions"][0]
    assert data["device"] == "toy"
    keys = "name time_us cycles macs ops_per_second efficiency bound_by losses strategy".split()
    assert set(keys) <= set(function)
    for level in ("L3", "L2"):
        wanted = {"read_bytes", "write_bytes", "compulsory_bytes", "lower_bound_bytes"}
        assert wanted <= set(function["traffic"][level])
    assert function["verified"]["status"] == "ok"
    assert function["verified"]["against"] == "iree"
    assert function["verified"]["max_error"] == 0.0


def test_json_has_every_number_of_the_text() -> None:
    report = npuflow.compile(SMALL, device="toy").run()
    text, function = text_of(report), json.loads(json_of(report))["functions"][0]
    assert f"{function['cycles']} cycles" in text
    assert percent(function["efficiency"]) in text
    assert quantity(function["time_us"] / 1e6, "s") in text
    assert f"bound by    {function['bound_by']}" in text
    for level in function["traffic"].values():
        assert byte_text(level["read_bytes"]) in text
        assert byte_text(level["lower_bound_bytes"]) in text
    for one in function["occupancy"]:
        assert f"{one['used_bytes']} of {one['usable_bytes']} bytes" in text
    for engines in function["engines"]:
        assert f"{engines['count']} {engines['kind']}" in text


def test_functions_are_reported_in_order() -> None:
    source = matmul(32, 32, 32, name="first") + matmul(16, 48, 32, "f32", "f32", name="second")
    report = npuflow.compile(source, device="toy").run()
    assert [function.name for function in report.functions] == ["first", "second"]
    assert report.ok
    assert "@second(16x32xf32, 32x48xf32) -> (16x48xf32)" in text_of(report)


def test_without_a_known_strategy_the_bound_is_unknown_and_said_so() -> None:
    function = npuflow.compile(SMALL, device="toy").run(verify=False).functions[0]
    assert function.verified.status.value == "skipped"
    assert "verified    no: switched off" in text_of(npuflow.compile(SMALL, device="toy").run(verify=False))


def test_a_given_kernel_rate_is_what_kernels_take() -> None:
    compiled = npuflow.compile(SMALL, f"npuflow-stream-k{TILES}", device="toy", kernel_macs_per_cycle=10.0)
    results = compiled.functions[0].simulate()
    # Each core: 4 blocks of 16x16 sums, 4 calls of 16x16x32 MACs each at 10 MAC/cycle (rounded up), and their fills.
    fills = 4 * (16 * 16 * 4 // 32)
    calls = 16 * 820
    assert results.engine("core (0,0)").spent[next(c for c in results.engines[0].spent if c.value == "kernel")] == (
        fills + calls
    )


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.50 KiB"), (64 << 20, "64 MiB")]
)
def test_bytes_as_text(count: int, text: str) -> None:
    assert byte_text(count) == text


def test_quantities_as_text() -> None:
    assert quantity(142.3e-6, "s") == "142.3 us"
    assert quantity(58.98e12, "ops/s") == "58.98 Tops/s"
    assert quantity(0.0, "s") == "0 s"
    assert quantity(25.6e-9, "s") == "25.6 ns"
