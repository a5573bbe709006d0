"""Which passes and named pipelines exist: ours, those of installed plugins, those of `--load`ed files."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar, TypeVar

from npuflow.core.passes import Pass
from npuflow.core.python_files import innermost_line, module_name, place_of_failure, run_python_file
from npuflow.errors import Diagnostic, Severity, SourceLocation, UsageError, with_hint

ENTRY_POINT_GROUP = "npuflow.passes"

StageElement = Pass | str


@dataclass(frozen=True)
class Stage:
    """A named step of a pipeline: our passes, and as text upstream ones (`canonicalize`) and other named pipelines."""

    name: str
    elements: tuple[StageElement, ...]


def stage(name: str, *elements: StageElement) -> Stage:
    return Stage(name, elements)


class NamedPipeline:
    """Base of all named pipelines; subclasses are frozen dataclasses whose `stages` is a readable list of passes."""

    name: ClassVar[str] = ""
    # What a user's transform schedule leaves alone: stages that run before it, and the first stage after it.
    kept_stages: ClassVar[tuple[str, ...]] = ()
    default_resume: ClassVar[str] = ""
    # Whether a schedule replaces anything at all; one that doesn't is passed over in favour of the next.
    takes_schedule: ClassVar[bool] = True

    def stages(self) -> tuple[Stage, ...]:
        raise NotImplementedError

    @classmethod
    def summary(cls) -> str:
        return (inspect.getdoc(cls) or "").split("\n", 1)[0]


PassClass = TypeVar("PassClass", bound="type[Pass]")
PipelineClass = TypeVar("PipelineClass", bound="type[NamedPipeline]")

PASSES: dict[str, type[Pass]] = {}
PIPELINES: dict[str, type[NamedPipeline]] = {}


def register_pass(cls: PassClass) -> PassClass:
    """Class decorator: makes the pass known under its `name`."""
    _check(cls, cls.name, PASSES)
    PASSES[cls.name] = cls
    return cls


def register_pipeline(cls: PipelineClass) -> PipelineClass:
    """Class decorator: makes the named pipeline known under its `name`."""
    _check(cls, cls.name, PIPELINES)
    PIPELINES[cls.name] = cls
    return cls


def _check(cls: type, name: str, registered: dict[str, type]) -> None:
    if not name:
        raise UsageError(with_hint(f"{cls.__name__} has no name", 'set a class attribute name = "my-pass"'))
    if not is_dataclass(cls):
        raise UsageError(with_hint(f"{cls.__name__} is no dataclass", "decorate it with @dataclass(frozen=True)"))
    other = registered.get(name)
    same = other is not None and (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
    if (name in PASSES or name in PIPELINES) and not same:
        raise UsageError(with_hint(f"'{name}' is registered already", "choose another name"))


def load_plugin(path: str | Path) -> None:
    """Runs a Python file that registers passes or pipelines."""
    file = Path(path)
    if not file.is_file():
        raise UsageError(with_hint(f"plugin '{path}' is no file", "give the path of a Python file"))
    name = module_name(file, "npuflow_plugin")
    try:
        module = run_python_file(file, name)
    except (Exception, SystemExit) as error:
        raise _plugin_failure(f"plugin '{file}' failed", error, {name: str(file)}) from error
    if module is None:
        raise UsageError(with_hint(f"plugin '{path}' cannot be loaded", "its name must end in .py"))


def _plugin_failure(what: str, error: BaseException, files: Mapping[str, str]) -> UsageError:
    """What went wrong, at the plugin's own line; of what we refuse ourselves, our words."""
    place = place_of_failure(error, files)
    if isinstance(error, UsageError):
        return UsageError([replace(one, location=one.location or place) for one in error.diagnostics])
    return UsageError(Diagnostic(Severity.ERROR, f"{what}: {type(error).__name__}: {error}", place))


def place_in_plugin(error: BaseException) -> SourceLocation | None:
    """The innermost line of a plugin that an exception came through; None for one that is ours alone."""
    classes: list[type] = [*PASSES.values(), *PIPELINES.values()]
    modules = {cls.__module__ for cls in classes if cls.__module__.partition(".")[0] != __package__.partition(".")[0]}
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in modules}
    return innermost_line(error, {name: file for name, file in files.items() if file})


def load_entry_points() -> None:
    """Imports the modules that installed packages name under the entry point group `npuflow.passes`."""
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry.load()
        except Exception as error:
            origin = getattr(sys.modules.get(entry.module), "__file__", None) or _file_of(entry.module)
            what = f"plugin '{entry.name}' ({entry.value}) failed"
            raise _plugin_failure(what, error, {entry.module: origin} if origin else {}) from error


def _file_of(module: str) -> str | None:
    """Where a module that cannot be imported is."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return spec.origin if spec is not None else None
