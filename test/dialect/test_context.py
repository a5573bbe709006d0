"""What contexts know, and what that costs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import ClassVar

import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import Pass, PassContext
from npuflow.core.pipeline_text import PassNest, PassNode
from npuflow.core.runner import Runner
from npuflow.dialect.npu import irdl_text


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


def test_a_dialect_that_no_program_is_of_is_loaded_when_it_is_read() -> None:
    context = npuflow.new_context()
    assert not context.is_dialect_loaded("spirv")
    npuflow.parse("spirv.module Logical GLSL450 {}", context)
    assert context.is_dialect_loaded("spirv")


@dataclass(frozen=True)
class MakesSpirv(Pass):
    """Adds an op of a dialect that the program doesn't use."""

    name: ClassVar[str] = "test-makes-spirv"
    group: ClassVar[str] = "test"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        function = op.regions[0].blocks[0].operations[0]
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]), function.location:
            ir.Operation.create("spirv.Undef", [ir.F32Type.get()])


def test_anybodys_pass_may_make_ops_of_any_dialect() -> None:
    module = npuflow.parse("func.func @f() { return }", npuflow.new_context())
    Runner(PassNest("builtin.module", (PassNode(MakesSpirv(), MakesSpirv.name),))).run(module)
    assert "spirv.Undef" in str(module)


def test_the_dialect_is_the_same_in_each_context() -> None:
    first = irdl_text()
    npuflow.new_context()
    assert irdl_text() == first
