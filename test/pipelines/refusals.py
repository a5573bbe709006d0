"""What a compiler may say instead of compiling."""

from __future__ import annotations

import re

import numpy as np

from npuflow.execute.references import Reference
from npuflow.target import load_device

# What may be refused: what does not fit a memory, with the numbers that say so, and types that nothing multiplies.
CAPACITY = re.compile(r"needs (?:at least )?(\d+) bytes.* has (\d+)")
TYPES = re.compile(r"device '(\S+)' cannot multiply (\w+) x (\w+) -> (\w+)")


def is_honest(refusal: str, reference: Reference) -> bool:
    """Whether a refusal has the numbers that say why, or there is nothing to compute: an input is handed back."""
    if "computes nothing" in refusal:
        return np.array_equal(reference.expected[0].ravel(), reference.inputs[0].ravel())
    if types := TYPES.search(refusal):
        return not load_device(types[1]).has_instruction((types[2], types[3], types[4]))
    numbers = CAPACITY.search(refusal)
    return numbers is not None and int(numbers[1]) > int(numbers[2])
