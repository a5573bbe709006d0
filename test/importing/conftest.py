"""Which tests of this folder need PyTorch or onnx, which npuflow doesn't: they are skipped where those are missing."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def _torch() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)


@pytest.fixture(scope="session")
def _onnx(_torch: None) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed", exc_type=ImportError)
