"""`presagio config` shows and writes settings; `presagio slack manifest` those of a Slack app."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.shared import Json, TextArgument
from bot.console.screen import Output
from bot.settings.load import DEFAULT, SECRETS, UNSET, SettingOrigin, settings_with_origins
from bot.settings.model import Sections
from bot.settings.sources import (
    CONFIG_VARIABLE,
    did_you_mean,
    escaped_line,
    locate_file,
    read_file,
    usual_place,
)
from bot.settings.writing import make_passable, starter_toml, toml_value
from engine.errors import SettingsError, UsageError

_SECTIONS = (*Sections.model_fields, SECRETS)
_LONGEST = 60  # characters of a value, after which its source stands on a line of its own
slack_commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Set up Slack.\n\nExample: presagio slack manifest",
)
commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show where settings come from, or write a first config.toml."
    "\n\nExample: presagio config show llm",
)


@commands.command("show")
def config_show(
    context: typer.Context,
    section: Annotated[
        str,
        TextArgument(
            help="One section, such as llm; default: all.", autocompletion=lambda: list(_SECTIONS)
        ),
    ] = "",
    changed: Annotated[
        bool, typer.Option("--changed", help="Only what is not the default.")
    ] = False,
    json: Json = False,
) -> None:
    """Show every setting and where it comes from.

    That is the default, the file, or an environment variable. Passwords and keys are masked.

    Example: presagio config show --changed
    """
    if section and section not in _SECTIONS:
        raise UsageError(
            f"There is no section {section!r}.",
            fix=did_you_mean(section, _SECTIONS) or f"There are: {', '.join(_SECTIONS)}.",
        )
    origins = [
        origin
        for origin in settings_with_origins(context.obj)
        if (not section or origin.section.split(" ")[0] == section)
        and not (changed and origin.source in (DEFAULT, UNSET))
    ]
    output = Output.of_process()
    if json:
        for origin in origins:
            output.json(asdict(origin))
    else:
        _write_sections(origins, output)
    if not origins:
        output.remark("Everything is at its default." if changed else "There is none.")


def _write_sections(origins: Sequence[SettingOrigin], output: Output) -> None:
    """Write settings as in a file, each with its origin after it."""
    for number, (name, keys) in enumerate(groupby(origins, lambda origin: origin.section)):
        if number:
            output.line()
        if name:
            output.line(f"[{name}]")
        for origin in keys:
            value = "" if origin.source == UNSET else toml_value(origin.value)
            output.line(f"{f'{origin.key} = {value}':{_LONGEST}}  # {origin.source}")


@commands.command("path")
def config_path(context: typer.Context) -> None:
    """Print the path of the configuration file that is read.

    Example: presagio config path
    """
    path = locate_file(context.obj, os.environ)
    if path is None:
        raise SettingsError(
            "No configuration file is read.",
            fix=f"Write {usual_place()} with: presagio config init",
        )
    read_file(path)
    Output.of_process().line(str(path.absolute()))


@commands.command("init")
def config_init(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(help="File to write [config.toml in your configuration folder]."),
    ] = None,
) -> None:
    """Write a first config.toml, which explains every setting.

    None is set in it. A file that is there already is left as it is. presagio setup asks instead.

    Example: presagio config init presagio.toml
    """
    named = os.environ.get(CONFIG_VARIABLE)
    usual = Path(named).expanduser() if named else usual_place()
    path: Path = file or context.obj or usual
    try:
        make_passable(path.parent)
        with path.open("x", encoding="utf-8") as opened:
            opened.write(starter_toml())
        path.chmod(0o644)  # it holds no secrets, and the account that serves is another than root
    except FileExistsError as exc:
        raise SettingsError(
            f"{escaped_line(path)} is there already; nothing was written.",
            fix="Change it by hand, or name another file.",
        ) from exc
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        raise SettingsError(
            f"{escaped_line(path)} cannot be written: {reason}.", fix="Name another file."
        ) from exc
    Output.of_process().line(f"Wrote {path}")


@slack_commands.callback()
def group() -> None:
    """Make `manifest` a command of the group, though it is the only one."""


@slack_commands.command("manifest")
def slack_manifest(
    request_url: Annotated[
        str, typer.Option("--request-url", help="Public address, for events over HTTP.")
    ] = "",
    prefix: Annotated[
        str, typer.Option("--prefix", help='Give each command a name of its own, as "omen-" does.')
    ] = "",
) -> None:
    """Print the manifest that makes a Slack app.

    Example: presagio slack manifest
    """
    import json

    from bot.commands import standard_commands
    from bot.slack.client import build_manifest

    written = build_manifest(standard_commands().commands, request_url=request_url, prefix=prefix)
    Output.of_process().line(json.dumps(written, indent=2, ensure_ascii=False))
