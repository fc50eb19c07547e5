"""`presagio search`: one headline from the command line."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import (
    After,
    Before,
    CorpusName,
    Csv,
    HeadlineDate,
    Json,
    NoLlm,
    SearchMode,
    TextArgument,
    read_clock,
    run_in_app,
    spread_options,
)
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.replies.dates import TypedHeadline, read_typed
from bot.replies.prophecy import prophecy_answer, prophecy_reply
from engine.errors import UsageError
from engine.messages import Message
from engine.prophecy.headline import read_headline
from engine.search import Filters, Headline, Mode, Prophecy, SearchRequest
from engine.settings.searching import MAX_MONTHS

if TYPE_CHECKING:
    from bot.app import App
    from bot.settings import Settings


_STANDARD_INPUT = "-"
_MAX_READ = 1_000_000  # bytes
# Of a table of hits; --json has the rest.
_COLUMNS = (
    *("query", "corpus", "judged", "rank", "id", "created_at", "age", "author", "text", "url"),
    *("score", "flags"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Options from the command line; None means the settings' value."""

    corpus: CorpusName = ""
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=1000, help="Hits [3].")
    ] = None
    before: Before = None
    after: After = None
    date: HeadlineDate = None
    exclude_recent: Annotated[
        int | None,
        typer.Option(
            "--exclude-recent",
            min=0,
            max=MAX_MONTHS,
            metavar="MONTHS",
            help="Leave out the last months before the headline.",
        ),
    ] = None
    mode: SearchMode = None
    no_llm: NoLlm = False
    near: Annotated[bool, typer.Option("--near", help="Show what is too weak, too.")] = False
    explain: Annotated[bool, typer.Option("--explain", help="Say why each was found.")] = False
    json: Json = False
    csv: Csv = False


async def write_prophecy(
    app: "App", typed: TypedHeadline, options: SearchOptions, *, now: datetime, output: Output
) -> Prophecy:
    """Write and return the answer to a headline or a link. Raises FetchError if its page cannot be
    read.

    The dates of the options have been joined to those that were typed.
    """
    prophecy, elapsed_ms = await _find_prophecy(app, typed, options, now=now)
    if options.json:
        output.json(prophecy_answer(prophecy, now=now, elapsed_ms=elapsed_ms).to_json())
        return prophecy
    words = words_for(DEFAULT, operator=True)
    near = options.near and prophecy.near
    if prophecy.hits or not near:
        output.show(prophecy_reply(prophecy, prophecy.hits, now=now, words=words))
    if near:
        output.show(prophecy_reply(prophecy, prophecy.near, now=now, words=words, near=True))
    elif prophecy.near and not prophecy.hits:
        output.remark("To see what is nearest to it, add --near.")
    if options.explain:
        from bot.replies.receipt import render_receipt

        output.line(render_receipt(prophecy, prophecy.hits or prophecy.near, words))
    return prophecy


async def _find_prophecy(
    app: "App", typed: TypedHeadline, options: SearchOptions, *, now: datetime
) -> tuple[Prophecy, float]:
    """Return the answer to a headline or a link, and the milliseconds that it took."""
    started = time.perf_counter()
    request = SearchRequest(
        headline=await _resolve_headline(app, typed, now=now),
        limit=options.limit or app.settings.search.limit,
        now=now,
        filters=typed.filters,
        judged=not options.no_llm,
        mode=options.mode,
        exclude_recent=typed.exclude_recent,
    )
    prophecy = await app.prophesy(request, corpus=options.corpus)
    return prophecy, (time.perf_counter() - started) * 1000


async def write_prophecies(
    app: "App",
    headlines: Sequence[TypedHeadline],
    options: SearchOptions,
    *,
    now: datetime,
    output: Output,
) -> None:
    """Write the answers to headlines in order and what the last one compared, see
    `write_prophecy`; as CSV a line for each hit."""
    if not options.csv:
        for typed in headlines:
            prophecy = await write_prophecy(app, typed, options, now=now, output=output)
        compared = _say_compared(app.settings, prophecy)
        if compared and not (options.json or options.explain or options.mode):
            output.remark(compared)
        return
    rows: list[dict[str, object]] = []
    for typed in headlines:
        prophecy, elapsed_ms = await _find_prophecy(app, typed, options, now=now)
        answer = prophecy_answer(prophecy, now=now, elapsed_ms=elapsed_ms).to_json()
        # A hit names its corpus only where several are searched.
        rows += [
            answer | hit | {"corpus": hit["corpus"] or answer["corpus"]} for hit in answer["hits"]
        ]
    output.csv(rows, _COLUMNS)


def _say_compared(settings: "Settings", prophecy: Prophecy) -> str | None:
    """Return what an unjudged answer compared by meaning, or how it could; None if it may not.

    Who was shown nothing was shown no junk.
    """
    if prophecy.judged or not prophecy.hits:
        return None
    if prophecy.compared:
        best = f"Compared by meaning: the best {prophecy.compared}, by {prophecy.embedding_model}."
        better = " A language model judges better: presagio setup"
        return best if settings.has_model() else best + better
    if prophecy.mode is not Mode.LEXICAL:
        return None
    from bot.evidence import advise_local_model

    return advise_local_model(settings)


async def _resolve_headline(app: "App", typed: TypedHeadline, *, now: datetime) -> Headline:
    """Return the headline, or the title of the page that a link alone leads to.

    The date is the one that was given, else that of the page.
    """
    written = typed.text
    if "://" not in written and "www." not in written.lower():
        return read_headline(written, date=typed.date)
    # Only here, as what reads pages is slow to import.
    from bot.commands.pasted import read_pasted

    headline = await read_pasted(app, written, now=now)
    return replace(headline, date=typed.date or headline.date)


def _join_dates(typed: TypedHeadline, options: SearchOptions) -> TypedHeadline:
    """Return what was typed with the dates of the options: of two ranges, what both hold.

    Raises UsageError if nothing is left.
    """
    ends = filter(None, (typed.filters.before, options.before))
    beginnings = filter(None, (typed.filters.after, options.after))
    until, since = min(ends, default=None), max(beginnings, default=None)
    if until and since and until <= since:
        raise UsageError(
            Message(
                "There is no time from {after} to {before}.",
                after=f"{since:%Y-%m-%d}",
                before=f"{until:%Y-%m-%d}",
            ),
            fix=Message("Give a later --before or an earlier --after."),
        )
    recent = typed.exclude_recent if options.exclude_recent is None else options.exclude_recent
    return replace(
        typed,
        filters=Filters(before=until, after=since),
        date=options.date or typed.date,
        exclude_recent=recent,
    )


@spread_options
def command(
    context: typer.Context,
    headline: Annotated[
        str, TextArgument(help="The headline, or a link to it, in quotes; - reads standard input.")
    ],
    *,
    options: SearchOptions,
) -> None:
    """Find the old texts that foretold a headline.

    Dates may be typed beside it, as in chats: before:2014, after:2010, date:2018-12-24. For - each
    line of standard input is a headline.

    Example: presagio search "Container ship blocks canal" --date 2021-03-28
    """
    moment = read_clock()
    headlines = [
        _join_dates(read_typed(line, now=moment), options) for line in _read_headlines(headline)
    ]
    run_in_app(
        context, write_prophecies, headlines, options, now=moment, output=Output.of_process()
    )


def _read_headlines(written: str) -> list[str]:
    """Return the headline, or the lines of standard input for "-". Raises UsageError."""
    if written != _STANDARD_INPUT:
        return [written]
    lines = sys.stdin.buffer.read(_MAX_READ).decode("utf-8-sig", "replace").splitlines()
    headlines = [line.strip() for line in lines if line.strip()]
    if not headlines:
        raise UsageError("Standard input holds no headline.", fix="Write one on each line.")
    return headlines
