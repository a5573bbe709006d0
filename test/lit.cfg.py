"""lit configuration: `lit -v test` works from a source tree and with an installed package.

Tools are taken from beside the running Python; where `npuflow-opt` isn't installed there, the sources run directly.
"""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent

config.name = "npuflow"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "plugins", "lit.cfg.py"]
config.test_source_root = str(ROOT / "test")
config.test_exec_root = str(ROOT / "build" / "test")


def beside_python(name):
    """The full path of a console command that belongs to this Python, or None."""
    return shutil.which(name, path=str(TOOLS))


def command(name, module):
    """An installed console command, else the module run from the sources."""
    installed = beside_python(name)
    if installed is not None:
        return installed
    # Not through config.environment: lit's own `cat` takes PYTHONPATH away from what it is piped into.
    source_path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT / "python")]))
    return f"env PYTHONPATH={source_path} {sys.executable} -m {module}"


# A tool's name stands for its path where a command line starts or goes on, not inside of file names.
START = r"(?:(?<=^)|(?<=[|&;!(\s]))"
END = r"(?=\s|$)"

config.substitutions += [
    (START + r"npuflow-opt" + END, command("npuflow-opt", "npuflow.tools.opt")),
    (START + r"npuflow" + END, command("npuflow", "npuflow.tools.npuflow")),
    (START + r"filecheck" + END, f"{beside_python('filecheck') or 'filecheck'} --enable-var-scope"),
    (START + r"python" + END, sys.executable),
    ("%root", str(ROOT)),
]

iree_opt = beside_python("iree-opt")
if iree_opt is not None:
    config.available_features.add("iree-opt")
    config.substitutions.append((START + r"iree-opt" + END, iree_opt))
