"""The scripts of tools/ as modules."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def load(name: str) -> ModuleType:
    loader = SourceFileLoader(f"npuflow_tools_{name.partition('.')[0].replace('-', '_')}", str(TOOLS / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def bench() -> ModuleType:
    return load("bench")


@pytest.fixture(scope="session")
def check() -> ModuleType:
    return load("check")


@pytest.fixture(scope="session")
def nightly() -> ModuleType:
    return load("nightly")


@pytest.fixture(scope="session")
def console_blocks() -> ModuleType:
    return load("console_blocks.py")


@pytest.fixture(scope="session")
def update_generated() -> ModuleType:
    return load("update-generated")


@pytest.fixture(scope="session")
def operator_table() -> ModuleType:
    return load("operator-table")


@pytest.fixture(scope="session")
def fit_device() -> ModuleType:
    return load("fit-device")
