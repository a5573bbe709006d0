"""Schedules that make no sense get clear, located errors in bounded time, never a Python trace."""

from __future__ import annotations

import re
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hand_written import TEXT, changed, errors

import npuflow
from npuflow.errors import InputError

BUFFER = (
    '"npu.buffer"() {sym_name = "x1", contents = memref<64xi32, 2>, level = 1 : i64, span = ["row", "column"], '
    "depth = 2"
)
GRID = "npu.extents = {row = 1 : i64, column = 1 : i64}"
SEND = (
    "buffer = @x2, buffer_at = affine_map<(d0, d1) -> (d0)>, slot = affine_map<(d0, d1) -> (d1)>, "
    "offset = affine_map<(d0, d1) -> (0)>, sizes = [64], strides = [1]"
)
LOOP = "scf.for %i = %c0 to %c8 step %c1"


def extents(text: str) -> str:
    return changed((GRID, f"npu.extents = {{{text}}}"))


def sent(old: str, new: str) -> str:
    """The text with the memory tile's transfer to the core changed."""
    return changed((SEND, SEND.replace(old, new)), function="memory_out")


KERNEL = TEXT[TEXT.index("  func.func private @multiply") : TEXT.index("  func.func @shim_out")]

HOSTILE = {
    "an enormous grid": (extents("row = 1000000000 : i64, column = 1 : i64"), "npu.extents has row = 1000000000"),
    "no grid at all": (extents("row = 0 : i64, column = 1 : i64"), "npu.extents has row = 0"),
    "an extent that is no number": (extents('row = "1", column = 1 : i64'), "npu.extents has row"),
    "a grid outside the device": (
        extents("row = 3 : i64, column = 1 : i64"),
        "needs 3 of coordinate 'row', device 'toy' has 2",
    ),
    "no engines": (re.sub(r"attributes \{npu\.engine = [^\n]*>\} \{", "{", TEXT), "has no engines"),
    "an unknown stage": (changed(('stage = "core"', 'stage = "kern"')), "unknown stage 'kern'; hint: did you mean"),
    "an engine without a lane": (
        changed(('stage = "core", lane = 0 : i64', 'stage = "core"')),
        "npu.engine lacks lane",
    ),
    "a lane that is no number": (changed(('stage = "core", lane = 0 : i64', 'stage = "core", lane = "a"')), "lane"),
    "a lane of a stage that has none": (
        changed(('stage = "core", lane = 0', 'stage = "core", lane = 3')),
        "there is lane 0",
    ),
    "a lane that no memory tile has": (
        changed(("lane = 1", "lane = 9"), function="memory_out"),
        "has lane 9, a memory",
    ),
    "a stage that is no text": (changed(('stage = "core",', "stage = 1 : i64,")), "unknown stage '1 : i64'"),
    "a span that is no list": (
        changed(('span = ["column"]', "span = 1 : i64"), function="shim_in"),
        "npu.engine has span",
    ),
    "an engine that is none": (
        changed(('#npu.engine<{stage = "core", lane = 0 : i64, span = ["row", "column"]}>', "unit")),
        "npu.engine is unit",
    ),
    "a lane that no channel has": (changed(("lane = 1", "lane = 9"), function="memory_in"), "needs 10 in-channels"),
    "a span of nothing known": (
        changed(('span = ["column"]', 'span = ["floor"]'), function="shim_in"),
        "coordinate 'floor'",
    ),
    "an unknown semaphore": (changed(("@x2_full", "@x2_ful"), function="memory_in"), "unknown semaphore 'x2_ful'"),
    "an unknown stream": (changed(("@x3_to_x2", "@nowhere"), function="memory_in"), "unknown stream 'nowhere'"),
    "an unknown buffer": (changed(("@x2,", "@x9,"), function="memory_in"), "unknown buffer 'x9'"),
    "an unknown kernel": (changed(("kernel = @multiply", "kernel = @divide")), "unknown kernel 'divide'"),
    "an unknown sender": (changed(("sender = @shim_out", "sender = @shim")), "unknown engine 'shim'"),
    "another's stream": (changed(("@x3_to_x2", "@x2_to_x1"), function="memory_in"), "whose end it isn't"),
    "two buffers of one name": (changed(('sym_name = "y2"', 'sym_name = "x2"')), "redefinition of symbol named 'x2'"),
    "too few coordinates": (
        changed(("at = affine_map<(d0) -> (0, d0)>", "at = affine_map<(d0) -> (d0)>"), function="result_out"),
        "gives 1 coordinates for 'y2_full'",
    ),
    "a coordinate outside": (
        changed(("at = affine_map<(d0) -> (0, d0)>", "at = affine_map<(d0) -> (5, d0)>"), function="result_out"),
        "reaches row 5 to 5",
    ),
    "a negative stride": (sent("strides = [1]", "strides = [-1]"), "descriptors only step forward"),
    "a stride of zero": (sent("strides = [1]", "strides = [0]"), "descriptors only step forward"),
    "a size of zero": (sent("sizes = [64]", "sizes = [0]"), "size below 1"),
    "an enormous size": (
        sent("sizes = [64]", "sizes = [4611686018427387904]"),
        "moves 4611686018427387904 elements at once",
    ),
    "an offset outside": (sent("(d0, d1) -> (0)", "(d0, d1) -> (1)"), "reaches elements 1 to 64"),
    "an offset below": (sent("(d0, d1) -> (0)", "(d0, d1) -> (-1)"), "reaches elements -1 to 62"),
    "more strides than sizes": (sent("strides = [1]", "strides = [1, 1]"), "1 sizes and 2 strides"),
    "a map of other indices": (
        sent("slot = affine_map<(d0, d1) -> (d1)>", "slot = affine_map<(d0) -> (d0)>"),
        "map 'slot' takes 1 values",
    ),
    "a map that isn't linear": (
        sent("slot = affine_map<(d0, d1) -> (d1)>", "slot = affine_map<(d0, d1) -> (d1 mod 2)>"),
        "mod",
    ),
    "an enormous depth": (
        changed((BUFFER, BUFFER.replace("depth = 2", "depth = 1000000000000"))),
        "L1 of core (0,0) needs",
    ),
    "slots of a tensor in DRAM": (
        changed(("level = 3 : i64, span = [], depth = 1", "level = 3 : i64, span = [], depth = 9")),
        "has 9 slots in level 3",
    ),
    "a memory space of another level": (
        changed(("contents = memref<64xi32, 2>", "contents = memref<64xi32, 1>")),
        "whose memory space is 1 : i64 instead of 2 : i64",
    ),
    "a memory space that is no number": (
        changed(("contents = memref<64xi32, 2>", 'contents = memref<64xi32, "l1">')),
        'whose memory space is "l1" instead of 2 : i64',
    ),
    "a buffer with gaps": (
        changed(("contents = memref<64xi32, 2>", "contents = memref<64xi32, strided<[2]>, 2>")),
        "whose elements do not lie one behind the other",
    ),
    "elements that are no numbers": (
        changed(("contents = memref<64xi32, 2>", "contents = memref<64xi7, 2>")),
        "whose elements are no numbers of whole bytes",
    ),
    "a result on the chip": (changed((BUFFER, BUFFER), ('"internal"', '"result"')), "is result in level"),
    "an address that turns": (
        changed(("address = affine_map<(d0, d1) -> (0)>", "address = affine_map<(d0, d1) -> (d0 mod 2 * 64)>")),
        "is no sum of steps",
    ),
    "a span that names a row twice": (
        changed(('span = ["row", "column"], initial', 'span = ["row", "row"], initial')),
        "spans 'row' twice",
    ),
    "a span of numbers": (
        changed(('"x1_full", span = ["row", "column"]', '"x1_full", span = [1, 2]')),
        "no list of strings",
    ),
    "zeros that are a number": (changed(("zeros = false", "zeros = 7 : i64")), "which is neither true nor false"),
    "sizes that are texts": (sent("sizes = [64]", 'sizes = ["64"]'), "no list of integers"),
    "a slot below": (
        sent("slot = affine_map<(d0, d1) -> (d1)>", "slot = affine_map<(d0, d1) -> (-d1)>"),
        "uses slot -7",
    ),
    "a coordinate that is none": (
        extents("rows = 1 : i64, column = 1 : i64"),
        "unknown coordinate in npu.extents 'rows'",
    ),
    "a lock that counts tasks": (changed(('cause = "space"', 'cause = "task"')), "which counts tasks"),
    "a call that lasts forever": (
        changed(("cycles = 100 : i64", "cycles = 9223372036854775807 : i64")),
        "takes 9223372036854775807 cycles",
    ),
    "descriptors without end": (
        changed((LOOP, f'"npu.configure"() {{descriptors = -1 : i64}} : () -> ()\n    {LOOP}'), function="memory_in"),
        "sets up -1 descriptors",
    ),
    "a buffer that is no name": (changed(("buffers = [@x1, @y1]", "buffers = [@x1, 1]")), "has a buffer 1 : i64"),
    "a slot that is no map": (
        changed(("slots = [affine_map<(d0, d1, d2) -> (d2)>, ", "slots = [1, ")),
        "has a slot 1 : i64, which is no map",
    ),
    "a kernel without a body": (
        re.sub(
            r"@multiply\(.*?\n  \}", "@multiply(memref<64xi32, 2>, memref<64xi32, 2>)", TEXT, flags=re.DOTALL, count=1
        ),
        "calls 'multiply', which has no body",
    ),
    "a kernel of another shape": (
        TEXT.replace(KERNEL, KERNEL.replace("64", "128")),
        "for argument 1, which is memref<128xi",
    ),
    "an unknown level": (
        changed((BUFFER, BUFFER.replace("level = 1", "level = 7"))),
        "level 7, which device 'toy' lacks",
    ),
    "a buffer for the whole array": (
        changed(
            (BUFFER, BUFFER.replace('["row", "column"]', "[]")),
            ("affine_map<(d0, d1) -> (0)>, role", "affine_map<() -> (0)>, role"),
        ),
        "in level 1 spans []",
    ),
    "a buffer of no size": (
        changed(("contents = memref<512xi32>, level = 3", "contents = memref<?xi32>, level = 3")),
        "no memref of static shape",
    ),
    "a lock that counts too far": (
        changed(
            (
                '"x1_full", span = ["row", "column"], initial = 0 : i64, maximum = 2',
                '"x1_full", span = ["row", "column"], initial = 0 : i64, maximum = 9000',
            )
        ),
        "counts to 9000, a lock of level 1 to 63",
    ),
    "too many operands": (changed(("buffers = [@x1, @y1]", "buffers = [@x1, @y1, @y1]")), "has 3 buffers, 2 slots"),
    "a kernel of other operands": (
        changed(
            ("%x: memref<64xi32, 2>, %y: memref<64xi32, 2>", "%x: memref<64xi32, 2>, %z: index, %y: memref<64xi32, 2>")
        ),
        "gives 'multiply' 2 buffers, it takes 3",
    ),
    "endless loops": (changed(("constant 8 : index", "constant 1000000000000000 : index")), "reaches elements 0 to"),
    "endless loops of nothing": (
        changed(
            (
                LOOP,
                (
                    "%many = arith.constant 200000000000000 : index\n"
                    f"    scf.for %forever = %c0 to %many step %c1 {{}}\n    {LOOP}"
                ),
            ),
            function="core",
        ),
        "steps",
    ),
    "a loop of unknown length": (
        changed((LOOP, "scf.for %i = %c0 to %column step %c1"), function="memory_in"),
        "the bounds of a loop are not constant",
    ),
    "a step of zero": (changed((LOOP, "scf.for %i = %c0 to %c8 step %c0"), function="memory_in"), "step 0"),
    "a loop over too many coordinates": (
        changed(
            (
                '      "npu.acquire"(%column) {semaphore = @x2_full',
                (
                    '      scf.for %all = %c0 to %c8 step %c1 {} {npu.coordinate = "row"}\n'
                    '      "npu.acquire"(%column) {semaphore = @x2_full'
                ),
            ),
            function="memory_out",
        ),
        "goes through 8 of coordinate 'row'",
    ),
    "something else in a program": (
        changed((LOOP, f"%v = arith.addi %c1, %c8 : index\n    {LOOP}"), function="memory_in"),
        "arith.addi has no place",
    ),
    "a constant that is no index": (
        changed((LOOP, f"%v = arith.constant 1.5 : f32\n    {LOOP}"), function="memory_in"),
        "arith.constant",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schedule_is_refused(name: str) -> None:
    text, expected = HOSTILE[name]
    tracemalloc.start()
    begin = time.process_time()
    found = errors(text)
    seconds, (_, peak_bytes) = time.process_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert any(expected in message for message in found), "\n".join(found)
    assert all(re.match(r"-:\d+:\d+: error: ", message) for message in found), "\n".join(found)
    assert seconds < 10
    assert peak_bytes < 50_000_000


def test_all_that_is_wrong_is_reported_at_once() -> None:
    text = changed((BUFFER, BUFFER.replace("depth = 2", "depth = 10000")), ("maximum = 2", "maximum = 99"))
    found = errors(changed(("lane = 1", "lane = 9"), function="memory_in", text=text))
    assert any("needs 10 in-channels" in message for message in found)
    assert any("L1 of core (0,0) needs 2560000 bytes, has 32768" in message for message in found)
    assert sum("counts to 99, a lock of level" in message for message in found) == 8


def test_a_device_that_is_no_device_is_refused_where_it_stands() -> None:
    with pytest.raises(InputError, match=r'-:7:1: error: npu\.device is "toy"; hint: write #npu\.device<'):
        npuflow.compile(changed(('#npu.device<"toy", {}>', '"toy"')))
