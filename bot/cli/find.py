"""`presagio find`: one query of the dialect from the command line."""

import time
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import CorpusName, Json, settings_of, text, with_app
from bot.console.output import Output
from bot.i18n.words import DEFAULT, words_for
from bot.queries.find import find as look
from bot.replies.find import find_reply
from bot.replies.place import place_json
from engine.contracts.results import snippet_of
from engine.query.find import DEFAULT_LIMIT
from engine.query.meaning import FindMode
from engine.query.types import FindHit, Found, Match

if TYPE_CHECKING:
    from bot.app import App

_DIGITS = 4


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
        output.json(found_json(query, found, elapsed_ms=elapsed_ms))
    else:
        output.show(find_reply(found, words_for(DEFAULT)))


def found_json(asked: str, found: Found, *, elapsed_ms: float) -> dict[str, object]:
    """Return the object that `find --json` prints. Keys may be added, but not changed."""
    counts = found.counts
    return {
        "query": asked,
        "canonical": str(found.query),
        "expanded": str(found.expanded),
        "filters": [str(one) for one in found.query.filters],
        "corpus": found.corpus,
        "plan": found.plan.value,
        "counts": {
            "corpus": counts.corpus,
            "matching": counts.matching,
            "passing": counts.passing,
            "fetched": counts.fetched,
            "distinct": counts.distinct,
            "returned": counts.returned,
            "candidates": counts.candidates,
        },
        "elapsed_ms": round(elapsed_ms),
        "notice": " ".join(found.notices) or None,
        "hits": [_contract(found, hit) | _hit(hit) for hit in found.hits],
    }


def _contract(found: Found, hit: FindHit) -> dict[str, object]:
    """Return a hit in the contract of its kind; `snippet` is its excerpt of the text."""
    if found.kind is None:
        return {}
    named: dict[str, object] = snippet_of(found.kind, hit).model_dump(mode="json")
    return named | {"snippet": named["text"]}


def _hit(hit: FindHit) -> dict[str, object]:
    document, candidate = hit.document, hit.document.candidate
    return {
        "rank": hit.rank,
        "id": candidate.external_id,
        "created_at": candidate.created_at.astimezone(UTC).isoformat(),
        "text": candidate.text,
        "context": candidate.context,
        "title": document.title,
        "place": place_json(candidate.place),
        "url": candidate.url,
        "author": candidate.author,
        "role": document.role,
        "platform": document.platform,
        "thread": document.thread,
        "attribution": document.attribution,
        "lang": candidate.lang,
        "tags": list(document.tags),
        "mentions": list(document.mentions),
        "engagement": document.engagement,
        "flags": list(candidate.flags.names),
        "score": None if hit.score is None else round(hit.score, _DIGITS),
        "similarity": None if hit.similarity is None else round(hit.similarity, _DIGITS),
        "matched": [_match(match) for match in hit.matched],
    }


def _match(match: Match) -> dict[str, object]:
    return {
        "term": match.term,
        "alias_of": match.alias_of,
        "lexemes": list(match.lexemes),
        "count": match.count,
        "fields": list(match.fields),
        "score": round(match.score, _DIGITS),
    }


# A query may begin with a minus: "-hillary" is not the option -h.
CONTEXT_SETTINGS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


def command(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="The query, in single quotes.", callback=text)],
    corpus: CorpusName = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Hits.")] = 20,
    mode: Annotated[
        FindMode,
        typer.Option(
            "--mode",
            help="By words; rerank: by words, the likest first; semantic: the nearest in meaning.",
        ),
    ] = FindMode.LEXICAL,
    json: Json = False,
) -> None:
    """Find exactly the texts that meet a query, best first; without a word, newest first.

    word "exact phrase" a OR b -word; before: after: on: lang: from: in: platform: role: domain:
    thread: tag: #tag @mention min:100 has:media is:repost, each also with - before it. A day is
    one of UTC unless a zone follows: on:2015-03-02+01:00. docs/find.md tells all.

    Example: presagio find '"border wall" OR fence -street before:2015'
    """
    chosen = FindOptions(corpus=corpus, limit=limit, mode=mode, json=json)
    with_app(
        settings_of(context),
        lambda opened: write_finds(opened, query, chosen, output=Output.of_process()),
    )
