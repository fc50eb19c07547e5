"""Measures the order of unjudged answers on test collections that others made.

`python -m bench.outside --documents FILE --queries FILE --qrels FILE [--language english]
[--seconds 0.35]`

Files are those of BEIR (JSON lines of `_id`, `title` and `text`; lines of query, document and
label) or of CheckThat! 2022 task 2A (tables of id and text; TREC qrels). Every query with a judged
document is searched in all documents: by words alone, scored as an answer is, and re-ordered by the
local model, which has `--seconds` a query. MAP@5 and nDCG@10 are those of ir-measures.
"""

import argparse
import asyncio
import csv
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import ir_measures
from ir_measures import AP, nDCG

from bench.store import filled, folder, opened, server
from bench.timing import Output, milliseconds, progress
from bot.app import App, open_app
from bot.settings import load_settings
from engine.corpora import Document
from engine.prophecy.prophecy import Prophet
from engine.search import Filters, Headline, Mode, SearchRequest
from engine.text.clean import make_searchable
from engine.values import Corpus

_CORPUS = "outside"
_DEPTH = 100
_MEASURES = (AP @ 5, nDCG @ 10)
# No document is older than another: age has no say.
_WRITTEN, _ASKED = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)

Rankings = Mapping[str, Sequence[str]]
Way = Callable[[str], Awaitable[list[str]]]  # from a query to the best documents


def read_texts(path: Path) -> dict[str, str]:
    """Return the texts of a file by id: JSON lines, or a table whose first columns are these.

    Of a table's further columns the second is a title. A first line that names columns is left out.
    """
    if path.suffix == ".jsonl":
        rows = (json.loads(line) for line in path.read_text().splitlines() if line.strip())
        return {str(row["_id"]): _joined(row.get("title"), row["text"]) for row in rows}
    with path.open(newline="") as lines:
        table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        found = [row for row in table if len(row) > 1]
    named = found and not any(character.isdigit() for character in found[0][0])
    return {row[0]: _joined(*row[2:3], row[1]) for row in found[1 if named else 0 :]}


def read_labels(path: Path) -> dict[str, dict[str, int]]:
    """Return labels above 0 by query and document: of three columns, or the four of TREC."""
    labels: dict[str, dict[str, int]] = {}
    for line in path.read_text().splitlines():
        query, *_, document, label = line.split("\t") if "\t" in line else line.split()
        if label.lstrip("-").isdigit() and int(label) > 0:
            labels.setdefault(query, {})[document] = int(label)
    return labels


def _joined(*parts: str | None) -> str:
    return "\n\n".join(part for part in parts if part)


def _documents(texts: Mapping[str, str]) -> Iterator[Document]:
    for name, text in texts.items():
        digest = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), signed=True)
        yield Document(
            external_id=name,
            text=text,
            search_text=make_searchable(text),
            created_at=_WRITTEN,
            digest=digest,
        )


async def by_words(app: App, corpus: Corpus, text: str) -> list[str]:
    """Return the best documents by BM25 alone."""
    terms = await app.prophet.index.terms(corpus, make_searchable(text))
    found = await app.prophet.index.top(corpus, terms, Filters(), _DEPTH)
    return [one.external_id for one in found]


async def answered(prophet: Prophet, corpus: Corpus, text: str, mode: Mode | None) -> list[str]:
    """Return what an unjudged answer holds: its hits, then what is near."""
    request = SearchRequest(
        headline=Headline(text=text, original=text, date=_ASKED),
        limit=_DEPTH,
        now=_ASKED,
        judged=False,
        mode=mode,
    )
    found = await prophet.prophesy(corpus, request)
    return [hit.candidate.external_id for hit in (*found.hits, *found.near)]


async def measure(url: str, arguments: argparse.Namespace, output: Output) -> None:
    """Store the documents, answer every query in each way, and print a row for each."""
    labels, queries = read_labels(arguments.qrels), read_texts(arguments.queries)
    asked = {name: text for name, text in queries.items() if name in labels}
    texts = read_texts(arguments.documents)
    if not asked or not texts:
        sys.exit("No query has a judged document: look at the three files.")
    progress(f"{len(texts):,} documents, {len(asked):,} queries")
    database = await opened(url, size=2)
    await filled(database, _CORPUS, arguments.language, _documents(texts))
    await database.close()
    environ = {"DATABASE_URL": url, "PRESAGIO_SEARCH__RERANK_SECONDS": str(arguments.seconds)}
    async with open_app(load_settings(environ=environ), progress=progress) as app:
        corpus = await app.corpus(_CORPUS)
        ways: Mapping[str, Way] = {
            "words": lambda text: by_words(app, corpus, text),
            "answer by words": lambda text: answered(app.prophet, corpus, text, Mode.LEXICAL),
            "answer": lambda text: answered(app.prophet, corpus, text, None),
        }
        for way, search in ways.items():
            rankings, seconds = {}, []
            for name, text in asked.items():
                started = time.perf_counter()
                rankings[name] = await search(text)
                seconds.append(time.perf_counter() - started)
            output.row(
                way=way,
                documents=len(texts),
                queries=len(asked),
                **scored(labels, rankings),
                **milliseconds(seconds),
            )


def scored(labels: Mapping[str, Mapping[str, int]], rankings: Rankings) -> dict[str, float]:
    """Return the means over all queries that were asked; one without an answer counts 0."""
    asked = {name: labels[name] for name in rankings}
    run = [
        ir_measures.ScoredDoc(name, one, -place)
        for name, found in rankings.items()
        for place, one in enumerate(found)
    ]
    qrels = chain.from_iterable(
        (ir_measures.Qrel(name, one, label) for one, label in known.items())
        for name, known in asked.items()
    )
    found = ir_measures.calc_aggregate(_MEASURES, list(qrels), run)
    names = {"MAP@5": _MEASURES[0], "nDCG@10": _MEASURES[1]}
    return {name: round(found[one], 4) for name, one in names.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, clean up; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.outside", description=__doc__)
    for name in ("documents", "queries", "qrels"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--language", default="english", help="of the documents (english)")
    parser.add_argument("--seconds", type=float, default=0.35, help="for each re-ordering (0.35)")
    arguments = parser.parse_args(argv)
    output = Output("outside")
    with folder() as place, server(place) as url:
        asyncio.run(measure(url, arguments, output))
    output.table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
