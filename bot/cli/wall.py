"""`presagio wall`: which prophecies that visitors of the page voted for everybody may see."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Csv, Json, app_command, parse_string, run_in_app
from bot.console.screen import Output
from bot.replies.limits import cut
from engine.errors import InputError, UsageError

if TYPE_CHECKING:
    from bot.app import App
    from db.chat.answers import Wall
    from engine.chat import WallEntry

_LONGEST_ID = 20
_LONGEST = 70  # characters of a headline or a text in the table

commands = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Decide which prophecies that visitors voted for the page shows.\n\n"
    "Headlines of visitors stand on no page but their own until you approve them. web.votes in the"
    " settings switches votes off; web.wall_voters lets a number of visitors stand in for you.\n\n"
    "Example: presagio wall",
)

Ids = Annotated[list[str], typer.Argument(help="Ids that presagio wall list shows, such as 12.1.")]


@commands.callback()
def wall_alone(context: typer.Context, json: Json = False, csv: Csv = False) -> None:
    """List them when no command is named."""
    if context.invoked_subcommand is None:
        run_in_app(context, list_entries, json=json, csv=csv, output=Output.of_process())


@app_command(commands, "list")
async def list_entries(
    app: "App",
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Entries.")] = 50,
    json: Json = False,
    csv: Csv = False,
    output: Output,
) -> None:
    """List what visitors voted for, what waits for you first.

    Example: presagio wall list
    """
    rows = [
        wall_entry_json(entry) for entry in await (await _open_wall(app)).list_entries(limit=limit)
    ]
    shown = [_wall_row(row) for row in rows]
    none = "Nobody has voted on the page yet."
    output.rows(rows, shown=shown, json=json, csv=csv, none=none)


def wall_entry_json(entry: "WallEntry") -> dict[str, object]:
    """Return the object that `wall list --json` prints. Keys may be added, but not changed."""
    favourite, found = entry.favourite, entry.favourite.hit.candidate
    day = favourite.headline.date or favourite.asked_at
    return {
        "id": entry.id,
        "state": entry.state.value,
        "up": favourite.tally.up,
        "down": favourite.tally.down,
        "headline": favourite.headline.text,
        "date": day.astimezone(UTC).date().isoformat(),
        "corpus": favourite.corpus,
        "text_id": found.external_id,
        "text": found.text,
    }


def _wall_row(entry: dict[str, object]) -> dict[str, object]:
    short = {
        name: cut(" ".join(str(entry[name]).split()), _LONGEST) for name in ("headline", "text")
    }
    return {name: entry[name] for name in ("id", "state", "up", "down", "date", "corpus")} | short


@app_command(commands, "approve")
async def approve_entries(app: "App", ids: Ids, *, now: datetime, output: Output) -> None:
    """Show prophecies to everybody.

    They stand on the wall, and on the pages of their texts and corpora.

    Example: presagio wall approve 12.1
    """
    await decide_entries(app, ids, approved=True, now=now, output=output)


@app_command(commands, "remove")
async def remove_entries(app: "App", ids: Ids, *, now: datetime, output: Output) -> None:
    """Show prophecies to nobody, however many vote for them.

    Their votes are kept.

    Example: presagio wall remove 12.1
    """
    await decide_entries(app, ids, approved=False, now=now, output=output)


async def decide_entries(
    app: "App", ids: Sequence[str], *, approved: bool, now: datetime, output: Output
) -> None:
    """Approve or remove what has these ids, up to the first that nobody voted for.

    Raises UsageError, before anything is changed, and InputError.
    """
    wall = await _open_wall(app)
    for answer, rank in [_parse_entry_id(parse_string(name) or "") for name in ids]:
        if not await wall.decide(answer, rank, approved=approved, now=now):
            raise InputError(f"Nobody voted for {answer}.{rank}.", fix="See: presagio wall list")
        output.line(f"{answer}.{rank} is {'approved' if approved else 'removed'}.")


def _parse_entry_id(name: str) -> tuple[int, int]:
    answer, separator, rank = name.partition(".")
    if not (separator and answer.isdecimal() and rank.isdecimal() and len(name) < _LONGEST_ID):
        raise UsageError(f"{name!r} is no id.", fix="Ids are like 12.1; see: presagio wall list")
    return int(answer), int(rank)


async def _open_wall(app: "App") -> "Wall":
    from bot.web.votes import open_wall

    return await open_wall(app.database, app.settings.web)
