"""The scripts that make bash, zsh and fish complete our commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from npuflow.tools.completed import CompletedCommand, CompletedFlag, Values

Commands = Sequence[CompletedCommand]

_MADE = "# Completion of npuflow and npuflow-opt, made by `npuflow completion {}`."

# COMP_WORDS splits `--flag=value` into three words, unless COMP_WORDBREAKS is without '='.
_BASH = r"""
_npuflow() {
  local key="${1##*/}" word="${COMP_WORDS[COMP_CWORD]}" before="" flag="" front="" takes="" words=""
  ((COMP_CWORD > 0)) && before="${COMP_WORDS[COMP_CWORD - 1]}"
  [[ $key == npuflow ]] && ((COMP_CWORD > 1)) && key="npuflow ${COMP_WORDS[1]}"
  if [[ $word == "=" ]]; then
    flag="$before" word=""
  elif [[ $before == "=" ]]; then
    flag="${COMP_WORDS[COMP_CWORD - 2]}"
  elif [[ $word == -*=* ]]; then
    flag="${word%%=*}" front="${word%%=*}=" word="${word#*=}"
  else
    [[ $before == -[!-]?* ]] && before="-$before"
    [[ $before == -* && " $(_npuflow_flags "$key") " == *" $before= "* ]] && flag="$before"
  fi
  [[ $flag == -[!-]?* ]] && flag="-$flag"
  if [[ -z $flag && $word == -* ]]; then
    words="$(_npuflow_flags "$key")"
  else
    takes="$(_npuflow_takes "$key" "$flag")" words="$(_npuflow_words "$key" "$flag")"
  fi
  if [[ $takes == *list* && $word == *,* ]]; then
    front="$front${word%,*}," word="${word##*,}"
  fi
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$word"
    [[ $takes == *file* ]] && compgen -f -- "$word"
    [[ $takes == *directory* ]] && compgen -d -- "$word"
  )
  [[ $takes == *file* || $takes == *directory* ]] && compopt -o filenames 2> /dev/null
  COMPREPLY=("${COMPREPLY[@]/#/$front}")
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> /dev/null
  return 0
}
complete -F _npuflow npuflow npuflow-opt
"""


def bash_script(commands: Commands) -> str:
    """Functions that say what there is for a command and a flag, and one that picks."""
    lines = [_MADE.format("bash")]
    lines += _bash_table("_npuflow_flags", ((_key(one), _flag_words(one)) for one in commands), "$1")
    entries = [(f"{_key(one)} {flag}", values) for one in commands for flag, values in _values_of(one)]
    lines += _bash_table("_npuflow_words", ((name, " ".join(values.words)) for name, values in entries), "$1 $2")
    lines += _bash_table("_npuflow_takes", ((name, _takes(values)) for name, values in entries), "$1 $2")
    return "\n".join(lines) + _BASH


def _bash_table(name: str, entries: Iterator[tuple[str, str]], subject: str) -> list[str]:
    arms = [f"    {shlex.quote(key)}) echo {shlex.quote(text)} ;;" for key, text in entries if text]
    return [f"{name}() {{", f'  case "{subject}" in', *arms, "  esac", "}"]


def _key(command: CompletedCommand) -> str:
    return " ".join(command.words)


def _flag_words(command: CompletedCommand) -> str:
    return " ".join(one.written + "=" * one.needs_value for one in command.flags)


def _values_of(command: CompletedCommand) -> Iterator[tuple[str, Values]]:
    """What operands may be, under no flag, and what flags' values may be."""
    yield "", command.operands
    yield from ((one.written, one.values) for one in command.flags if one.values is not None)


def _takes(values: Values) -> str:
    kinds = {"list": values.is_list, "file": values.files, "directory": values.directories}
    return " ".join(kind for kind, is_taken in kinds.items() if is_taken)


def zsh_script(commands: Commands) -> str:
    """A function for each command, with what `_arguments` reads."""
    lines = ["#compdef npuflow npuflow-opt", _MADE.format("zsh")]
    subcommands = [one for one in commands if len(one.words) == 2]
    for command in commands:
        if command.words != ("npuflow",):
            specs = [*map(_zsh_flag, command.flags), f"*:operand:{_zsh_action(command.operands)}"]
            lines += [f"{_zsh_function(command)}() {{", "  _arguments -S \\"]
            lines += [f"    {shlex.quote(spec)} \\" for spec in specs[:-1]] + [f"    {shlex.quote(specs[-1])}", "}"]
    described = " ".join(shlex.quote(f"{one.words[1]}:{one.summary}") for one in subcommands)
    lines += [
        "_npuflow() {",
        "  [[ $service == npuflow-opt ]] && { _npuflow_opt; return }",
        "  if (( CURRENT == 2 )); then",
    ]
    lines += [
        f"    local -a commands=({described} --help --version)",
        "    _describe command commands",
        "    return",
        "  fi",
    ]
    lines += ["  local command=$words[2]", "  shift words", "  (( CURRENT-- ))", "  case $command in"]
    lines += [f"    {one.words[1]}) {_zsh_function(one)} ;;" for one in subcommands]
    lines += ["  esac", "}", "compdef _npuflow npuflow npuflow-opt"]
    return "\n".join(lines) + "\n"


def _zsh_function(command: CompletedCommand) -> str:
    return "_" + "_".join(command.words).replace("-", "_")


def _zsh_flag(one: CompletedFlag) -> str:
    """`--json=[write the report as JSON]:file:_files`."""
    text = "".join(f"\\{c}" if c in "[]:\\" else c for c in one.help)
    if one.values is None:
        return f"{one.written}[{text}]"
    if len(one.written) == 2:
        return f"{one.written}[{text}]:{one.metavar}:{_zsh_action(one.values)}"
    equals, colons = ("=", ":") if one.needs_value else ("=-", "::")
    return f"*{one.written}{equals}[{text}]{colons}{one.metavar.replace(':', '')}:{_zsh_action(one.values)}"


def _zsh_action(values: Values) -> str:
    words = " ".join(values.words)
    if values.is_list:
        return f"_sequence compadd - {words}"
    if values.directories:
        return "_files -/"
    if values.files:
        return f"{{ compadd -- {words}; _files }}" if words else "_files"
    return f"({words})" if words else " "


def fish_script(commands: Commands) -> str:
    """A line for each flag."""
    lines = [_MADE.format("fish"), "complete -c npuflow -f"]
    for command in commands:
        condition: tuple[str, ...] = ()
        if len(command.words) == 2:
            about = ("-a", command.words[1], "-d", command.summary)
            lines.append(_fish_line("npuflow", ("-n", "__fish_use_subcommand"), about))
            condition = ("-n", f"__fish_seen_subcommand_from {command.words[1]}")
        elif command.words == ("npuflow",):
            condition = ("-n", "__fish_use_subcommand")
        if condition and len(command.words) == 2:
            lines.append(_fish_line("npuflow", condition, _fish_values(command.operands)))
        lines += [_fish_line(command.words[0], condition, _fish_flag(one)) for one in command.flags]
    return "\n".join(lines) + "\n"


def _fish_line(command: str, *parts: Sequence[str]) -> str:
    return shlex.join(["complete", "-c", command, *(word for part in parts for word in part)])


def _fish_flag(one: CompletedFlag) -> list[str]:
    name = ["-s", one.written[1:]] if len(one.written) == 2 else ["-l", one.written[2:]]
    values = list(_fish_values(one.values)) if one.values is not None and one.needs_value else []
    return [*name, *(["-r"] if one.needs_value else []), *values, "-d", one.help]


def _fish_values(values: Values) -> list[str]:
    if values.directories:
        return ["-f", "-a", "(__fish_complete_directories)"]
    words = ["-a", " ".join(values.words)] if values.words else []
    return ["-F" if values.files else "-f", *words]


SCRIPTS: Mapping[str, Callable[[Commands], str]] = MappingProxyType(
    {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
)
