"""Two matmuls stay apart where that is clearly faster."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import npuflow
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.core.runner import Runner
from npuflow.fusion import fuse_matmuls
from npuflow.ops.bundle import marked_bundles
from npuflow.ops.chains import Chain
from npuflow.ops.estimated import Estimates

PRODUCTS = (Path(__file__).parent / "fuse-matmuls-phases.mlir").read_text(encoding="utf-8")


@pytest.mark.parametrize(("fused", "is_one"), [(1.03, True), (1.05, False)])
def test_matmuls_are_one_unless_more_parts_are_clearly_faster(
    fused: float, is_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seconds(_: fuse_matmuls._Among, __: Chain, times: Iterable[Estimates]) -> float:
        return fused if len([*times]) == 1 else 1.0

    monkeypatch.setattr(fuse_matmuls._Among, "seconds_in_place", seconds)
    module = npuflow.parse(PRODUCTS, npuflow.new_context())
    Runner(parse_pipeline("npuflow-normalize-linalg,npuflow-fuse-matmuls{device=npu2}")).run(module)
    assert len(marked_bundles(module.operation)) == is_one
