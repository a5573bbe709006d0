"""Windows in a row whose cores keep rows from step to step compute what they do apart."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from judges import JUDGE
from profiles import drawn

import npuflow
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.execute.verification import Status
from npuflow.report.model import FunctionReport

sys.path.insert(0, str(Path(__file__).parent))
from small_devices import with_programs_of
from window_chains import Window, chain

TWO = chain(20, 8, Window(channels=8), Window(channels=8))


def in_steps(text: str, tiles: tuple[int, int], rows: int, device: str = "npu2") -> FunctionReport:
    """What is reported of a program in tiles that cores go through in steps of so many rows."""
    pipeline = f"npuflow-stream-k{{window-tiles={tiles[0]},{tiles[1]} window-rows={rows} halos=cached}}"
    compiled = npuflow.compile(text, device=device, pipeline=pipeline)
    (function,) = compiled.run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified
    assert function.strategy["stream"] == (rows,), "rows aren't kept"
    return function


CASES = {
    "two": (TWO, (8, 8), 2),
    "two, a row at a time": (TWO, (8, 8), 1),
    "two, several tiles to a core": (TWO, (4, 4), 2),
    "three": (chain(22, 8, *[Window(channels=8)] * 3), (8, 8), 4),
    "a kernel of one row": (
        chain(20, 8, Window(3, channels=8), Window(1, channels=8), Window(3, channels=8)),
        (8, 8),
        2,
    ),
    "five by five": (chain(22, 8, Window(5), Window(3)), (8, 8), 4),
    "padded": (chain(16, 8, Window(pad=1, channels=8), Window(pad=1, channels=8)), (8, 8), 2),
    "padded three": (chain(16, 8, *[Window(pad=1, channels=8)] * 3), (8, 16), 2),
    "skip": (chain(16, 8, Window(pad=1, channels=8), Window(pad=1, channels=8), skip=True), (8, 8), 4),
    "a stride in front": (chain(33, 8, Window(stride=2, channels=8), Window(pad=1, channels=16)), (8, 8), 4),
    "depthwise": (chain(16, 8, Window(1, channels=16), Window(5, pad=2)), (8, 8), 4),
    "inverted residual": (
        chain(14, 8, Window(1, channels=32), Window(pad=1), Window(1, channels=8), skip=True),
        (14, 7),
        2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_that_are_kept_compute_what_windows_do_apart(name: str) -> None:
    in_steps(*CASES[name])


FLOATS = """
#image = affine_map<(h, w, c, y, x, i) -> (h + y, w + x, i)>
#taps = affine_map<(h, w, c, y, x, i) -> (y, x, i, c)>
#made = affine_map<(h, w, c, y, x, i) -> (h, w, c)>
#same = affine_map<(h, w, c) -> (h, w, c)>
#bias = affine_map<(h, w, c) -> (c)>
func.func @floats(%x: tensor<20x20x8x{kind}>, %v: tensor<3x3x8x8x{kind}>, %w: tensor<3x3x8x8x{kind}>, %b: tensor<8xf32>)
    -> tensor<16x16x8xf32> {{
  %z = arith.constant 0.0 : f32
  {first}
  {second}
  return %r1 : tensor<16x16x8xf32>
}}
"""


def convolution(number: int, size: int, read: str, weights: str, kind: str, made: str) -> str:
    """A convolution in f32 with a bias behind it, handed on in another type."""
    sums, rounded = f"tensor<{size}x{size}x8xf32>", f"tensor<{size}x{size}x8x{made}>"
    image, taps = f"tensor<{size + 2}x{size + 2}x8x{kind}>", f"tensor<3x3x8x8x{kind}>"
    widened = "\n".join(f"%{n}f = arith.extf %{n} : {kind} to f32" for n in "pq") if kind != "f32" else ""
    left, right = ("%pf", "%qf") if widened else ("%p", "%q")
    narrowed = f"%n = arith.truncf %t : f32 to {made}" if made != "f32" else ""
    return f"""
  %e{number} = tensor.empty() : {sums}
  %f{number} = linalg.fill ins(%z : f32) outs(%e{number} : {sums}) -> {sums}
  %s{number} = linalg.generic {{indexing_maps = [#image, #taps, #made],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
    ins({read}, {weights} : {image}, {taps}) outs(%f{number} : {sums}) {{
  ^bb0(%p: {kind}, %q: {kind}, %o: f32):
    {widened}
    %m = arith.mulf {left}, {right} : f32
    %a = arith.addf %o, %m : f32
    linalg.yield %a : f32
  }} -> {sums}
  %g{number} = tensor.empty() : {rounded}
  %r{number} = linalg.generic {{indexing_maps = [#same, #bias, #same],
    iterator_types = ["parallel", "parallel", "parallel"]}}
    ins(%s{number}, %b : {sums}, tensor<8xf32>) outs(%g{number} : {rounded}) {{
  ^bb0(%p: f32, %q: f32, %o: {made}):
    %t = arith.addf %p, %q : f32
    {narrowed}
    linalg.yield {"%n" if narrowed else "%t"} : {made}
  }} -> {rounded}"""


@pytest.mark.parametrize("kind", ["bf16", "f32"])
def test_floats(kind: str) -> None:
    first = convolution(0, 18, "%x", "%v", kind, kind)
    second = convolution(1, 16, "%r0", "%w", kind, "f32")
    in_steps(FLOATS.format(kind=kind, first=first, second=second), (8, 8), 2)


def test_other_devices() -> None:
    in_steps(TWO, (8, 8), 4, "npu1")
    in_steps(chain(12, 4, Window(channels=4), Window(channels=4)), (8, 4), 2, "toy")


def test_dram_traffic_is_the_closed_form() -> None:
    """A block reads its part of the image with a halo on each side, once for all steps, and weights come once.

    4 x 1 strips of 4 rows and all 16 columns, each of which a column of the array reads for itself.
    """
    function = in_steps(TWO, (4, 16), 2)
    strips = 4 * (4 + 4) * 20 * 8
    assert function.traffic[0].write_bytes == 16 * 16 * 8
    assert function.traffic[0].read_bytes in (strips + 2 * 9 * 64, 20 * 20 * 8 + 2 * 9 * 64)


def test_what_is_estimated_to_be_cheaper_is_chosen() -> None:
    """Of three wide convolutions, whose halos are wide as well, rows are kept; both ways are estimated."""
    sink = DiagnosticSink()
    wide = chain(118, 16, *[Window(channels=16)] * 3)
    (function,) = npuflow.compile(wide, device="npu2", sink=sink).functions
    said = [each.message for each in sink.diagnostics if "chain_0, chain_1, chain_2" in each.message]
    assert any("are one: in tiles of 28x28, whose halos are cached in steps of 4" in each for each in said)
    sink = DiagnosticSink()
    npuflow.compile(wide, "npuflow-stream-k{halos=recomputed}", device="npu2", sink=sink)
    assert not any("cached" in each.message for each in sink.diagnostics)
    assert function.name == "chain"


def test_what_a_schedule_refuses_of_cached_halos_is_computed_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Programs that keep rows are longer: where only those don't fit, halos are computed again."""
    monkeypatch.setattr("npuflow.strategy.bundle_times.program_fits", lambda *_: True)
    sink = DiagnosticSink()
    text, device = chain(116, 16, *[Window(channels=16)] * 2), with_programs_of(8600, "npu2", tmp_path)
    (function,) = npuflow.compile(text, "npuflow-stream-k", device=device, sink=sink).functions
    said = [each.message for each in sink.diagnostics]
    assert any(
        "groups chain_0, chain_1 cache no halos: the program of 'core' needs about 9168" in each for each in said
    )
    assert any("groups chain_0, chain_1 are one: in tiles of 14x28 " in each for each in said)
    assert function.name == "chain"


@settings(drawn(few=3, many=100), phases=(Phase.explicit, Phase.generate))
@given(
    st.integers(1, 3),
    st.integers(2, 4),
    st.integers(1, 3),
    st.lists(
        st.builds(
            lambda kernel, padded, channels: Window(kernel, 1, padded * (kernel // 2), channels),
            st.sampled_from([1, 3, 5]),
            st.integers(0, 1),
            st.sampled_from([None, 8, 16]),
        ),
        min_size=2,
        max_size=3,
    ),
)
def test_drawn_chains(rows: int, steps: int, strips: int, windows: list[Window]) -> None:
    """So many strips of so many steps; the sizes of the image follow from them."""
    if all(window.kernel == 1 for window in windows[1:]):
        windows = [*windows, Window(pad=1)]
    made = rows * steps * strips
    size = made + sum(window.kernel - 1 - 2 * window.pad for window in windows)
    pipeline = f"npuflow-stream-k{{window-tiles={rows * steps},{made} window-rows={rows} halos=cached}}"
    assert npuflow.compile(chain(size, 8, *windows), device="npu2", pipeline=pipeline).run(verify=True, judge=JUDGE).ok
