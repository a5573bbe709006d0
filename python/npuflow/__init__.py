"""npuflow compiles `linalg` programs for spatial NPUs.

    import npuflow
    compiled = npuflow.compile("matmul.mlir", device="npu2")
    report = compiled.run()     # report.text(), report.html(), report.functions[0].time_us
    (c,) = compiled["matmul"].execute(a, b)

Or pass by pass, on a module of one's own:

    context = npuflow.new_context()
    module = npuflow.parse(open("matmul.mlir").read(), context)
    npuflow.run_pipeline(module, "npuflow-stream-k{grid=2,2}")
    print(module)

The public names below load MLIR's bindings on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_EXPORTS = {
    "compile": "npuflow.api.entry",
    "Compiled": "npuflow.api.compiled",
    "convert": "npuflow.api.entry",
    "tune": "npuflow.api.tuned",
    "Tuned": "npuflow.api.tuned",
    "from_torch": "npuflow.importing.torch_programs",
    "Report": "npuflow.report.model",
    "RunReport": "npuflow.api.shown",
    "Pass": "npuflow.core.passes",
    "PassContext": "npuflow.core.passes",
    "ops_of": "npuflow.core.passes",
    "fail": "npuflow.core.passes",
    "fuse": "npuflow.fusion.fuse",
    "option": "npuflow.core.options",
    "register_pass": "npuflow.core.registry",
    "register_pipeline": "npuflow.core.registry",
    "load_plugin": "npuflow.core.registry",
    "NamedPipeline": "npuflow.core.registry",
    "Stage": "npuflow.core.registry",
    "parse_pipeline": "npuflow.core.pipeline_text",
    "Runner": "npuflow.core.runner",
    "Instrumentation": "npuflow.core.runner",
    "run_pipeline": "npuflow.core.runner",
    "new_context": "npuflow.dialect.context",
    "parse": "npuflow.core.parsing",
    "Limits": "npuflow.execute.limits",
    "limited": "npuflow.execute.limits",
    "InputError": "npuflow.errors",
    "InternalError": "npuflow.errors",
    "NpuflowError": "npuflow.errors",
    "UsageError": "npuflow.errors",
}

__all__ = sorted(_EXPORTS)

if TYPE_CHECKING:
    from npuflow.api.compiled import Compiled as Compiled
    from npuflow.api.entry import compile as compile  # noqa: A004  (the package's name qualifies it)
    from npuflow.api.entry import convert as convert
    from npuflow.api.shown import RunReport as RunReport
    from npuflow.api.tuned import Tuned as Tuned
    from npuflow.api.tuned import tune as tune
    from npuflow.core.options import option as option
    from npuflow.core.parsing import parse as parse
    from npuflow.core.passes import Pass as Pass
    from npuflow.core.passes import PassContext as PassContext
    from npuflow.core.passes import fail as fail
    from npuflow.core.passes import ops_of as ops_of
    from npuflow.core.pipeline_text import parse_pipeline as parse_pipeline
    from npuflow.core.registry import NamedPipeline as NamedPipeline
    from npuflow.core.registry import Stage as Stage
    from npuflow.core.registry import load_plugin as load_plugin
    from npuflow.core.registry import register_pass as register_pass
    from npuflow.core.registry import register_pipeline as register_pipeline
    from npuflow.core.runner import Instrumentation as Instrumentation
    from npuflow.core.runner import Runner as Runner
    from npuflow.core.runner import run_pipeline as run_pipeline
    from npuflow.dialect.context import new_context as new_context
    from npuflow.errors import InputError as InputError
    from npuflow.errors import InternalError as InternalError
    from npuflow.errors import NpuflowError as NpuflowError
    from npuflow.errors import UsageError as UsageError
    from npuflow.fusion.fuse import fuse as fuse
    from npuflow.importing.torch_programs import from_torch as from_torch
    from npuflow.report.model import Report as Report


def __getattr__(name: str) -> object:
    if name not in _EXPORTS:
        from npuflow.errors import unknown_name

        hint = unknown_name("", name, __all__).partition("; ")[2]
        raise AttributeError(f"module 'npuflow' has no attribute '{name}'; {hint}", name=name, obj=None)
    import npuflow.pipelines  # noqa: F401  (registers our passes and pipelines)

    return getattr(importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
