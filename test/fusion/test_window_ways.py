"""Which tiles of a chain are looked at: none that are larger than such as don't fit, which finds the same."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import pytest

import npuflow.pipelines  # noqa: F401  (registers the passes)
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.dialect.context import new_context
from npuflow.fusion import window_ways
from npuflow.fusion.homes import Homes
from npuflow.fusion.mapped_alike import MAPPED_ALIKE
from npuflow.fusion.seconds_apart import mapped_apart
from npuflow.fusion.window_chain import TiledChain, WindowChain, chain_of
from npuflow.fusion.window_tiles import Halos
from npuflow.fusion.window_ways import Cost, FusedWindows, WindowWays
from npuflow.network.groups import groups_of
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device, load_device

# Two convolutions in a row.
_X, _S, _R, _W = (f"tensor<{shape}xf32>" for shape in ("1x20x20x8", "1x18x18x8", "1x16x16x8", "3x3x8x8"))
CONVOLUTIONS = f"""
func.func @f(%x: {_X}, %v: {_W}, %w: {_W}) -> {_R} {{
  %z = arith.constant 0.0 : f32
  %a = tensor.empty() : {_S}
  %b = linalg.fill ins(%z : f32) outs(%a : {_S}) -> {_S}
  %s = linalg.conv_2d_nhwc_hwcf ins(%x, %v : {_X}, {_W}) outs(%b : {_S}) -> {_S}
  %c = tensor.empty() : {_R}
  %d = linalg.fill ins(%z : f32) outs(%c : {_R}) -> {_R}
  %r = linalg.conv_2d_nhwc_hwcf ins(%s, %w : {_S}, {_W}) outs(%d : {_R}) -> {_R}
  return %r : {_R}
}}
"""


def device_with(l1_bytes: int) -> Device:
    device = load_device("npu2")
    levels = (
        replace(level, bytes=l1_bytes, reserved_bytes=0) if level.number == device.kernel_level else level
        for level in device.levels
    )
    return replace(device, levels=tuple(levels))


def best(device: Device) -> FusedWindows | None:
    module = parse(CONVOLUTIONS, new_context())
    Runner(parse_pipeline("npuflow-normalize-linalg"), sink=DiagnosticSink()).run(module)
    with module.context:
        (function,) = ops_of(module.operation, "func.func")
        groups = groups_of(function, GrowthOn(device))
        chain = chain_of([op for group in groups for op in group.ops])
        assert isinstance(chain, WindowChain)
        said = Strategy()
        homes = Homes(groups, lambda group, numbers: mapped_apart(group, device, said, bundles=False, numbers=numbers))
        ways = WindowWays(device, said, (), None, Halos.RECOMPUTED)
        return ways.best(chain, Cost(homes, frozenset(range(len(groups)))), may_cache=False)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[TiledChain]:
    """The tiles that a chain is made in."""
    monkeypatch.setattr(MAPPED_ALIKE, "_found", OrderedDict())
    found: list[TiledChain] = []
    overlapped = window_ways.overlapped
    monkeypatch.setattr(window_ways, "overlapped", lambda tiled: (found.append(tiled), overlapped(tiled))[1])
    return found


def test_the_same_is_found(looked_at: list[TiledChain], monkeypatch: pytest.MonkeyPatch) -> None:
    device = device_with(2500)
    found, count = best(device), len(looked_at)
    assert found is not None
    monkeypatch.setattr(TiledChain, "is_around", lambda *_: False)
    looked_at.clear()
    monkeypatch.setattr(MAPPED_ALIKE, "_found", OrderedDict())
    every = best(device)
    assert every is not None
    assert (every.tiled.tiles, every.price) == (found.tiled.tiles, found.price)
    assert count < len(looked_at)


def test_where_the_smallest_tile_does_not_fit_no_other_is_looked_at(looked_at: list[TiledChain]) -> None:
    assert best(device_with(1024)) is None
    assert [tiled.tiles for tiled in looked_at] == [(1, 1)]
