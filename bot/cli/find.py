"""`presagio find`: one query of the dialect from the command line."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import CorpusName, Json, settings_of, text, with_app
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.queries.find import find as look
from bot.replies.find import find_reply
from engine.contracts.answers import FindAnswer
from engine.query.find import DEFAULT_LIMIT
from engine.query.meaning import FindMode

if TYPE_CHECKING:
    from bot.app import App


@dataclass(frozen=True, slots=True, kw_only=True)
class FindOptions:
    """Options from the command line; with `corpus` "", the query or the settings choose it."""

    corpus: str = ""
    limit: int = DEFAULT_LIMIT
    mode: FindMode = FindMode.LEXICAL
    json: bool = False


async def write_finds(app: "App", query: str, options: FindOptions, *, output: Output) -> None:
    """Write the answer to a query."""
    started = time.perf_counter()
    found = await look(
        app,
        query,
        corpus=options.corpus,
        limit=options.limit,
        voice=options.json,
        mode=options.mode,
    )
    elapsed_ms = (time.perf_counter() - started) * 1000
    if options.json:
        output.json(FindAnswer.of(query, found, elapsed_ms=elapsed_ms).to_json())
    else:
        output.show(find_reply(found, words_for(DEFAULT, operator=True)))


# A query may begin with a minus: "-hillary" is not the option -h.
CONTEXT_SETTINGS = {"ignore_unknown_options": True}


def command(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="The query, in single quotes.", callback=text)],
    corpus: CorpusName = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Hits.")] = 20,
    mode: Annotated[
        FindMode,
        typer.Option(
            "--mode",
            help="By words; rerank: by words, the likest first; semantic: the nearest in meaning.",
        ),
    ] = FindMode.LEXICAL,
    json: Json = False,
) -> None:
    """Find exactly the texts that meet a query, best first.

    Without a word in it they come newest first.

    word "exact phrase" a OR b -word; before: after: on: lang: from: in: platform: role: domain:
    thread: tag: #tag @mention min:100 has:media is:repost, each also with - before it. A day is
    one of UTC unless a zone follows: on:2015-03-02+01:00. docs/find.md tells all. A query that is
    -c, -n, -v or -h itself stands after --.

    Example: presagio find '"border wall" OR fence -street before:2015'
    """
    chosen = FindOptions(corpus=corpus, limit=limit, mode=mode, json=json)
    with_app(
        settings_of(context),
        lambda opened: write_finds(opened, query, chosen, output=Output.of_process()),
    )
