"""What must hold between the numbers of one device."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from npuflow.target.device import Device
from npuflow.target.fields import RATE
from npuflow.target.lines import Path
from npuflow.target.model import KernelClass, SharedBy

Problem = tuple[Path, str, str]


def problems_of(device: Device) -> Iterator[Problem]:
    """Each contradiction as (where, what, hint)."""
    yield from _name_problems(device)
    yield from _level_problems(device)
    yield from _reference_problems(device)
    yield from _engine_problems(device)
    yield from _hop_problems(device)
    yield from _rate_problems(device)
    yield from _patch_problems(device)
    yield from _energy_problems(device)
    if ":" in device.name or device.name.endswith(".toml"):
        yield ("name",), f"'name' is '{device.name}'", "a ':' introduces a partial array and .toml a file"


def array_problems(device: Device) -> Iterator[Problem]:
    """What keeps programs from being scheduled for a device that is well described.

    They need all three levels, or one memory around which all engines stand: a core's, if each has its own.
    """
    if _has_one_memory(device):
        return
    lacks = [f"level {number}" for number in (1, 2, 3) if not device.has_level(number)]
    lacks += [f"a DMA engine at level {n}" for n in (1, 2, 3) if all(dma.level != n for dma in device.dmas)]
    joined = {(link.outer_level, link.inner_level) for link in device.links}
    lacks += [f"a link from {outer} to {inner}" for outer, inner in ((3, 2), (2, 1)) if (outer, inner) not in joined]
    ways = {(a, b) for ends in joined for a, b in (ends, ends[::-1])} - {hop.levels for hop in device.hops}
    lacks += [f"a hop from {a} to {b}" for a, b in ((3, 2), (2, 1), (1, 2), (2, 3)) if (a, b) in ways]
    if lacks:
        what = f"'{device.name}' lacks {', '.join(lacks)}"
        yield ("levels", 0), what, "programs go from DRAM (3) through memory tiles (2) to cores (1); others come later"


def _has_one_memory(device: Device) -> bool:
    """Whether a single memory is all that there is beside DRAM, and reached from there."""
    joined = {(link.outer_level, link.inner_level) for link in device.links}
    hops, served = {hop.levels for hop in device.hops}, {dma.level for dma in device.dmas}
    is_single = (device.rows, device.columns) == (1, 1) or device.level(1).shared_by is SharedBy.CORE
    return not device.has_level(2) and is_single and (3, 1) in joined and {(3, 1), (1, 3)} <= hops and {1, 3} <= served


def _name_problems(device: Device) -> Iterator[Problem]:
    """Things of one kind are told apart by their names."""
    kinds = (("levels", device.levels), ("engines", device.engines), ("dmas", device.dmas), ("links", device.links))
    for kind, things in kinds:
        names = [thing.name for thing in things]
        for i, name in enumerate(names):
            if name in names[:i]:
                yield (kind, i, "name"), f"two of the {kind} are named '{name}'", "give each a name of its own"


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
        if level.bytes // level.banks < level.alignment_bytes:
            what = f"'{level.name}' has {level.bytes} bytes in {level.banks} banks, aligned to {level.alignment_bytes}"
            yield (*path, "banks"), what, f"at most {max(1, level.bytes // level.alignment_bytes)} banks"
        seen.add(level.number)
    for number, what in ((1, "the cores' own memory"), (3, "DRAM")):
        if number not in seen:
            yield ("levels",), f"no level is number {number}", f"{number} is {what}"


def _reference_problems(device: Device) -> Iterator[Problem]:
    known = {level.number for level in device.levels}
    hint = f"levels are {', '.join(map(str, sorted(known)))}"
    served: set[int] = set()
    for i, dma in enumerate(device.dmas):
        if dma.level in served:
            yield ("dmas", i, "level"), f"'{dma.name}' serves level {dma.level}, as another does", "one serves a level"
        served.add(dma.level)
        if dma.level not in known:
            yield ("dmas", i, "level"), f"'{dma.name}' serves level {dma.level}, which isn't there", hint
        if dma.descriptor_groups > dma.descriptors:
            what = f"'{dma.name}' has {dma.descriptors} descriptors in {dma.descriptor_groups} groups"
            yield ("dmas", i, "descriptor_groups"), what, f"at most {dma.descriptors} groups"
    joined: set[tuple[int, int]] = set()
    for i, link in enumerate(device.links):
        ends, what = (link.outer_level, link.inner_level), f"'{link.name}' joins levels {{}} and {{}}"
        if not known.issuperset(ends):
            yield ("links", i), what.format(*ends), hint
        elif link.outer_level <= link.inner_level:
            yield ("links", i), what.format(*ends), "the outer level has the larger number"
        elif ends in joined:
            yield (
                ("links", i),
                f"{what.format(*ends)}, as another does",
                "one joins two levels; it may have several lanes",
            )
        joined.add(ends)


def _engine_problems(device: Device) -> Iterator[Problem]:
    """Each class of kernels is run by somebody, on a level that there is."""
    for kernels in KernelClass:
        if not any(engine.runs.includes(kernels) for engine in device.engines):
            what = f"no engine runs kernels of class '{kernels.value}'"
            yield ("engines", 0, "runs"), what, f'let one run "{kernels.value}" or "all"'
    for i, engine in enumerate(device.engines):
        if not device.has_level(engine.level):
            what = f"'{engine.name}' works on level {engine.level}, which isn't there"
            yield ("engines", i, "level"), what, "kernels work on the memory of a level"


def _hop_problems(device: Device) -> Iterator[Problem]:
    """Stages have one name each, and a hop's ends are DMA engines with a channel for each of its lanes."""
    engines = {dma.level: dma for dma in device.dmas}
    names = {"control": "the control processor", **{engine.name: "an engine" for engine in device.engines}}
    seen: set[tuple[int, int]] = set()
    for i, hop in enumerate(device.hops):
        what = f"a hop from level {hop.from_level} to {hop.to_level}"
        if hop.from_level == hop.to_level or hop.levels in seen:
            hint = "one joins two levels; it may have several lanes"
            yield ("hops", i), f"{what}{', as another' if hop.levels in seen else ''}", hint
        seen.add(hop.levels)
        for key, level, way in (("sender", hop.from_level, "out"), ("receiver", hop.to_level, "in")):
            name, dma = getattr(hop, key), engines.get(level)
            if name in names:
                yield ("hops", i, key), f"'{name}' is {names[name]} as well", "give each end a name of its own"
            names[name] = "another end"
            have = 0 if dma is None else dma.channels_out if way == "out" else dma.channels_in
            if have < hop.lanes:
                need = f"{what} has {hop.lanes} lanes, level {level} {have} {way}-channels"
                yield ("hops", i), need, "give the level a DMA engine with a channel for each lane"


def _rate_problems(device: Device) -> Iterator[Problem]:
    """What is said per second, or per lane, must be a rate per cycle as others are."""
    for key in ("read_bytes_per_second", "write_bytes_per_second", "total_bytes_per_second"):
        rate = getattr(device.dram, key) / device.clock_hz
        if not RATE.holds(rate):
            yield ("dram", key), f"'dram.{key}' is {rate:g} bytes per cycle of 'clock_hz'", f"it must be {RATE}"
    for i, dma in enumerate(device.dmas):
        for key in ("port_bytes_per_cycle", "local_bytes_per_cycle"):
            rate = getattr(dma, key)
            if rate and not RATE.holds(rate):
                what = f"'{dma.name}' has '{key}' of {rate:g} bytes per cycle"
                yield ("dmas", i, key), what, f"it must be {RATE}, or 0 for no limit"
        if dma.reaches and (dma.level != device.dram_level or dma.reaches not in _chip_levels(device)):
            what = f"'{dma.name}' of level {dma.level} reaches level {dma.reaches}"
            yield ("dmas", i, "reaches"), what, "the one beside DRAM may reach a level on the chip"
    for i, link in enumerate(device.links):
        rate = link.lanes * link.bytes_per_cycle
        if not RATE.holds(rate):
            yield ("links", i, "lanes"), f"'{link.name}' moves {rate:g} bytes per cycle in all", f"it must be {RATE}"


def _chip_levels(device: Device) -> set[int]:
    return {level.number for level in device.levels} - {device.dram_level}


def _patch_problems(device: Device) -> Iterator[Problem]:
    for i, shape in enumerate(device.matmuls):
        path, patch = ("matmuls", i, "patch"), list(shape.patch)
        if patch and (len(patch) != 2 or min(patch) < 1 or prod(patch) != shape.m):
            hint = f"say rows and columns of pixels, {shape.m} in all"
            yield path, f"a patch of {patch} for an instruction of m = {shape.m}", hint
        elif patch and shape.any_shape:
            yield path, f"a patch of {patch} for code of any shape", "leave out one of the two"
    if device.patch_engine.is_known and not any(shape.patch for shape in device.matmuls):
        yield ("patch_engine",), "a patch engine without instructions on patches", "give one of 'matmuls' a 'patch'"


def _energy_problems(device: Device) -> Iterator[Problem]:
    """Energy is said of levels that there are, once; where it is said at all, of each."""
    known = {level.number for level in device.levels}
    seen: set[int] = set()
    for i, one in enumerate(device.energy.levels):
        path = ("energy", "levels", i, "level")
        if one.level not in known:
            hint = f"levels are {', '.join(map(str, sorted(known)))}"
            yield path, f"an energy of level {one.level}, which isn't there", hint
        elif one.level in seen:
            yield path, f"the energy of level {one.level} is said twice", "say it once"
        seen.add(one.level)
    missing = sorted(known - seen)
    if device.energy.is_known and missing:
        what = f"the energy of level {missing[0]} isn't said, that of others is"
        yield ("energy", "levels", 0), what, "give each level a table, or leave all of them out"
    seen_types: set[tuple[str, str, str]] = set()
    for i, mac in enumerate(device.energy.macs):
        types = (mac.lhs, mac.rhs, mac.acc)
        if types in seen_types:
            what = f"the energy of {mac.lhs} x {mac.rhs} -> {mac.acc} is said twice"
            yield ("energy", "macs", i), what, "say it once"
        seen_types.add(types)
