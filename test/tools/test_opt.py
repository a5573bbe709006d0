"""`npuflow-opt` as a command: exit codes, files, start-up. The .mlir files next to this check what it prints."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from command_server import HANG_SECONDS, command
from stopwatch import best_of

import npuflow

ROOT = Path(__file__).resolve().parents[2]
# Where the package that is tested lies: the sources, or an installed copy.
PACKAGE = str(Path(npuflow.__file__).parents[1])
PLUGIN = f"--load={ROOT / 'test' / 'core' / 'plugins' / 'passes.py'}"
FOLDABLE = """func.func @sum() -> index {
  %one = arith.constant 1 : index
  %again = arith.constant 1 : index
  %sum = arith.addi %one, %again : index
  return %sum : index
}
"""


def opt(*arguments: str, text: str | bytes = FOLDABLE, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*command("npuflow-opt"), *arguments],
        input=text.encode() if isinstance(text, str) else text,
        capture_output=True,
        cwd=cwd,
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--cse"], 0),
        (["--test-refuse"], 1),
        (["--test-count-constants=at-most=1"], 1),
        (["missing.mlir"], 1),
        (["--irdl-file=missing.mlir"], 1),
        (["--run-reproducer"], 1),
        (["--no-such-flag"], 2),
        (["--pass-pipeline=builtin.module(no-such-pass)"], 2),
        (["--pass-pipeline=builtin.module(cse"], 2),
        (["--canonicalize=no-such-option=1"], 2),
        (["--canonicalize={"], 2),
        (["--test-count-constants=at-most=1 at-most=2"], 2),
        (["--pass-pipeline=" + "func.func(" * 1000 + "cse" + ")" * 1000], 2),
        (["--test-three-stages", "--stop-after=no-such-stage"], 2),
        (["--test-three-stages", "--transform-schedule", "--resume-after=no-such-stage"], 2),
        (["--transform-schedule"], 2),
        (["--load=missing.py"], 2),
        (["--verify-diagnostics=no-such-mode"], 2),
        (["--verify-each=perhaps"], 2),
        (["--device="], 2),
        (["--debug-only=cse"], 2),
        (["--mlir-elide-elementsattrs-if-larger=-1"], 2),
        (["--pass-pipeline"], 2),
        (["--split-input-file", "--emit-bytecode"], 2),
        (["a.mlir", "b.mlir"], 2),
        (["--test-crash"], 3),
        (["--test-leave-invalid"], 3),
    ],
)
def test_exit_code(arguments: list[str], expected: int, tmp_path: Path) -> None:
    done = opt(PLUGIN, *arguments, cwd=tmp_path)
    assert done.returncode == expected, done.stderr.decode()
    assert bool(done.stderr) == bool(expected)
    assert bool(done.stdout) == (not expected)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xff\xfe\x00", b"ML\xefR", b"ML\xefR" + bytes(200), b"module {" * 50])
def test_odd_input_ends_cleanly(data: bytes, tmp_path: Path) -> None:
    done = opt("--cse", text=data, cwd=tmp_path)
    assert done.returncode == (0 if not data.strip() else 1)
    assert b"Traceback" not in done.stderr


def test_a_directory_is_no_input(tmp_path: Path) -> None:
    done = opt(str(tmp_path))
    assert done.returncode == 1
    assert b"cannot open input file" in done.stderr


def test_a_failing_expectation_of_a_crash_is_still_a_crash(tmp_path: Path) -> None:
    text = "// expected-error @unknown {{crashed}}\n" + FOLDABLE
    done = opt(PLUGIN, "--test-crash", "--verify-diagnostics", text=text, cwd=tmp_path)
    assert done.returncode == 3
    assert b"pass 'test-crash' crashed" in done.stderr
    assert (tmp_path / "npuflow-reproducer.mlir").is_file()


def test_a_usage_error_is_told_under_verify_diagnostics() -> None:
    done = opt("--canonicalize=no-such-option=1", "--verify-diagnostics")
    assert done.returncode == 2
    assert b"no such option" in done.stderr


def test_output_replaces_a_file_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    target.write_text("before")
    target.chmod(0o640)
    assert opt("-o", str(target)).returncode == 0
    assert "func.func @sum" in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["out.mlir"]


def test_output_goes_through_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "link.mlir").symlink_to(tmp_path / "target.mlir")
    assert opt("-o", str(tmp_path / "link.mlir")).returncode == 0
    assert (tmp_path / "link.mlir").is_symlink()
    assert "func.func @sum" in (tmp_path / "target.mlir").read_text()


def test_output_to_a_device() -> None:
    assert opt("-o", os.devnull).returncode == 0
    assert not Path(os.devnull).is_file()


def test_output_into_a_missing_directory(tmp_path: Path) -> None:
    done = opt("-o", str(tmp_path / "none" / "out.mlir"))
    assert done.returncode == 1
    assert b"cannot open output file" in done.stderr


def test_one_bad_part_of_many_withholds_the_output(tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    done = opt("--split-input-file", "-o", str(target), text=f"{FOLDABLE}// -----\nnonsense\n// -----\n{FOLDABLE}")
    assert done.returncode == 1
    assert b"<stdin>:8:1: error:" in done.stderr
    assert not target.exists()


@pytest.mark.parametrize("passes", ["--npuflow-stream-k", "--canonicalize", "--test-three-stages", "--sparsifier"])
def test_the_dumped_pipeline_parses_back_to_itself(passes: str) -> None:
    first = opt(PLUGIN, passes, "--dump-pass-pipeline", text="")
    header, pipeline = first.stderr.decode().strip().split("\n", 1)
    assert re.fullmatch(r"Pass Manager with \d+ passes:", header)
    again = opt(PLUGIN, f"--pass-pipeline={pipeline}", "--dump-pass-pipeline", text="")
    assert again.stderr.decode().strip().split("\n", 1)[1] == pipeline


def test_a_crash_that_depends_on_nothing_else_is_replayed_from_stdin(tmp_path: Path) -> None:
    assert opt(PLUGIN, "--cse", "--test-crash", cwd=tmp_path).returncode == 3
    reproducer = (tmp_path / "npuflow-reproducer.mlir").read_text()
    (tmp_path / "npuflow-reproducer.mlir").unlink()
    done = opt(PLUGIN, "--run-reproducer", text=reproducer, cwd=tmp_path)
    assert done.returncode == 3
    assert b"pass 'test-crash' crashed" in done.stderr
    assert not (tmp_path / "npuflow-reproducer.mlir").exists()


def test_a_pass_that_fails_inside_a_nest_is_reproduced_from_the_nest(tmp_path: Path) -> None:
    pipeline = "--pass-pipeline=builtin.module(canonicalize,func.func(cse,test-crash),cse)"
    assert opt(PLUGIN, pipeline, cwd=tmp_path).returncode == 3
    text = (tmp_path / "npuflow-reproducer.mlir").read_text()
    assert 'pipeline: "builtin.module(func.func(cse,test-crash),cse)"' in text
    assert "arith.addi" not in text


def test_a_named_reproducer_outlives_the_process(tmp_path: Path) -> None:
    named = "--mlir-pass-pipeline-crash-reproducer=r.mlir"
    assert opt(PLUGIN, "--test-vanish", named, cwd=tmp_path).returncode == -signal.SIGKILL
    assert 'pipeline: "builtin.module(test-vanish)"' in (tmp_path / "r.mlir").read_text()


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ("x = (", "plugin.py:1:5: error: plugin '{}' failed: SyntaxError"),
        ("x = (\n", "(plugin.py, line 1)\nx = (\n    ^\n"),
        ("\nimport no_such_module", "plugin.py:2: error: plugin '{}' failed: ModuleNotFoundError"),
        ("import npuflow\nnpuflow.register_pass(npuflow.Pass)", "error: Pass has no name; hint: set a class attribute"),
        ("import npuflow\nnpuflow.register_pass(npuflow.Pass)", "plugin.py:2: error: Pass has no name"),
        ("import sys; sys.exit(7)", "error: plugin '{}' failed: SystemExit: 7"),
    ],
)
@pytest.mark.parametrize("relative", [False, True])
def test_a_plugin_that_fails_is_named_with_its_line(plugin: str, message: str, relative: bool, tmp_path: Path) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(plugin)
    shown = file.name if relative else str(file)
    done = opt(f"--load={shown}", cwd=tmp_path)
    assert done.returncode == 2
    assert message.format(shown) in done.stderr.decode()


LATE = """
from dataclasses import dataclass
import npuflow

@npuflow.register_pass
@dataclass(frozen=True)
class Late(npuflow.Pass):
    "Fails as it runs."
    name = "late-pass"

    def run(self, op, context):
        self.divide(1)

    def divide(self, by):
        return by / 0

@npuflow.register_pipeline
@dataclass(frozen=True)
class LatePipeline(npuflow.NamedPipeline):
    "Fails as it is spelled out."
    name = "late-pipeline"

    def stages(self):
        return [].pop()
"""


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--late-pass", ":15: note: raised here, in a plugin\n        return by / 0\n"),
        ("--late-pipeline", ":24: error: a plugin failed: IndexError: pop from empty list\n        return [].pop()\n"),
    ],
)
def test_a_plugin_that_fails_later_is_named_with_its_line(flag: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(LATE)
    done = opt("--load=plugin.py", flag, cwd=tmp_path)
    assert done.returncode == 3
    assert f"{tmp_path / 'plugin.py'}{message}" in done.stderr.decode()
    assert b"please report" not in done.stderr


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--mlir-print-value-users", "npuflow-opt ... | torch-mlir-opt --mlir-print-value-users --irdl-file="),
        ("--mlir-print-unique-ssa-ids", "npuflow-opt ... | torch-mlir-opt --mlir-print-unique-ssa-ids --irdl-file="),
        ("--debug-only=cse", "hint: --remarks=PASS says"),
        ("--debug", "is not there: MLIR's packages are built without LLVM's debug output"),
    ],
)
def test_what_the_bindings_cannot_do_is_said_with_what_can(flag: str, message: str) -> None:
    done = opt(flag)
    assert done.returncode == 2
    assert message in done.stderr.decode()


def test_the_other_tool_of_the_bindings_takes_what_we_print() -> None:
    """What the message above promises."""
    tool = Path(sys.executable).with_name("torch-mlir-opt")
    if not tool.exists():
        pytest.skip("the bindings came without torch-mlir-opt")
    printed = opt(str(ROOT / "examples" / "matmul.mlir"), "--npuflow-stream-k=grid=2,2", "--npuflow-schedule").stdout
    argv = [str(tool), "--mlir-print-value-users", f"--irdl-file={ROOT / 'dialects' / 'npu.irdl.mlir'}"]
    done = subprocess.run(argv, input=printed, capture_output=True, check=True)
    assert b"// users: %" in done.stdout


def test_a_reader_that_goes_away_is_no_crash() -> None:
    command = f"{sys.executable} -m npuflow.tools.opt --list-passes=upstream | head -c 1"
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run(command, shell=True, capture_output=True, env=environment, check=False)
    assert b"Traceback" not in done.stderr


def seconds_of(runs: int, *arguments: str) -> float:
    argv, environment = [sys.executable, *arguments], {**os.environ, "PYTHONPATH": PACKAGE}
    return best_of(runs, lambda: subprocess.run(argv, stdout=subprocess.DEVNULL, env=environment, check=True))


@pytest.mark.speed
@pytest.mark.parametrize("module", ["npuflow.tools.opt", "npuflow.tools.npuflow"])
def test_a_version_is_there_before_mlir_would_be(module: str) -> None:
    assert seconds_of(5, "-m", module, "--version") < seconds_of(5, "-c", "import npuflow.bindings")


@pytest.mark.parametrize("module", ["npuflow.tools.opt", "npuflow.tools.npuflow"])
def test_a_version_needs_no_mlir(module: str) -> None:
    code = f"import sys, {module} as m; m.main(['--version']); print(sorted(sys.modules), file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, text=True, check=True)
    assert re.search(r"^LLVM \d+\.\d+\.\d+\w*, revision [0-9a-f]{40}$", done.stdout, re.MULTILINE)
    imported = set(re.findall(r"'([\w.]+)'", done.stderr))
    assert "npuflow.provider" in imported
    assert not imported & {"torch_mlir.ir", "mlir.ir", "iree", "numpy", "npuflow.bindings"}


OPT_HELP = ("-m", "npuflow.tools.opt", "--help")


@pytest.mark.speed
def test_help_answers_at_once() -> None:
    """Half a second; on a slower or a busy machine at most three times as long as importing MLIR takes beside it."""
    if seconds_of(2, *OPT_HELP) < 0.5:
        return
    pairs = [(seconds_of(1, *OPT_HELP), seconds_of(1, "-c", "import npuflow.bindings")) for _ in range(5)]
    ours, mlirs = map(min, zip(*pairs, strict=True))
    assert ours < 3 * mlirs


def test_start_up_imports_nothing_that_it_does_not_need() -> None:
    code = "import sys, npuflow.tools.opt as o; o.main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    imported = set(re.findall(r"'([\w.]+)'", done.stderr.decode()))
    assert "npuflow.core.registry" in imported
    assert not imported & {"iree", "hypothesis", "asyncio", "torch", "ml_dtypes", "npuflow.execute.jit"}


def test_the_page_names_every_flag() -> None:
    page = (ROOT / "docs" / "npuflow-opt.md").read_text()
    flags = re.findall(r"^ +(-{1,2}[\w-]+)", opt("--help").stdout.decode().split("Passes and named")[0], re.MULTILINE)
    assert len(flags) > 30
    assert [flag for flag in flags if not re.search(rf"{re.escape(flag)}\b", page)] == []
