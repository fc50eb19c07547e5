"""Measures how many good stories reach the model when it judges what a day's budget pays for.

`python -m bench.gate [--headlines N] [--data FOLDER] [--quick]`

Real headlines are served as a feed; the jobs poll them, join them to stories and search a real
archive for them. The judged headlines go the same way. The most promising stories are judged first:
how many of those that a tweet foretold, as people judged it (5 or 6 of 6), are among them? A budget
is given as a share of the day's stories. The exit code is 1 when a budget of half of the day's
stories leaves out a third of the good ones or more.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.measures import JudgedHeadline, read_headlines, read_qrels
from bench.store import filled, folder, opened, server
from bench.timing import Output, progress
from bench.tweets import DATA
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, Reject, SourceRequest
from tests.fakes.model import scoring
from tests.scenarios.newsroom import HOUR, Newsroom, Process, newsroom

_GOOD = 5  # the lowest judgment that is posted by default
_HALF = 0.5
_SEED = 4
_BUDGETS = (0.05, 0.1, 0.2, 0.33, 0.5, 1.0)  # shares of the day's stories
_CORPUS = "archive"
_QUICK_TWEETS = 5_000


@dataclass(frozen=True)
class Archive:
    """An archive and headlines in its language."""

    name: str
    language: str
    code: str


ARCHIVES = (Archive("trump_archive", "english", "en"), Archive("argentina_2019", "spanish", "es"))


async def load(url: str, archive: Archive, arguments: argparse.Namespace) -> None:
    """Store the archive."""
    database = await opened(url, size=2)
    file = arguments.data / "tweets" / f"{archive.name}.jsonl"
    with open_source(SourceRequest(str(file))) as stream:
        records = (record for record in stream if not isinstance(record, Reject))
        documents = (normalise(record, Defaults()) for record in islice(records, arguments.tweets))
        await filled(database, _CORPUS, archive.language, documents)
    await database.close()


def judged(data: Path, code: str) -> tuple[list[JudgedHeadline], list[JudgedHeadline]]:
    """Return the headlines that a tweet foretold, and those that no tweet can have."""
    headlines = read_headlines(data / "judged" / f"{code}.headlines.jsonl")
    labels = read_qrels(data / "judged" / f"{code}.qrels.tsv")
    good = [
        headline
        for headline in headlines
        if max(labels.get(headline.qid, {"": 0}).values()) >= _GOOD
    ]
    return good, [headline for headline in headlines if not headline.matchable]


async def promised(room: Newsroom, process: Process, titles: Sequence[str]) -> list[float]:
    """Feed headlines in, search them, and return how much each promised."""
    await room.news(process, *titles)
    while await process.jobs.search():
        pass
    async with process.app.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT h.title, f.coverage FROM find f JOIN headline h USING (story_id)"
            " WHERE f.corpus = $1",
            _CORPUS,
        )
    found = {row["title"]: float(row["coverage"]) for row in rows}
    return [found[title] for title in titles]


async def measure(
    url: str, archive: Archive, arguments: argparse.Namespace, output: Output
) -> float:
    """Print the figures of one language; return the share of good stories that are judged when
    half of all stories are."""
    await load(url, archive, arguments)
    lines = (arguments.data / "headlines" / f"{archive.code}.jsonl").read_bytes().splitlines()
    sample = random.Random(_SEED).sample(lines, arguments.headlines)
    titles = [" ".join(str(json.loads(line)["title"]).split()) for line in sample]
    good, impossible = judged(arguments.data, archive.code)
    unlimited = {"PRESAGIO_LLM__DAILY_TOKENS": "-1", "PRESAGIO_LLM__DAILY_USD": "-1"}
    async with newsroom(
        url, PRESAGIO_SEARCH__CORPUS=_CORPUS, PRESAGIO_EMBEDDINGS__BACKEND="null", **unlimited
    ) as room:
        room.model.script = [scoring(lambda _headline, _candidate: 0)]
        process = await room.process()
        await room.subscribe(process, "telegram")
        sampled = await promised(room, process, titles)
        calls = room.model.calls
        room.clock.wind(HOUR)
        foretold = await promised(room, process, [one.headline for one in good])
        nothing = await promised(room, process, [one.headline for one in impossible])
    output.row(language=archive.language, headlines=len(titles), model_calls=calls)
    for budget in _BUDGETS:
        output.row(
            language=archive.language,
            budget=budget,
            foretold=len(foretold),
            of_these_judged=_judged(foretold, sampled, budget),
            nothing_foretold=len(nothing),
            of_those_judged=_judged(nothing, sampled, budget),
        )
    for one, promise in zip(good, foretold, strict=True):
        progress(f"  {promise:.3f}  {one.headline}")
    return _judged(foretold, sampled, _HALF) / len(foretold)


def _judged(promises: Sequence[float], sampled: Sequence[float], budget: float) -> int:
    """Count the `promises` judged when `budget` is the judged share of `sampled` stories."""
    places = budget * len(sampled)
    return sum(sum(other > promise for other in sampled) < places for promise in promises)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, clean up; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.gate", description=__doc__)
    parser.add_argument("--headlines", type=int, default=500, help="of each language (500)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--quick", action="store_true", help="5,000 tweets, 60 headlines: seconds")
    parser.set_defaults(tweets=None)
    arguments = parser.parse_args(argv)
    if arguments.quick:
        vars(arguments).update(tweets=_QUICK_TWEETS, headlines=60)
    output, shares = Output("gate"), []
    with folder() as place:
        for archive in ARCHIVES:
            progress(archive.name)
            with server(place / archive.code) as url:
                shares.append(asyncio.run(measure(url, archive, arguments, output)))
    output.table()
    return 0 if min(shares) > 2 / 3 else 1


if __name__ == "__main__":
    sys.exit(main())
