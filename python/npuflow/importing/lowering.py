"""From torch-mlir's own dialect to `linalg` on tensors, by its pipelines; their errors are passed on."""

from __future__ import annotations

import re
from dataclasses import replace

from npuflow.bindings import ir, passmanager
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.passes import ops_of
from npuflow.errors import InputError, with_hint
from npuflow.importing.bools import read_bools
from npuflow.importing.constant_places import read_slices
from npuflow.importing.extremes import keep_nans
from npuflow.importing.loops import write_out_loops
from npuflow.importing.nan_places import place_nans
from npuflow.importing.shifts import bound_shifts

_TO_LINALG = "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"
FROM_TORCH = f"func.func(torch-match-quantized-custom-ops),torchdynamo-export-to-torch-backend-pipeline,{_TO_LINALG}"
FROM_ONNX = f"torch-onnx-to-torch-backend-pipeline,{_TO_LINALG}"

_UNKNOWN = re.compile(r"failed to legalize operation 'torch\.operator'.*?name = \"(?:torch\.)?([^\"]+)\"", re.DOTALL)
_FAILED = re.compile(r"failed to legalize operation '(?:torch\.)?([^']+)'")
_READ = re.compile(r"failed to legalize operation 'torch\.(constant|vtensor\.literal|prim)")
_IN_SHORT = "Module does not conform"  # with what others say, which it points to
_LEFT = re.compile(r"torch\.(aten|prims)\.")
_NO_OP = "torch-mlir has no op for '{}'"
_NAMED = re.compile(_NO_OP.format("([^']+)"))
_SHOWN = 5
_HINT = "torch-mlir has no lowering of it, or of what reads it; write that part of the network in another way"


class UnknownOpsError(InputError):
    """Ops that torch-mlir doesn't have, by their names, which a network may have in another way."""

    @property
    def names(self) -> tuple[str, ...]:
        found = (_NAMED.match(one.message) for one in self.diagnostics)
        return tuple(each[1] for each in found if each)


def lower(module: ir.Module, pipeline: str) -> None:
    """Runs a pipeline in place; raises InputError with what it reports, at the lines of the network's source.

    Of ops that torch-mlir doesn't have that is an UnknownOpsError.
    """
    sink = DiagnosticSink()
    with module.context, sink.capture(module.context):
        try:
            passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
        except ir.MLIRError as error:
            if not sink.errors:
                raise InputError(with_hint(f"torch-mlir cannot lower this network: {error}", _HINT)) from error
            # Their notes print the op once more.
            others = [d for d in sink.errors if not d.message.startswith(_IN_SHORT)] or sink.errors
            said = [replace(d, message=with_hint(_said(d.message, module), _HINT), notes=()) for d in others]
            is_unknown = any(_NAMED.match(one.message) for one in said)
            raise (UnknownOpsError if is_unknown else InputError)(said) from error
    if write_out_loops(module):
        with module.context:
            passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
    read_slices(module)
    read_bools(module)
    keep_nans(module)
    place_nans(module)
    bound_shifts(module)


def _said(message: str, module: ir.Module) -> str:
    """Which op is meant: one that torch-mlir doesn't know stands in an attribute, one that is left in who it reads."""
    if unknown := _UNKNOWN.match(message):
        return _NO_OP.format(unknown[1])
    if not _READ.match(message):
        failed = _FAILED.match(message)
        return f"torch-mlir cannot lower '{failed[1]}'" if failed else message
    if unknown_ops := ops_of(module.operation, "torch.operator"):
        return _NO_OP.format(str(unknown_ops[0].attributes["name"].value).removeprefix("torch."))
    left = dict.fromkeys(op.name.removeprefix("torch.") for op in ops_of(module.operation) if _LEFT.match(op.name))
    if not left:
        return message.partition(": ")[0]
    shown = [f"'{name}'" for name in [*left][:_SHOWN]]
    return f"torch-mlir cannot lower {'one of ' if len(left) > 1 else ''}{', '.join(shown)}"
