"""`presagio ask`: one question from the command line."""

import time
from dataclasses import dataclass
from datetime import datetime

from bot.answer_reply import answer_reply
from bot.answering import ask as answered
from bot.answering import corpora_for
from bot.app import App
from bot.console.answer_json import answer_json
from bot.console.output import Output
from bot.period import Period
from bot.words import DEFAULT, words_for
from engine.types import Filters, Kind, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """What the command line asked for; `limit` and `mode` None leave it to the settings."""

    corpora: tuple[str, ...] = ()
    kind: Kind | None = None
    after: datetime | None = None
    before: datetime | None = None
    period: Period = Period.ALL
    limit: int | None = None
    mode: Mode | None = None
    model: bool = True
    json: bool = False

    def filters(self, now: datetime) -> Filters:
        """Return the dates that count: of two beginnings the later one."""
        beginnings = [one for one in (self.after, self.period.begins(now)) if one]
        return Filters(after=max(beginnings, default=None), before=self.before)


async def ask(
    app: App, question: str, options: AskOptions, *, now: datetime, output: Output
) -> None:
    """Write the answer to a question."""
    started = time.perf_counter()
    answer = await answered(
        app,
        question,
        await corpora_for(app, options.corpora, options.kind),
        limit=options.limit or app.settings.answer.limit,
        now=now,
        filters=options.filters(now),
        mode=options.mode,
        model=options.model,
    )
    elapsed_ms = (time.perf_counter() - started) * 1000
    if options.json:
        shown = answer_json(answer, elapsed_ms=elapsed_ms)
        output.json({**shown, "kind": options.kind, "period": options.period})
    else:
        output.show(answer_reply(answer, words_for(DEFAULT)))
