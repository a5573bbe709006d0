"""What a compiler may say instead of compiling."""

from __future__ import annotations

import re

import numpy as np

from npuflow.execute.references import Reference

# What may be refused: what doesn't fit a memory, with the numbers that say so.
CAPACITY = re.compile(r"needs (?:at least )?(\d+) bytes.* has (\d+)")


def is_honest(refusal: str, reference: Reference) -> bool:
    """Whether a refusal has the numbers that say why, or there is nothing to compute: an input is handed back."""
    if "computes nothing" in refusal:
        return np.array_equal(reference.expected[0].ravel(), reference.inputs[0].ravel())
    numbers = CAPACITY.search(refusal)
    return numbers is not None and int(numbers[1]) > int(numbers[2])
