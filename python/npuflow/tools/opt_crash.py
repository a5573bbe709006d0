"""What `npuflow-opt` does when a pass fails: a short stack trace, a file that reproduces it, and how to replay that."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from npuflow.bindings import ir
from npuflow.core.expansion import Leaf
from npuflow.core.reproducer import DEFAULT_FILE, located_text, make_reproducer
from npuflow.errors import Diagnostic, InputError, InternalError, NpuflowError, Severity
from npuflow.tools.crash import show_traceback
from npuflow.tools.opt_plan import Plan
from npuflow.tools.outputs import STDOUT, write_output


@dataclass(frozen=True)
class CrashReport:
    """Writes reproducers for our bugs, and for every failing pass where a file for them was named."""

    plan: Plan
    report: Callable[[Diagnostic], None]

    def write_as_asked(self, module: ir.Module) -> None:
        """The reproducer that was asked for whatever happens, before anything does."""
        if self.plan.flags.mlir_generate_reproducer is not None:
            write_output(self.plan.flags.mlir_generate_reproducer, self._whole(module))

    def write_ahead(self, module: ir.Module) -> None:
        """Where a file was named, it is there even if MLIR takes the whole process down."""
        if self._named is not None and self._named != STDOUT:
            write_output(self._named, self._whole(module))

    def drop(self) -> None:
        """Takes back what was written ahead."""
        if self._named is not None and Path(self._named).is_file():
            Path(self._named).unlink()

    def explain(self, error: NpuflowError, failed: Leaf | None, parse_input: Callable[[], ir.Module]) -> None:
        """Shows where a pass of ours crashed and, where there is to be one, writes the reproducer."""
        if isinstance(error, InternalError):
            show_traceback(error)
        path = self._path_for(error)
        if failed is None or path is None:
            return
        text, passes = make_reproducer(self.plan.how, self.plan.pipeline, failed, parse_input)
        try:
            write_output(path, text.encode())
        except InputError as failure:
            self.report(failure.diagnostics[0])
            return
        count = f"{passes} pass{'' if passes == 1 else 'es'}"
        name = "standard output" if path == STDOUT else path
        self.report(Diagnostic(Severity.NOTE, f"{name} reproduces this with {count}; hint: {self._replay(path)}"))

    def _whole(self, module: ir.Module) -> bytes:
        whole = replace(self.plan.how, pipeline=str(self.plan.pipeline))
        return whole.file_text(located_text(module)).encode()

    @property
    def _named(self) -> str | None:
        return self.plan.flags.mlir_pass_pipeline_crash_reproducer

    def _path_for(self, error: NpuflowError) -> str | None:
        if self._named is not None:
            return self._named
        if self.plan.flags.run_reproducer:
            return None  # the input is the reproducer
        return DEFAULT_FILE if isinstance(error, InternalError) else None

    def _replay(self, path: str) -> str:
        flags = self.plan.flags
        extra = [f"--load={p}" for p in flags.load] + [f"--irdl-file={p}" for p in flags.irdl_file]
        if flags.allow_unregistered_dialect:
            extra.append("--allow-unregistered-dialect")
        return shlex.join(["npuflow-opt", "--run-reproducer", *extra, path])
