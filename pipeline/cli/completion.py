"""`penstock completion`: what a shell needs to complete commands and options, made from the parser itself."""

import argparse
from typing import NamedTuple

from penstock.cli.options import Subparsers, add_command

__all__ = ["add", "run"]

EXAMPLES = """\
  penstock completion bash > ~/.local/share/bash-completion/completions/penstock
  penstock completion zsh > ~/.zfunc/_penstock          with ~/.zfunc in fpath
  penstock completion fish > ~/.config/fish/completions/penstock.fish
"""

SHELLS = ("bash", "zsh", "fish")


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "completion", run, "print the completion script of a shell", EXAMPLES)
    parser.add_argument("shell", choices=SHELLS, metavar="|".join(SHELLS), help="whose script")


def run(arguments: argparse.Namespace) -> int:
    from penstock.cli import make_parser

    commands = _commands(make_parser())
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](commands))
    return 0


class _Option(NamedTuple):
    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]
    """What it can be; empty where it takes no value or any."""
    takes_value: bool


class _Command(NamedTuple):
    name: str
    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]
    """What its positional argument can be; empty where that is a file."""


def _commands(parser: argparse.ArgumentParser) -> list[_Command]:
    """The commands of the parser, with the options each has."""
    (subparsers,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    helps = {choice.dest: choice.help or "" for choice in subparsers._choices_actions}
    commands = []
    for name, command in subparsers.choices.items():
        options = tuple(_option(action) for action in command._actions if action.option_strings)
        words = [str(w) for action in command._actions if not action.option_strings for w in action.choices or ()]
        commands.append(_Command(name, helps.get(name, ""), options, tuple(words)))
    return commands


def _option(action: argparse.Action) -> _Option:
    values = action.choices
    if values is None and "--backend" in action.option_strings:
        from penstock.backends.registry import backend_names

        values = ("auto", *backend_names())
    elif values is None and "--profile" in action.option_strings:
        from penstock.config.profiles import PROFILES

        values = tuple(PROFILES)
    elif values is None and "--markup" in action.option_strings:
        from penstock.operators.markup_families import FAMILIES

        values = tuple(FAMILIES)
    names = tuple(action.option_strings)
    return _Option(names, action.help or "", tuple(map(str, values or ())), action.nargs != 0)


def _bash(commands: list[_Command]) -> str:
    cases = []
    for command in commands:
        words = [*command.words, *(name for option in command.options for name in option.names)]
        values = "\n".join(
            f'        {command.name}:{name}) words="{" ".join(option.values)}" ;;'
            for option in command.options
            for name in option.names
            if option.takes_value
        )
        cases.append(f'{values}\n        {command.name}:*) words="{" ".join(words)}" ;;'.lstrip("\n"))
    names = " ".join(command.name for command in commands)
    return "\n".join(
        [
            "_penstock() {",
            '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words=""',
            '    if [ "$COMP_CWORD" -eq 1 ]; then',
            f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))',
            "        return",
            "    fi",
            '    case "${COMP_WORDS[1]}:$previous" in',
            *cases,
            "    esac",
            '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            "complete -o default -F _penstock penstock",
        ]
    )


def _zsh(commands: list[_Command]) -> str:
    listed = "\n".join(f"        {_quoted(f'{command.name}:{command.help}')}" for command in commands)
    cases = []
    for command in commands:
        lines = [_zsh_option(option) for option in command.options]
        lines.append(f"'*:argument:({' '.join(command.words)})'" if command.words else "'*:file:_files'")
        cases.append(f"        {command.name}) _arguments {' '.join(lines)} ;;")
    return "\n".join(
        [
            "#compdef penstock",
            "_penstock() {",
            "    local -a commands=(",
            listed,
            "    )",
            "    if (( CURRENT == 2 )); then",
            "        _describe command commands",
            "        return",
            "    fi",
            "    local command=${words[2]}",
            "    shift words",
            "    (( CURRENT-- ))",
            "    case $command in",
            *cases,
            "    esac",
            "}",
            'if [ "$funcstack[1]" = _penstock ]; then _penstock "$@"; else compdef _penstock penstock; fi',
        ]
    )


def _zsh_option(option: _Option) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
    value = (
        f":value:({' '.join(option.values)})" if option.values else ":value:_files" if option.takes_value else ""
    )
    return " ".join(_quoted(f"{name}[{text}]{value}") for name in option.names)


def _fish(commands: list[_Command]) -> str:
    lines = ["complete -c penstock -n __fish_use_subcommand -l version -d 'print the version' -f"]
    for command in commands:
        lines.append(
            f"complete -c penstock -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)} -f"
        )
        seen = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.words:
            lines.append(f"complete -c penstock {seen} -f -a {_quoted(' '.join(command.words))}")
        for option in command.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
            )
            value = f" -x -a {_quoted(' '.join(option.values))}" if option.values else " -r" * option.takes_value
            lines.append(f"complete -c penstock {seen} {names}{value} -d {_quoted(option.help)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """In single quotes, for any of the shells."""
    return "'" + text.replace("'", "’") + "'"
