"""Runs a pipeline over a module: our passes directly, MLIR's through its pass manager, one leaf at a time.

Running leaf by leaf lets printing, timing, statistics and failure reports treat both kinds alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from npuflow.bindings import ir, passmanager
from npuflow.core.answers import NOTHING_ASKED, AsksAhead
from npuflow.core.diagnostics import DiagnosticSink, location_of
from npuflow.core.expansion import Expansion, Leaf, expand, leaves_of, numbered
from npuflow.core.passes import PassContext
from npuflow.core.pipeline_text import NamedNode, PassNest, PassNode, UpstreamNode, parse_pipeline
from npuflow.core.registry import place_in_plugin
from npuflow.errors import Diagnostic, InputError, InternalError, NpuflowError, Severity, UsageError

_OUR_PACKAGE = __name__.partition(".")[0]


@dataclass
class PassRun:
    """One pass at work on one op, and what it counted; `position` is the pass's place in the pipeline, from 1 on."""

    leaf: Leaf
    op: ir.Operation
    position: int
    statistics: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.leaf.name


class Instrumentation:
    """Called around every pass, the first of several outermost; override what is needed."""

    def before_pass(self, run: PassRun) -> None: ...

    def after_pass(self, run: PassRun) -> None: ...

    def after_pass_failed(self, run: PassRun) -> None: ...

    def configure_upstream(self, manager: passmanager.PassManager) -> None:
        """Called once with the pass manager of each upstream pass before anything runs."""


@dataclass
class Runner:
    """How to run: `Runner(parse_pipeline(text)).run(module)`."""

    pipeline: PassNest
    verify_each: bool = True
    stop_after: str | None = None
    instrumentations: Sequence[Instrumentation] = ()
    sink: DiagnosticSink = field(default_factory=DiagnosticSink)
    ahead: AsksAhead = NOTHING_ASKED
    _managers: dict[int, passmanager.PassManager] = field(default_factory=dict, init=False, repr=False)
    _input: ir.Operation | None = field(default=None, init=False, repr=False)

    def run(self, module: ir.Module | ir.Operation) -> DiagnosticSink:
        """Runs every pass; raises InputError, UsageError or InternalError at the first that fails.

        Whatever is raised for the input's or our fault is in the sink as well.
        """
        op = module.operation
        pipeline = expand(self.pipeline, Expansion(self.stop_after))
        with op.context, self.sink.capture(op.context):
            if _has_others_passes(pipeline):
                op.context.load_all_available_dialects()
            self._managers = self._prepare(pipeline)
            self._input = op.clone() if _needs_input(pipeline) else None
            try:
                self._run_nest(pipeline, op)
            except NpuflowError as error:
                self.sink.add_new(error.diagnostics)
                raise
        return self.sink

    def _prepare(self, pipeline: PassNest) -> dict[int, passmanager.PassManager]:
        """A pass manager per upstream pass, by its position; a bad option is refused before anything runs."""
        managers: dict[int, passmanager.PassManager] = {}
        for position, (anchor, leaf) in enumerate(leaves_of(pipeline), 1):
            if isinstance(leaf, UpstreamNode):
                managers[position] = upstream_manager(anchor, leaf)
                for watcher in self.instrumentations:
                    watcher.configure_upstream(managers[position])
        return managers

    def _run_nest(self, nest: PassNest, op: ir.Operation, first: int = 1) -> None:
        for position, element in numbered(nest, first):
            if isinstance(element, NamedNode):
                raise AssertionError(f"pipeline '{element.name}' was not expanded")
            if not isinstance(element, PassNest):
                self._run_leaf(PassRun(element, op, position))
                continue
            for child in _children(op, element.anchor):
                self._run_nest(element, child, position)

    def _run_leaf(self, run: PassRun) -> None:
        for watcher in self.instrumentations:
            watcher.before_pass(run)
        try:
            run.statistics = self._execute(run)
        except BaseException:
            for watcher in reversed(self.instrumentations):
                watcher.after_pass_failed(run)
            raise
        for watcher in reversed(self.instrumentations):
            watcher.after_pass(run)

    def _execute(self, run: PassRun) -> dict[str, int]:
        leaf, op, first = run.leaf, run.op, len(self.sink.diagnostics)
        if isinstance(leaf, UpstreamNode):
            self._run_upstream(run, first)
            statistics: dict[str, int] = {}
        else:
            statistics = self._run_ours(leaf, op, first)
        if self.verify_each and _may_have_changed(leaf, statistics):
            self._verify(leaf, op)
        return statistics

    def _run_ours(self, leaf: PassNode, op: ir.Operation, first: int) -> dict[str, int]:
        context = PassContext(leaf.name, self.sink, input=self._input, ahead=self.ahead)
        try:
            leaf.instance.run(op, context)
        except NpuflowError as error:
            self.sink.add_new(error.diagnostics)
            raise
        except ir.MLIRError as error:
            raise self._crash(leaf, op, str(error), error) from error
        except Exception as error:
            raise self._crash(leaf, op, f"{type(error).__name__}: {error}", error) from error
        if context.failed:
            raise InputError(self.sink.errors_from(first))
        return context.statistics

    def _run_upstream(self, run: PassRun, first: int) -> None:
        try:
            self._managers[run.position].run(run.op)
        except ir.MLIRError:
            errors = self.sink.errors_from(first)
            text = f"pass '{run.name}' failed"
            raise InputError(errors or Diagnostic(Severity.ERROR, text, location_of(run.op))) from None

    def _verify(self, leaf: Leaf, op: ir.Operation) -> None:
        first = len(self.sink.diagnostics)
        try:
            valid = op.verify()
        except ir.MLIRError:
            valid = False
        if valid:
            return
        place = location_of(op)
        text = f"pass '{leaf.name}' left invalid IR"
        raise InternalError([*self.sink.errors_from(first), Diagnostic(Severity.ERROR, text, place)])

    def _crash(self, leaf: PassNode, op: ir.Operation, what: str, error: Exception) -> InternalError:
        """A defect of the pass; of a plugin's, with the plugin's line."""
        place = place_in_plugin(error)
        notes = (Diagnostic(Severity.NOTE, "raised here, in a plugin", place),) if place else ()
        return InternalError(Diagnostic(Severity.ERROR, f"pass '{leaf.name}' crashed: {what}", location_of(op), notes))


def _children(op: ir.Operation, anchor: str) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for child in list(block.operations):
                if anchor in (child.operation.name, "any"):
                    yield child.operation


def _may_have_changed(leaf: Leaf, statistics: dict[str, int]) -> bool:
    """Whether IR may be other than before a pass that counted this."""
    counts_changes = isinstance(leaf, PassNode) and leaf.instance.counts_changes
    return not counts_changes or any(statistics.values())


def _needs_input(pipeline: PassNest) -> bool:
    return any(isinstance(leaf, PassNode) and leaf.instance.needs_input for _, leaf in leaves_of(pipeline))


def _has_others_passes(pipeline: PassNest) -> bool:
    """Whether a pass is a plugin's, which may make ops of dialects that nobody has read."""
    passes = (leaf.instance for _, leaf in leaves_of(pipeline) if isinstance(leaf, PassNode))
    return any(type(one).__module__.partition(".")[0] != _OUR_PACKAGE for one in passes)


def upstream_manager(anchor: str, leaf: UpstreamNode) -> passmanager.PassManager:
    """MLIR's pass manager for one of its passes; raises UsageError where MLIR refuses its options or its anchor."""
    manager = passmanager.PassManager(anchor)
    try:
        manager.add(leaf.text)
    except ValueError as error:
        lines = (line.strip() for line in str(error).splitlines())
        text = " ".join(line for line in lines if line not in ("", "^", leaf.text))
        raise UsageError(f"pass '{leaf.name}' is not accepted on '{anchor}': {text}") from None
    manager.enable_verifier(False)
    return manager


def run_pipeline(module: ir.Module, pipeline: str | PassNest, *, verify_each: bool = True) -> DiagnosticSink:
    """Runs pipeline text on a module: `run_pipeline(module, "npuflow-stream-k{grid=2,2},cse")`."""
    nest = parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    return Runner(nest, verify_each=verify_each).run(module)
