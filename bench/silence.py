"""Shows that what nothing foretold is answered with silence, and always alike, without a judge.

`python -m bench.silence [--data FOLDER] [--url URL] [--runs 10]`

Fills a server of its own with both archives, unless `--url` names one that holds them, and with
posts of each drawn at random: 5, 50, 500 and 8,000. It asks all of them for small talk, and those
of one language for the headlines in it that no post of the whole archive foretold, by words alone
and as shipped. Then it runs one `presagio search` several times, the later half of them beside two
busy loops, and counts the different answers.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.measures import JudgedHeadline
from bench.store import filled, folder, opened, server
from bench.timing import Output, progress
from bench.tweets import DATA
from bench.unjudged import Collection, ask, load, open_archives, read_collections
from bot.app import App
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, Reject, SourceRequest
from engine.search import Mode

SMALL_TALK = (
    "Hello there!",
    "Good morning everyone",
    "How are you doing today?",
    "Thanks a lot :)",
    "OK, see you tomorrow",
    "lol that is funny",
    "What's up?",
    "Hola, ¿cómo estás?",
    "Jaja, qué bueno",
    "Buenos días a todos",
)
SIZES = (5, 50, 500, 8000)
_SEED = 7
_HEADLINE = "Apple Unveils iPhones With Bigger Screens"
_BUSY = "while True: pass"


async def load_samples(url: str, data: Path, archives: Sequence[Collection]) -> None:
    """Store the posts drawn from each archive, each number of them as a corpus."""
    database = await opened(url, size=2)
    for archive in archives:
        file = data / "tweets" / f"{archive.archive}.jsonl"
        with open_source(SourceRequest(str(file))) as stream:
            documents = [
                normalise(record, Defaults()) for record in stream if not isinstance(record, Reject)
            ]
        for size in SIZES:
            drawn = random.Random(_SEED).sample(documents, size)
            await filled(database, name_sample(archive, size), archive.language, drawn)
    await database.close()


def name_sample(archive: Collection, size: int) -> str:
    """Return the name of the corpus of some posts of an archive."""
    return f"{archive.language}-{size}"


async def count_answers(
    app: App, corpus: str, headlines: Sequence[JudgedHeadline], mode: Mode | None
) -> str:
    """Return how many headlines are answered with silence, of how many."""
    found = [await ask(app, corpus, headline, mode) for headline in headlines]
    return f"{sum(not one.hits for one in found)} of {len(headlines)}"


async def run(app: App, data: Path, archives: Sequence[Collection], output: Output) -> None:
    """Ask each corpus and print a row for it."""
    small_talk = [JudgedHeadline(qid=line, headline=line) for line in SMALL_TALK]
    every = list(read_collections(data, ["dev", "recent", "labels"]))
    for archive in archives:
        unmatched = [
            headline
            for collection, headlines, _ in every
            for headline in headlines
            if collection.archive == archive.archive and not headline.matchable
        ]
        for corpus in (*(name_sample(archive, size) for size in SIZES), archive.archive):
            progress(corpus)
            for mode in (Mode.LEXICAL, None):
                output.row(
                    corpus=corpus,
                    mode=mode or "auto",
                    silent=await count_answers(app, corpus, unmatched, mode),
                    small_talk=await count_answers(app, corpus, small_talk, mode),
                )


@contextmanager
def keep_busy(loops: int) -> Iterator[None]:
    """Run busy loops in processes of their own while the block runs."""
    running = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def search_again(url: str, corpus: str, runs: int) -> Counter[tuple[str, ...]]:
    """Return the answers of a command that is run some times, and how often each was given."""
    command = [sys.executable, "-m", "bot", "search", _HEADLINE, "--corpus", corpus]
    environment = {**os.environ, "DATABASE_URL": url}
    answers: Counter[tuple[str, ...]] = Counter()
    for number in range(runs):
        with keep_busy(2 if number >= runs // 2 else 0):
            done = subprocess.run(
                [*command, "--no-llm", "--json"], env=environment, capture_output=True, check=True
            )
        answers[tuple(hit["id"] for hit in json.loads(done.stdout)["hits"])] += 1
    return answers


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments and show it."""
    parser = argparse.ArgumentParser(prog="python -m bench.silence", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--url", help="a database that holds both archives")
    parser.add_argument("--runs", type=int, default=10, help="of one command")
    arguments, output = parser.parse_args(argv), Output("silence")
    archives = list(
        {one.archive: one for one, _, _ in read_collections(arguments.data, ["labels"])}.values()
    )

    async def ask_all(url: str) -> None:
        if not arguments.url:
            names = {archive.archive: archive.language for archive in archives}
            await load(url, arguments.data, names)
        await load_samples(url, arguments.data, archives)
        async with open_archives(url) as app:
            await run(app, arguments.data, archives, output)

    with ExitStack() as stack:
        url = arguments.url or stack.enter_context(server(stack.enter_context(folder())))
        asyncio.run(ask_all(url))
        answers = search_again(url, archives[0].archive, arguments.runs)
    output.row(command=_HEADLINE, runs=arguments.runs, different_answers=len(answers))
    output.table()


if __name__ == "__main__":
    main()
