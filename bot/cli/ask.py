"""`presagio ask`: one question from the command line."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import (
    After,
    Before,
    CorpusNames,
    Json,
    NoLlm,
    SearchMode,
    now,
    run_in_app,
    text,
)
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.queries.ask import ask as answered
from bot.queries.ask import corpora_for
from bot.replies.answer import answer_reply
from bot.replies.dates import Period, read_date
from engine.prophecy.headline import read_headline
from engine.search import Filters, Mode, SearchRequest
from engine.values import Kind

if TYPE_CHECKING:
    from bot.app import App


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """Options from the command line; for `limit` and `mode`, None means the settings' value."""

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
        """Return the date range; of `after` and the period's start, the later one applies."""
        beginnings = [beginning for beginning in (self.after, self.period.begins(now)) if beginning]
        return Filters(after=max(beginnings, default=None), before=self.before)


async def write_answer(
    app: "App", question: str, options: AskOptions, *, now: datetime, output: Output
) -> None:
    """Write the answer to a question."""
    started = time.perf_counter()
    request = SearchRequest(
        headline=read_headline(question),
        limit=options.limit or app.settings.answer.limit,
        now=now,
        filters=options.filters(now),
        mode=options.mode,
    )
    corpora = await corpora_for(app, options.corpora, options.kind)
    answer = await answered(app, request, corpora, model=options.model)
    elapsed_ms = (time.perf_counter() - started) * 1000
    if options.json:
        from engine.contracts.answers import QuestionAnswer

        shown = QuestionAnswer.of(answer, elapsed_ms=elapsed_ms)
        output.json({**shown.to_json(), "kind": options.kind, "period": options.period})
    else:
        output.show(answer_reply(answer, words_for(DEFAULT, operator=True)))


def command(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in quotes.", callback=text)],
    corpus: CorpusNames = None,
    kind: Annotated[Kind | None, typer.Option("--kind", help="All corpora of this kind.")] = None,
    after: After = None,
    before: Before = None,
    period: Annotated[Period, typer.Option("--period", help="How far back.")] = Period.ALL,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=20, help="Texts to answer from [8].")
    ] = None,
    mode: SearchMode = None,
    no_llm: NoLlm = False,
    json: Json = False,
) -> None:
    """Answer a question from the texts of corpora, with sources.

    Example: presagio ask "What was said about coffee prices?" --corpus demo
    """
    chosen = AskOptions(
        corpora=tuple(corpus or ()),
        kind=kind,
        after=read_date(after) if after is not None else None,
        before=read_date(before) if before is not None else None,
        period=period,
        limit=limit,
        mode=mode,
        model=not no_llm,
        json=json,
    )
    run_in_app(context, write_answer, question, chosen, now=now(), output=Output.of_process())
