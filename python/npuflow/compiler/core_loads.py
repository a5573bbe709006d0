"""What it takes cores to be set up between the parts of a function: one by one, or by streams of packets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import pairwise
from math import prod

from npuflow.compiler.compiled import Function, Sequence
from npuflow.strategy.phase_times import streams_of

# What changes between parts take of the time behind the launch, so that it is worth while to look for less.
_MUCH = 0.1
# The same where tiles are sent packets. A plan more costs as much there, and gains less: with 13 %, as of a MobileNetV2
# in i8, nothing was gained.
_MUCH_SENT = 0.15


def load_seconds_of(sequence: Sequence) -> Mapping[str, float]:
    """What parts are to say of it (`npu.load_seconds`), by name; nothing where all together take little."""
    if not sequence.device.control.loads_one_by_one:
        return stream_seconds(sequence)
    each = core_seconds(sequence)
    return dict.fromkeys((part.name for part in sequence.parts), each) if each else {}


def core_seconds(sequence: Sequence) -> float:
    """How long a core takes to be set up in front of a part, on average; 0 where all of them take little."""
    changes = _waiting(sequence, _MUCH)
    cores = sum(prod(part.compiled.grid) for before, part in pairwise(sequence.parts) if before.name != part.name)
    return changes / cores if changes else 0.0


def stream_seconds(sequence: Sequence) -> Mapping[str, float]:
    """How long a stream of packets that sets up tiles takes in front of each part, on average of those that are alike.

    Nothing where all together take little, or tiles are sent none. Steps of a loop, say, are alike but for numbers and
    for what they read: by other seconds they would become other programs, which are set up anew for each other.
    """
    device = sequence.device
    if not device.control.packet_seconds or not _waiting(sequence, _MUCH_SENT):
        return {}
    streams: dict[Hashable, list[float]] = defaultdict(list)
    for phase, part in zip(sequence.timed, sequence.parts, strict=True):
        streams[_likeness(part)].append(phase.change_us * 1e-6 / streams_of(part.compiled.grid, device))
    found = {part.name: streams[_likeness(part)] for part in sequence.parts}
    return {name: sum(own) / len(own) for name, own in found.items() if sum(own)}


def _likeness(part: Function) -> Hashable:
    """What is equal of parts that do the same to tensors of the same types."""
    signature = part.compiled.signature
    return part.kinds, part.sizes, signature.inputs, signature.outputs


def _waiting(sequence: Sequence, much: float) -> float:
    """The seconds in which a function waits for what changes; 0 where that is little of its time behind the launch."""
    if not sequence.changes:
        return 0.0
    changes = sum(phase.change_us for phase in sequence.timed) * 1e-6
    return changes if changes > much * (sequence.seconds - sequence.device.control.launch_seconds) else 0.0
