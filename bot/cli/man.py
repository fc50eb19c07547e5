"""`presagio man`: the manual page, made from the help of all commands."""

from collections.abc import Iterator
from importlib.metadata import version
from itertools import groupby
from typing import Any

import typer

from bot.cli.main import COMMANDS, load
from bot.console.screen import Output

_STATUS = {
    "0": "Done.",
    "1": "Failed, with one line on standard error that says why and what to do.",
    "2": "Wrong usage, or settings that cannot be used.",
    "128 + N": "Ended by signal N.",
}
_VARIABLES = {
    "PRESAGIO_CONFIG": "Configuration file, where --config names none.",
    "PRESAGIO_DATA_DIR": "Folder of the embedded database.",
    "DATABASE_URL": "A database of your own, in place of the embedded one.",
    "PRESAGIO_SECTION__KEY": "Any setting, such as PRESAGIO_LLM__MODEL; goes before the file.",
}
_FILES = {
    "config.toml": "Settings: in the working folder, else in the user's configuration folder.",
    "presagio.env": "Secrets, beside config.toml; only its owner may read it.",
}
_REST = (("ENVIRONMENT", _VARIABLES), ("FILES", _FILES), ("EXIT STATUS", _STATUS))


def manual_page(program: Any) -> str:
    """Return the manual page of the `presagio` command in the language of man(7)."""
    context = typer.Context(program, info_name="presagio")
    title, *_ = _split_help(program)
    lines = [
        f'.TH PRESAGIO 1 "" "presagio {version("presagio")}" "User Commands"',
        *(".SH NAME", rf"presagio \- {_escape_text(title)}"),
        *(".SH SYNOPSIS", _format_bold(_format_usage(context))),
        *(".SH OPTIONS", *_describe_parameters(context)),
    ]
    for group, entries in groupby(COMMANDS, key=lambda entry: entry.group):
        lines.append(f".SH {group.upper()}")
        for entry in entries:
            lines += _render_command(load(entry), entry.name, context)
    for heading, described in _REST:
        lines += [f".SH {heading}", *_describe_records(described.items())]
    return "\n".join(lines) + "\n"


def _render_command(command: Any, name: str, above: typer.Context) -> Iterator[str]:
    """Yield the lines about a command, then those about the commands of its group."""
    context = typer.Context(command, info_name=name, parent=above)
    yield f'.SS "{_escape_text(_format_usage(context))}"'
    for number, paragraph in enumerate(_split_help(command)):
        if number:
            yield ".PP"
        yield _escape_text(paragraph)
    yield from _describe_parameters(context)
    for below, subcommand in getattr(command, "commands", {}).items():
        yield from _render_command(subcommand, below, context)


def _format_usage(context: typer.Context) -> str:
    return " ".join(context.get_usage().removeprefix("Usage:").split())


def _split_help(command: Any) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in (command.help or "").split("\n\n")]


def _describe_parameters(context: typer.Context) -> Iterator[str]:
    """Yield arguments and options, but not --help, which every command has."""
    records = [
        record
        for parameter in context.command.get_params(context)
        if parameter.name != "help" and (record := parameter.get_help_record(context))
    ]
    return _describe_records(records)


def _describe_records(records: Any) -> Iterator[str]:
    for name, text in records:
        yield from (".TP", _format_bold(name), _escape_text(" ".join(text.split())))


def _format_bold(text: str) -> str:
    return rf"\fB{_escape_text(text)}\fR"


def _escape_text(text: str) -> str:
    """Return text in which nothing is a command of man(7)."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def command(context: typer.Context) -> None:
    """Print the manual page of all commands.

    Read it with: presagio man | man -l -

    Example: presagio man
    """
    Output.of_process().line(manual_page(context.find_root().command).rstrip("\n"))
