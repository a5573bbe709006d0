"""What was found out about a unit, kept in a file: one line for each result, written when there is one.

A file belongs to one content: the unit's text, the device's numbers and the package's own code, whose digest is its
name and stands in its first line. Each line has a digest of its own, so that a line that was cut off or changed is
nothing; what is missing is found out again. Lines are only ever added, under a lock, and a file that isn't what its
name says is replaced in one step.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

from npuflow.core.output import write_atomically
from npuflow.errors import InputError, with_hint
from npuflow.target import Device

_FORMAT = "npuflow-tune 1"
_DIGITS = 32
_PACKAGE = Path(__file__).resolve().parents[1]
_CODE = (".py", ".toml", ".so", ".pyd")

Value = dict[str, object]


def default_folder() -> Path:
    """Where results are kept unless somebody says otherwise."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "npuflow" / "tune"


@cache
def package_digest() -> str:
    """A digest of all that decides about a result on our side: the code of this very package, its version included."""
    found = sha256()
    for file in sorted(file for file in _PACKAGE.rglob("*") if file.suffix in _CODE):
        found.update(str(file.relative_to(_PACKAGE)).encode())
        found.update(file.read_bytes())
    return found.hexdigest()


def key_of(text: str, device: Device, pipeline: str) -> str:
    """The digest of what results depend on."""
    parts = (_FORMAT, package_digest(), repr(device), pipeline, text)
    return sha256("\0".join(parts).encode()).hexdigest()


@dataclass
class ResultFile:
    """The results of one unit; without a folder they are only remembered."""

    folder: Path | None
    key: str
    known: dict[str, Value] = field(default_factory=dict)

    @staticmethod
    def of(folder: Path | None, key: str) -> ResultFile:
        found = ResultFile(folder, key)
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                hint = "give --cache another directory, or --cache=none"
                raise InputError(with_hint(f"cannot use '{folder}': {error.strerror}", hint)) from error
            found.known.update(found._read())
        return found

    @property
    def path(self) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.key[:_DIGITS]}.jsonl"

    def get(self, name: str) -> Value | None:
        return self.known.get(name)

    def add(self, name: str, value: Value) -> None:
        """Remembers a result, and writes it down at once."""
        self.known[name] = value
        if self.folder is None:
            return
        text = json.dumps([name, value], separators=(",", ":"), sort_keys=True)
        # A line that another process was killed in ends before ours begins.
        line = f"\n{_digest(text)} {text}\n".encode()
        with self._locked():
            if not self._is_ours():
                write_atomically(str(self.path), f"{_FORMAT} {self.key}\n".encode())
            with self.path.open("ab", buffering=0) as file:
                file.write(line)

    def _is_ours(self) -> bool:
        try:
            with self.path.open("rb") as file:
                return file.readline(512) == f"{_FORMAT} {self.key}\n".encode()
        except FileNotFoundError:
            return False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The system gives the lock back when we end, however that happens."""
        with self.path.with_suffix(".lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _read(self) -> Mapping[str, Value]:
        """What of the file is whole; nothing of one that is for something else."""
        if not self._is_ours():
            return {}
        found: dict[str, Value] = {}
        for line in self.path.read_bytes().splitlines()[1:]:
            digest, _, text = line.decode(errors="replace").partition(" ")
            if text and digest == _digest(text):
                name, value = json.loads(text)
                found[name] = value
        return found


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]
