"""Measures the cosines that the shipped models give to unrelated texts, and to the same text.

`python -m bench.scales [--texts N] [--data FOLDER]`

Random texts of two archives and of the bundled corpus form corpora of several sizes, which are
embedded as by `presagio embed`. `mean`, `deviation` and `same` are the measured scale; `half` is
where that scale puts what the largest corpus of the same texts calls 0.5.
engine/vectors.py holds the means of the largest corpora.
"""

import argparse
import asyncio
import os
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from unittest.mock import patch

from bench.store import filled, folder, opened, server
from bench.timing import Output, progress
from bench.tweets import DATA, SEED, tweets
from bot.evidence import open_embedders
from bot.settings import load_settings
from db.pool import Database
from db.search.embeddings import Embeddings
from engine.corpora import Document
from engine.embed import fill
from engine.vectors import Scale, join_embeddable

DEMO = Path(__file__).resolve().parents[1] / "examples" / "demo.jsonl"
_BACKENDS = ("tfidf", "local")
_PARTS = (1, 3, 8, 20, 40, 80)  # the largest corpus, and parts of it


def texts(path: Path, number: int) -> list[Document]:
    """Return random documents of a file that have content, each text once."""
    found = {join_embeddable(tweet.text): tweet for tweet in tweets(path)}
    found.pop("", None)
    return random.Random(SEED).sample(list(found.values()), min(number, len(found)))


async def measured(
    database: Database, backend: str, name: str, language: str, documents: Sequence[Document]
) -> Scale:
    """Store and embed documents as a corpus of their own and return its scale."""
    corpus = await filled(database, name, language, documents)
    settings = load_settings(environ={"PRESAGIO_EMBEDDINGS__BACKEND": backend})
    store = Embeddings(database)
    async with AsyncExitStack() as stack:
        embedders = open_embedders(settings, database, stack)
        assert embedders is not None
        embedder = embedders(corpus)
        with patch.object(fill, "ENOUGH", 2):  # also measure corpora that are too small for it
            await fill.fill_vectors(store, embedder, corpus, progress=lambda _, __: None)
    space = await store.space(corpus, embedder.name)
    assert space is not None
    assert space.scale is not None
    return space.scale


async def run(arguments: argparse.Namespace, url: str, output: Output) -> None:
    """Measure every corpus with every model."""
    database = await opened(url, size=4)
    archives = (
        ("english", arguments.data / "tweets" / "trump_archive.jsonl"),
        ("spanish", arguments.data / "tweets" / "argentina_2019.jsonl"),
        ("english", DEMO),
    )
    for backend in _BACKENDS:
        for language, path in archives:
            documents = texts(path, arguments.texts)
            whole: Scale | None = None
            for part in _PARTS:
                size = len(documents) // part
                progress(f"{backend}: {size} of {path.stem}")
                name = f"{backend}_{path.stem}_{part}"
                scale = await measured(database, backend, name, language, documents[:size])
                whole = whole or scale
                half = (whole.mean + whole.deviation + whole.same) / 2
                output.row(
                    backend=backend,
                    corpus=path.stem,
                    documents=size,
                    mean=round(scale.mean, 3),
                    deviation=round(scale.deviation, 3),
                    same=round(scale.same, 3),
                    half=round(scale.calibrate(half), 2),
                )
    await database.close()


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments, output = parser.parse_args(), Output("scales")
    if hasattr(os, "nice"):
        os.nice(5)
    with folder() as place, server(place) as url:
        asyncio.run(run(arguments, url, output))
    output.table()


if __name__ == "__main__":
    main()
