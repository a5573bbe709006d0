"""Parts that were mapped for tensors to stay on the chip, and are mapped for DRAM where these don't."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import npuflow
import npuflow.target
from npuflow.compiler import tries
from npuflow.compiler.compiled import Sequence
from npuflow.compiler.moved_parts import MovedPart, moved_parts
from npuflow.compiler.regroupings import Regrouping
from npuflow.compiler.tries import Tries
from npuflow.strategy.work import work_of

ROWS, INNER, WIDTH = 512, 1280, 160
_DEVICES = Path(npuflow.target.__file__).parent / "devices"


def two_products() -> str:
    """x w v, transposed, with what the first product hands over, 640 KiB, cut to i8."""
    x, w, v = f"tensor<{ROWS}x{WIDTH}xi8>", f"tensor<{WIDTH}x{INNER}xi8>", f"tensor<{INNER}x{WIDTH}xi8>"
    return f"""
#same = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
func.func @f(%x: {x}, %w: {w}, %v: {v}) -> tensor<{WIDTH}x{ROWS}xi8> {{
  %zero = arith.constant 0 : i32
  {_product("y", "x", "w", (ROWS, WIDTH, INNER), "same", (ROWS, INNER))}
  {_product("z", "y", "v", (ROWS, INNER, WIDTH), "turned", (WIDTH, ROWS))}
  return %z : tensor<{WIDTH}x{ROWS}xi8>
}}"""


def _product(name: str, left: str, right: str, sizes: tuple[int, int, int], cut_by: str, shape: tuple[int, int]) -> str:
    m, k, n = sizes
    sums, cut = f"tensor<{m}x{n}xi32>", f"tensor<{shape[0]}x{shape[1]}xi8>"
    return f"""
  %{name}e = tensor.empty() : {sums}
  %{name}f = linalg.fill ins(%zero : i32) outs(%{name}e : {sums}) -> {sums}
  %{name}s = linalg.matmul ins(%{left}, %{right} : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>)
      outs(%{name}f : {sums}) -> {sums}
  %{name}o = tensor.empty() : {cut}
  %{name} = linalg.generic {{indexing_maps = [#same, #{cut_by}], iterator_types = ["parallel", "parallel"]}}
      ins(%{name}s : {sums}) outs(%{name}o : {cut}) {{
  ^bb0(%a: i32, %o: i8):
    %r = arith.trunci %a : i32 to i8
    linalg.yield %r : i8
  }} -> {cut}"""


@pytest.fixture
def quarter(tmp_path: Path) -> Path:
    """npu2 with memory tiles of 128 KiB."""
    file = tmp_path / "quarter.toml"
    file.write_text((_DEVICES / "npu2.toml").read_text().replace("bytes = 524288 ", "bytes = 131072 "))
    return file


def compiled(device: str | Path, *disable: str) -> npuflow.Compiled:
    return npuflow.compile(two_products(), device=device, split=True, disable=["fusion", *disable])


def lost(sequence: Sequence) -> list[float]:
    """What each part loses if nothing stays."""
    return [sum(group.lost_in_dram for group in work_of(part.compiled.op)) for part in sequence.parts]


def test_what_does_not_stay_is_mapped_for_dram_where_that_is_faster(quarter: Path) -> None:
    (before,), made = compiled(quarter, "tries").sequences, compiled(quarter)
    (after,) = made.sequences
    assert len(before.away) == 1
    told = moved_parts(before, before.compiled.calls)
    assert told == {before.parts[1].name: MovedPart(arguments=frozenset({0}))}
    assert lost(before)[1] > 0 == lost(after)[1]
    assert before.seconds - after.seconds > 0.5 * lost(before)[1]
    generator = np.random.default_rng(0)
    x, w, v = (
        generator.integers(-128, 128, shape, np.int8) for shape in ((ROWS, WIDTH), (WIDTH, INNER), (INNER, WIDTH))
    )
    y = (x.astype(np.int32) @ w.astype(np.int32)).astype(np.int8)
    (found,) = after.execute(x, w, v)
    assert np.array_equal(found, (y.astype(np.int32) @ v.astype(np.int32)).astype(np.int8).T)


def test_what_stays_is_not_told_anything() -> None:
    (before,), (after,) = compiled("npu2", "tries").sequences, compiled("npu2").sequences
    assert not before.away
    assert moved_parts(before, before.compiled.calls) == {}
    assert after.seconds == before.seconds


def test_a_fork_finds_what_is_faster_while_other_groups_are_tried(
    quarter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone,) = npuflow.compile(two_products(), device=quarter, split=True).sequences
    tried, mapped = list[str](), Tries._map_for_dram

    def counted(work: Tries, start: Sequence) -> object:
        tried.append(start.name)
        return mapped(work, start)

    nothing = Regrouping(frozenset(), frozenset(), 1.0, "it is said to gain much")
    monkeypatch.setattr(tries, "regroupings", lambda *_: (nothing,))
    monkeypatch.setattr(Tries, "_map_for_dram", counted)
    monkeypatch.setattr(Tries, "unfuse", lambda *_: False)
    (beside,) = npuflow.compile(two_products(), device=quarter, split=True, jobs=2).sequences
    assert not tried
    assert beside.seconds == alone.seconds
    assert [part.timing for part in beside.parts] == [part.timing for part in alone.parts]
    assert lost(beside) == lost(alone)
