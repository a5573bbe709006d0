"""What is known not to be as PyTorch has it, with a reason for each."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from torch_judge import Judged, Outcome

try:
    import tomllib
except ImportError:  # before Python 3.11
    import tomli as tomllib


@dataclass(frozen=True)
class Known:
    """Cases by a pattern of what is said of them: the op, its type, the way it is called, and arguments."""

    case: str
    outcome: Outcome
    reason: str

    def is_about(self, judged: Judged) -> bool:
        return judged.outcome is self.outcome and fnmatch(judged.case, self.case)

    def __str__(self) -> str:
        return f"{self.case}: {self.outcome.value}: {self.reason}"


def known_in(path: Path) -> list[Known]:
    """The entries of a TOML file: `[[known]]` with `case`, `outcome` and `reason`."""
    entries = tomllib.loads(path.read_text()).get("known", ())
    return [Known(one["case"], Outcome[one["outcome"].upper()], one["reason"]) for one in entries]
