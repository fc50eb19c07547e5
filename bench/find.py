"""Checks the dialect against a scan, and times it beside a search without a model.

`python -m bench.find [--data FOLDER] [--quick]`

For each real archive, the results of 30 hand-written queries are compared with a scan of every
document over the same lexemes: the set, and the order and score of the best. Then queries made from
real headlines are timed beside the search for those headlines. bench/README.md says how to read
what it prints.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bench.brute_force import Row, matching, scan, scores
from bench.store import filled, folder, opened, server
from bench.timing import Output, milliseconds, progress
from bench.tweets import DATA, SEED, headlines, tweets
from db.pool import Database
from db.search.find import DialectIndex
from db.search.lexical import LexicalIndex
from engine.prophecy.headline import read_headline
from engine.prophecy.prophecy import Prophet
from engine.query.filters import combine_conditions
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.query.query import Plan, Query, list_units, plan_query
from engine.ranking import Bm25
from engine.search import SearchRequest
from engine.text.clean import make_searchable
from engine.values import Corpus
from tests.query_texts import random_query

_QUICK = 5_000
_TURN = 20  # queries
_CLOSE = 1e-6
_FILTERS = (
    "before:2016 min:100",
    "on:2015-03",
    "has:media -is:quote",
    "#maga",
    "-@foxnews after:2018",
    "lang:en",
    "platform:x -min:5",
    "-the -great",
)
_NOW = datetime(2030, 1, 1, tzinfo=UTC)

ENGLISH = (
    "wall",
    "border wall",
    '"border wall"',
    '"make america great again"',
    '"make america great again" -hillary',
    "china OR mexico",
    "china OR mexico OR japan trade -deal",
    '"fake news" OR "witch hunt" media -cnn',
    "wall -mexico before:2016",
    "obama after:2012-01 before:2012-07",
    "on:2014-05-06",
    "golf on:2013",
    "-the -great on:2015-03",
    "@foxnews election",
    "#maga -@foxnews",
    "tag:maga OR great",
    "min:50000",
    "has:media min:1000 before:2017",
    "-has:media is:quote -on:2016 hillary",
    '"the art of the deal"',
    "state-run OR u.s. economy",
    "don't won't can't",
    "the",
    "xyzzyq",
    "great people",
    '-"thank you" thanks',
    "lang:en climate",
    "lang:es climate",
    "platform:x -min:10 coffee OR tea",
    "from:nobody wall",
)
SPANISH = (
    "inflación",
    "inflacion",
    "dólar OR inflación OR deuda",
    '"buenos aires"',
    '"buenos aires" -provincia',
    '"ciudad de buenos aires"',
    "ciudad provincia -nación",
    "gobierno -macri -cristina before:2015",
    "gobierno after:2019-08-11 before:2019-10-28",
    "on:2019-12-10",
    "on:2015 elecciones",
    "-el -la on:2018-06",
    "#niunamenos",
    "-#niunamenos mujeres",
    "@mauriciomacri OR gracias",
    "@mauriciomacri gracias",
    "min:20000",
    "min:500 -min:1000 educación",
    "has:media trabajo before:2014",
    "is:quote -has:media salud",
    '"más que nunca"',
    "más también según",
    "qwertzuiop",
    "jubilados OR pensiones OR jubilaciones aumento",
    '"estado de derecho" OR democracia -dictadura',
    "lang:es vacunas",
    "lang:en the",
    "-platform:x",
    "from:mauriciomacri argentina",
    "-from:mauriciomacri -from:cfkargentina argentina on:2019-10",
)


async def compare(
    database: Database, corpus: Corpus, rows: Sequence[Row], queries: Sequence[str]
) -> list[dict[str, object]]:
    """Return a row per query: how many it should find, how many it found, and if all is right."""
    index, by_id = DialectIndex(database), {row.id: row for row in rows}
    results: list[dict[str, object]] = []
    for text in queries:
        query = parse_query(text)
        expected = await matching(database, corpus, rows, query)
        plan, ids = await everything(index, corpus, query)
        # For an empty query, a scan would find everything.
        same = plan is Plan.NOTHING or (set(ids) == expected and len(ids) == len(expected))
        ordered = await _ordered(index, corpus, query, plan, ids, by_id)
        results.append(
            {
                "query": text,
                "plan": plan.value,
                "expected": len(expected),
                "found": len(ids),
                "same_set": same,
                "right_order": ordered,
            }
        )
    return results


async def everything(index: DialectIndex, corpus: Corpus, query: Query) -> tuple[Plan, list[int]]:
    """Return the plan, and the ids of all documents that the query finds, in the plan's order."""
    texts = [make_searchable(unit.text) for unit in list_units(query)]
    plan = plan_query(
        query, corpus.languages, await index.read(corpus, texts), corpus.searchable_documents
    )
    required, limit = combine_conditions(query.filters), max(1, corpus.documents)
    if plan.plan is Plan.NOTHING:
        return plan.plan, []
    if plan.plan is Plan.RANKED:
        found = await index.rank_texts(corpus, plan.by_language, plan.terms, required, limit)
    else:
        found = await index.newest(corpus, plan.by_language, required, limit)
    assert found.passing == len(found.documents)
    return plan.plan, [document.candidate.id for document in found.documents]


async def _ordered(
    index: DialectIndex,
    corpus: Corpus,
    query: Query,
    plan: Plan,
    ids: Sequence[int],
    rows: dict[int, Row],
) -> bool:
    if plan is not Plan.RANKED:
        return ids == sorted(ids, key=lambda i: (rows[i].moment, i), reverse=True)
    texts = [make_searchable(unit.text) for unit in list_units(query)]
    read = await index.read(corpus, texts)
    terms = plan_query(query, corpus.languages, read, corpus.searchable_documents).terms
    by_scan = scores(list(rows.values()), terms, Bm25())
    best = sorted((by_scan[i] for i in ids), reverse=True)
    return bool(np.allclose([by_scan[i] for i in ids], best, atol=_CLOSE))


def made(headline: str, number: int, chance: random.Random) -> str:
    """Make a query from a headline: words, a phrase, an OR, an exclusion, a filter, in turn."""
    words = [word for word in headline.split() if word.isalpha() and len(word) > 3] or ["news"]
    one, two, three = (chance.choice(words) for _ in range(3))
    start = chance.randrange(max(1, len(words) - 1))
    shapes = (
        one,
        f"{one} {two}",
        f'"{" ".join(words[start : start + 2])}"',
        f"{one} OR {two} {three}",
        f"{one} -{two}",
        f"{one} OR {two} before:2016",
        f"{one} {two} -is:quote min:100",
        f'"{one}" after:2012 -#maga',
    )
    return shapes[number % len(shapes)]


async def timed(output: Output, database: Database, corpus: Corpus, titles: Sequence[str]) -> None:
    """Time whole finds and whole searches without a model, taking turns."""
    chance = random.Random(SEED)
    finder, prophet = Finder(DialectIndex(database)), Prophet(LexicalIndex(database))
    asked = [made(title, number, chance) for number, title in enumerate(titles)]

    async def filtered(number: int) -> None:
        await finder.find(corpus, parse_query(_FILTERS[number % len(_FILTERS)]), limit=20)

    async def find(number: int) -> None:
        await finder.find(corpus, parse_query(asked[number]), limit=20)

    async def search(number: int) -> None:
        headline = read_headline(titles[number])
        request = SearchRequest(headline=headline, limit=3, now=_NOW, judged=False)
        await prophet.prophesy(corpus, request)

    systems: dict[str, Callable[[int], Awaitable[None]]] = {
        "find": find,
        "find, filters alone": filtered,
        "search": search,
    }
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for warm in (False, True):
        for first in range(0, len(titles), _TURN):
            for name, system in systems.items():
                for number in range(first, min(first + _TURN, len(titles))):
                    start = time.perf_counter()
                    await system(number)
                    if warm:
                        seconds[name].append(time.perf_counter() - start)
    p95 = {name: float(np.percentile(times, 95)) for name, times in seconds.items()}
    for name, times in seconds.items():
        ratio = round(p95[name] / p95["search"], 2)
        output.row(corpus=corpus.name, system=name, **milliseconds(times), p95_to_search=ratio)


async def random_texts(database: Database, corpus: Corpus, number: int) -> dict[str, int]:
    """Query random texts; return how often each plan was used. Errors are not caught."""
    chance, finder = random.Random(SEED), Finder(DialectIndex(database))
    plans = dict.fromkeys(Plan, 0)
    for _ in range(number):
        found = await finder.find(corpus, parse_query(random_query(chance)), limit=20)
        assert len(found.hits) == found.counts.returned <= 20
        plans[found.plan] += 1
    return {plan.value: times for plan, times in plans.items()}


def random_parses(number: int) -> None:
    """Parse random texts and their canonical forms, which must parse to the same query."""
    chance = random.Random(SEED)
    for _ in range(number):
        query = parse_query(random_query(chance))
        assert parse_query(str(query)) == query


async def run(arguments: argparse.Namespace, url: str) -> None:
    """Compare and time both archives."""
    output = Output("find")
    database = await opened(url, size=2)
    parses, asked = (2_000, 200) if arguments.quick else (100_000, 2_000)
    try:
        random_parses(parses)
        output.row(system="random texts", parsed=parses)
        for name, file, queries, lines in (
            ("english", "trump_archive.jsonl", ENGLISH, "en.jsonl"),
            ("spanish", "argentina_2019.jsonl", SPANISH, "es.jsonl"),
        ):
            progress(f"{name}: storing")
            real = tweets(arguments.data / "tweets" / file, _QUICK if arguments.quick else None)
            corpus = await filled(database, name, name, real)
            rows = await scan(database, corpus)
            progress(f"{name}: comparing")
            for row in await compare(database, corpus, rows, queries):
                output.row(corpus=name, **row)
            plans = await random_texts(database, corpus, asked)
            output.row(corpus=name, system="random texts", asked=asked, **plans)
            progress(f"{name}: timing")
            titles = headlines(arguments.data / "headlines" / lines, 40 if arguments.quick else 200)
            await timed(output, database, corpus, titles)
    finally:
        await database.close()
    output.table()


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start a server, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.find", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--quick", action="store_true", help="5,000 documents, 40 headlines")
    arguments = parser.parse_args(argv)
    with folder() as place, server(place) as url:
        asyncio.run(run(arguments, url))


if __name__ == "__main__":
    main()
