"""Networks from PyTorch: what they compute, where their weights are, and why some cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.errors import InputError, UsageError
from npuflow.importing.input_types import read_input_type
from npuflow.importing.networks import import_network
from npuflow.tools.npuflow import main

pytestmark = pytest.mark.usefixtures("_torch")

NETWORKS = str(Path(__file__).parent / "Inputs" / "networks.py")


def resources_of(module: ir.Module) -> list[ir.Attribute]:
    """The values of constants that are resources."""
    values = (op.attributes["value"] for op in ops_of(module.operation, "arith.constant"))
    return [value for value in values if str(value).startswith("dense_resource<")]


def execute(module: ir.Module, *inputs: Any) -> Any:  # noqa: ANN401
    compiled = npuflow.compile(module, device="toy")
    return compiled["main"].execute(*inputs)[0]


def test_a_module_computes_what_pytorch_does() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    given = torch.randn(3, 16)
    found = execute(npuflow.from_torch(network, (given,)), given.numpy())
    np.testing.assert_allclose(found, network(given).detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32"])
def test_products_of_integers_are_pytorchs_to_the_bit(kind: str) -> None:
    import torch
    from torch import Tensor, nn

    class Product(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return x.to(torch.int32) @ y.to(torch.int32)

    torch.manual_seed(1)
    limits = torch.iinfo(getattr(torch, kind))
    x, y = (torch.randint(limits.min, limits.max, size).to(getattr(torch, kind)) for size in ((5, 37), (37, 9)))
    found = execute(npuflow.from_torch(Product(), (x, y)), x.numpy(), y.numpy())
    np.testing.assert_array_equal(found, Product()(x, y).numpy())


BYTE_OPS = {
    "matmul": ("x @ y", (5, 37), (37, 9)),
    "batches": ("x @ y", (2, 5, 7), (2, 7, 3)),
    "linear": ("functional.linear(x, y, y[:, 0])", (5, 7), (3, 7)),
    "convolution": ("functional.conv2d(x, y, stride=2, padding=1)", (1, 3, 8, 8), (4, 3, 3, 3)),
    "scaled": ("x * 3 + y", (5, 7), (5, 7)),
    "less": ("(x - 8) - y", (5, 7), (5, 7)),
    "remainder": ("(x // 3) % 7 - y", (5, 7), (5, 7)),
    "sum": ("x.sum(1) + y.prod(1)", (5, 7), (5, 7)),
    "maximum": ("functional.max_pool2d(x, 2) + y", (1, 3, 8, 8), (1, 3, 4, 4)),
    "sizes": ("(-x).abs() + y", (5, 7), (5, 7)),
}


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("name", BYTE_OPS)
def test_bytes_wrap_around_as_in_pytorch(name: str, kind: str) -> None:
    """torch-mlir crashes on some of these, and takes bytes without signs for such with signs in others."""
    import torch
    from torch import Tensor, nn
    from torch.nn import functional

    text, *sizes = BYTE_OPS[name]

    class Computed(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Any:  # noqa: ANN401
            return eval(text, {"x": x, "y": y, "functional": functional})

    torch.manual_seed(1)
    limits = torch.iinfo(getattr(torch, kind))
    given = [torch.randint(limits.min, limits.max + 1, size).to(getattr(torch, kind)) for size in sizes]
    expected = Computed()(*given).numpy()
    found = execute(npuflow.from_torch(Computed(), given), *(one.numpy().view(np.int8) for one in given))
    np.testing.assert_array_equal(np.asarray(found).view(expected.dtype), expected)


@pytest.mark.parametrize("text", ["x.sum()", "x * x", "x / 3", "x.float()", "x.long().to(torch.uint32)"])
def test_words_without_a_sign_are_as_in_pytorch(text: str) -> None:
    """torch-mlir takes them for such with signs."""
    import torch
    from torch import Tensor, nn

    class Computed(nn.Module):
        def forward(self, x: Tensor) -> Any:  # noqa: ANN401
            return eval(text, {"x": x, "torch": torch})

    x = torch.tensor([3_000_000_000, 5, 4_294_967_295, 17], dtype=torch.uint32)
    expected = Computed()(x).numpy()
    found = execute(npuflow.from_torch(Computed(), (x,)), x.numpy().view(np.int32))
    np.testing.assert_allclose(np.asarray(found).view(expected.dtype), expected, rtol=1e-6)


def test_weights_are_resources_that_share_the_networks_memory() -> None:
    import torch
    from torch import nn

    network = nn.Linear(64, 48, bias=False).eval()
    module = npuflow.from_torch(network, (torch.zeros(2, 64),))
    (resource,) = resources_of(module)
    before = str(resource), module.operation.get_asm()
    with torch.no_grad():
        network.weight.zero_()
    after = module.operation.get_asm()
    assert str(resource) == before[0]
    assert before[1] != after, "the module has the memory of the weights, not a copy"
    assert f'weight: "0x04000000{"0" * (64 * 48 * 8)}"' in after


def test_tied_weights_are_one_resource() -> None:
    found = resources_of(import_network(f"{NETWORKS}:Tied", [read_input_type("5xi64")]))
    assert len(set(map(str, found))) == 1


def test_transposed_weights_are_laid_out_as_their_type_says() -> None:
    import torch
    from torch import nn

    class Transposed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.arange(32.0 * 24).reshape(32, 24).t())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight

    network, given = Transposed(), torch.eye(24)[:2]
    assert not network.weight.is_contiguous()
    found = execute(npuflow.from_torch(network, given), given.numpy())
    np.testing.assert_array_equal(found, network(given).detach().numpy())


def test_the_command_writes_bytecode_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "net.mlir"
    assert main(["import", f"{NETWORKS}:perceptron", "-o", str(out)]) == 0
    assert capsys.readouterr().out == "@main(tensor<3x16xf32>) -> tensor<3x4xf32>\n"
    assert out.read_bytes().startswith(b"ML\xefR")
    again = tmp_path / "again.mlir"
    assert main(["import", f"{NETWORKS}:perceptron", "-o", str(again)]) == 0
    assert again.read_bytes() == out.read_bytes()
    report = npuflow.compile(out, device="toy").run()
    assert report.functions[0].verified.status.value == "ok"


def test_text_has_the_weights_as_numbers(tmp_path: Path) -> None:
    out = tmp_path / "net.mlir"
    assert main(["import", f"{NETWORKS}:perceptron", "-o", str(out), "--text"]) == 0
    text = out.read_text()
    assert "func.func @main" in text
    assert 'weight: "0x04000000' in text
    assert npuflow.compile(text, device="toy").run().functions[0].verified.status.value == "ok"


@pytest.mark.parametrize(
    ("name", "types", "shown"),
    [
        ("convolution", ["1x3x8x8xf32"], "(tensor<1x3x8x8xf32>) -> tensor<1x8x6x6xf32>"),
        ("product", ["4x8xbf16", "8x2xbf16"], "(tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>"),
        ("perceptron", ["7x16xf32"], "(tensor<7x16xf32>) -> tensor<7x4xf32>"),
    ],
)
def test_types_of_inputs_can_be_given(name: str, types: list[str], shown: str) -> None:
    module = import_network(f"{NETWORKS}:{name}", [read_input_type(text) for text in types])
    assert str(ops_of(module.operation, "func.func")[0].attributes["function_type"].value) == shown


@pytest.mark.parametrize(
    ("name", "types", "said"),
    [
        ("perceptrn", [], "networks.py:1: error: unknown function 'perceptrn'; hint: did you mean perceptron"),
        (
            "convolution",
            [],
            "networks.py:11: error: 'convolution' returns no inputs; hint: say their types with --inputs",
        ),
        (
            "product",
            [],
            "networks.py:15: error: 'product' needs x, y; hint: say the types of its tensors with --inputs",
        ),
        ("branching", ["4xf32"], "networks.py:33: error: PyTorch cannot export this module: GuardOnDataDependent"),
        ("branching", ["4xf32"], "hint: choose between tensors by `torch.where`"),
        ("Zetas", ["4x4xf32"], "error: torch-mlir has no op for 'prims.zeta'"),
        ("failing", [], "networks.py:44: error: the file failed: ValueError: no such weights; hint: run it by Python"),
        ("number", [], "networks.py:47: error: 'number' returns int, no network"),
        ("constant", [], "networks.py:1: error: 'constant' is int, no function"),
        ("perceptron", ["3x5xf32"], "networks.py:7: error: PyTorch cannot export this module"),
        ("perceptron", ["3x5xf32"], "hint: see whether PyTorch itself computes it of inputs like these, 3x5 of"),
        ("product", ["3x5xf32"], "missing a required argument: 'y'; hint: give as many inputs as it takes: x, y"),
        ("miscalling", ["3xf32"], "networks.py:55: error: PyTorch cannot export this module: TypeError: product()"),
        ("miscalling", ["3xf32"], "hint: see whether PyTorch itself computes it of inputs like these, 3 of"),
        ("learning", ["1x4x8x8xf32"], "hint: call .eval() on it, which makes norms use what they have learned"),
    ],
)
def test_what_cannot_be_imported_is_said_at_its_line(name: str, types: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        import_network(f"{NETWORKS}:{name}", [read_input_type(text) for text in types])
    assert said in str(caught.value)
    assert caught.value.diagnostics[0].location is not None
    if name == "Zetas":
        assert "; hint: torch-mlir has no lowering of it" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "torch.ones(3, dtype=torch.uint16)",
            "'x' is of torch.uint16, which torch-mlir has no type for; hint: use a type",
        ),
        (
            "torch.ones(3).to(torch.float8_e4m3fn)",
            "'x' is of torch.float8_e4m3fn, which is not computed of; hint: make it f16, bf16 or f32",
        ),
        ("torch.eye(3).to_sparse()", "'x' is sparse (torch.sparse_coo); hint: make it dense by .to_dense()"),
    ],
)
def test_tensors_without_a_type_are_refused_by_name(kind: str, said: str) -> None:
    import torch
    from torch import Tensor, nn

    class Doubled(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    with pytest.raises(InputError) as caught:
        npuflow.from_torch(Doubled(), (eval(kind, {"torch": torch}),))
    assert said in str(caught.value)


def test_a_file_that_is_no_python_is_refused_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("x = 1\ndef f(:\n")
    with pytest.raises(InputError, match=r"broken\.py:2:\d+: error: the file failed: SyntaxError"):
        import_network(f"{file}:f")


def test_who_names_no_function_is_asked_for_one() -> None:
    with pytest.raises(UsageError, match=r"cannot tell what to import from 'm\.py:'; hint: m\.py:function"):
        import_network("m.py:")


def test_a_file_imports_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "npuflow_test_sibling.py").write_text("SIZE = 6\n")
    file = tmp_path / "network.py"
    file.write_text(
        "from npuflow_test_sibling import SIZE\nimport torch\ndef f():\n"
        "    return torch.nn.ReLU(), (torch.zeros(SIZE),)\n"
    )
    module = import_network(f"{file}:f")
    assert "tensor<6xf32>" in str(module)
    assert str(tmp_path) not in sys.path


def test_exported_programs_are_read(tmp_path: Path) -> None:
    import torch
    from torch import nn

    torch.manual_seed(2)
    network, given = nn.Linear(16, 8).eval(), torch.randn(4, 16)
    # In a process of its own: what saves programs warns of itself.
    torch.save(network.state_dict(), tmp_path / "weights.pt")
    code = (
        "import torch; m = torch.nn.Linear(16, 8).eval(); m.load_state_dict(torch.load('weights.pt'));"
        "torch.export.save(torch.export.export(m, (torch.randn(4, 16),)), 'network.pt2')"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=True, capture_output=True)
    found = execute(import_network(str(tmp_path / "network.pt2")), given.numpy())
    np.testing.assert_allclose(found, network(given).detach().numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(UsageError, match="an exported program has its inputs' types"):
        import_network(str(tmp_path / "network.pt2"), [read_input_type("4x16xf32")])


def test_what_is_no_exported_program_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.pt2"
    file.write_text("nothing of the kind")
    with pytest.raises(InputError, match=r"text\.pt2' is no exported program"):
        import_network(str(file))


def test_what_is_no_module_or_tensor_is_refused() -> None:
    import torch

    with pytest.raises(UsageError, match=r"the module is of type function; hint: give a torch\.nn\.Module"):
        npuflow.from_torch(lambda x: x, (torch.zeros(1),))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'' is no name of a function"):
        npuflow.from_torch(torch.nn.ReLU(), (torch.zeros(1),), name="")
