"""`presagio log` shows the last searches; `presagio forget` deletes what is stored of somebody."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Json, TextArgument, Yes, command_of, confirm
from bot.console.screen import Output
from bot.query_log import log_of
from bot.replies.limits import cut
from db.chat.chats import Forgetting
from db.logs import LogEntry
from engine.errors import UsageError

if TYPE_CHECKING:
    from bot.app import App

_LONGEST_QUERY = 60
_LONGEST_TASK = 24


async def show_log(
    app: "App",
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Searches.")] = 20,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only those that found nothing or broke off.")
    ] = False,
    json: Json = False,
    now: datetime,
    output: Output,
) -> None:
    """Show the last searches, newest first.

    With --json one object a line.

    Example: presagio log --failed --limit 50
    """
    log = log_of(app.database, app.settings)
    entries = await log.recent(now=now, limit=limit, failed=failed)
    rows = [  # whose keys may be added to, but not changed
        asdict(entry)
        | {
            "asked_at": entry.asked_at.astimezone(UTC).isoformat(),
            "milliseconds": round(entry.milliseconds, 1),
        }
        for entry in entries
    ]
    table = list(map(_log_row, entries))
    output.rows(rows, json=json, none="No search is remembered.", table=table)


def _log_row(entry: LogEntry) -> dict[str, object]:
    return {
        "when (UTC)": f"{entry.asked_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        "from": entry.origin,
        "job": entry.job,
        "corpus": entry.corpus,
        "query": cut(entry.query or f"#{entry.query_hash[:8]}", _LONGEST_QUERY),
        "plan": entry.error or entry.plan,
        "hits": str(len(entry.returned)),
        "ms": str(round(entry.milliseconds)),
        "task": cut(entry.task, _LONGEST_TASK),
    }


command = command_of(show_log)


def _confirm_deletion(name: str, yes: Yes = False) -> None:
    if not yes:
        confirm(f"Delete for good what is stored about {name!r}?")


async def delete_stored(
    app: "App",
    name: Annotated[str, TextArgument(help="Person or chat, such as telegram:42.")],
    *,
    json: Json = False,
    now: datetime,
    output: Output,
) -> None:
    """Delete what is stored about a person or a chat.

    A private chat of Slack has a name of its own, slack:D0123, to be forgotten beside the person.

    Example: presagio forget telegram:42 --yes
    """
    platform, separator, external_id = name.partition(":")
    if not (platform and separator and external_id):
        raise UsageError(f"{name!r} names nobody.", fix="Write it as telegram:42 or slack:U0123.")
    gone = await Forgetting(app.database).person(platform, external_id, chat=external_id, now=now)
    counts = asdict(gone)
    deleted = ", ".join(f"{n:,} {what}" for what, n in counts.items())
    outcome = f"Deleted of {name}: {deleted}" if gone else f"Nothing was stored about {name}."
    output.tell({"name": name, **counts}, outcome, json=json)


forget_command = command_of(delete_stored, before=_confirm_deletion)
