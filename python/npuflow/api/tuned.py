"""`npuflow.tune`: from a source to the strategies that the simulator finds the fastest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path

import npuflow.pipelines  # noqa: F401  (registers our passes and pipelines)
from npuflow.api.arguments import name_of, of_type, source_of, whole_number
from npuflow.api.entry import parsed_source, with_columns
from npuflow.bindings import ir
from npuflow.compiler.default import DEFAULT_PIPELINE
from npuflow.compiler.functions import show_what_is_private
from npuflow.compiler.given import take_apart
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.core.expansion import Expansion, expand
from npuflow.core.passes import fail
from npuflow.core.pipeline_text import parse_pipeline
from npuflow.dialect.device import recorded_device
from npuflow.errors import InputError, UsageError, with_hint
from npuflow.execute.arrays import functions_of
from npuflow.target import DEFAULT_DEVICE
from npuflow.tuning.cache import default_folder
from npuflow.tuning.page import page_of_tuning
from npuflow.tuning.text import json_of_tuning, text_of_tuning
from npuflow.tuning.tune_module import OnStep, TuneSettings, TuningResult, tune_module

NO_CACHE = "none"


@dataclass(frozen=True, repr=False)
class Tuned:
    """What `npuflow.tune` gives; `program` is the tuned program as text, which compiles to what was timed."""

    result: TuningResult

    def __repr__(self) -> str:
        names = ", ".join(f"@{function.name}" for function in self.result.functions)
        return f"<Tuned for {self.result.device}: {names}>"

    @property
    def program(self) -> str:
        return self.result.program

    def text(self) -> str:
        """What `npuflow tune` prints."""
        return text_of_tuning(self.result)

    def json(self) -> str:
        """What `npuflow tune --json` writes."""
        return json.dumps(json_of_tuning(self.result), indent=2) + "\n"

    def html(self) -> str:
        """The page that `npuflow tune --html` writes."""
        return page_of_tuning(self.result)

    def save(self, path: str | Path) -> None:
        """Writes the page to a `.html` file, JSON to a `.json` file, the tuned program to any other."""
        from npuflow.core.output import write_atomically

        made = {".html": self.html, ".json": self.json}.get(Path(path).suffix, lambda: self.program)
        write_atomically(str(path), made().encode())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"


def tune(  # noqa: PLR0913  (each argument is a choice of its own)
    source: str | bytes | Path | ir.Module,
    pipeline: str = DEFAULT_PIPELINE,
    *,
    device: str | Path | None = None,
    columns: int | None = None,
    candidates: int = 200,
    budget_seconds: float | None = None,
    jobs: int = 1,
    executor: str = "local",
    cache: str | Path | None = None,
    sink: DiagnosticSink | None = None,
    on_step: OnStep = lambda _what, _count: None,
) -> Tuned:
    """Times strategies of each function's groups in the simulator, and keeps the fastest.

    So many `candidates` of each function, or part of one, are compiled and simulated; what comes out depends on their
    number alone, unless `budget_seconds` cut it short. `jobs` is how many processes do so, `executor` where:
    "local", or "dask:ADDRESS". Results are kept in the directory `cache` (left out, in the user's; "none": nowhere).
    `on_step` is told what begins and how many candidates it has, and with an empty text that one is done.
    """
    whole_number("candidates", candidates, least=1)
    whole_number("jobs", jobs, least=1)
    if budget_seconds is not None:
        of_type("budget_seconds", budget_seconds, (int, float), "give seconds, as 30")
        if not budget_seconds > 0:
            raise UsageError(with_hint(f"a budget of {budget_seconds} s", "give more than nothing, or leave it out"))
    asked = name_of("the device", device, "a name or a TOML file") if device is not None else None
    if columns is not None:
        whole_number("columns", columns, least=1)
    sink = sink or DiagnosticSink()
    module = parsed_source(source_of(source), sink)
    show_what_is_private(module.operation)
    functions = take_apart(module).functions
    if functions is None or not list(functions_of(functions.operation)):
        hint = "give the program that a schedule was made of" if functions is None else "add one, or make one public"
        raise fail(module.operation, "there is no public function with a body to be tuned", hint)
    chosen = with_columns(asked, columns, module) or recorded_device(functions.operation) or DEFAULT_DEVICE
    folder = default_folder() if cache is None else None if str(cache) == NO_CACHE else Path(cache)
    settings = TuneSettings(candidates, budget_seconds, jobs, executor, folder)
    try:
        nest = expand(parse_pipeline(pipeline), Expansion(device=chosen))
        return Tuned(tune_module(functions, nest, chosen, settings, sink, on_step))
    except InputError as error:
        raise InputError([sink.named(diagnostic) for diagnostic in error.diagnostics]) from error
