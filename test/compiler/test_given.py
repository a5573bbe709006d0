"""Functions and schedules of one module, told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.compiler.given import device_of, schedule_name, schedules_in, take_apart
from npuflow.errors import InputError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCHEDULE = (EXAMPLES / "two_cores.mlir").read_text()
FUNCTION = (EXAMPLES / "two_cores_reference.mlir").read_text().replace("@matmul", "@compiled")
KERNEL = "  // Kernels:"


def parsed(text: str) -> ir.Module:
    return npuflow.parse(text, npuflow.new_context())


def names_in(module: ir.Module | None) -> list[str] | None:
    return None if module is None else [schedule_name(op) for op in schedules_in(module.operation)]


@pytest.mark.parametrize(
    ("text", "names", "has_functions", "schedules"),
    [
        (FUNCTION, ("compiled",), True, None),
        (SCHEDULE, ("matmul",), False, ["matmul"]),
        (f"{FUNCTION}\n{SCHEDULE}", ("compiled", "matmul"), True, ["matmul"]),
        (f"{SCHEDULE}\n{FUNCTION}", ("matmul", "compiled"), True, ["matmul"]),
        ("", (), True, None),
    ],
)
def test_a_module_is_taken_apart(
    text: str, names: tuple[str, ...], has_functions: bool, schedules: list[str] | None
) -> None:
    found = take_apart(parsed(text))
    assert (found.names, found.functions is not None, names_in(found.schedules)) == (names, has_functions, schedules)


def test_what_is_taken_out_is_gone() -> None:
    module = parsed(f"{FUNCTION}\n{SCHEDULE}")
    found = take_apart(module)
    assert found.functions is module
    assert schedules_in(module.operation) == []


def test_all_that_is_a_bit_of_both_is_refused_at_once() -> None:
    assert KERNEL in SCHEDULE
    inside = SCHEDULE.replace(KERNEL, FUNCTION.replace("@compiled", "@inner") + KERNEL)
    outside = """func.func @outside(%a: tensor<8xi32>) -> tensor<8xi32> {
      %i = arith.constant 0 : index
      "npu.acquire"(%i) {semaphore = @s, at = affine_map<(d0) -> (d0)>} : (index) -> ()
      return %a : tensor<8xi32>
    }"""
    with pytest.raises(InputError) as refused:
        take_apart(parsed(f"{outside}\nmodule {{\n}}\n{inside}"))
    said = [diagnostic.message.partition(";")[0] for diagnostic in refused.value.diagnostics]
    assert said == [
        "@inner is on tensors, but stands in a schedule, whose kernels are on buffers in L1",
        "@outside has npu.acquire, but stands in no schedule",
    ]


@pytest.mark.parametrize(("asked", "device"), [(None, "toy"), ("toy", "toy")])
def test_a_schedule_says_what_it_is_for(asked: str | None, device: str) -> None:
    module = parsed(SCHEDULE)
    assert device_of(schedules_in(module.operation), asked) == device


def test_a_schedule_is_for_no_other_device() -> None:
    module = parsed(SCHEDULE)
    with pytest.raises(InputError, match="@matmul is a schedule for toy, but npu1 is asked for"):
        device_of(schedules_in(module.operation), "npu1")
    assert device_of([], "npu1") == "npu1"
    assert device_of([], None) is None
