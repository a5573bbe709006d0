"""Attention of 16-bit floats is what PyTorch's kernels compute, by products of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch_arrays import in_numpy

import npuflow
from npuflow.bindings import ir
from npuflow.core.build import element_type_of
from npuflow.core.passes import ops_of
from npuflow.ops.factors import factors_of

pytestmark = pytest.mark.usefixtures("_torch")

PRODUCTS = ("linalg.generic", "linalg.batch_matmul", "linalg.matmul")
ARGUMENTS = {
    "plain": "q, k, v",
    "causal": "q, k, v, is_causal=True",
    "scaled": "q, k, v, scale=0.4",
    "grouped": "q, k[:, :2], v[:, :2], enable_gqa=True",
    "with a mask": "q, k, v, q[0, 0, :, :1] > -torch.arange(24) / 12",
    "with numbers added": "q, k, v, k[0, 0, :, :1].T",
    "one query": "q[:, :, :1], k, v",
}


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_attention_is_as_pytorch_has_it(name: str, kind: str) -> None:
    import torch
    from torch.nn import functional

    class Attention(torch.nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:  # noqa: ANN401
            names = {"torch": torch, "attended": functional.scaled_dot_product_attention, "q": q, "k": k, "v": v}
            return eval(f"attended({ARGUMENTS[name]})", names)

    torch.manual_seed(0)
    given = tuple(torch.randn(1, 4, 24, 16).to(getattr(torch, kind)) for _ in range(3))
    module = npuflow.from_torch(Attention(), given)
    wanted = Attention()(*given).float().numpy()
    compiled = npuflow.compile(module, device="toy", jobs=1)
    (found,) = (compiled.sequences or compiled.functions)[0].execute(*map(in_numpy, given))
    tolerance = {"bfloat16": 2**-6, "float16": 2**-9, "float32": 1e-5}[kind]
    np.testing.assert_allclose(found.astype(np.float32), wanted, rtol=tolerance, atol=tolerance)


def factor_types(module: ir.Module) -> list[str]:
    """Of each sum of products of a network, as compiled, what it multiplies."""
    npuflow.run_pipeline(module, "npuflow-normalize-linalg")
    sums = (op for op in ops_of(module.operation) if op.name in PRODUCTS and factors_of(op) is not None)
    return [" x ".join(str(element_type_of(value)) for value in list(op.operands)[:2]) for op in sums]


def test_products_are_of_the_narrow_type() -> None:
    import torch
    from torch.nn import functional

    class Attention(torch.nn.Module):
        def forward(self, q: torch.Tensor) -> Any:  # noqa: ANN401
            return functional.scaled_dot_product_attention(q, q, q)

    module = npuflow.from_torch(Attention(), torch.randn(1, 2, 16, 8, dtype=torch.bfloat16))
    assert factor_types(module) == ["bf16 x bf16", "bf16 x bf16"]
