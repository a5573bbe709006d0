"""lit configuration: `lit -v test` works from a source tree and with an installed package.

Our commands, and FileCheck, are forks of one server that has imported them; with `--param=processes` each is a process
of its own, taken from beside the running Python. Where `npuflow-opt` isn't installed there, the sources run directly.

What `npuflow verify` compares with is the input's own execution, unless `--param=iree` has IREE confirm that, as when
the line is pasted into a shell.
"""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent

sys.path.insert(0, str(ROOT / "tools"))
import command_server  # noqa: E402

config.name = "npuflow"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "plugins", "lit.cfg.py"]
config.test_source_root = str(ROOT / "test")
config.test_exec_root = str(ROOT / "build" / "test")


def beside_python(name):
    """The full path of a console command that belongs to this Python, or None."""
    return shutil.which(name, path=str(TOOLS))


def source_path():
    """Where Python finds the package if it isn't installed."""
    return os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT / "python")]))


def processes():
    """Every command as a process of its own: an installed console command, else the module run from the sources."""
    for name, module in command_server.COMMANDS.items():
        # Not through config.environment: lit's own `cat` takes PYTHONPATH away from what it is piped into.
        sources = f"env PYTHONPATH={source_path()} {sys.executable} -m {module}"
        yield name, beside_python(name) or sources


def forks():
    """Every command as a fork of a server, which ends with lit."""
    path = {} if beside_python("npuflow-opt") else {"PYTHONPATH": source_path()}
    server = " ".join(command_server.start({**config.environment, **path}))
    return ((name, f"{server} {name}") for name in command_server.COMMANDS)


# A tool's name stands for its path where a command line starts or goes on, not inside of file names.
START = r"(?:(?<=^)|(?<=[|&;!(\s]))"
END = r"(?=\s|$)"

ALWAYS = {"filecheck": " --enable-var-scope"}

commands = processes() if "processes" in lit_config.params else forks()
config.substitutions += [(START + name + END, line + ALWAYS.get(name, "")) for name, line in commands]
config.substitutions += [(START + r"python" + END, sys.executable), ("%root", str(ROOT))]
if "processes" not in lit_config.params:
    config.environment["NPUFLOW_JOBS"] = "1"  # tests run side by side already
if "iree" not in lit_config.params:
    # Behind the command's name, whatever it has become above.
    config.substitutions.append((r"(?<=npuflow) verify" + END, " verify --oracle=jit"))

iree_opt = beside_python("iree-opt")
if iree_opt is not None:
    config.available_features.add("iree-opt")
    config.substitutions.append((START + r"iree-opt" + END, iree_opt))
