"""One class name is one thing: whoever reads `Send` need not look which module it is from."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "npuflow"

# Names of two things that are left, and why. The list only gets shorter: a name that is unique must leave it.
LEFT = {
    "Axis": "both are the dimensions that projection sees: of a clip, and of a buffer's layout",
    "Stage": "a pipeline's is what plugins know; a hop's two ends are a device's",
}


def class_names(source: str) -> list[str]:
    """Every class of a module, those in functions and classes included, without what makes it private."""
    return [node.name.lstrip("_") for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def named_twice(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The class names that more than one definition has, with the modules of those."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, source in sources.items():
        for name in class_names(source):
            found[name].append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_one_class_name_is_one_thing() -> None:
    files = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")])
    twice = named_twice({str(file.relative_to(PACKAGE)): file.read_text() for file in files})
    assert {name: modules for name, modules in twice.items() if name not in LEFT} == {}
    assert sorted(LEFT) == sorted(twice), "what has but one meaning is no exception any more"


def test_a_name_given_twice_is_seen() -> None:
    sources = {"a.py": "class Send: ...", "b.py": "def f():\n    class _Send: ...", "c.pyi": "class Sender: ..."}
    assert named_twice(sources) == {"Send": ["a.py", "b.py"]}
