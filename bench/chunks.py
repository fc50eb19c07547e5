"""Measures retrieval over chunks of long texts, beside tweets and SQLite FTS5 in the same run.

`python -m bench.chunks [--sizes N,N] [--queries N] [--data FOLDER] [--ingest] [--quick]`

The chunks are runs of words from real tweets (bench.tweets.chunks). Every corpus is searched by its
postings and by thresholds.
"""

import argparse
import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.lexemes import Reference, count_equally, lexemes, overlap
from bench.peers import Fts5
from bench.retrieval import BEFORE_NOW, LIMIT, NO_FILTER, System, parsed, timed
from bench.store import filled, folder, opened, server
from bench.timing import Output, milliseconds, progress
from bench.tweets import RARE, chunks, headlines, tweets
from db.pool import Database
from db.search.lexical import LexicalIndex
from engine.corpora import Document
from engine.search import Filters, Term
from engine.values import Corpus, Kind

SIZES = "7000,100000"
_QUICK = 500
_DISK = """
SELECT pg_total_relation_size($1::text::regclass), pg_total_relation_size($2::text::regclass)
"""


def presagio(
    search: LexicalIndex, corpus: Corpus, terms: Sequence[Sequence[Term]], filters: Filters
) -> System:
    """Return the search of one corpus inside a filter."""

    async def answer(query: int) -> Sequence[int]:
        found = await search.top(corpus, terms[query], filters, LIMIT)
        return [int(candidate.external_id) for candidate in found]

    return answer


def beside(peer: Fts5, tokens: Sequence[Sequence[int]]) -> System:
    """Return the search of the peer."""

    async def answer(query: int) -> Sequence[int]:
        return peer.numbers(peer.top(tokens[query], LIMIT))

    return answer


async def trial(
    output: Output, database: Database, corpus: Corpus, texts: Sequence[str], place: Path
) -> None:
    """Measure one corpus."""
    progress(f"{corpus.name}: reading lexemes, building FTS5")
    known = await lexemes(database, corpus)
    reference, search = Reference(known), LexicalIndex(database)
    terms = [count_equally(await search.terms(corpus, text)) for text in texts]
    tokens = [[known.names[name] for term in one for name in term.lexemes] for one in terms]
    systems: dict[str, System] = {}
    masks: dict[str, Any] = {}
    for inside, filters in (
        ("", NO_FILTER),
        (", inside dates", BEFORE_NOW),
        (", with a flag that 5 % have", Filters(require=RARE)),
    ):
        for way in ("postings", "thresholds"):
            name = f"{way}{inside}"
            chosen = replace(corpus, postings=way == "postings")
            systems[name] = presagio(search, chosen, terms, filters)
            masks[name] = known.flags & RARE > 0 if filters.require else True
    systems["sqlite fts5"], masks["sqlite fts5"] = beside(Fts5(known, place), tokens), True
    progress(f"{corpus.name}: measuring")
    seconds, answers = await timed(systems, len(texts))
    base = float(np.median(seconds["postings"]))
    for name, each in answers.items():
        scores = (reference.scores(token) for token in tokens)
        shares = [overlap(s, a, LIMIT, masks[name]) for s, a in zip(scores, each, strict=True)]
        output.row(
            corpus=corpus.name,
            documents=corpus.documents,
            system=name,
            **milliseconds(seconds[name]),
            ratio_to_postings=round(float(np.median(seconds[name])) / base, 3),
            overlap=round(float(np.mean(shares)), 4),
        )


async def stored(
    output: Output, database: Database, name: str, kind: Kind, documents: Iterable[Document]
) -> Corpus:
    """Store a corpus, and print how long that took and what it takes on disk."""
    progress(f"{name}: storing")
    start = time.perf_counter()
    corpus = await filled(database, name, "english", documents, kind=kind)
    took = time.perf_counter() - start
    figures: dict[str, object] = {}
    if corpus.postings:
        async with database.connection() as connection:
            tables = (f"document_{corpus.id}", f"postings_{corpus.id}")
            sizes = await connection.fetchrow(_DISK, *tables)
        assert sizes
        figures = {"documents_mb": sizes[0] // 2**20, "postings_mb": sizes[1] // 2**20}
    output.row(
        corpus=name,
        documents=corpus.documents,
        postings=corpus.postings,
        stored_a_second=round(corpus.documents / took),
        **figures,
    )
    return corpus


async def run(arguments: argparse.Namespace, place: Path, url: str) -> None:
    """Measure tweets, then chunks at every size."""
    output = Output("chunks")
    database = await opened(url, size=2)
    texts = headlines(arguments.data / "headlines" / "en.jsonl", arguments.queries)
    maximum = _QUICK if arguments.quick else None
    real = tweets(arguments.data / "tweets" / "trump_archive.jsonl", maximum)
    makers: list[tuple[str, Callable[[], Iterable[Document]]]] = [("tweets", lambda: real)]
    makers += [
        (f"chunks-{size}", lambda size=size: chunks(real, size))  # type: ignore[misc]  # mypy cannot type the default
        for size in arguments.sizes
    ]
    try:
        for name, made in makers:
            if arguments.ingest:
                await stored(output, database, f"{name}-without", Kind.TWEETS, made())
            corpus = await stored(output, database, name, Kind.LIBRARY, made())
            await trial(output, database, corpus, texts, place / f"{name}.db")
    finally:
        await database.close()
    output.table()


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start a server, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.chunks", description=__doc__)
    parser.add_argument("--ingest", action="store_true", help="also store without postings")
    arguments = parsed(parser, argv, sizes=SIZES, quick=_QUICK)
    with folder() as place, server(place) as url:
        asyncio.run(run(arguments, place, url))


if __name__ == "__main__":
    main()
