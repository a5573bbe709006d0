"""IR as text: how ops are printed, and dumps before and after passes as `mlir-opt` makes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from npuflow.bindings import ir
from npuflow.core.runner import Instrumentation, PassRun
from npuflow.errors import InputError, with_hint


@dataclass(frozen=True)
class PrintStyle:
    """MLIR's printing flags."""

    generic: bool = False
    debug_info: bool = False
    pretty_debug_info: bool = False
    local_scope: bool = False
    skip_regions: bool = False
    elide_elements_above: int | None = None
    elide_resources_above: int | None = None
    assume_verified: bool = False

    def text(self, op: ir.Operation, *, verified: bool = True) -> str:
        """The op as text; ops that may be invalid print generically, as printers may rely on what verifiers check."""
        return str(
            op.get_asm(
                print_generic_op_form=self.generic,
                enable_debug_info=self.debug_info or self.pretty_debug_info,
                pretty_debug_info=self.pretty_debug_info,
                use_local_scope=self.local_scope,
                skip_regions=self.skip_regions,
                large_elements_limit=self.elide_elements_above,
                large_resource_limit=self.elide_resources_above,
                assume_verified=self.assume_verified and verified,
            )
        )


@dataclass(frozen=True)
class DumpSelection:
    """Which passes to dump around; `after_change` and `after_failure` narrow what is dumped after them."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    after_change: bool = False
    after_failure: bool = False

    @property
    def is_empty(self) -> bool:
        return self == DumpSelection()

    def wants_before(self, name: str) -> bool:
        return self.before_all or name in self.before

    def wants_after(self, name: str) -> bool:
        """`after_change` alone means every pass, as a narrowing of nothing would show nothing."""
        return self.after_all or name in self.after or (self.after_change and not self.after)


@dataclass
class IrDumper(Instrumentation):
    """Dumps IR around passes through `write`, or into a directory tree of one file per dump."""

    selection: DumpSelection
    style: PrintStyle
    write: Callable[[str], object]
    module_scope: bool = False
    tree_directory: str | None = None
    _before: str = field(default="", init=False)
    _counters: dict[str, int] = field(default_factory=dict, init=False)

    def before_pass(self, run: PassRun) -> None:
        """Dumps, or keeps what a change is measured against."""
        if self.selection.after_change and self.selection.wants_after(run.name):
            self._before = str(run.op)
        if self.selection.wants_before(run.name):
            self._dump("IR Dump Before", run)

    def after_pass(self, run: PassRun) -> None:
        """Dumps, unless only changes or failures are wanted."""
        if not self.selection.wants_after(run.name) or self.selection.after_failure:
            return
        if self.selection.after_change and str(run.op) == self._before:
            return
        self._dump("IR Dump After", run)

    def after_pass_failed(self, run: PassRun) -> None:
        """Dumps what a failed pass left behind."""
        if self.selection.after_failure or self.selection.wants_after(run.name):
            self._dump("IR Dump After Failed", run, verified=False)

    def _dump(self, title: str, run: PassRun, *, verified: bool = True) -> None:
        header = f"// -----// {title} {run.leaf} //----- //"
        shown = run.op
        if self.module_scope and run.op.parent is not None:
            header = f"// -----// {title} {run.leaf} ('{run.op.name}' operation{_symbol(run.op, ': @')}) //----- //"
            shown = _outermost(run.op)
        text = f"{header}\n{self.style.text(shown, verified=verified)}\n"
        if self.tree_directory is None:
            self.write(text + "\n")
            return
        file = self._next_file(self.tree_directory, run)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(
                with_hint(f"cannot write '{file}': {error.strerror}", "choose another tree-dir")
            ) from error

    def _next_file(self, root: str, run: PassRun) -> Path:
        """`builtin_module_no-symbol-name/func_func_f/1_0_cse.mlir`: a counter per op, after those of its parents."""
        chain = [run.op]
        while chain[0].parent is not None:
            chain.insert(0, chain[0].parent.operation)
        directories = [f"{o.name.replace('.', '_')}_{_symbol(o) or 'no-symbol-name'}" for o in chain]
        paths = ["/".join(directories[: depth + 1]) for depth in range(len(chain))]
        for parent in paths[:-1]:
            self._counters.setdefault(parent, 0)
        self._counters[paths[-1]] = self._counters.get(paths[-1], -1) + 1
        number = "_".join(str(self._counters[path]) for path in paths)
        return Path(root, *directories, f"{number}_{run.name}.mlir")


def _symbol(op: ir.Operation, prefix: str = "") -> str:
    if "sym_name" not in op.attributes:
        return ""
    return prefix + re.sub(r"[^\w.$-]", "_", str(ir.StringAttr(op.attributes["sym_name"]).value))


def _outermost(op: ir.Operation) -> ir.Operation:
    while op.parent is not None:
        op = op.parent.operation
    return op
