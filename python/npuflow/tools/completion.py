"""`npuflow completion`: what makes a shell complete our commands, written from the flags that the commands read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.errors import ExitCode, UsageError, unknown_name
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.flags import flag


@dataclass(frozen=True)
class CompletionFlags:
    """Every flag with its default."""

    help: bool = flag(False, "print this text", group="")


SHELLS = ("bash", "zsh", "fish")

COMMAND_LINE = CommandLine(
    name="npuflow completion",
    owner=CompletionFlags,
    summary="completion of npuflow and npuflow-opt, for a shell to read when it starts",
    usage=f"npuflow completion {'|'.join(SHELLS)}",
    notes=(
        'bash: eval "$(npuflow completion bash)", in ~/.bashrc, or as all of',
        "      ~/.local/share/bash-completion/completions/npuflow, which bash reads when it is needed",
        'zsh:  eval "$(npuflow completion zsh)", in ~/.zshrc behind compinit',
        "fish: npuflow completion fish | source, in ~/.config/fish/config.fish",
    ),
    operand="|".join(SHELLS),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Prints the script for a shell."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    _, shells = given
    shell = the_only(shells, "shell", f"npuflow completion {'|'.join(SHELLS)}")
    if shell not in SHELLS:
        raise UsageError(unknown_name("shell", shell, SHELLS))
    from npuflow.tools.completed import completed_commands
    from npuflow.tools.completion_scripts import SCRIPTS

    print(SCRIPTS[shell](completed_commands()), end="")
    return ExitCode.OK
