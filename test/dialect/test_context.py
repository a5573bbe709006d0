"""What contexts know, and what that costs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

import npuflow


class Spy:
    """An importer that has nothing, and notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        self.asked.append(name)
        return None


def test_mlir_does_not_search_for_the_dialects_module_at_each_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    module = npuflow.parse('module attributes {npu.device = #npu.device<"toy", {}>} {}', npuflow.new_context())
    attributes = module.operation.attributes
    assert type(attributes["npu.device"]).__name__ == "DeviceAttr"  # the first may search
    spy = Spy()
    monkeypatch.setattr(sys, "meta_path", [spy, *sys.meta_path])
    for _ in range(3):
        assert type(attributes["npu.device"]).__name__ == "DeviceAttr"
    assert spy.asked == []
