"""Device files: what the shipped ones say, how partial arrays are named, and what a wrong file is told."""

import dataclasses
import re
from importlib import resources
from pathlib import Path

import pytest

from npuflow.errors import InputError, UsageError
from npuflow.target import Device, device_names, load_device
from npuflow.target.lines import key_lines
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
from npuflow.target.planned import goes_around_l2, planned
from npuflow.target.runs import DramRuns

TOY = (resources.files("npuflow.target") / "devices" / "toy.toml").read_text()

I8_SHAPE = "m = 4\nn = 8\nk = 8\nmacs_per_cycle = 64\n"


def error_of(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_device(text, "my.toml")
    return str(caught.value)


def toy_with(old: str, new: str) -> str:
    assert TOY.count(old) == 1, old
    return TOY.replace(old, new)


@pytest.mark.parametrize(
    "name", ["npu1", "npu1-hawk", "npu2", "npu2.7", "npu4.0", "toy", "toy-patch", "toy-scratchpad"]
)
def test_shipped_devices_load(name: str) -> None:
    device = load_device(name)
    assert name in device_names()
    assert device.name == name
    assert device.level(1).number == 1
    assert device.accepts_any_shape("i32", "i32", "i32")


def test_facts_of_npu1_and_npu2() -> None:
    npu1, npu2 = load_device("npu1"), load_device("npu2")
    assert (npu1.rows, npu1.columns, npu2.rows, npu2.columns) == (4, 4, 4, 8)
    assert npu1.level(1).usable_bytes == 64 * 1024 - 1024
    assert npu2.level(2).bytes == 512 * 1024
    for types, numbers in {
        ("i8", "i8", "i32"): (4, 8, 8, 256),
        ("bf16", "bf16", "f32"): (4, 4, 8, 128),
        ("i16", "i16", "i32"): (4, 4, 4, 64),
    }.items():
        shape = npu1.matmul_shapes(*types)[0]
        assert (shape.m, shape.n, shape.k, shape.macs_per_cycle) == numbers
    bf16 = npu2.matmul_shapes("bf16", "bf16", "f32")
    assert [(s.m, s.n, s.k) for s in bf16] == [(8, 8, 8), (4, 8, 8)]
    assert npu2.dma(2).descriptors == 48
    assert not npu2.accepts_any_shape("i8", "i8", "i32")


def test_every_number_of_a_real_device_has_its_source() -> None:
    for name in ("npu1", "npu1-hawk", "npu2", "npu2.7", "npu4.0"):
        text = (resources.files("npuflow.target") / "devices" / f"{name}.toml").read_text()
        for line in text.splitlines():
            key, _, value = line.partition("=")
            derived = key.strip() in ("number", "count", "m", "n", "k") or key.strip().endswith("level")
            if value.strip()[:1].isdigit() and not derived:
                assert "#" in line, f"{name}: {line}"


def test_toy_patch_is_toy_but_for_an_instruction() -> None:
    toy, patches = load_device("toy"), load_device("toy-patch")
    (instruction,) = patches.matmul_shapes("i8", "i8", "i32")
    assert (instruction.m, instruction.patch, instruction.n, instruction.k) == (16, (4, 4), 16, 16)
    assert all(
        shape.patch == () for name in ("toy", "npu1", "npu1-hawk", "npu2") for shape in load_device(name).matmuls
    )
    told = {"name": toy.name, "description": toy.description, "kernels": toy.kernels}
    matmuls = (*toy.matmuls[:1], *patches.matmuls[1:])
    assert dataclasses.replace(patches, matmuls=matmuls, **told) == toy


def test_capacity_is_per_core_in_l1_and_per_grid_in_l2() -> None:
    npu1 = load_device("npu1")
    assert npu1.capacity_bytes(1, rows=4, columns=4) == 64512
    assert npu1.capacity_bytes(2, rows=4, columns=1) == 524288
    assert npu1.capacity_bytes(2, rows=1, columns=3) == 3 * 524288


def test_toy_holds_the_tiles_of_the_documentation() -> None:
    toy = load_device("toy")
    tile = 32 * 32 * 4
    assert toy.capacity_bytes(1, 2, 2) >= 2 * tile + 2 * tile + 2 * tile
    assert toy.capacity_bytes(2, 2, 2) >= 2 * (64 * 256 + 256 * 64) * 4 + 64 * 64 * 4


def test_what_a_run_costs_follows_the_direction() -> None:
    dram = dataclasses.replace(load_device("toy").dram, read_run_overhead_bytes=100, write_run_overhead_bytes=300)
    assert dram.run_overhead_bytes(DramRuns(100), write=False) == 100
    assert dram.run_overhead_bytes(DramRuns(100), write=True) == 300


def test_what_a_run_costs_rises_with_the_distance_of_runs_up_to_a_page() -> None:
    dram = dataclasses.replace(
        load_device("toy").dram, read_run_overhead_bytes=100, page_bytes=1000, page_overhead_bytes=200
    )
    # From a page on it stays.
    for pitch, overhead in ((0, 100), (500, 200), (1000, 300), (5000, 300)):
        assert dram.run_overhead_bytes(DramRuns(100, pitch), write=False) == overhead


@pytest.mark.parametrize(
    ("runs", "ends"),
    [
        (DramRuns(128, 8192, 0, (8192,)), 0.0),
        (DramRuns(96, 3072, 0, (3072,)), 0.0),  # multiples of 32
        (DramRuns(80, 8192, 0, (8192,)), 1.0),  # all begin at an edge, none ends at one
        (DramRuns(128, 8192, 8, (8192,)), 2.0),  # 8 bytes behind an edge
        # 112 bytes, every 8064, in steps of 112: at any multiple of 16, so each end is at an edge every second time.
        (DramRuns(112, 8064, 0, (8064, 112)), 1.0),
        (DramRuns(7), 1.0),  # a single run, which begins at an edge
    ],
)
def test_ends_that_are_not_at_the_edges_of_bursts_cost(runs: DramRuns, ends: float) -> None:
    dram = dataclasses.replace(load_device("toy").dram, burst_bytes=32, edge_overhead_bytes=50)
    assert runs.ends_off_bursts(32) == ends
    assert runs.ends_off_bursts(1) == 0
    assert dram.run_overhead_bytes(runs, write=False) == 50 * ends


@pytest.mark.parametrize(
    ("name", "rows", "columns", "full_name"),
    [("npu2:2", 4, 2, "npu2:4x2"), ("npu2:1x3", 1, 3, "npu2:1x3"), ("npu2:4x8", 4, 8, "npu2"), ("toy", 2, 2, "toy")],
)
def test_partial_arrays(name: str, rows: int, columns: int, full_name: str) -> None:
    device = load_device(name)
    assert (device.rows, device.columns, device.name) == (rows, columns, full_name)
    assert load_device(device.name) == device


def test_partial_of_a_partial_names_the_whole() -> None:
    assert load_device("npu2:4x4").partial(columns=2).name == "npu2:4x2"


def test_a_users_own_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(toy_with('name = "toy"', 'name = "mine"'))
    assert load_device(str(path)).name == "mine"
    assert load_device(f"{path}:1").columns == 1


def test_a_file_is_parsed_anew_only_where_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pass asks for its device."""
    path = tmp_path / "mine.toml"
    path.write_text(TOY)
    first = load_device(str(path))
    path.write_text(toy_with('name = "toy"', 'name = "other"'))
    assert load_device(str(path)).name == "other"
    path.write_text(TOY)
    monkeypatch.setattr("npuflow.target.load.parse_device", None)
    assert load_device(str(path)) is first


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[energy.levels]]\nlevel = 3", "[[energy.levels]]\nlevel = 2", "the energy of level 2 is said twice"),
        (
            "[[energy.levels]]\nlevel = 3",
            "[[energy.levels]]\nlevel = 4",
            "'energy.levels[2].level' is 4; hint: it must",
        ),
        (
            "[[energy.levels]]\nlevel = 3\nread_picojoules_per_byte = 100\nwrite_picojoules_per_byte = 100\n",
            "",
            "the energy of level 3 isn't said, that of others is",
        ),
        ("picojoules = 0.5", "picojoules = -1", "it must be from 0 to 1e9"),
        (
            "static_watts = 0.01",
            "static_wats = 0.01",
            "unknown key of energy 'static_wats'; hint: did you mean static_wat",
        ),
    ],
)
def test_wrong_energies(old: str, new: str, message: str) -> None:
    assert message in error_of(toy_with(old, new))


def test_a_type_has_one_energy() -> None:
    again = '\n[[energy.macs]]\nlhs = "i8"\nrhs = "i8"\nacc = "i32"\npicojoules = 1\n'
    assert "the energy of i8 x i8 -> i32 is said twice" in error_of(TOY + again)


@pytest.mark.parametrize("name", ["npu2:9", "npu2:5x1", "npu2:0"])
def test_a_grid_that_does_not_fit(name: str) -> None:
    with pytest.raises(InputError, match=r"doesn't fit the 4x8 of device 'npu2'; hint: at least 1x1, at most 4x8"):
        load_device(name)


def test_unknown_names_get_the_nearest_three() -> None:
    with pytest.raises(UsageError, match="unknown device 'npu1hawk'; hint: did you mean npu1-hawk, npu1, npu2"):
        load_device("npu1hawk")


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_device("missing.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="isn't UTF-8"):
        load_device(str(binary))


def test_all_errors_of_a_file_at_their_lines() -> None:
    text = toy_with("bytes = 32768", "bytes = -1").replace("rows = 2", "row = 2", 1).replace("count = 1", 'count = "a"')
    row, size, count = (1 + text[: text.index(w)].count("\n") for w in ("row = 2", "bytes = -1", 'count = "a"'))
    message = error_of(text)
    assert f"my.toml:{row}:1: error: unknown key of a device 'row'; hint: did you mean rows" in message
    assert "the device lacks rows" in message
    assert f"my.toml:{size}:1: error: 'levels[0].bytes' is -1; hint: it must be from 1 to 1e12" in message
    assert f"my.toml:{count}:1: error: 'engines[0].count'" in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("clock_hz = 1e9", "clock_hz = inf", "'clock_hz' must be a number, is inf"),
        ("clock_hz = 1e9", "clock_hz = true", "'clock_hz' must be a number, is True"),
        ("clock_hz = 1e9", "clock_hz = 0", "'clock_hz' is 0; hint: it must be from 1e6 to 1e12"),
        ("clock_hz = 1e9", "clock_hz = ", "my.toml:9:12: error: Invalid value"),
        ('dma"\nlevel = 3\n', 'dma"\nlevel = 7\n', "'dmas[2].level' is 7; hint: it must be from 1 to 3"),
        ("number = 2", "number = 1", "'memory tile dma' serves level 2, which isn't there; hint: levels are 1, 3"),
        ("number = 2", "number = 1", "level number 1 appears twice"),
        ("bytes = 32768 ", "reserved_bytes = 32768\nbytes = 32768 ", "'L1' reserves 32768 of its 32768 bytes"),
        ('name = "toy"', 'name = "to:y"', "a ':' introduces a partial array"),
        ("[control]", "[[control]]", "'control' must be a table"),
        ("lanes = 4\nbytes_per_cycle = 4\nlatency_cycles = 0\nmulticast = true\n\n[[hops]]",
         "lanes = 4\nbytes_per_cycle = 4\nlatency_cycles = 0\nmulticast = 1\n\n[[hops]]",
         "'links[1].multicast' must be true or false, is 1"),
        ('runs = "all"', 'runs = "matrix"', "no engine runs kernels of class 'vector'; hint: let one run"),
        ('runs = "all"', 'runs = "some"', "'engines[0].runs' must be one of "),
        ('name = "core"\nlevel = 1', 'name = "core"\nlevel = 0', "'engines[0].level' is 0"),
        ('receiver = "memory_in"', 'receiver = "core_in"', "'core_in' is another end as well; hint: give each"),
        ('sender = "shim_out"', 'sender = "control"', "'control' is the control processor as well"),
        ('receiver = "core_in"', 'receiver = "core"', "'core' is an engine as well; hint: give each end a name"),
        ('receiver = "core_in"\nlanes = 2', 'receiver = "core_in"\nlanes = 3',
         "a hop from level 2 to 1 has 3 lanes, level 1 2 in-channels; hint: give the level"),
        ('from_level = 3\nto_level = 2', 'from_level = 2\nto_level = 1', "a hop from level 2 to 1, as another"),
        ('from_level = 3\nto_level = 2', 'from_level = 3\nto_level = 3', "a hop from level 3 to 3; hint: one joins"),
        (I8_SHAPE, f"patch = 16\n{I8_SHAPE}", "'matmuls[0].patch' must be a list of whole numbers, is 16; hint: write"),
        (I8_SHAPE, f"patch = [4.0, 4]\n{I8_SHAPE}", "'matmuls[0].patch' must be a list of whole numbers, is [4.0, 4]"),
        (I8_SHAPE, f"patch = [2, 4]\n{I8_SHAPE}",
         "my.toml:176:1: error: a patch of [2, 4] for an instruction of m = 4; hint: say rows and columns"),
        (I8_SHAPE, f"patch = [4]\n{I8_SHAPE}", "a patch of [4] for an instruction of m = 4"),
        (I8_SHAPE, f"patch = [-2, -2]\n{I8_SHAPE}", "a patch of [-2, -2] for an instruction of m = 4"),
        ('rhs = "f32"\nacc = "f32"\nm = 4\nn = 8\n', 'rhs = "f32"\nacc = "f32"\nm = 4\npatch = [2, 2]\nn = 8\n',
         "a patch of [2, 2] for code of any shape"),
    ],
)  # fmt: skip
def test_wrong_values(old: str, new: str, message: str) -> None:
    assert message in error_of(toy_with(old, new))


def test_a_file_that_ends_too_early() -> None:
    assert "my.toml:2: error: Unclosed array" in error_of("x = [1,\n2")
    assert "the device lacks name, description, rows" in error_of("")


def test_unsupported_types_say_what_is_supported() -> None:
    with pytest.raises(InputError, match=r"cannot multiply f64 x f64 -> f64; hint: it can multiply .*f32 x f32 -> f32"):
        load_device("npu1").matmul_shapes("f64", "f64", "f64")


def test_missing_levels_links_and_engines() -> None:
    device = load_device("toy")
    for ask in (lambda: device.level(4), lambda: device.dma(4), lambda: device.link(3, 1)):
        with pytest.raises(InputError, match=r"device 'toy' has no .*; hint: "):
            ask()


def test_lines_of_nested_tables() -> None:
    text = "a = 1\n[[t]]\nb = 2\n[t.p]\nc = 3\n[[t]]\nb = 4\n[t.p]\nc = 5\n"
    assert key_lines(text) == {
        ("a",): 1, ("t", 0): 2, ("t", 0, "b"): 3, ("t", 0, "p"): 4, ("t", 0, "p", "c"): 5,
        ("t", 1): 6, ("t", 1, "b"): 7, ("t", 1, "p"): 8, ("t", 1, "p", "c"): 9,
    }  # fmt: skip


def test_every_key_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "devices.md").read_text()
    tables = [
        Device,
        Dram,
        Control,
        MemoryLevel,
        ComputeEngine,
        DmaEngine,
        PatternLimits,
        Link,
        Hop,
        MatmulShape,
        KernelKind,
    ]
    for table in tables:
        for key in dataclasses.fields(table):
            assert re.search(rf"[`\[.]{key.name}[`\]]", page), f"{table.__name__}.{key.name}"


CLUSTERS = """
name = "clusters"
description = "clusters with one scratchpad each, a matrix engine, two vector engines, and DMA straight to DRAM"
rows = 1
columns = 6
clock_hz = 971e6
[dram]
read_bytes_per_second = 136e9
write_bytes_per_second = 136e9
total_bytes_per_second = 136e9
latency_seconds = 300e-9
read_run_overhead_bytes = 0
write_run_overhead_bytes = 0
[control]
descriptor_seconds = 0
launch_seconds = 0
reconfigure_seconds = 0
[[levels]]
name = "scratchpad"
number = 1
bytes = 1474560
shared_by = "core"
[[levels]]
name = "DRAM"
number = 3
bytes = 17179869184
shared_by = "array"
[[engines]]
name = "matrix engine"
level = 1
runs = "matrix"
shared_by = "core"
count = 1
clock_hz = 1.7e9
vector_bytes = 32
call_cycles = 0
[[engines]]
name = "vector engine"
level = 1
runs = "vector"
shared_by = "core"
count = 2
vector_bytes = 32
call_cycles = 0
[[dmas]]
name = "dma"
level = 3
place = "DRAM port"
shared_by = "array"
channels_in = 2
channels_out = 2
bytes_per_cycle = 55
descriptors = 1024
locks = 64
lock_max = 63
queue_depth = 64
start_cycles = 408
[dmas.pattern]
dims = 3
granule_bytes = 1
size_max = 65535
stride_max = 4294967295
length_max = 4294967295
[[links]]
name = "fabric"
outer_level = 3
inner_level = 1
shared_by = "array"
lanes = 2
bytes_per_cycle = 55
latency_cycles = 0
multicast = true
[[matmuls]]
lhs = "i8"
rhs = "i8"
acc = "i32"
m = 16
patch = [4, 4]
n = 16
k = 16
macs_per_cycle = 2048
"""


def test_a_machine_of_clusters_fits_the_same_classes() -> None:
    device = parse_device(CLUSTERS, "clusters.toml")
    assert not device.has_level(2)
    assert device.capacity_bytes(1, rows=1, columns=6) == 1440 * 1024
    assert [(e.name, e.count, e.clock_hz) for e in device.engines] == [
        ("matrix engine", 1, 1.7e9),
        ("vector engine", 2, 0),
    ]
    assert device.link(3, 1).multicast
    assert device.matmul_shapes("i8", "i8", "i32")[0].patch == (4, 4)


def test_cores_that_share_no_column_stand_in_any_rows() -> None:
    clusters, array = load_device("npu4.0"), load_device("npu2")
    assert clusters.arrays() == ((1, 6), (2, 3))
    assert clusters.has_grid(6, 1)
    assert clusters.has_grid(3, 2)
    assert not clusters.has_grid(2, 4)
    assert array.arrays() == ((array.rows, array.columns),)
    assert not array.has_grid(array.columns, array.rows)
    assert (clusters.arranged(3, 2).rows, clusters.arranged(3, 2).columns) == (3, 2)
    assert clusters.arranged(1, 4) is clusters


def test_a_level_2_is_real_whatever_its_place_is_called() -> None:
    assert not goes_around_l2(planned(parse_device(toy_with('place = "memory tile"', 'place = "block"'), "my.toml")))
    without = planned(load_device("toy-scratchpad"))
    assert goes_around_l2(without)
    assert goes_around_l2(without.launched_by("nobody", 1))
    assert planned(without) is without
