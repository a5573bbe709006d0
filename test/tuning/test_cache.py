"""Results on disk: never lost once they are there, never trusted where they aren't whole or are for something else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import npuflow
from npuflow.target import load_device
from npuflow.tuning import cache as cache_module
from npuflow.tuning.cache import ResultFile, key_of

MATMUL = Path(__file__).parents[1] / "tools" / "run.mlir"
KEY = "0" * 64
PATIENCE_SECONDS = 120.0
# Of a search that is killed when it has timed six.
OF_KILLED = 20


def tuned(folder: Path, candidates: int = 8) -> npuflow.Tuned:
    return npuflow.tune(MATMUL, device="toy", candidates=candidates, cache=folder, jobs=2)


def names_in(folder: Path) -> Counter[str]:
    """How often each result was written."""
    (file,) = folder.glob("*.jsonl")
    lines = [line.partition(" ")[2] for line in file.read_text().splitlines()[1:] if line]
    return Counter(json.loads(line)[0] for line in lines)


def test_results_come_back(tmp_path: Path) -> None:
    ResultFile.of(tmp_path, KEY).add("a", {"n": 1})
    ResultFile.of(tmp_path, KEY).add("b", {"n": 2})
    assert ResultFile.of(tmp_path, KEY).known == {"a": {"n": 1}, "b": {"n": 2}}


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_cut_off_is_nothing_and_spoils_none(tmp_path: Path, cut: int) -> None:
    first = ResultFile.of(tmp_path, KEY)
    first.add("a", {"n": 1})
    before = len(first.path.read_bytes())
    first.add("b", {"n": 2})
    second_line_bytes = len(first.path.read_bytes()) - before + 1  # its own newline in front, and that of the first
    first.path.write_bytes(first.path.read_bytes()[:-cut])
    second = ResultFile.of(tmp_path, KEY)
    assert second.known in ({}, {"a": {"n": 1}}, {"a": {"n": 1}, "b": {"n": 2}})
    assert len(second.known) == 2 - (cut > 1) - (cut > second_line_bytes)
    second.add("c", {"n": 3})
    assert ResultFile.of(tmp_path, KEY).get("c") == {"n": 3}


def test_a_changed_number_is_not_trusted(tmp_path: Path) -> None:
    first = ResultFile.of(tmp_path, KEY)
    first.add("a", {"n": 1})
    first.path.write_text(first.path.read_text().replace('"n":1', '"n":2'))
    assert ResultFile.of(tmp_path, KEY).known == {}


@pytest.mark.parametrize("text", [b"", b"\x00\xff" * 99, b"npuflow-tune 0 " + KEY.encode() + b"\n"])
def test_a_file_that_is_something_else_is_replaced(tmp_path: Path, text: bytes) -> None:
    first = ResultFile.of(tmp_path, KEY)
    first.path.write_bytes(text)
    second = ResultFile.of(tmp_path, KEY)
    assert second.known == {}
    second.add("a", {"n": 1})
    assert ResultFile.of(tmp_path, KEY).known == {"a": {"n": 1}}


def test_a_file_under_another_keys_name_is_not_read(tmp_path: Path) -> None:
    first, other = ResultFile.of(tmp_path, KEY), ResultFile.of(tmp_path, "1" * 64)
    first.add("a", {"n": 1})
    other.path.write_bytes(first.path.read_bytes())
    assert ResultFile.of(tmp_path, "1" * 64).known == {}


def test_other_code_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of("text", load_device("toy"), "pipeline")
    monkeypatch.setattr(cache_module, "package_digest", lambda: "of another version")
    assert key_of("text", load_device("toy"), "pipeline") != before


def test_each_thing_that_results_depend_on_is_in_the_key() -> None:
    toy = load_device("toy")
    keys = {key_of("a", toy, "b"), key_of("b", toy, "b"), key_of("a", toy, "a"), key_of("a", load_device("toy:1"), "b")}
    assert len(keys) == 4


WRITE_MANY = """
import sys
from pathlib import Path
from npuflow.tuning.cache import ResultFile
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 200):
    ResultFile.of(Path(sys.argv[1]), "0" * 64).add(str(number), {"n": number})
"""


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    started = [subprocess.Popen([sys.executable, "-c", WRITE_MANY, tmp_path, first]) for first in ("0", "1000")]
    assert [one.wait(PATIENCE_SECONDS) for one in started] == [0, 0]
    assert ResultFile.of(tmp_path, KEY).known.keys() == {str(n) for n in (*range(200), *range(1000, 1200))}


def not_again(*_: object) -> None:
    raise AssertionError("this was done before")


def test_a_second_run_times_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tuned(tmp_path)
    for worker in ("search_unit.run_trial", "runners.run_trial", "candidates.Search"):
        monkeypatch.setattr(f"npuflow.tuning.{worker}", not_again)
    assert tuned(tmp_path).json() == first.json()


def test_a_damaged_cache_changes_no_result(tmp_path: Path) -> None:
    first = tuned(tmp_path)
    (file,) = tmp_path.glob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:3] + [line[::-1] for line in lines[3:9]] + lines[9:]))
    assert tuned(tmp_path).json() == first.json()


def test_a_killed_search_loses_nothing_that_finished(tmp_path: Path) -> None:
    arguments = ["tune", str(MATMUL), "--device=toy", f"--candidates={OF_KILLED}", f"--cache={tmp_path}", "--jobs=1"]
    command = [sys.executable, "-m", "npuflow.tools.npuflow", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as search:
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end and len(list(tmp_path.glob("*.jsonl")) and names_of_whole(tmp_path)) < 6:
            assert search.poll() is None, "it ended before it could be killed"
            time.sleep(0.02)
        os.kill(search.pid, signal.SIGKILL)
    before = names_of_whole(tmp_path)
    assert 6 <= len(before) < OF_KILLED
    tuned(tmp_path, candidates=OF_KILLED)
    after = names_in(tmp_path)
    assert set(before) < set(after)
    assert set(after.values()) == {1}, "nothing is timed twice"


def names_of_whole(folder: Path) -> set[str]:
    """The results that another run would take."""
    (file,) = folder.glob("*.jsonl")
    key = file.read_text().split("\n", 1)[0].rpartition(" ")[2]
    return set(ResultFile.of(folder, key).known)
