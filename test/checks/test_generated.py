"""Generated pages: console blocks are excerpted as their comments say, and a stale page is noticed."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

PAGE = """before

<!-- keep: ^b|d -->
<!-- shorten: [0-9]+ -->
```console
$ python -c "for i, c in enumerate('abcd'): print(c, i)"
old
```
```console
$ python -c "print('all of it')"
```
"""

REFRESHED = PAGE.replace("old\n", "…\nb …\n…\nd …\n").replace("it')\"\n", "it')\"\nall of it\n")


def test_console_blocks_are_refreshed_and_nothing_else(console_blocks: ModuleType) -> None:
    assert console_blocks.refreshed(PAGE) == REFRESHED
    assert console_blocks.refreshed(REFRESHED) == REFRESHED


def test_a_page_without_blocks_stays(console_blocks: ModuleType) -> None:
    text = "# Title\n\n```sh\n$ rm -r build\n```\n"
    assert console_blocks.blocks_in(text) == []
    assert console_blocks.refreshed(text) == text


def test_errors_are_part_of_the_output(console_blocks: ModuleType) -> None:
    assert "unknown flag '--nonsense'" in console_blocks.run("npuflow-opt --nonsense")


def test_check_reports_a_stale_file_and_leaves_it(
    update_generated: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("old\n")
    monkeypatch.setattr(update_generated, "ROOT", tmp_path)
    monkeypatch.setattr(update_generated, "wanted_pages", lambda: [(page, "new\n")])
    assert update_generated.main(["--check"]) == 1
    assert "-old\n+new\ndocs/page.md is out of date; hint: tools/update-generated" in capsys.readouterr().out
    assert page.read_text() == "old\n"
    assert update_generated.main([]) == 0
    assert page.read_text() == "new\n"
    assert update_generated.main(["--check"]) == 0


def test_indented_ir_in_a_docstring_becomes_a_fence(update_generated: ModuleType) -> None:
    docstring = "Does it.\n\n    %0 = op\n\n      %1 = op\n\nbecomes\n\n    %2 = op"
    assert update_generated.tidy([update_generated.fenced(docstring)]) == (
        "Does it.\n\n```mlir\n%0 = op\n\n  %1 = op\n```\n\nbecomes\n\n```mlir\n%2 = op\n```\n"
    )
