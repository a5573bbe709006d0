"""What PyTorch writes in place: caches are arguments that become results, and are updated where they lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npuflow
from npuflow.api.compiled import Compiled
from npuflow.core.passes import ops_of
from npuflow.importing.input_types import read_input_type
from npuflow.importing.networks import import_network
from npuflow.ops.insertions import result_said, said_updates

pytestmark = pytest.mark.usefixtures("_torch")

CACHES = str(Path(__file__).parent / "Inputs" / "caches.py")
ROW_BYTES, CACHE_BYTES = 2 * 4 * 4, 2 * 8 * 4 * 4
INPUT = read_input_type("1x1x16xf32")
IN_PLACE = ("Setitem", "Selected", "IndexCopy", "IndexPut", "Range", "SliceScatter", "Narrow")


def traffic_of(compiled: Compiled, memory: str) -> tuple[int, int, int]:
    (level, *_) = compiled.run(verify=True).functions[0].traffic
    (found,) = (one for one in level.tensors if one.tensor == memory)
    return found.read_bytes, found.write_bytes, found.compulsory_bytes


def updates_of(module: Any) -> dict[int, int | None]:  # noqa: ANN401
    (function,) = ops_of(module.operation, "func.func")
    return {argument: result_said(said) for argument, said in said_updates(function).items()}


@pytest.mark.parametrize("name", IN_PLACE)
def test_rows_are_written_where_a_buffer_lies(name: str) -> None:
    import torch

    module = import_network(f"{CACHES}:{name}", (INPUT,))
    assert updates_of(module) == {1: 1}
    compiled = npuflow.compile(module, device="npu2", split=False)
    assert traffic_of(compiled, "arg1") == (CACHE_BYTES, ROW_BYTES, CACHE_BYTES + ROW_BYTES)
    network, x = loaded(name)
    before = torch.randn(1, 2, 8, 4)
    network.cache.copy_(before)
    found = compiled["main"].execute(x.numpy(), before.numpy().copy())
    with torch.no_grad():
        expected = network(x), network.cache
    for now, then in zip(found, expected, strict=True):
        np.testing.assert_allclose(now, then.numpy(), rtol=1e-5, atol=1e-6)


def loaded(name: str) -> tuple[Any, Any]:
    import torch

    from npuflow.importing.python_networks import load_network

    return load_network(CACHES, name, (INPUT,)).module.eval(), torch.randn(1, 1, 16)


def test_an_input_that_is_written_and_returned_is_one_result() -> None:
    module = import_network(f"{CACHES}:Returned", (INPUT, read_input_type("1x2x8x4xf32")))
    assert updates_of(module) == {1: 1}
    report = npuflow.compile(module, device="npu2").run()
    (whole,) = report.sequences or report.functions  # a function that comes apart has its parts among the functions
    assert str(whole.signature).endswith("-> (1x2x4xf32, 1x2x8x4xf32)")


def test_where_the_place_is_data_the_result_is_a_new_tensor() -> None:
    module = import_network(f"{CACHES}:Dynamic", (INPUT, read_input_type("1xi64")))
    assert updates_of(module) == {2: 1}
    report = npuflow.compile(module, device="npu2").run(verify=True)
    plan = report.sequences[0].plan
    assert sum(value.bytes for value in plan.values if value.role.value == "result") == CACHE_BYTES + ROW_BYTES


def test_places_that_a_deep_network_computes_take_no_time_to_be_found_unknown() -> None:
    """Each layer reads twice what the one before made: by all ways to it, this would go on for years."""
    import torch

    class Deep(torch.nn.Module):
        def forward(self, x: Any) -> Any:  # noqa: ANN401
            y = x
            for _ in range(60):
                y = y + torch.tanh(y)
            written = x.clone()
            written[y.argmax(-1)] = 0.0
            return written

    module = npuflow.from_torch(Deep(), torch.randn(8, 8))
    assert updates_of(module) == {}


def test_caches_of_phases_keep_their_type_and_are_moved_once() -> None:
    compiled = npuflow.compile(
        import_network(f"{CACHES}:Narrow16", (INPUT,)), device="npu2", compute_type="bf16", split=True
    )
    (sequence,) = compiled.run(verify=True).sequences
    assert sequence.verified.status.value == "ok"
    cache = next(value for value in sequence.plan.values if value.updated_bytes is not None)
    assert (cache.role.value, cache.bytes) == ("argument", CACHE_BYTES // 2)
    assert cache.least_bytes == (CACHE_BYTES + ROW_BYTES) // 2
    written = sum(part.traffic[0].write_bytes for part in sequence.parts)
    between = sum(value.bytes for value in sequence.plan.in_workspace)
    assert written <= ROW_BYTES // 2 + ROW_BYTES + between


def test_caches_of_all_layers_in_one_tensor_are_written_where_they_lie() -> None:
    import torch

    class Layers(torch.nn.Module):
        def forward(self, x: Any, caches: Any) -> Any:  # noqa: ANN401
            for layer in range(3):
                cache = caches[layer]
                cache[:, layer + 2] = x[0].tanh()
                x = x + torch.softmax(x @ cache.transpose(1, 2), -1) @ cache
            return x

    x, caches = torch.randn(1, 1, 32), torch.randn(3, 1, 16, 32)
    module = npuflow.from_torch(Layers(), (x, caches))
    assert updates_of(module) == {1: 1}
    compiled = npuflow.compile(module, device="npu2", split=True)
    (sequence,) = compiled.run(verify=True).sequences
    assert sequence.verified.status.value == "ok"
    (cache,) = (value for value in sequence.plan.values if value.updated_bytes is not None)
    assert cache.updated_bytes == caches.nbytes + 3 * 32 * 4
    given = caches.clone()
    found = compiled.sequence("main").execute(x.numpy(), caches.numpy().copy())
    expected = Layers()(x, given), given
    for now, then in zip(found, expected, strict=True):
        np.testing.assert_allclose(now, then.numpy(), rtol=1e-5, atol=1e-6)


def test_buffers_that_are_not_saved_are_weights_too() -> None:
    network, x = loaded("NotSaved")
    module = npuflow.from_torch(network, (x,))
    found = npuflow.compile(module, device="npu2")["main"].execute(x.numpy())[0]
    np.testing.assert_allclose(found, network(x).numpy(), rtol=1e-6)
