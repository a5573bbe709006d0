"""The native module is there, and is the one that belongs to this package."""

from __future__ import annotations

import npuflow
from npuflow import _native


def test_it_was_built_for_this_version() -> None:
    assert _native.version() == npuflow.__version__
