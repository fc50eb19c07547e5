"""Measures how fast the exact best candidates are found, beside other libraries in the same run.

`python -m bench.retrieval [--sizes N,N] [--queries N] [--data FOLDER] [--quick]`

Starts a separate server in a temporary folder, with the shipped settings, and fills it with real
tweets. bench/README.md says how to read what it prints.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.lexemes import Lexemes, Reference, count_equally, lexemes, overlap
from bench.peers import Peer, peers
from bench.store import filled, folder, opened, server
from bench.timing import Output, milliseconds, progress
from bench.tweets import COMMON, DATA, RARE, grown, headlines, tweets
from db.pool import Database
from db.search.lexical import LexicalIndex
from engine.search import Filters, Term
from engine.values import Corpus

LIMIT = 150
CLIENTS = 8
TURN = 20  # queries
_QUICK = 5_000
SIZES = "56573,100000,1000000"
NO_FILTER = Filters()
BEFORE_NOW = Filters(before=datetime(2100, 1, 1, tzinfo=UTC))  # lets everything through

# Answers query number i with the numbers of the documents.
System = Callable[[int], Awaitable[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class Trial:
    """One corpus at one size, with its queries."""

    output: Output
    search: LexicalIndex
    corpus: Corpus
    texts: Sequence[str]
    terms: Sequence[Sequence[Term]]  # known to the corpus, so every library can answer
    tokens: Sequence[Sequence[int]]  # the same as numbers
    scores: Callable[[int], npt.NDArray[np.float64]]

    def row(self, **figures: object) -> None:
        """Print a result for this corpus."""
        self.output.row(corpus=self.corpus.name, documents=self.corpus.documents, **figures)

    async def top(self, query: int, filters: Filters = NO_FILTER) -> list[int]:
        """Answer from the terms of the query."""
        found = await self.search.top(self.corpus, self.terms[query], filters, LIMIT)
        return [int(candidate.external_id) for candidate in found]

    async def whole(self, query: int) -> list[int]:
        """Answer as for the main job: from the text, among all that is older than the headline."""
        terms = await self.search.terms(self.corpus, self.texts[query])
        found = await self.search.top(self.corpus, terms, BEFORE_NOW, LIMIT)
        return [int(candidate.external_id) for candidate in found]


async def timed(
    systems: Mapping[str, System], queries: int
) -> tuple[dict[str, list[float]], dict[str, list[Sequence[int]]]]:
    """Return seconds and answers by system and query.

    The systems take turns every few queries, so that other load on the machine affects them
    equally. A first, untimed pass warms caches and prepares statements.
    """
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    answers: dict[str, list[Sequence[int]]] = {name: [] for name in systems}
    for warm in (False, True):
        for first in range(0, queries, TURN):
            for name, system in systems.items():
                for query in range(first, min(first + TURN, queries)):
                    start = time.perf_counter()
                    found = await system(query)
                    if warm:
                        seconds[name].append(time.perf_counter() - start)
                        answers[name].append(found)
    return seconds, answers


async def against_peers(trial: Trial, others: Sequence[Peer]) -> None:
    """Time the search and its peers, and count how many of the correct documents each finds."""
    by_name = {peer.name: peer for peer in others}
    systems: dict[str, System] = {"presagio top": trial.top, "presagio terms+top": trial.whole}
    for peer in others:
        systems[peer.name] = _answering(peer, trial.tokens)
    seconds, answers = await timed(systems, len(trial.tokens))
    base = float(np.median(seconds["presagio top"]))
    for name in systems:
        numbers = by_name[name].numbers if name in by_name else list
        right = None
        if name != "presagio terms+top":  # which also retrieves neighbours, and scores them
            shares = [
                overlap(trial.scores(q), numbers(a), LIMIT) for q, a in enumerate(answers[name])
            ]
            right = round(float(np.mean(shares)), 4)
        trial.row(
            system=name,
            **milliseconds(seconds[name]),
            ratio_to_presagio=round(float(np.median(seconds[name])) / base, 3),
            overlap=right,
        )


async def inside_filters(trial: Trial, known: Lexemes) -> None:
    """Time the search with filters that few or many documents pass."""
    cases = _filters(known)
    systems: dict[str, System] = {"": trial.top}
    for name, (filters, _) in cases.items():
        systems[name] = _filtered(trial, filters)
    seconds, answers = await timed(systems, len(trial.tokens))
    base = float(np.median(seconds[""]))
    for name, (_, passing) in cases.items():
        shares = [
            overlap(trial.scores(query), answer, LIMIT, passing)
            for query, answer in enumerate(answers[name])
        ]
        trial.row(
            system=f"presagio top, {name}",
            **milliseconds(seconds[name]),
            ratio_to_unfiltered=round(float(np.median(seconds[name])) / base, 3),
            overlap=round(float(np.mean(shares)), 4),
        )


async def together(trial: Trial) -> None:
    """Measure the searches per second of several concurrent clients."""
    pending = list(range(len(trial.texts))) * 2

    async def client() -> None:
        while pending:
            await trial.whole(pending.pop())

    start = time.perf_counter()
    total = len(pending)
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    trial.row(
        system="presagio terms+top",
        clients=CLIENTS,
        queries_per_second=round(total / (time.perf_counter() - start), 1),
    )


async def trial(
    output: Output, database: Database, corpus: Corpus, texts: Sequence[str], place: Path
) -> None:
    """Measure one corpus at its current size."""
    progress(f"{corpus.name}, {corpus.documents:,} documents: reading lexemes, building peers")
    search = LexicalIndex(database)
    known = await lexemes(database, corpus)
    reference = Reference(known)
    terms = [count_equally(await search.terms(corpus, text)) for text in texts]
    tokens = [[known.names[name] for term in one for name in term.lexemes] for one in terms]
    one = Trial(output, search, corpus, texts, terms, tokens, lambda q: reference.scores(tokens[q]))
    built = [build() for build in peers(known, place)]
    progress("  measuring")
    await against_peers(one, built)
    await inside_filters(one, known)
    await together(one)


async def run(arguments: argparse.Namespace, place: Path, url: str) -> None:
    """Measure English at every size, then Spanish."""
    output = Output("retrieval")
    database = await opened(url, size=CLIENTS)
    try:
        for name, language, file, asked, sizes in _corpora(arguments):
            real = tweets(arguments.data / "tweets" / file, _QUICK if arguments.quick else None)
            texts = headlines(arguments.data / "headlines" / asked, arguments.queries)
            stored = 0
            for size in sizes or [len(real)]:
                progress(f"{name}: storing {size:,}")
                more = (d for d in grown(real, size) if int(d.external_id) >= stored)
                corpus = await filled(database, name, language, more)
                stored = size
                await trial(output, database, corpus, texts, place / f"{name}-{size}")
    finally:
        await database.close()
    output.table()


def _corpora(
    arguments: argparse.Namespace,
) -> list[tuple[str, str, str, str, Sequence[int]]]:
    found = [("english", "english", "trump_archive.jsonl", "en.jsonl", arguments.sizes)]
    if not arguments.quick:
        found.append(("spanish", "spanish", "argentina_2019.jsonl", "es.jsonl", []))
    return found


def _answering(peer: Peer, tokens: Sequence[Sequence[int]]) -> System:
    async def answer(query: int) -> Sequence[int]:
        found: Sequence[int] = peer.top(tokens[query], LIMIT)
        return found

    return answer


def _filtered(trial: Trial, filters: Filters) -> System:
    return lambda query: trial.top(query, filters)


def _filters(known: Lexemes) -> dict[str, tuple[Filters, npt.NDArray[np.bool_]]]:
    """Name some filters, each with the mask of the documents that pass it."""
    median, first, later = np.percentile(known.created, [50, 1, 51]).round()
    between = (known.created >= median) & (known.created < later)
    return {
        "before the median date": (Filters(before=_moment(median)), known.created < median),
        "before all but 1 %": (Filters(before=_moment(first)), known.created < first),
        "in 1 % of the dates": (
            Filters(before=_moment(later), after=_moment(median)),
            between,
        ),
        "with a flag that 5 % have": (Filters(require=RARE), known.flags & RARE > 0),
        "without a flag that 20 % have": (Filters(exclude=COMMON), known.flags & COMMON == 0),
    }


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def parsed(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, *, sizes: str, quick: int
) -> argparse.Namespace:
    """Return the arguments, with those of every measurement over growing corpora."""
    parser.add_argument("--sizes", default=sizes, help=f"documents, ascending ({sizes})")
    parser.add_argument("--queries", type=int, default=200, help="real headlines to ask (200)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--quick", action="store_true", help=f"{quick:,} documents, 20 headlines")
    arguments = parser.parse_args(argv)
    if arguments.quick:
        arguments.sizes, arguments.queries = str(quick), 20
    arguments.sizes = sorted(int(size) for size in arguments.sizes.split(","))
    return arguments


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start a server, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=__doc__)
    arguments = parsed(parser, argv, sizes=SIZES, quick=_QUICK)
    with folder() as place, server(place) as url:
        asyncio.run(run(arguments, place, url))


if __name__ == "__main__":
    main()
