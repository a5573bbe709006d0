"""What the README and the documentation show is what the commands in them print, and what they link to exists."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

MODULES = {"npuflow-opt": ["-m", "npuflow.tools.opt"], "npuflow": ["-m", "npuflow.tools.npuflow"], "python": []}


def console_blocks() -> list[object]:
    """`(command, shown output)` of every console block of every page."""
    found = []
    for page in PAGES:
        for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE):
            first, _, shown = block.partition("\n")
            assert first.startswith("$ "), f"{page.name}: a console block begins with its command"
            found.append(pytest.param(first[2:], shown, id=f"{page.stem}: {first[2:42]}"))
    return found


def output_of(command: str) -> str:
    name, *arguments = shlex.split(command)
    argv = [sys.executable, *MODULES[name], *arguments] if name in MODULES else [name, *arguments]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        argv,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return run.stdout


def pattern_of(shown: str) -> re.Pattern[str]:
    """The shown text as a pattern: an ellipsis on its own stands for lines, one inside a line for a part of it."""
    lines = []
    for line in shown.splitlines():
        parts = (re.escape(part) for part in line.split("…"))
        lines.append(r"(?:.*\n)+?" if line == "…" else "[^\n]*".join(parts) + r"\n")
    return re.compile("".join(lines))


@pytest.mark.parametrize(("command", "shown"), console_blocks())
def test_console_blocks_show_what_the_command_prints(command: str, shown: str) -> None:
    assert shown, "a console block shows some output"
    assert pattern_of(shown).fullmatch(output_of(command))


def python_blocks() -> list[object]:
    return [
        pytest.param(code, id=f"{page.stem} {number}")
        for page in PAGES
        for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))
    ]


@pytest.mark.parametrize("code", python_blocks())
def test_python_blocks_run(code: str) -> None:
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_documented_pass_is_the_example() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "writing-a-pass.md").read_text(), re.DOTALL | re.M)
    _, _, after_docstring = (ROOT / "examples" / "write_a_pass.py").read_text().split('"""', 2)
    assert code in after_docstring


@pytest.mark.parametrize(
    ("shown", "printed", "matches"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nd\n", False),
        ("a…z\n", "a to z\n", True),
        ("a…z\n", "a\nz\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_only_an_ellipsis_may_differ(shown: str, printed: str, matches: bool) -> None:
    assert bool(pattern_of(shown).fullmatch(printed)) is matches


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert missing == []


def test_every_documentation_page_is_linked() -> None:
    linked = {link for page in PAGES for link in re.findall(r"([\w-]+\.md)", page.read_text())}
    assert {page.name for page in PAGES} - linked <= {"README.md"}


def test_ci_builds_its_environment_as_the_readme_says() -> None:
    commands = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    ci = (ROOT / ".ci" / "run").read_text().splitlines()
    steps = [step.replace(".venv", '"$venv"', 1) for step in commands[1].split(" && ")]
    assert [step for step in steps if not any(line.startswith(step) for line in ci)] == []
