"""Passes that tests of the machinery need: each shows one thing a pass may do."""

import os
import signal
from dataclasses import dataclass
from typing import ClassVar

from npuflow import NamedPipeline, Pass, PassContext, Stage, fail, ops_of, option, register_pass, register_pipeline
from npuflow.bindings import ir


@register_pass
@dataclass(frozen=True)
class CountConstants(Pass):
    """Says where constants are, and how many there are."""

    name: ClassVar[str] = "test-count-constants"
    device: str = option("none", "device name or TOML file")
    at_most: int = option(100, "more than this is an error")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        constants = ops_of(op, "arith.constant")
        context.count("constants", len(constants))
        for constant in constants:
            context.remark(constant, f"a constant on {self.device}")
        for constant in constants[self.at_most :]:
            context.error(constant, f"more than {self.at_most} constants", "use fewer")


@register_pass
@dataclass(frozen=True)
class Warn(Pass):
    """Warns about each function."""

    name: ClassVar[str] = "test-warn"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for function in ops_of(op, "func.func"):
            context.warning(function, "a function", "none is needed")


@register_pass
@dataclass(frozen=True)
class Refuse(Pass):
    """Fails at once."""

    name: ClassVar[str] = "test-refuse"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        raise fail(op, "refused", "run another pass")


@register_pass
@dataclass(frozen=True)
class Crash(Pass):
    """Has a bug."""

    name: ClassVar[str] = "test-crash"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        raise KeyError("a bug in test-crash")


@register_pass
@dataclass(frozen=True)
class LeaveInvalid(Pass):
    """Leaves functions without a terminator."""

    name: ClassVar[str] = "test-leave-invalid"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for terminator in ops_of(op, "func.return"):
            terminator.erase()


@register_pipeline
@dataclass(frozen=True)
class ThreeStages(NamedPipeline):
    """Counts, folds, merges."""

    name: ClassVar[str] = "test-three-stages"
    kept_stages: ClassVar[tuple[str, ...]] = ("count",)
    default_resume: ClassVar[str] = "merge"
    device: str = option("none", "device name or TOML file")

    def stages(self) -> tuple[Stage, ...]:
        return (
            Stage("count", (CountConstants(self.device),)),
            Stage("fold", ("canonicalize",)),
            Stage("merge", ("func.func(cse)",)),
        )


@register_pass
@dataclass(frozen=True)
class Vanish(Pass):
    """Takes the process down, as a fault in C++ would."""

    name: ClassVar[str] = "test-vanish"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
