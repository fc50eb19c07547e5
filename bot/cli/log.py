"""`presagio log`: the last searches and their results."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Json, command_in_app
from bot.console.screen import Output
from bot.query_log import log_of
from bot.replies.limits import cut
from db.logs import LogEntry

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
    rows = list(map(entry_json, entries))
    output.rows(
        rows, json=json, none="No search is remembered.", shown=list(map(_log_row, entries))
    )


def entry_json(entry: LogEntry) -> dict[str, object]:
    """Return the object that `log --json` prints. Keys may be added, but not changed."""
    named: dict[str, object] = asdict(entry)
    return named | {
        "asked_at": entry.asked_at.astimezone(UTC).isoformat(),
        "filters": list(entry.filters),
        "returned": list(entry.returned),
        "platforms": list(entry.platforms),
        "milliseconds": round(entry.milliseconds, 1),
    }


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


command = command_in_app(show_log)
