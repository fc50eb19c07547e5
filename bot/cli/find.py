"""`presagio find`: one query of the dialect from the command line."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import CorpusName, Csv, Json, TextArgument, command_of
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.queries.find import find as look
from bot.replies.find import find_reply
from engine.query.find import FindMode

if TYPE_CHECKING:
    from bot.app import App


# Of a table of hits; --json has the rest.
_COLUMNS = (
    *("rank", "id", "created_at", "author", "text", "url", "score", "engagement", "flags", "lang"),
    *("title", "platform", "thread"),
)
# A query may begin with a minus: "-hillary" is not the option -h.
CONTEXT_SETTINGS = {"ignore_unknown_options": True}


async def write_finds(
    app: "App",
    query: Annotated[str, TextArgument(help="The query, in single quotes.")],
    *,
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
    csv: Csv = False,
    output: Output,
) -> None:
    """Find exactly the texts that meet a query, best first.

    Without a word in it they come newest first.

    word "exact phrase" a OR b -word; before: after: on: lang: from: in: platform: role: domain:
    thread: tag: #tag @mention min:100 has:media is:repost, each also with - before it. A day is
    one of UTC unless a zone follows: on:2015-03-02+01:00. docs/find.md tells all. A query that is
    -c, -n, -v or -h itself stands after --.

    Example: presagio find '"border wall" OR fence -street before:2015'
    """
    started = time.perf_counter()
    found = await look(app, query, corpus=corpus, limit=limit, voice=json, mode=mode)
    elapsed_ms = (time.perf_counter() - started) * 1000
    if csv or json:
        from engine.contracts.results import FindAnswer

        answer = FindAnswer.of(query, found, elapsed_ms=elapsed_ms).to_json()
        if csv:
            output.csv(answer["hits"], _COLUMNS)
        else:
            output.json(answer)
    else:
        output.show(find_reply(found, words_for(DEFAULT, operator=True)))


command = command_of(write_finds)
