"""Device files that are wrong on purpose: refused at their place, in bounded time, whatever they hold."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import typing
from importlib import resources
from pathlib import Path

import pytest

import npuflow
from npuflow.errors import InputError, UsageError
from npuflow.target import Device, load_device
from npuflow.target.fields import bound_of
from npuflow.target.load import parse_device
from npuflow.target.matmul import KernelKind, MatmulShape
from npuflow.target.model import (
    ComputeEngine,
    Control,
    DmaEngine,
    Dram,
    Hop,
    Link,
    MemoryLevel,
    PatternLimits,
)
from npuflow.target.read import TableReader
from npuflow.target.vector import VectorKernelKind, VectorOperation, VectorUnit

TABLES = (
    *(ComputeEngine, Control, Device, DmaEngine, Dram, Hop, KernelKind, Link, MatmulShape, MemoryLevel, PatternLimits),
    *(VectorKernelKind, VectorOperation, VectorUnit),
)
TOY = (resources.files("npuflow.target") / "devices" / "toy.toml").read_text()
ELEMENTWISE = """
func.func @f(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %r = arith.addf %a, %b : tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}
"""


def toy_with(old: str, new: str) -> str:
    assert old in TOY, old
    return TOY.replace(old, new, 1)


def told(owner: type, key: str, value: object) -> list[str]:
    """What is said of a table of one key, beside what it lacks."""
    reader = TableReader("d.toml", [f"{key} = ?"], {(key,): 1})
    reader.table(owner, {key: value}, ())
    return [d.message for d in reader.diagnostics if "lacks" not in d.message]


@pytest.mark.parametrize("owner", TABLES, ids=lambda owner: owner.__name__)
def test_every_number_has_a_type_and_a_range(owner: type) -> None:
    hints = typing.get_type_hints(owner)
    for declared in dataclasses.fields(owner):
        kind, bound = hints[declared.name], bound_of(declared)
        if kind not in (int, float):
            continue
        assert bound is not None, f"{owner.__name__}.{declared.name} has no range"
        for value in (bound.least, bound.most):
            assert told(owner, declared.name, kind(value)) == []
        wrong = ["4", True, [], {}, math.nan, math.inf, -math.inf, 10**400, kind(bound.most) * 2, bound.least - 1]
        for value in (*wrong, *([1.5] if kind is int else [])):
            (message,) = told(owner, declared.name, value)
            assert message.startswith(f"'{declared.name}' ")
            assert message.endswith(f"; hint: it must be {bound}")


@pytest.mark.parametrize("owner", TABLES, ids=lambda owner: owner.__name__)
def test_texts_are_texts_on_one_line(owner: type) -> None:
    hints = typing.get_type_hints(owner)
    for declared in dataclasses.fields(owner):
        if hints[declared.name] is str:
            for value in (1, None, ["a"], "a\nb", "\x1b[2J", "a" * 1000):
                assert told(owner, declared.name, value), f"{owner.__name__}.{declared.name} = {value!r}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[matmuls]]\nlhs = \"i32\"", "[[matmuls]]\nlhs = \"x\"", "lhs' is 'x'; hint: it must be one"),
        ('operation = "exponential"', 'operation = "exponent"', "it must be one of \"add\", \"multiply\""),
        ("bytes = 32768 ", "bytes = 64 ", "'L1' has 64 bytes in 4 banks, aligned to 32; hint: at most 2 banks"),
        ("number = 3", "number = 2", "no level is number 3; hint: 3 is DRAM"),
        ("\nlevel = 3", "\nlevel = 2", "'shim dma' serves level 2, as another does"),
        ('name = "shim dma"', 'name = "core dma"', "two of the dmas are named 'core dma'"),
        ('name = "L2"', 'name = "L1"', "two of the levels are named 'L1'"),
        ("descriptor_groups = 2", "descriptor_groups = 49", "has 48 descriptors in 49 groups"),
        ("inner_level = 2", "inner_level = 3", "'shim stream' joins levels 3 and 3; hint: the outer level has"),
        ("outer_level = 3\ninner_level = 2", "outer_level = 2\ninner_level = 1", "joins levels 2 and 1, as another"),
        ("read_bytes_per_second = 8e9", "read_bytes_per_second = 1e16", "'dram.read_bytes_per_second' is 1e+07 bytes"),
        ("lanes = 4", "lanes = 1000000", "'links[0].lanes' is 1000000; hint: it must be from 1 to 1024"),
        ("[[levels]]", "x = 1\n[[levels]]", "unknown key of control 'x'"),
        ("clock_hz = 1e9", "clock_hz = 1e9\nclock_hz = 1e9", "my.toml:10:15: error: Cannot overwrite a value"),
        ("clock_hz = 1e9", f"clock_hz = {'9' * 5000}", "my.toml:9: error: "),
        ("clock_hz = 1e9", f"clock_hz = {'[' * 50}{']' * 50}", "'clock_hz' must be a number, is [[[[[[[...]]]]]]]"),
        ("clock_hz = 1e9", f"clock_hz = {'[' * 10**5}", "my.toml:9: error: lists or tables are nested too deeply"),
        ("clock_hz = 1e9", f"clock_hz = {'{a=' * 10**5}", "my.toml:9: error: lists or tables are nested too deeply"),
        ("clock_hz = 1e9", f"clock_hz = 1e9\n{'a' * 10**5} = 1", "my.toml:10:1: error: unknown key of a device 'aaa"),
        ("[[vector.kernels]]", "[[vector.kernels]]\n" * 2000, "there are 2000 of 'vector.kernels'; hint: at most 1000"),
    ],
)  # fmt: skip
def test_wrong_values(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_device(toy_with(old, new), "my.toml")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500_000


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("pipe", "it is no regular file"),
        ("endless", "it is no regular file"),
        ("folder", "it is a directory"),
        ("huge", "it is longer than 1048576 bytes"),
        ("missing", "No such file or directory"),
        ("binary", r"isn't UTF-8 text: byte 2 is 0xff"),
        ("loop", "Too many levels of symbolic links"),
    ],
)
def test_files_that_are_none(kind: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / f"{kind}.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind in ("endless", "loop"):
        path.symlink_to("/dev/zero" if kind == "endless" else path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    elif kind == "binary":
        path.write_bytes(b"#\n\xff\xfe")
    with pytest.raises(InputError, match=message):
        load_device(str(path))


@pytest.mark.parametrize("name", ["a\0b.toml", f"npu1:{'9' * 5000}", "npu1:1x", "", "\n"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises((InputError, UsageError)):
        load_device(name)


def test_a_files_name_may_have_quotes(tmp_path: Path) -> None:
    path = tmp_path / 'a"b\\.toml'
    path.write_text(TOY.replace('name = "toy"', 'name = "mine"'))
    (function,) = npuflow.compile(ELEMENTWISE, device=str(path)).functions
    assert function.compiled.device.name == "mine"


def test_a_device_without_memory_tiles_is_refused_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    tables = TOY.replace("inner_level = 2", "inner_level = 1").split("\n[[")
    path.write_text(
        "\n[[".join(t for t in tables if not re.search("^(number|level|outer_level|from_level|to_level) = 2", t, re.M))
    )
    assert not load_device(str(path)).has_level(2)
    with pytest.raises(InputError) as caught:
        npuflow.compile(ELEMENTWISE, device=str(path))
    lacking = "'toy' lacks level 2, a DMA engine at level 2, a link from 3 to 2, a link from 2 to 1; hint: "
    assert f"{path}:24:1: error: {lacking}" in str(caught.value)


@pytest.mark.parametrize("program", ["matmul", "elementwise"])
def test_rows_that_memory_tiles_cannot_serve_are_left_out(program: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOY.replace("rows = 2", "rows = 5", 1).replace("columns = 2", "columns = 5", 1))
    matmul = (Path(__file__).parents[2] / "examples" / "matmul.mlir").read_text()
    (function,) = npuflow.compile(matmul if program == "matmul" else ELEMENTWISE, device=str(path)).functions
    assert function.compiled.grid[0] <= 4  # 6 in-channels of a memory tile, of which 2 are from DRAM


EXTREMES = {
    "slowest": {
        **dict.fromkeys(("start_cycles", "latency_cycles", "call_cycles"), "1000000000"),
        **dict.fromkeys(("latency_seconds", "launch_seconds", "descriptor_seconds"), "100"),
        **dict.fromkeys(("macs_per_cycle", "bytes_per_cycle"), "0.001"),
        "clock_hz": "1e6",
    },
    "fastest": {
        **dict.fromkeys(("read_bytes_per_second", "write_bytes_per_second", "total_bytes_per_second"), "1e16"),
        "clock_hz": "1e12",
        "bytes_per_cycle": "1e3",
        "macs_per_cycle": "1e9",
        "banks": "1024",
    },
    "longest": {"clock_hz": "1e12", "launch_seconds": "100", "descriptor_seconds": "100", "latency_seconds": "100"},
}


@pytest.mark.parametrize("name", EXTREMES)
def test_no_number_within_its_range_overflows(name: str, tmp_path: Path) -> None:
    """What the checks let through is timed, if only to centuries."""
    lines = []
    for line in TOY.splitlines():
        key = line.partition(" =")[0]
        lines.append(f"{key} = {EXTREMES[name][key]}" if key in EXTREMES[name] else line)
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(lines))
    report = npuflow.compile(ELEMENTWISE, device=str(path)).run(verify=False)
    assert 0 < report.functions[0].cycles < 1 << 60
