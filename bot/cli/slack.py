"""`presagio slack`: the arguments of its commands."""

from typing import Annotated

import typer

from bot.cli.shared import settings_of
from bot.console.screen import Output

commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Set up Slack.\n\nExample: presagio slack manifest",
)


@commands.callback()
def group() -> None:
    """Make `manifest` a command of the group, though it is the only one."""


@commands.command("manifest")
def slack_manifest(
    context: typer.Context,
    request_url: Annotated[
        str, typer.Option("--request-url", help="Public address, for events over HTTP.")
    ] = "",
    prefix: Annotated[
        str, typer.Option("--prefix", help='Give each command a name of its own, as "omen-" does.')
    ] = "",
) -> None:
    """Print the manifest that makes a Slack app.

    With web.public_url in the settings, links to the page are shown as cards.

    Example: presagio slack manifest
    """
    import json

    from bot.commands import standard_commands
    from bot.slack.client import build_manifest

    written = build_manifest(
        standard_commands().commands,
        request_url=request_url,
        prefix=prefix,
        page=settings_of(context).web.public_url,
    )
    Output.of_process().line(json.dumps(written, indent=2, ensure_ascii=False))
