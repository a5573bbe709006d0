"""Imports go down the list of rooms, and of folders in a room, and never in a circle.

Only `bindings` imports MLIR, and importing runs nothing but definitions.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "npuflow"

ROOMS = (
    "_native",
    "provider",
    "bindings",
    "errors",
    "files",
    "target",
    "dialect",
    "core",
    "ops",
    "constants",
    "kernels",
    "allocate",
    "bounds",
    "order",
    "split",
    "frontend",
    "network",
    "strategy",
    "fusion",
    "tiling",
    "promotion",
    "bufferize",
    "execute",
    "importing",
    "schedule",
    "simulate",
    "pipelines",
    "compiler",
    "report",
    "validate",
    "tuning",
    "api",
    "testing",
    "tools",
)

# The folders of a room, in the order of their imports; its own modules come after them.
FOLDERS = {"schedule": ("data", "nest", "kernels", "project", "ir", "assign", "check")}

# The oracle's and the numerics' packages, each in the one room that is about them.
OTHER_PACKAGES = {"iree": {"execute"}, "ml_dtypes": {"constants"}, "torch": {"importing"}, "torch_mlir": {"bindings"}}
OTHER_PACKAGES |= {
    "mlir": {"bindings"},
    "numpy": {
        "constants",
        "importing",
        "frontend",
        "execute",
        "schedule",
        "simulate",
        "compiler",
        "report",
        "validate",
        "testing",
        "tools",
    },
}
OTHER_PACKAGES |= {"distributed": {"tuning"}}
OTHER_PACKAGES |= {"tomllib": {"target"}, "tomli": {"target"}}  # in the standard library from Python 3.11 on


@dataclass(frozen=True)
class Import:
    """An import of `target` (a dotted name), at a line of a file."""

    file: Path
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(PACKAGE.parent)}:{self.line} imports {self.target}"


def imports_in(source: str, file: Path, package: str) -> Iterator[Import]:
    """Every import in `source`, those inside functions included; `from x import y` counts as `x.y`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (Import(file, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            origin = ".".join(part for part in (base, node.module or "") if part)
            yield from (Import(file, node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def package_of(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE.parent).parent.parts)


def room_of(file: Path) -> str:
    """`npuflow/core/passes.py` is in `core`, `npuflow/errors.py` in `errors`, the facade in ``."""
    first = file.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py").removesuffix("__init__")


def problem_with(found: Import) -> str | None:
    """Why an import is not allowed; None if it is."""
    room, parts = room_of(found.file), found.target.split(".")
    if parts[0] != "npuflow":
        allowed = OTHER_PACKAGES.get(parts[0], set())
        known = parts[0] in sys.stdlib_module_names or room in allowed
        return None if known else f"{found}, which only {sorted(allowed) or 'no room'} may"
    if len(parts) == 1:
        return None if room == "tools" else f"{found}, the whole package, which only tools may"
    if not room or parts[1] not in ROOMS:
        return None
    if parts[1] == room in FOLDERS:
        return problem_within(found, FOLDERS[room])
    below = ROOMS.index(parts[1]) <= ROOMS.index(room)
    return None if below else f"{found}, but {parts[1]} comes after {room}"


def problem_within(found: Import, folders: Sequence[str]) -> str | None:
    """Why an import within a room of folders is not allowed; None if it is."""
    importing, imported = found.file.relative_to(PACKAGE).parts[1], found.target.split(".")[2]
    if importing not in folders:
        return None
    if imported not in folders:
        return f"{found}, but what is in no folder comes after {importing}"
    below = folders.index(imported) <= folders.index(importing)
    return None if below else f"{found}, but {imported} comes after {importing}"


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(file: Path) -> str:
    """`npuflow.core.passes` for a module, `npuflow.core` for the package itself."""
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def module_graph(sources: Mapping[Path, str]) -> dict[str, set[str]]:
    """What each module imports, of the modules there are; the facade is left out, which loads the others when asked."""
    modules = {name_of(file): file for file in sources if room_of(file)}

    def targets(file: Path) -> set[str]:
        names = (found.target for found in imports_in(sources[file], file, package_of(file)))
        return {name if name in modules else name.rpartition(".")[0] for name in names} & modules.keys()

    return {name: targets(file) - {name} for name, file in modules.items()}


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """What is left of a graph once all that leads nowhere is gone: circles, and what leads from one to another."""
    left = {name: set(targets) for name, targets in graph.items()}
    while leaves := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in leaves:
            del left[name]
    while starts := left.keys() - {target for targets in left.values() for target in targets}:
        for name in starts:
            del left[name]
    return sorted(left)


@pytest.mark.parametrize("file", source_files(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_go_down_the_list(file: Path) -> None:
    found = imports_in(file.read_text(), file, package_of(file))
    assert [p for p in map(problem_with, found) if p] == []


def test_every_room_is_in_the_list() -> None:
    rooms = {room_of(file) for file in source_files()} - {""}
    assert rooms <= set(ROOMS)


def test_every_folder_is_in_the_list() -> None:
    folders = {file.parent.relative_to(PACKAGE).parts for file in source_files()}
    assert {parts for parts in folders if len(parts) > 1} == {(room, f) for room in FOLDERS for f in FOLDERS[room]}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle_in(module_graph({file: file.read_text() for file in source_files()})) == []


def test_a_circle_is_seen_wherever_its_imports_stand() -> None:
    sources = {
        "a": "from npuflow.core.b import x",
        "b": "def f():\n    from npuflow.core import c",
        "c": "from .a import y",
        "d": "from npuflow.core.a import y",
        "e": "",
    }
    files = {PACKAGE / "core" / f"{name}.py": source for name, source in sources.items()}
    assert circle_in(module_graph(files)) == ["npuflow.core.a", "npuflow.core.b", "npuflow.core.c"]


@pytest.mark.parametrize(
    ("file", "source", "names"),
    [
        ("core/x.py", "import torch_mlir.ir", "torch_mlir.ir"),
        ("core/x.py", "def f():\n    from mlir import ir", "mlir.ir"),
        ("dialect/x.py", "from npuflow.core.passes import Pass", "core comes after dialect"),
        ("core/x.py", "from npuflow import pipelines", "pipelines comes after core"),
        ("tiling/x.py", "from ..schedule import y", "schedule comes after tiling"),
        ("target/x.py", "import requests", "no room"),
        ("core/x.py", "import npuflow", "the whole package"),
        ("schedule/nest/x.py", "from npuflow.schedule.project.lanes import y", "project comes after nest"),
        ("schedule/nest/x.py", "from ..project import y", "project comes after nest"),
        ("schedule/check/x.py", "from npuflow.schedule.build import y", "no folder comes after check"),
    ],
)
def test_a_wrong_import_is_seen(file: str, source: str, names: str) -> None:
    path = PACKAGE / file
    problems = [problem_with(found) for found in imports_in(source, path, package_of(path))]
    assert names in str(problems[0])


def test_a_right_import_is_let_through() -> None:
    path = PACKAGE / "tools" / "x.py"
    source = "import npuflow\nfrom npuflow import errors\nfrom npuflow.core import passes\nfrom . import opt"
    assert [problem_with(found) for found in imports_in(source, path, package_of(path))] == [None] * 4
    path, source = PACKAGE / "schedule" / "x.py", "from .nest import x\nfrom npuflow.schedule.check import y"
    assert [problem_with(found) for found in imports_in(source, path, package_of(path))] == [None] * 2
