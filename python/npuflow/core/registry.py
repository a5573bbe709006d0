"""Which passes and named pipelines exist: ours, those of installed plugins, those of `--load`ed files."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from dataclasses import dataclass, is_dataclass
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar, TypeVar

from npuflow.core.passes import Pass
from npuflow.errors import Diagnostic, Severity, SourceLocation, UsageError, with_hint

ENTRY_POINT_GROUP = "npuflow.passes"

StageElement = Pass | str


@dataclass(frozen=True)
class Stage:
    """A named step of a pipeline: our passes, and as text upstream ones (`canonicalize`) and other named pipelines."""

    name: str
    elements: tuple[StageElement, ...]


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


def load_plugin(path: str) -> None:
    """Runs a Python file that registers passes or pipelines."""
    file = Path(path)
    if not file.is_file():
        raise UsageError(with_hint(f"plugin '{path}' is no file", "give the path of a Python file"))
    name = f"npuflow_plugin_{file.stem}_{sha256(str(file.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(with_hint(f"plugin '{path}' cannot be loaded", "its name must end in .py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(_plugin_failure(file, error)) from error


def _plugin_failure(file: Path, error: BaseException) -> Diagnostic:
    """What went wrong, at the plugin's own line."""
    text = f"plugin '{file}' failed: {type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return Diagnostic(Severity.ERROR, text, SourceLocation(str(file), error.lineno or 1, error.offset or 0))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == file]
    place = SourceLocation(str(file), frames[-1].lineno or 1, text=frames[-1].line) if frames else None
    return Diagnostic(Severity.ERROR, text, place)


def load_entry_points() -> None:
    """Imports the modules that installed packages name under the entry point group `npuflow.passes`."""
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry.load()
        except Exception as error:
            raise UsageError(f"plugin '{entry.name}' ({entry.value}) failed: {error}") from error
