"""What must hold between the numbers of one device."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from npuflow.target.lines import Path
from npuflow.target.model import Device

Problem = tuple[Path, str, str]


def problems_of(device: Device) -> Iterator[Problem]:
    """Each contradiction as (where, what, hint)."""
    yield from _level_problems(device)
    yield from _reference_problems(device)
    yield from _patch_problems(device)
    if ":" in device.name or device.name.endswith(".toml"):
        yield ("name",), f"'name' is '{device.name}'", "a ':' introduces a partial array and .toml a file"


def _level_problems(device: Device) -> Iterator[Problem]:
    seen: set[int] = set()
    for i, level in enumerate(device.levels):
        path = ("levels", i)
        if level.number in seen:
            yield (*path, "number"), f"level number {level.number} appears twice", "1 is the cores' own memory"
        if level.usable_bytes <= 0:
            what = f"'{level.name}' reserves {level.reserved_bytes} of its {level.bytes} bytes"
            yield (*path, "reserved_bytes"), what, "reserve less"
        if level.alignment_bytes & (level.alignment_bytes - 1):
            yield (*path, "alignment_bytes"), f"alignment of {level.alignment_bytes} bytes", "use a power of two"
        seen.add(level.number)
    if 1 not in seen:
        yield ("levels",), "no level is number 1", "1 is the cores' own memory"


def _reference_problems(device: Device) -> Iterator[Problem]:
    known = {level.number for level in device.levels}
    hint = f"levels are {', '.join(map(str, sorted(known)))}"
    for i, dma in enumerate(device.dmas):
        if dma.level not in known:
            yield ("dmas", i, "level"), f"'{dma.name}' serves level {dma.level}, which isn't there", hint
    for i, link in enumerate(device.links):
        if link.outer_level not in known or link.inner_level not in known:
            what = f"'{link.name}' joins levels {link.outer_level} and {link.inner_level}"
            yield ("links", i), what, hint


def _patch_problems(device: Device) -> Iterator[Problem]:
    for i, shape in enumerate(device.matmuls):
        path, patch = ("matmuls", i, "patch"), list(shape.patch)
        if patch and (len(patch) != 2 or min(patch) < 1 or prod(patch) != shape.m):
            hint = f"say rows and columns of pixels, {shape.m} in all"
            yield path, f"a patch of {patch} for an instruction of m = {shape.m}", hint
        elif patch and shape.any_shape:
            yield path, f"a patch of {patch} for code of any shape", "leave out one of the two"
