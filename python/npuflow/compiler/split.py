"""Whole functions or sequences of parts: what fits is compiled as it is, what doesn't comes apart."""

from __future__ import annotations

from dataclasses import replace

from npuflow.bindings import ir
from npuflow.compiler.compilation import Batch, Compilation, Split
from npuflow.compiler.functions import How, before_strategies, of_function
from npuflow.compiler.sources import first_alike, sources_of
from npuflow.compiler.tries import Tries
from npuflow.compiler.units import UnitCompiler
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.pipeline_text import PassNest, PassNode
from npuflow.execute.arrays import signature_of


def compile_or_split(module: ir.Module, how: How, split: Split, sink: DiagnosticSink, jobs: int = 1) -> Batch:
    """Compiles a module's functions, those that don't fit as a whole part by part, in up to `jobs` processes.

    The module stays as it is. Of functions that are alike, and of parts that are, one is compiled. What estimates made
    one may be refused once there is a schedule: then these groups stay apart, and all else is as it was.
    """
    sources = sources_of(module)
    names = [signature_of(source.function).name for source in sources]  # refuses types that are no arrays
    for element in how.pipeline.elements:
        if isinstance(element, PassNode):
            element.instance.require_functions(module.operation, names)
    places: dict[tuple[int, PassNest], int] = {}
    outlines = enumerate(zip(first_alike([source.alone() for source in sources]), names))
    alike = [places.setdefault((first, of_function(how.pipeline, name)), n) for n, (first, name) in outlines]
    own = replace(sink, diagnostics=[], on_add=None)
    work = Compilation(how, split, before_strategies(how.pipeline), own, UnitCompiler(how, own, jobs), set(names))
    try:
        work.compile([source for number, source in enumerate(sources) if alike[number] == number])
    finally:
        sink.add_new(own.diagnostics)
    unlike = [source for number, source in enumerate(sources) if alike[number] == number]
    tries = Tries(work)
    tries.come_apart(unlike)
    firsts = {name: names[first] for name, first in zip(names, alike)}
    batch = tries.improved(work.batch(firsts), firsts)
    return work.batch(firsts) if tries.unfuse(batch, unlike) else batch
