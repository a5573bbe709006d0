"""Tensors of PyTorch as numpy's arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def in_numpy(x: Any) -> np.ndarray:  # noqa: ANN401
    """The same elements, of bf16 as well, which PyTorch doesn't hand over."""
    import torch

    x = x.contiguous()
    return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()
