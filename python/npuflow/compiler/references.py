"""What functions of the input must compute: found on threads beside other work, from the moment on that it is begun."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from math import prod

from npuflow.bindings import ir
from npuflow.compiler.cut import is_long
from npuflow.compiler.sources import FunctionSource, sources_of
from npuflow.core.build import is_static, shape_of
from npuflow.core.parsing import parse
from npuflow.dialect.context import new_context
from npuflow.errors import Diagnostic, Severity, with_hint
from npuflow.execute.arrays import functions_of
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.references import Judge, Reference, judged, make_reference
from npuflow.network.parts import body_of
from npuflow.ops.allowed_ops import problems_in
from npuflow.ops.linear import loop_extents

# A functional run takes about two seconds per 2^30 multiply-accumulates.
VERIFIED_MACS = 1 << 28
# Executing needs all ops compiled, which is no quick matter of thousands.
_FEW_OPS = 64


@dataclass(frozen=True)
class _Begun:
    """A function's reference by its own execution, and the same as the judge sees it."""

    own: Future[Reference]
    judged: Future[Reference]


@dataclass(frozen=True)
class References:
    """References of functions by name, on data drawn from a seed; each is computed once, on threads of `pool`."""

    pool: Executor
    seed: int
    judge: Judge
    _begun: dict[str, _Begun] = field(default_factory=dict)

    def begin(self, source: FunctionSource) -> None:
        """Begins with a function, unless that is begun."""
        name = source.name
        if name not in self._begun:
            code = source.bytecode()
            own = self.pool.submit(_reference, code, name, self.seed)
            asks = self.judge is Judge.IREE  # else there is nothing to wait for but that
            self._begun[name] = _Begun(own, self.pool.submit(_judged, code, name, own) if asks else own)

    def begin_ahead(self, module: ir.Module) -> None:
        """Begins with a module's only function if that is quick, before anybody knows whether it can be compiled."""
        sources = sources_of(module)
        if len(sources) == 1 and _is_quick(sources[0]):
            self.begin(sources[0])

    def own(self, name: str) -> Reference:
        return self._begun[name].own.result()

    def judged(self, name: str) -> Reference:
        return self._begun[name].judged.result()


def _is_quick(source: FunctionSource) -> bool:
    """Whether a function is one that is executed without being asked for: few ops, all allowed, that take few steps.

    One of more ops may come apart, and what is compiled side by side then are forks, for which threads are no good.
    """
    ops = body_of(source.function)
    if len(ops) > _FEW_OPS or is_long(source) or any(True for _ in problems_in(source.function)):
        return False
    return all(map(is_static, ops)) and sum(map(_steps, ops)) <= VERIFIED_MACS


def _steps(op: ir.Operation) -> int:
    """The elements that an op goes through: those of its loops, or else those that it makes."""
    if op.name.startswith("linalg.") and op.regions:
        return prod(loop_extents(op))
    return sum(prod(shape_of(value)) for value in op.results if isinstance(value.type, ir.ShapedType))


def _reference(code: bytes, name: str, seed: int) -> Reference:
    """What a function computes by its own execution; in a context of its own, since it runs beside other work."""
    module, function = _function(code, name)
    return make_reference(module.operation, function, seed)


def _judged(code: bytes, name: str, reference: Future[Reference]) -> Reference:
    """The same as IREE sees it."""
    module, _ = _function(code, name)
    try:
        return judged(module.operation, reference.result(), Judge.IREE)
    except ImportError as error:
        hint = "pip install iree-base-compiler iree-base-runtime"
        message = with_hint(f"@{name} cannot be compared with IREE: {error}", hint)
        raise NotExecutableError(Diagnostic(Severity.ERROR, message)) from error


def _function(code: bytes, name: str) -> tuple[ir.Module, ir.Operation]:
    module = parse(code, new_context())
    return module, next(op for op in functions_of(module.operation) if str(op.opview.name.value) == name)
