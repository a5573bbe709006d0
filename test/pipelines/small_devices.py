"""Devices whose cores have less room for programs."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def with_programs_of(size: int, device: str, folder: Path) -> Path:
    """Writes a device that is another one but for the bytes of its cores' programs."""
    text = (resources.files("npuflow.target") / "devices" / f"{device}.toml").read_text(encoding="utf-8")
    path = folder / "small.toml"
    path.write_text(text.replace("program_bytes = 16384", f"program_bytes = {size}"), encoding="utf-8")
    return path
