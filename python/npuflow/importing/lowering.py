"""From torch-mlir's own dialect to `linalg` on tensors, by its pipelines; their errors are passed on."""

from __future__ import annotations

from dataclasses import replace

from npuflow.bindings import ir, passmanager
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.errors import InputError, with_hint

_TO_LINALG = "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"
FROM_TORCH = f"func.func(torch-match-quantized-custom-ops),torchdynamo-export-to-torch-backend-pipeline,{_TO_LINALG}"
FROM_ONNX = f"torch-onnx-to-torch-backend-pipeline,{_TO_LINALG}"

_HINT = "torch-mlir has no lowering of it, or of what reads it; write that part of the network in another way"


def lower(module: ir.Module, pipeline: str) -> None:
    """Runs a pipeline in place; raises InputError with what it reports, at the lines of the network's source."""
    sink = DiagnosticSink()
    with module.context, sink.capture(module.context):
        try:
            passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
        except ir.MLIRError as error:
            if not sink.errors:
                raise InputError(with_hint(f"torch-mlir cannot lower this network: {error}", _HINT)) from error
            # Their notes print the op once more.
            raise InputError(
                [replace(d, message=with_hint(d.message, _HINT), notes=()) for d in sink.errors]
            ) from error
