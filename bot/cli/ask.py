"""`presagio ask`: one question from the command line."""

import time
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
    TextArgument,
    command_of,
)
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.queries.ask import ask as answered
from bot.queries.ask import corpora_for
from bot.replies.dates import Period
from bot.replies.find import answer_reply
from engine.prophecy.headline import read_headline
from engine.search import Filters, SearchRequest
from engine.values import Kind

if TYPE_CHECKING:
    from bot.app import App


async def write_answer(
    app: "App",
    question: Annotated[str, TextArgument(help="The question, in quotes.")],
    *,
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
    now: datetime,
    output: Output,
) -> None:
    """Answer a question from the texts of corpora, with sources.

    Example: presagio ask "What was said about coffee prices?" --corpus demo
    """
    started = time.perf_counter()
    beginnings = filter(None, (after, period.begins(now)))
    request = SearchRequest(
        headline=read_headline(question),
        limit=limit or app.settings.answer.limit,
        now=now,
        filters=Filters(after=max(beginnings, default=None), before=before),
        mode=mode,
    )
    corpora = await corpora_for(app, corpus or (), kind)
    answer = await answered(app, request, corpora, model=not no_llm)
    elapsed_ms = (time.perf_counter() - started) * 1000
    if json:
        from engine.contracts.answers import QuestionAnswer

        contract = QuestionAnswer.of(answer, elapsed_ms=elapsed_ms)
        output.json({**contract.to_json(), "kind": kind, "period": period})
    else:
        output.show(answer_reply(answer, words_for(DEFAULT, operator=True)))


command = command_of(write_answer)
