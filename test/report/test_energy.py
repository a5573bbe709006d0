"""The energy of a run is what the simulator counted, at the device file's price for each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matmuls import SMALL, TILES, matmul

import npuflow
from npuflow.report.energy import EnergyKind, EnergyUse, energy_rows
from npuflow.report.model import FunctionReport
from npuflow.simulate.program import Cause
from npuflow.target import load_device
from npuflow.target.load import device_names

TOY = (Path(npuflow.__file__).parent / "target" / "devices" / "toy.toml").read_text()
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PICO = 1e-12


def run(source: str = SMALL, options: str = TILES, device: str = "toy") -> npuflow.RunReport:
    return npuflow.compile(source, f"npuflow-stream-k{options}", device=device).run(verify=False)


def used(function: FunctionReport) -> EnergyUse:
    assert function.energy is not None
    return function.energy


def test_a_matmuls_energy_on_paper() -> None:
    # 2x2 blocks of 32x32, each with 32x128 of A and 128x32 of B: 4 x 8 KiB come in, 64x64 i32 go out, 100 pJ a byte.
    (function,) = run().functions
    joules = {(one.kind.value, one.name, one.what.partition(" ")[2]): one.joules for one in used(function).shares}
    assert joules["level", "L3", "KiB read, 16 KiB written"] == pytest.approx((32 + 16) * 1024 * 100 * PICO)
    # L2 is written by what comes in and what goes out, and both are read from it: 5 pJ a byte.
    assert joules["level", "L2", "KiB read, 48 KiB written"] == pytest.approx(2 * (32 + 16) * 1024 * 5 * PICO)
    # Each byte that comes in goes to the two cores of a row, or of a column: 1 pJ.
    assert joules["level", "L1", "KiB read, 64 KiB written"] == pytest.approx((16 + 2 * 32) * 1024 * 1 * PICO)
    assert joules["engine", "core", "kMAC of i8 x i8 -> i32"] == pytest.approx(64 * 64 * 128 * 0.1 * PICO)
    # Sums are filled with zeros, 8 of 32 bits in a cycle: 64x64 of them at 10 pJ per cycle.
    assert joules["engine", "core", "cycles of other kernels"] == pytest.approx(64 * 64 / 8 * 10 * PICO)
    # 10 mW for as long as it takes.
    assert joules["static", "static", "rest"] == pytest.approx(0.01 * function.cycles * 1e-9)
    assert len(joules) == len(used(function).shares)


def test_power_is_energy_by_time_and_the_launch_is_not_busy() -> None:
    (function,) = run().functions
    energy = used(function)
    assert energy.joules == sum(one.joules for one in energy.shares)
    assert energy.average_watts == pytest.approx(energy.joules / (function.time_us * 1e-6))
    # The launch takes 1000 cycles, in which only what is static takes anything.
    busy_seconds = (function.cycles - 1000) * 1e-9
    moved = energy.joules - 0.01 * function.cycles * 1e-9
    assert energy.busy_watts == pytest.approx(moved / busy_seconds + 0.01)
    dram = energy.shares[0].joules
    assert energy.busy_chip_watts == pytest.approx((moved - dram) / busy_seconds + 0.01)


def test_traffic_and_energy_say_the_same() -> None:
    (function,) = run(matmul(65, 130, 70), "").functions
    outermost = function.traffic[0]
    assert used(function).shares[0].count == outermost.read_bytes + outermost.write_bytes


def test_text_json_and_page_agree() -> None:
    report = run()
    energy = used(report.functions[0])
    data = json.loads(report.json())["functions"][0]["energy"]
    assert data["joules"] == energy.joules
    assert [one["joules"] for one in data["shares"]] == [one.joules for one in energy.shares]
    assert {"average_watts", "busy_watts", "busy_chip_watts", "static_watts", "busy_seconds"} < set(data)
    rows = list(energy_rows(energy))
    lines = [line.split() for line in report.text().splitlines()]
    for name, joules, share, what in rows:
        assert [name, *joules.split(), *share.split(), *what.split()] in lines
        assert json.dumps([name, joules, share, what], separators=(",", ":")) in report.html()


def test_types_that_the_device_has_no_price_for_are_paid_by_the_cycle(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    entry = '[[energy.macs]]\nlhs = "i8"\nrhs = "i8"\nacc = "i32"\npicojoules = 0.1\n'
    assert entry in TOY
    file.write_text(TOY.replace(entry, ""))
    compiled = npuflow.compile(SMALL, f"npuflow-stream-k{TILES}", device=file)
    (function,) = compiled.run(verify=False).functions
    (engine,) = (one for one in used(function).shares if one.kind is EnergyKind.ENGINE)
    cores = [one for one in compiled["matmul"].simulate().engines if one.kind == "core"]
    assert engine.count == sum(one.spent[Cause.KERNEL] for one in cores)
    assert engine.joules == pytest.approx(engine.count * 10 * PICO)


def test_a_device_that_says_nothing_has_no_section(silent: str) -> None:
    report = run(options="", device=silent)
    assert report.functions[0].energy is None
    assert "energy" not in report.text()
    assert json.loads(report.json())["functions"][0]["energy"] is None
    assert '"energy":null' in report.html()


def test_a_sequence_takes_what_its_parts_take(silent: str) -> None:
    source = (EXAMPLES / "block.mlir").read_text()
    report = npuflow.compile(source, device="npu2").run(verify=False)
    (sequence,) = report.sequences
    moved = sum(used(part).joules - used(part).static_watts * part.time_us / 1e6 for part in sequence.parts)
    rest = used(sequence.parts[0]).static_watts * sequence.time_us / 1e6
    assert sequence.energy is not None
    assert sequence.energy.joules == pytest.approx(moved + rest)
    # Of each level and engine class what the parts have of it.
    parts = [share for part in sequence.parts for share in used(part).shares if share.kind is not EnergyKind.STATIC]
    for share in sequence.energy.shares[:-1]:
        alike = [one for one in parts if (one.kind, one.name, one.types) == (share.kind, share.name, share.types)]
        assert (share.count, share.joules) == pytest.approx((sum(s.count for s in alike), sum(s.joules for s in alike)))
    assert [share.name for share in sequence.energy.shares[:3]] == ["L3", "L2", "L1"]
    assert sum(share.count for share in sequence.energy.shares[:-1]) == sum(share.count for share in parts)
    # Nothing moves while a launch takes its time.
    busy_seconds = (sequence.time_us - sequence.launch_us) / 1e6
    assert sequence.energy.busy_watts == pytest.approx(moved / busy_seconds + sequence.energy.static_watts)
    data = json.loads(report.json())["sequences"][0]["energy"]
    assert data["joules"] == sequence.energy.joules
    for name, joules, share, what in energy_rows(sequence.energy):
        assert [name, *joules.split(), *share.split(), *what.split()] in [
            line.split() for line in report.text().splitlines()
        ]
        assert json.dumps([name, joules, share, what], separators=(",", ":")) in report.html()
    untold = npuflow.compile(source, device=silent, split=True).run(verify=False)
    assert untold.sequences[0].energy is None


DECODE = """func.func @decode(%w: tensor<8192x2048xbf16>, %x: tensor<2048xbf16>) -> tensor<8192xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8192xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<8192xf32>) -> tensor<8192xf32>
  %y = linalg.matvec ins(%w, %x : tensor<8192x2048xbf16>, tensor<2048xbf16>) outs(%fill : tensor<8192xf32>)
    -> tensor<8192xf32>
  return %y : tensor<8192xf32>
}
"""


def test_decoding_takes_about_the_power_that_is_published() -> None:
    """1.5 to 3 W are published of LLM decoding; without what DRAM takes, which such numbers rarely have in them."""
    (function,) = run(DECODE, "", "npu2").functions
    assert 1.5 < used(function).busy_chip_watts < 3


@pytest.mark.parametrize("name", device_names())
def test_shipped_devices_price_every_type_they_multiply(name: str) -> None:
    device = load_device(name)
    assert {level.number for level in device.levels} == {one.level for one in device.energy.levels}
    assert [types for types in device.supported_types() if device.energy.mac_picojoules(types) is None] == []


@pytest.mark.parametrize("name", ["toy-scratchpad", "npu2.7", "npu4.0"])
def test_engines_around_a_scratchpad_are_told_apart(name: str) -> None:
    """Sums of products are the matrix engines', the tail is the vector engines': in text, JSON and page."""
    device = load_device(name)
    report = run((EXAMPLES / "linear_relu.mlir").read_text(), "", name)
    (function,) = report.functions
    shares = {
        (one.name, one.what.partition(" ")[2]): one for one in used(function).shares if one.kind is EnergyKind.ENGINE
    }
    matrix = shares["matrix", "MMAC of bf16 x bf16 -> f32"]
    # Clusters whose tiles overhang multiply zeros as well.
    assert matrix.count >= 256 * 256 * 512
    assert matrix.joules == pytest.approx(matrix.count * device.energy.mac_picojoules(("bf16", "bf16", "f32")) * PICO)
    vector = shares["vector", "cycles of other kernels"]
    assert vector.joules == pytest.approx(vector.count * device.energy.kernel_picojoules_per_cycle * PICO)
    data = json.loads(report.json())["functions"][0]["energy"]["shares"]
    assert {(one["name"], one["joules"]) for one in data} >= {("matrix", matrix.joules), ("vector", vector.joules)}
    for row in energy_rows(used(function)):
        assert all(cell in report.text() for cell in row)
        assert json.dumps(list(row), separators=(",", ":")) in report.html()
