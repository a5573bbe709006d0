"""What the README and the documentation show can be run, and what they link to exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from console_blocks import blocks_in

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def console_blocks() -> list[object]:
    """`(page, what the block holds)` of every fence that says it is one."""
    return [
        pytest.param(page, block, id=f"{page.stem}: {block[2:42]}")
        for page in PAGES
        for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    ]


@pytest.mark.parametrize(("page", "block"), console_blocks())
def test_console_blocks_are_run_by_what_checks_generated_files(page: Path, block: str) -> None:
    """`tools/update-generated --check` compares what they show; here: that it finds them, and they show something."""
    found = [f"$ {each.command}\n{each.shown}" for each in blocks_in(page.read_text())]
    assert block in found
    assert block.partition("\n")[2]


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
