"""Programs as IREE compiles them: its command line, as a child process of ours that can be stopped."""

from __future__ import annotations

import os
import re
import secrets
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir

from npuflow.core.leftovers import removed_at_end
from npuflow.execute.sandbox import run_program

# A compiled program takes some 10 KiB.
_PROGRAMS_KEPT = 256
_FLAGS = (
    "--iree-hal-target-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-type=none",
    "--iree-input-demote-f64-to-f32=false",
    "--mlir-print-op-on-diagnostic=false",
)
_MOST_LINE = 200
_STACK = re.compile(r"^(Stack dump|Please report|\s*#?\d+[.:]?\s)", re.MULTILINE)


@lru_cache(maxsize=_PROGRAMS_KEPT)
def compile_text(text: str, what: str) -> bytes:
    """What IREE makes of a program's text; raises RuntimeError with its messages. Limits' messages call it `what`."""
    compiler, linker = _tools()
    command = (compiler, "-", f"--iree-llvmcpu-embedded-linker-path={linker}", *_FLAGS)
    directory = Path(gettempdir()) / f"npuflow-{secrets.token_hex(8)}"
    with removed_at_end(lambda: rmtree(directory, ignore_errors=True)):
        directory.mkdir(mode=0o700)  # for its linker's files, which it would leave behind where it is stopped
        ended = run_program(command, text.encode(), what, {**os.environ, "TMPDIR": str(directory)})
    if ended.code == 0:
        return ended.stdout
    said = ended.stderr.decode(errors="replace")
    if ended.code < 0:
        said = f"its compiler crashed (signal {-ended.code})\n" + _STACK.split(said)[0]
    raise RuntimeError("\n".join(line[:_MOST_LINE] for line in said.strip().splitlines()))


def _tools() -> tuple[str, str]:
    """Where IREE's compiler and linker are; importing its package to ask would take as long as compiling a matmul."""
    found = find_spec("iree.compiler")
    if found is None or not found.submodule_search_locations:
        raise ImportError("No module named 'iree.compiler'")
    place = Path(found.submodule_search_locations[0]) / "_mlir_libs"
    return str(place / "iree-compile"), str(place / "iree-lld")
