"""`presagio search`: one headline from the command line."""

import time
from dataclasses import dataclass
from datetime import datetime

from bot.app import App
from bot.console.as_json import prophecy_json
from bot.console.output import Output
from bot.prophecy_reply import whole_reply
from bot.words import DEFAULT, words_for
from engine.types import Filters, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What the command line asked for; `corpus` "" and `limit` None leave it to the settings."""

    corpus: str = ""
    limit: int | None = None
    before: datetime | None = None
    after: datetime | None = None
    date: datetime | None = None
    judged: bool = True
    mode: Mode | None = None  # None leaves it to the settings
    json: bool = False


async def search(
    app: App, headline: str, options: SearchOptions, *, now: datetime, output: Output
) -> None:
    """Write the answer to a headline."""
    started = time.perf_counter()
    prophecy = await app.prophesy(
        headline,
        corpus=options.corpus,
        limit=options.limit or app.settings.search.limit,
        now=now,
        date=options.date,
        filters=Filters(before=options.before, after=options.after),
        judged=options.judged,
        mode=options.mode,
    )
    elapsed_ms = (time.perf_counter() - started) * 1000
    if options.json:
        output.json(prophecy_json(prophecy, now=now, elapsed_ms=elapsed_ms))
    else:
        output.show(whole_reply(prophecy, now=now, words=words_for(DEFAULT)))
