"""`presagio forget`: deletes what is stored about a person or a chat."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Json, Yes, confirm, now, run_in_app, text
from bot.console.screen import Output
from db.chat.chats import Forgetting
from engine.errors import UsageError

if TYPE_CHECKING:
    from bot.app import App


async def delete_stored(
    app: "App", name: str, *, now: datetime, json: bool = False, output: Output
) -> None:
    """Delete what is stored about "platform:id" and say how much it was. Raises UsageError."""
    platform, separator, external_id = name.partition(":")
    if not (platform and separator and external_id):
        raise UsageError(f"{name!r} names nobody.", fix="Write it as telegram:42 or slack:U0123.")
    gone = await Forgetting(app.database).person(platform, external_id, chat=external_id, now=now)
    counts = {
        "chats": gone.chats,
        "votes": gone.votes,
        "compositions": gone.compositions,
        "searches": gone.searches,
    }
    if json:
        output.json({"name": name, **counts})
    elif gone:
        output.line(
            f"Deleted of {name}: " + ", ".join(f"{n:,} {what}" for what, n in counts.items())
        )
    else:
        output.line(f"Nothing was stored about {name}.")


def command(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(help="Person or chat, such as telegram:42.", callback=text),
    ],
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete what is stored about a person or a chat.

    A private chat of Slack has a name of its own, slack:D0123, to be forgotten beside the person.

    Example: presagio forget telegram:42 --yes
    """
    if not yes:
        confirm(f"Delete for good what is stored about {name!r}?")
    run_in_app(context, delete_stored, name, now=now(), json=json, output=Output.of_process())
