"""Tests import the installed package; `tools/check native` names another build of it to test instead."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# What all rooms' tests share, and what runs commands for them.
sys.path[:0] = [str(Path(__file__).parent / "support"), str(Path(__file__).parents[1] / "tools")]

BUILD = os.environ.get("NPUFLOW_TEST_BUILD")

import profiles  # noqa: E402, F401  (registers the settings of all that draws)

if BUILD is not None:
    # An editable install answers for the package before any path is looked at.
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"]
    sys.path.insert(0, BUILD)


def pytest_sessionstart() -> None:
    """Refuses to test another build than the one that was asked for."""
    if BUILD is None:
        return
    from npuflow import _native

    assert Path(_native.__file__).is_relative_to(BUILD), f"{_native.__file__} is not in {BUILD}"
