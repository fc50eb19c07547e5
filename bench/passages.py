"""Measures the order of passages at each stage before they become evidence.

`python -m bench.passages [--data FOLDER] [--corpus NAME] [--questions FILE]`
`python -m bench.passages --corpus NAME --headlines FILE --qrels FILE [--data FOLDER]`

The questions of bench/questions.jsonl name the pattern of their answer: a passage is relevant if
it matches. The library that they are about is made by

    presagio ingest ../shared/data/documents --corpus lib && presagio embed --corpus lib

With judged headlines, texts are relevant that were judged 4 or more of 6.
"""

import argparse
import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from bench.measures import RIGHT, read_headlines, read_qrels
from bench.timing import Output, milliseconds
from bot.app import App, open_app
from bot.queries.compose import build_finder
from bot.settings import load_settings
from engine.compose.composition import ComposeRequest, RetrievedPassages, SourcePassage
from engine.compose.select import choose_evidence, extract_topic
from engine.search import Mode
from engine.values import Corpus

QUESTIONS = Path(__file__).with_name("questions.jsonl")
TOP = 8  # passages that evidence is taken from


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A text, and which passages are relevant to it."""

    text: str
    relevant: Callable[[SourcePassage], bool]


def read_questions(path: Path) -> list[Asked]:
    """Return the questions of a file of JSON lines."""
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [_question(one["question"], re.compile(one["answer"])) for one in lines]


def _question(text: str, answer: re.Pattern[str]) -> Asked:
    return Asked(text=text, relevant=lambda passage: bool(answer.search(passage.text)))


def judged(headlines: Path, qrels: Path) -> list[Asked]:
    """Return the headlines of one file that another one judges."""
    labels = read_qrels(qrels)
    return [
        _headline(headline.headline, {name for name, label in known.items() if label >= RIGHT})
        for headline in read_headlines(headlines)
        if (known := labels.get(headline.qid))
    ]


def _headline(text: str, right: set[str]) -> Asked:
    return Asked(text=text, relevant=lambda passage: passage.key.partition(":")[2] in right)


def measured(relevant: Sequence[bool]) -> dict[str, float]:
    """Return the precision, the success and the reciprocal rank of the first passages."""
    first = list(relevant[:TOP])
    rank = first.index(True) + 1 if any(first) else 0
    return {
        f"P@{TOP}": sum(first) / TOP,
        f"hit@{TOP}": float(any(first)),
        "MRR": 1 / rank if rank else 0.0,
    }


async def measure(app: App, corpus: Corpus, asked: Sequence[Asked], output: Output) -> None:
    """Ask everything once, and print a row for each stage."""
    rows: dict[str, list[dict[str, float]]] = {}
    seconds: dict[str, list[float]] = {}
    for one in asked:
        for way, passages, took in await _stages(app, corpus, one.text):
            rows.setdefault(way, []).append(measured([one.relevant(each) for each in passages]))
            seconds.setdefault(way, []).append(took)
    for way, found in rows.items():
        means = {name: round(fmean(row[name] for row in found), 3) for name in found[0]}
        output.row(way=way, questions=len(found), **means, **milliseconds(seconds[way]))


async def _stages(
    app: App, corpus: Corpus, text: str
) -> list[tuple[str, Sequence[SourcePassage], float]]:
    request, now = ComposeRequest(prompt=text, corpora=(corpus,)), datetime.now(UTC)
    stages: list[tuple[str, Sequence[SourcePassage], float]] = []
    found = RetrievedPassages()
    for way, mode in (("words", Mode.LEXICAL), ("words and meaning", None)):
        began = time.perf_counter()
        found = await build_finder(app, mode)(request, now)
        stages.append((way, found.passages, time.perf_counter() - began))
    reranker = app.rerankers([corpus]) if app.rerankers else None
    chosen = ("chosen", None), (f"reranked by {reranker.name}" if reranker else "", reranker)
    for way, chosen_by in chosen[: 2 if reranker else 1]:
        began = time.perf_counter()
        about, settings = extract_topic(text), app.settings.compose
        best = await choose_evidence(about, found, (), settings=settings, reranker=chosen_by)
        stages.append((way, best.passages, time.perf_counter() - began))
    return stages


async def main() -> None:
    """Measure with the arguments of the command line."""
    chosen = _arguments()
    if chosen.data:
        os.environ["PRESAGIO_DATA_DIR"] = chosen.data
    if chosen.headlines:
        asked = judged(chosen.headlines, chosen.qrels)
    else:
        asked = read_questions(chosen.questions)
    output = Output("passages")
    async with open_app(load_settings(), progress=lambda _: None) as app:
        await measure(app, await app.corpus(chosen.corpus), asked, output)
    output.table()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.passages", description=__doc__)
    parser.add_argument("--data", help="data folder with the corpus")
    parser.add_argument("--corpus", default="lib", help="the corpus that is asked (lib)")
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--headlines", type=Path, help="judged headlines, in place of questions")
    parser.add_argument("--qrels", type=Path, help="their labels")
    chosen = parser.parse_args()
    if bool(chosen.headlines) != bool(chosen.qrels):
        parser.error("--headlines and --qrels need each other")
    return chosen


if __name__ == "__main__":
    asyncio.run(main())
