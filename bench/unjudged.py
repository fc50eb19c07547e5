"""Measures answers that no language model has judged, against headlines that people have judged.

`python -m bench.unjudged [--modes lexical,auto] [--sets dev,recent,labels] [--data FOLDER]
[--url URL] [--save FILE] [--against FILE] [--gate]`

Fills a server of its own with both archives, unless `--url` names one that holds them, and asks
every headline in every mode. Vectors are waited for as long as they take. Each row also gives the
difference in nDCG@3 from the first mode, or from the same mode of the answers in `--against`.
Intervals are those in which 95 % of 10,000 resamplings of the headlines lie. The set `unmatched`
are 104 headlines of `../shared/data/headlines` that nothing in the archives can match.

`--gate` tells where the gate of the tuned model belongs: at the lowest cosine that at most one in
twenty of the headlines reaches that have no match. Each headline is answered with the gate that the
others set. No headline of these sets was learned from.
"""

import argparse
import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from bench.measures import (
    NO_MATCH,
    TOP,
    JudgedHeadline,
    Qrels,
    Run,
    evaluate,
    read_headlines,
    read_qrels,
)
from bench.store import filled, folder, opened, server
from bench.timing import Output, progress
from bench.tweets import DATA
from bot.app import App, open_app
from bot.settings import load_settings
from db.corpus.documents import Documents
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, Reject, SourceRequest
from engine.prophecy.headline import read_headline
from engine.prophecy.meaning import TUNED_MODELS
from engine.search import Mode, Prophecy, SearchRequest

if TYPE_CHECKING:
    from engine.corpora import Document

LABELS = Path(__file__).parent / "labels"
NOW = datetime(2026, 11, 1, tzinfo=UTC)  # of headlines without a date
_USEFUL = 3  # the lowest label of a text that is no junk
_RESAMPLINGS, _SEED = 10_000, 7
_ANSWERED = 0.05  # of the headlines that have no match, by the gate
ARCHIVES = {"en": ("trump_archive", "english"), "es": ("argentina_2019", "spanish")}


@dataclass(frozen=True, slots=True)
class Collection:
    """Judged headlines about one archive."""

    split: str
    archive: str
    language: str
    files: str  # their common beginning

    def paths(self, data: Path) -> tuple[Path, Path]:
        """Return the file of headlines and that of labels."""
        place = LABELS if self.split == "labels" else data / "judged"
        return place / f"{self.files}.headlines.jsonl", place / f"{self.files}.qrels.tsv"


COLLECTIONS = (
    Collection("dev", "trump_archive", "english", "en"),
    Collection("dev", "argentina_2019", "spanish", "es"),
    Collection("recent", "trump_archive", "english", "recent"),
    Collection("labels", "trump_archive", "english", "en"),
    Collection("labels", "argentina_2019", "spanish", "es"),
    Collection("unmatched", "trump_archive", "english", "en"),
    Collection("unmatched", "argentina_2019", "spanish", "es"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A judged headline, and the external ids that an answer shows for it."""

    collection: Collection
    headline: JudgedHeadline
    labels: Mapping[str, int]
    shown: Sequence[str]

    @property
    def key(self) -> str:
        """Its name among all headlines."""
        return f"{self.collection.split}:{self.headline.qid}"

    @property
    def junk(self) -> int:
        """How many of the texts shown are labelled below 3, or not at all."""
        return sum(self.labels.get(one, 0) < _USEFUL for one in self.shown)


def find_unmatched(headlines: Sequence[JudgedHeadline], qrels: Qrels) -> list[JudgedHeadline]:
    """Return the headlines, with those marked as unmatched that have no label of 3 or more."""
    return [
        headline
        if max(qrels.get(headline.qid, {}).values(), default=0) >= _USEFUL
        else replace(headline, kind=NO_MATCH)
        for headline in headlines
    ]


def read_collections(
    data: Path, splits: Sequence[str]
) -> Iterator[tuple[Collection, list[JudgedHeadline], Qrels]]:
    """Yield each collection of these splits with its headlines and labels."""
    for collection in COLLECTIONS:
        if collection.split == "unmatched" in splits:
            yield collection, read_unmatched(data, collection), {}
        elif collection.split in splits:
            headlines, labels = collection.paths(data)
            qrels = read_qrels(labels)
            yield collection, find_unmatched(read_headlines(headlines), qrels), qrels


def read_unmatched(data: Path, collection: Collection) -> list[JudgedHeadline]:
    """Return the headlines that nothing in the archive can match; the project lists their lines."""
    listed = (line.split("\t") for line in (LABELS / "unmatched.tsv").read_text().splitlines())
    path = data / "headlines" / f"{collection.files}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    headlines = []
    for number in (int(number) for code, number in listed if code == collection.files):
        entry = json.loads(lines[number])
        date = datetime.fromisoformat(entry["date"][:10]).replace(tzinfo=UTC)
        headlines.append(
            JudgedHeadline(qid=f"u{number}", headline=entry["title"], date=date, kind=NO_MATCH)
        )
    return headlines


async def ask(
    app: App, archive: str, headline: JudgedHeadline, mode: Mode | None, *, limit: int = TOP
) -> Prophecy:
    """Answer a headline without a model."""
    request = SearchRequest(
        headline=read_headline(headline.headline, date=headline.date),
        limit=limit,
        now=NOW,
        judged=False,
        mode=mode,
    )
    return await app.prophesy(request, corpus=archive)


def measure(asked: Sequence[Asked]) -> list[tuple[str, float, float]]:
    """Return the key, nDCG@3 and P@3 of each headline that should find something."""
    found = []
    for one in asked:
        if one.headline.matchable:
            run = Run(ids=tuple(one.shown), candidates=tuple(one.shown), coverage=0.0, score=None)
            qid = one.headline.qid
            [row] = evaluate([one.headline], {qid: one.labels}, {qid: run}).rows
            found.append((one.key, row.ndcg, row.precision))
    return found


def describe(asked: Sequence[Asked]) -> dict[str, object]:
    """Return the figures of a row."""
    measured = measure(asked)
    unmatched = [one for one in asked if not one.headline.matchable]
    return {
        "headlines": len(asked),
        "nDCG@3": round(fmean(ndcg for _, ndcg, _ in measured), 3) if measured else None,
        "P@3": round(fmean(precision for _, _, precision in measured), 3) if measured else None,
        "silent": f"{sum(not one.shown for one in unmatched)} of {len(unmatched)}",
        "mute": f"{sum(not one.shown for one in asked if one.headline.matchable)}",
        "below_3": f"{sum(one.junk for one in asked)} of {sum(len(one.shown) for one in asked)}",
        "junk": share_interval([(one.junk, len(one.shown)) for one in asked]),
    }


def share_interval(parts: Sequence[tuple[int, int]]) -> str:
    """Return the share of sums of pairs (part, whole), with its interval over the pairs."""
    values = np.asarray(parts, dtype=float).reshape(-1, 2)
    if not values[:, 1].sum():
        return "-"
    drawn = np.random.default_rng(_SEED).integers(0, len(values), (_RESAMPLINGS, len(values)))
    sums = values[drawn].sum(axis=1)
    shares = sums[:, 0] / np.maximum(sums[:, 1], 1)
    low, high = np.percentile(shares, [2.5, 97.5])
    return f"{values[:, 0].sum() / values[:, 1].sum():.2f} [{low:.2f}, {high:.2f}]"


def compare(ours: Sequence[Asked], theirs: Mapping[str, float]) -> str | None:
    """Return the mean difference in nDCG@3 of the headlines in both, and its interval."""
    differences = np.array([ndcg - theirs[key] for key, ndcg, _ in measure(ours) if key in theirs])
    if not differences.size:
        return None
    number = len(differences)
    drawn = np.random.default_rng(_SEED).integers(0, number, (_RESAMPLINGS, number))
    low, high = np.percentile(differences[drawn].mean(axis=1), [2.5, 97.5])
    return f"{differences.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


@dataclass(frozen=True, slots=True)
class Sample:
    """A headline, and the cosines of the texts that a model compares with it."""

    headline: Asked
    cosines: Mapping[str, float]  # by external id

    @property
    def highest(self) -> float:
        """The cosine of the nearest text."""
        return max(self.cosines.values(), default=-1.0)

    def answer(self, gate: float) -> Asked:
        """Return the headline answered with this gate."""
        near = [identity for identity, cosine in self.cosines.items() if cosine >= gate]
        near.sort(key=lambda identity: -self.cosines[identity])
        return replace(self.headline, shown=near[:TOP])


def choose_gate(samples: Sequence[Sample]) -> float:
    """Return the gate that at most one in twenty of the headlines without a match reaches."""
    unmatched = [each.highest for each in samples if not each.headline.headline.matchable]
    unmatched.sort(reverse=True)
    at = int(_ANSWERED * len(unmatched))
    return fmean(unmatched[max(0, at - 1) : at + 1])


def cross_validate(samples: Sequence[Sample]) -> list[Asked]:
    """Answer each headline with the gate that the others set."""
    return [
        each.answer(choose_gate([*samples[:number], *samples[number + 1 :]]))
        for number, each in enumerate(samples)
    ]


async def sample(app: App, asked: Asked) -> Sample:
    """Return what the model makes of the texts that words propose for a headline."""
    assert app.prophet.meaning is not None
    assert app.prophet.meaning.reranker is not None
    reranker, archive = app.prophet.meaning.reranker, asked.collection.archive
    answer = await ask(app, archive, asked.headline, Mode.LEXICAL, limit=reranker.best)
    corpus = await app.corpora.get(archive)
    best = [hit.candidate for hit in (*answer.hits, *answer.near)][: reranker.best]
    compared = await reranker.compare(corpus, answer.headline.text, best)
    cosines = compared.cosines if compared else {}
    return Sample(asked, {one.external_id: cosines[one.id] for one in best if one.id in cosines})


async def measure_gate(app: App, asked: Sequence[Asked], output: Output) -> None:
    """Print what answers are worth with the gate that was chosen without their headline."""
    samples = [await sample(app, one) for one in asked]
    shipped = next(iter(TUNED_MODELS.values())).gate
    print_rows(output, "cross-validated", cross_validate(samples), {})
    print_rows(output, f"shipped, {shipped:g}", [each.answer(shipped) for each in samples], {})
    print_rows(output, "no gate", [each.answer(-1.0) for each in samples], {})
    print(f"gate {choose_gate(samples):.4f}")


async def load(url: str, data: Path, archives: Mapping[str, str]) -> None:
    """Store the archives, each with its language."""
    database = await opened(url, size=2)
    for name, language in archives.items():
        progress(name)
        with open_source(SourceRequest(str(data / "tweets" / f"{name}.jsonl"))) as stream:
            documents: Iterator[Document] = (
                normalise(record, Defaults()) for record in stream if not isinstance(record, Reject)
            )
            corpus = await filled(database, name, language, documents)
        await Documents(database).stitch_threads(corpus)
    await database.close()


def open_archives(url: str) -> AbstractAsyncContextManager[App]:
    """Return the app on a database, which waits for vectors as long as they take."""
    patient = {"DATABASE_URL": url, "PRESAGIO_SEARCH__RERANK_SECONDS": "60"}
    return open_app(load_settings(environ={**os.environ, **patient}), progress=progress)


async def run(arguments: argparse.Namespace, url: str, output: Output) -> None:
    """Ask everything in every mode, and print the rows."""
    collections = list(read_collections(arguments.data, arguments.sets))
    if not arguments.url:
        await load(url, arguments.data, {one.archive: one.language for one, _, _ in collections})
    earlier = json.loads(arguments.against.read_text()) if arguments.against else {}
    kept: dict[str, dict[str, float]] = {}
    async with open_archives(url) as app:
        if arguments.gate:
            every = [
                Asked(collection, headline, qrels.get(headline.qid, {}), ())
                for collection, headlines, qrels in collections
                for headline in headlines
            ]
            await measure_gate(app, every, output)
            return
        for mode in arguments.modes:
            asked = []
            for collection, headlines, qrels in collections:
                for one in headlines:
                    found = await ask(
                        app, collection.archive, one, None if mode == "auto" else Mode(mode)
                    )
                    shown = [hit.candidate.external_id for hit in found.hits]
                    asked.append(Asked(collection, one, qrels.get(one.qid, {}), shown))
            kept[mode] = {key: ndcg for key, ndcg, _ in measure(asked)}
            base = earlier.get(mode) or next(iter(kept.values()))
            print_rows(output, mode, asked, base)
    if arguments.save:
        arguments.save.write_text(json.dumps(kept))


def print_rows(
    output: Output, mode: str, asked: Sequence[Asked], base: Mapping[str, float]
) -> None:
    """Print a row for each collection, for each language, and for all."""
    groups = {
        f"{collection.split} {collection.files}": [
            each for each in asked if each.collection == collection
        ]
        for collection in COLLECTIONS
    }
    for language in dict.fromkeys(collection.language for collection in COLLECTIONS):
        groups[language] = [each for each in asked if each.collection.language == language]
    for name, group in {**groups, "all": asked}.items():
        if group:
            output.row(mode=mode, of=name, **describe(group), difference=compare(group, base))


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.unjudged", description=__doc__)
    parser.add_argument("--modes", type=_names, default=["lexical", "auto"])
    parser.add_argument("--sets", type=_names, default=["dev", "recent", "labels"])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--url", help="a database that holds both archives")
    parser.add_argument("--save", type=Path, help="write nDCG@3 of each headline to this file")
    parser.add_argument("--gate", action="store_true", help="tell where the gate belongs")
    parser.add_argument("--against", type=Path, help="compare with what --save wrote")
    arguments, output = parser.parse_args(argv), Output("unjudged")
    with ExitStack() as stack:
        url = arguments.url or stack.enter_context(server(stack.enter_context(folder())))
        asyncio.run(run(arguments, url, output))
    output.table()


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
