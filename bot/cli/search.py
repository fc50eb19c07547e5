"""`presagio search`: one headline from the command line."""

import time
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import (
    After,
    Before,
    CorpusName,
    Json,
    NoLlm,
    SearchMode,
    now,
    run_in_app,
    text,
)
from bot.console.screen import Output
from bot.i18n.words import DEFAULT, words_for
from bot.replies.dates import read_date, read_typed
from bot.replies.prophecy import prophecy_answer, prophecy_reply
from engine.errors import UsageError
from engine.messages import Message
from engine.prophecy.headline import read_headline
from engine.search import Filters, Headline, Mode, SearchRequest
from engine.settings.searching import MOST_MONTHS

if TYPE_CHECKING:
    from bot.app import App


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Options from the command line; `corpus` "" and `limit` None mean the settings' values."""

    corpus: str = ""
    limit: int | None = None
    before: datetime | None = None
    after: datetime | None = None
    date: datetime | None = None
    judged: bool = True
    mode: Mode | None = None  # None means the settings' value, here and in the next
    exclude_recent: int | None = None
    near: bool = False
    explain: bool = False
    json: bool = False


async def write_prophecy(
    app: "App", headline: str, options: SearchOptions, *, now: datetime, output: Output
) -> None:
    """Write the answer to a headline or a link. Raises FetchError if its page cannot be read."""
    started = time.perf_counter()
    request = SearchRequest(
        headline=await _headline(app, headline, options, now=now),
        limit=options.limit or app.settings.search.limit,
        now=now,
        filters=Filters(before=options.before, after=options.after),
        judged=options.judged,
        mode=options.mode,
        exclude_recent=options.exclude_recent,
    )
    prophecy = await app.prophesy(request, corpus=options.corpus)
    elapsed_ms = (time.perf_counter() - started) * 1000
    if options.json:
        output.json(prophecy_answer(prophecy, now=now, elapsed_ms=elapsed_ms).to_json())
    else:
        words = words_for(DEFAULT, operator=True)
        near = options.near and prophecy.near
        if prophecy.hits or not near:
            output.show(prophecy_reply(prophecy, prophecy.hits, now=now, words=words))
        if near:
            output.show(prophecy_reply(prophecy, prophecy.near, now=now, words=words, near=True))
        elif prophecy.near and not prophecy.hits:
            output.remark("What is nearest to it: the same with --near.")
        if options.explain:
            from bot.replies.receipt import receipt

            output.line(receipt(prophecy, prophecy.hits or prophecy.near, words))


async def _headline(app: "App", written: str, options: SearchOptions, *, now: datetime) -> Headline:
    """Return the headline in `written`, or the title of the page that a link alone leads to.

    The date is that of the options, else that of the page.
    """
    if "://" not in written and "www." not in written.lower():
        return read_headline(written, date=options.date)
    # Only here, as what reads pages is slow to import.
    from bot.conversation.wiring import read_pasted
    from engine.fetch.client import Fetcher

    async with Fetcher(app.settings.fetch) as fetcher:
        found = await read_pasted(fetcher, app.isolation, written, now=now)
    return replace(found, date=options.date or found.date)


def _narrow_dates(typed: Filters, *, before: str | None, after: str | None) -> Filters:
    """Return the range of the dates typed beside a headline and those of the options, which both
    hold. Raises UsageError if it is empty."""
    ends = [typed.before, read_date(before) if before is not None else None]
    beginnings = [typed.after, read_date(after) if after is not None else None]
    until = min((end for end in ends if end), default=None)
    since = max((beginning for beginning in beginnings if beginning), default=None)
    if until and since and until <= since:
        raise UsageError(
            Message(
                "There is no time from {after} to {before}.",
                after=after or f"{since:%Y-%m-%d}",
                before=before or f"{until:%Y-%m-%d}",
            ),
            fix=Message("Give a later --before or an earlier --after."),
        )
    return Filters(before=until, after=since)


def command(
    context: typer.Context,
    headline: Annotated[
        str, typer.Argument(help="The headline, or a link to it, in quotes.", callback=text)
    ],
    corpus: CorpusName = "",
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=1000, help="Hits [3].")
    ] = None,
    before: Before = None,
    after: After = None,
    date: Annotated[
        str | None, typer.Option("--date", help="Date of the headline, such as 2021-03-28.")
    ] = None,
    exclude_recent: Annotated[
        int | None,
        typer.Option(
            "--exclude-recent",
            min=0,
            max=MOST_MONTHS,
            metavar="MONTHS",
            help="Leave out the last months before the headline.",
        ),
    ] = None,
    mode: SearchMode = None,
    no_llm: NoLlm = False,
    near: Annotated[bool, typer.Option("--near", help="Show what is too weak, too.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each was found.")] = False,
    json: Json = False,
) -> None:
    """Find the old texts that foretold a headline.

    Dates may be typed beside it, as in chats: before:2014, after:2010, date:2018-12-24.

    Example: presagio search "Container ship blocks canal" --date 2021-03-28
    """
    typed = read_typed(headline, now=now())
    filters = _narrow_dates(typed.filters, before=before, after=after)
    chosen = SearchOptions(
        corpus=corpus,
        limit=limit,
        before=filters.before,
        after=filters.after,
        date=typed.date if date is None else read_date(date),
        judged=not no_llm,
        mode=mode,
        exclude_recent=typed.exclude_recent if exclude_recent is None else exclude_recent,
        near=near,
        explain=explain,
        json=json,
    )
    run_in_app(context, write_prophecy, typed.text, chosen, now=now(), output=Output.of_process())
