"""The `npuflow` command as a user types it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from stopwatch import best_of, with_slowness

import npuflow
from npuflow.tools.npuflow import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
# Where the package that is tested lies: the sources, or an installed copy.
PACKAGE = str(Path(npuflow.__file__).parents[1])
ODD = str(ROOT / "examples" / "odd_shapes.mlir")
LINEAR = str(ROOT / "examples" / "linear_relu.mlir")
WRONG = str(ROOT / "test" / "execute" / "Inputs" / "wrong_passes.py")
TWO = """
func.func @one(%t: tensor<4xi32>) -> tensor<4xi32> { return %t : tensor<4xi32> }
func.func @two(%t: tensor<4xf32>) -> tensor<4xf32> { return %t : tensor<4xf32> }
"""

Capture = pytest.CaptureFixture[str]


def matmul_of(element: str) -> str:
    kind = f"tensor<4x4x{element}>"
    product = f"linalg.matmul ins(%a, %b : {kind}, {kind}) outs(%c : {kind}) -> {kind}"
    return (
        f"func.func @f(%a: {kind}, %b: {kind}, %c: {kind}) -> {kind} {{\n  %0 = {product}\n  return %0 : {kind}\n}}\n"
    )


@pytest.fixture
def two(tmp_path: Path) -> str:
    file = tmp_path / "two.mlir"
    file.write_text(TWO)
    return str(file)


@pytest.mark.parametrize("flag", ["--help", "-h", "help"])
def test_help_lists_the_commands(flag: str, capsys: Capture) -> None:
    assert main([flag]) == 0
    assert "  verify     run a pipeline" in capsys.readouterr().out


def test_no_command_is_wrong_usage_and_shows_help(capsys: Capture) -> None:
    assert main([]) == 2
    assert "usage: npuflow <command>" in capsys.readouterr().out


def test_version_is_that_of_npuflow_opt(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    out = capsys.readouterr().out
    assert f"npuflow {npuflow.__version__}" in out
    assert "LLVM" in out


def test_a_program_ends_as_others_do_but_frees_nothing() -> None:
    code = """
        import atexit, sys
        from npuflow.tools.npuflow import script

        class Kept:
            def __del__(self):
                print("freed")

        kept = Kept()
        atexit.register(print, "ended")
        sys.argv = ["npuflow", "run", "nowhere.mlir"]
        script()
    """
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "ended\n")
    assert "nowhere.mlir" in done.stderr


@pytest.mark.speed
def test_help_is_there_at_once() -> None:
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    command = [sys.executable, "-m", "npuflow.tools.npuflow", "--help"]
    seconds, slowness = with_slowness(
        lambda: best_of(3, lambda: subprocess.run(command, env=environment, check=True, capture_output=True))
    )
    assert seconds < 0.3 * slowness


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verfy"], "npuflow: error: unknown command 'verfy'; hint: did you mean verify"),
        (["--pipeline=cse"], "npuflow: error: unknown flag '--pipeline=cse'"),
        (["verify"], "npuflow: error: expected one input file, got 0"),
        (["verify", ODD, ODD], "npuflow: error: expected one input file, got 2"),
        (["verify", ODD, "--pipelin=cse"], "unknown flag of npuflow verify '--pipelin'; hint: did you mean --pipeline"),
        (["verify", ODD, "--pipeline=csee"], "unknown pass 'csee'; hint: did you mean"),
        (
            ["verify", ODD, "--device="],
            "flag '--device' has an empty value; hint: --device=<name|file>, or leave it out",
        ),
        (["verify", ODD, "--pipeline"], "flag '--pipeline' needs a value"),
        (["run", ODD, "-o"], "unknown flag of npuflow run '-o'; hint: did you mean"),
        (["tune", ODD, "-o"], "flag '-o' needs a value"),
        (["verify", ODD, "--function=f"], "unknown function '@f'; hint: did you mean @odd_shapes?"),
        (["verify", ODD, "--oracle=gpu"], "unknown value of flag '--oracle' 'gpu'"),
        (["verify", ODD, "--seed=x"], "flag '--seed' cannot be 'x'"),
        (["verify", ODD, "--load=/nowhere.py"], "plugin '/nowhere.py' is no file"),
        (["verify", ODD, "--stop-after=x", "--pipeline=npuflow-stream-k"], "unknown stage 'x'"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], message: str, capsys: Capture) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "verify", "ablate", "bounds", "tune"])
def test_what_cannot_be_read_is_said_alike(command: str, tmp_path: Path, capsys: Capture) -> None:
    binary = tmp_path / "binary.mlir"
    binary.write_bytes(b"\x7fELF\0\xff")
    more = ["-o", str(tmp_path / "out.mlir")] if command == "tune" else []
    for file, message in (
        (binary, f"'{binary}' is neither MLIR's text nor its bytecode; hint: give an .mlir file"),
        (tmp_path, f"cannot open input file '{tmp_path}': it is a directory; hint: give the path of an .mlir file"),
        (tmp_path / "none", f"cannot open input file '{tmp_path / 'none'}': no such file; hint: check the path"),
        ("net.py", "'net.py' is no MLIR; hint: npuflow import net.py:function -o net.mlir makes it a module"),
        ("net.pt2", "'net.pt2' is no MLIR; hint: npuflow import net.pt2 -o net.mlir makes it a module"),
    ):
        assert main([command, str(file), *more]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(("element", "said"), [("f64", "verified    max error"), ("i64", "verified    bit-exact")])
def test_what_no_instruction_multiplies_is_computed_by_vector_engines(
    element: str, said: str, tmp_path: Path, capsys: Capture
) -> None:
    (file := tmp_path / "wide.mlir").write_text(matmul_of(element))
    assert main(["run", str(file)]) == 0
    out = capsys.readouterr().out
    assert said in out
    assert "spread" in out, "mapped as other ops are"
    assert main(["tune", str(file), "--candidates=2", "--jobs=1", "-o", str(tmp_path / "out.mlir")]) == 0


def test_bounds_of_types_that_no_device_multiplies_are_said(tmp_path: Path, capsys: Capture) -> None:
    (file := tmp_path / "complex.mlir").write_text(matmul_of("complex<f32>"))
    assert main(["bounds", str(file)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"L3 +384 B", out), "three matrices of 16 elements of 8 bytes"
    assert "nothing moves: argument 0 of type tensor<4x4xcomplex<f32>> is not supported" in out


def test_private_functions_of_a_module_without_others_are_verified(tmp_path: Path, capsys: Capture) -> None:
    (file := tmp_path / "private.mlir").write_text(Path(ODD).read_text().replace("func.func @", "func.func private @"))
    assert main(["verify", str(file)]) == 0
    assert "right: @odd_shapes" in capsys.readouterr().out


@pytest.mark.parametrize("command", [one.name for one in COMMANDS])
@pytest.mark.parametrize("asking", ["--help", "-h", "-help"])
def test_every_command_has_help(command: str, asking: str, capsys: Capture) -> None:
    for arguments in ([asking], [asking, "--no-such-flag"], ["in.mlir", asking]):
        assert main([command, *arguments]) == 0
        captured = capsys.readouterr()
        assert captured.out.startswith(f"npuflow {command}: ")
        assert f"usage: npuflow {command}" in captured.out
        assert captured.err == ""


@pytest.mark.parametrize("asking", ["--help", "-h"])
def test_verify_help_lists_the_flags(asking: str, capsys: Capture) -> None:
    assert main(["verify", asking]) == 0
    out = capsys.readouterr().out
    for flag in (
        "--pipeline=<text>",
        "--each",
        "--seed=<n>",
        "--function=<name>",
        "--load=<plugin.py>",
        "--json=<file>",
    ):
        assert flag in out


def test_a_right_pipeline_is_right(capsys: Capture) -> None:
    assert main(["verify", ODD, "--pipeline", "npuflow-stream-k{grid=2,2}"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"{ODD}: against IREE, seed 0"
    assert out[1].split()[2:4] == ["ok", "bit-exact"]
    assert out[-1] == "right: @odd_shapes(127x263xi16, 61x263xi16) -> (127x61xi32)"


def test_without_a_pipeline_the_input_is_checked(two: str, capsys: Capture) -> None:
    assert main(["verify", two, "--seed=5"]) == 0
    out = capsys.readouterr().out
    assert "   0  input " in out
    assert "@one  ok" in out
    assert "@two  ok" in out


def test_one_function_of_several(two: str, capsys: Capture) -> None:
    assert main(["verify", two, "--function=@two"]) == 0
    assert "one" not in capsys.readouterr().out.replace(two, "")


def test_each_pass_has_a_line_and_a_device_can_be_chosen(capsys: Capture) -> None:
    command = ["verify", LINEAR, "--pipeline=npuflow-pack-peel", "--each", "--device=npu2", "--stop-after=tile-k-l2"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()[1:-1]
    names = [line.split()[1] for line in lines]
    assert names[0] == "input"
    assert "npuflow-tile-blocks" in names
    assert names[-1] == "npuflow-tile-k"
    assert all("allowed (derived)" in line for line in lines)


def test_a_wrong_pass_is_named_and_reported_as_json(tmp_path: Path, capsys: Capture) -> None:
    report = tmp_path / "report.json"
    pipeline = "npuflow-stream-k,wrong-drop-copy,canonicalize"
    command = ["verify", ODD, f"--pipeline={pipeline}", f"--load={WRONG}", f"--json={report}", "--each"]
    assert main(command) == 1
    captured = capsys.readouterr()
    assert "error: pass 'wrong-drop-copy' (" in captured.err
    assert "makes @odd_shapes compute something else" in captured.err
    assert "canonicalize" not in captured.out.splitlines()[-1]
    found = json.loads(report.read_text())
    assert found["ok"] is False
    last = found["checks"][-1]
    assert found["first_wrong"] == {"pass": "wrong-drop-copy", "position": last["position"]}
    assert (last["pass"], last["status"], last["bound"]) == ("wrong-drop-copy", "wrong", "exact")
    assert last["wrong_elements"] > 0
    assert {check["status"] for check in found["checks"][:-1]} == {"ok"}


def test_errors_that_are_no_numbers_are_valid_json(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    pipeline = "npuflow-stream-k,wrong-drop-fill"
    assert main(["verify", LINEAR, f"--pipeline={pipeline}", f"--load={WRONG}", f"--json={report}"]) == 1

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads(report.read_text(), parse_constant=refuse)
    assert found["checks"][0]["max_error"] == "nan"


def test_a_wrong_end_asks_for_each(capsys: Capture) -> None:
    command = ["verify", ODD, "--pipeline=npuflow-stream-k,wrong-drop-copy,cse", f"--load={WRONG}"]
    assert main(command) == 1
    assert "hint: --each names the pass that does" in capsys.readouterr().err


def test_an_end_that_cannot_be_executed_is_not_right(capsys: Capture) -> None:
    assert main(["verify", ODD, "--pipeline=gpu-add-barrier", f"--load={WRONG}"]) == 1
    err = capsys.readouterr().err
    assert "what pass 'gpu-add-barrier' (1 of 1) leaves cannot be executed, so it isn't verified" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f(", "expected"),
        ("module {}", "there is no public function with a body to be verified"),
        ("func.func @f(%t: tensor<?xi32>) { return }", "has a dynamic shape"),
    ],
)
def test_bad_input_is_exit_code_1(text: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "bad.mlir"
    file.write_text(text)
    report = tmp_path / "report.json"
    assert main(["verify", str(file), f"--json={report}"]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert str(file) in err
    assert not report.exists()


def test_missing_files_and_directories_are_exit_code_1(tmp_path: Path, capsys: Capture) -> None:
    assert main(["verify", str(tmp_path / "none.mlir")]) == 1
    assert main(["verify", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "cannot open input file" in err
    assert "is a directory" in err


def test_functions_of_memrefs_are_judged_by_their_own_execution(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "memrefs.mlir"
    file.write_text(
        "func.func @f(%a: memref<4xi32>, %b: memref<4xi32>) {"
        " memref.copy %a, %b : memref<4xi32> to memref<4xi32> return }"
    )
    assert main(["verify", str(file), "--oracle=jit", "--pipeline=canonicalize,cse"]) == 0
    assert "against the input's own execution, seed 0" in capsys.readouterr().out
    assert main(["verify", str(file), "--pipeline=canonicalize,cse"]) == 0
    assert "@f: against the input's own execution, because IREE runs functions of tensors" in capsys.readouterr().out
    assert main(["verify", str(file), "--pipeline=wrong-drop-copy", f"--load={WRONG}"]) == 1


def test_a_refusal_of_the_pipeline_is_passed_on(capsys: Capture) -> None:
    assert main(["verify", ODD, "--pipeline=npuflow-stream-k{grid=99,99}"]) == 1
    assert "grid 99x99 is larger than" in capsys.readouterr().err


def test_input_from_stdin() -> None:
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    command = [sys.executable, "-m", "npuflow.tools.npuflow", "verify", "-", "--pipeline=cse"]
    done = subprocess.run(command, env=environment, input=TWO, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<stdin>: against IREE")
