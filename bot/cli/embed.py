"""`presagio embed`: makes, counts and removes vectors."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import CorpusOption, Json, TextOption, settings_of, with_app
from bot.console.screen import Output, progress_bar
from bot.evidence import batch_of, remote_embedder
from bot.settings import Settings
from db.pool import Database
from db.search.embeddings import Embeddings
from engine.embed.fill import FillResult, fill_vectors
from engine.embed.local import LocalEmbedder, how_to_embed
from engine.embed.native import SHIPPED
from engine.errors import CorpusWithheld, ModelError, UsageError, VectorsUnsupported
from engine.values import Corpus

if TYPE_CHECKING:
    from bot.app import App

# Niceness: other processes, such as a serving bot, have priority.
_POLITE = 10
_BETWEEN_LINES = 15.0  # seconds
_QUICK = ("", SHIPPED)  # models of which the time for a text is known to be short
_LONGEST = 60.0  # seconds that ingest embeds for unasked
_TIMED = 8  # texts


async def embed_corpora(
    app: "App", corpus: str, *, json: bool, output: Output, leave_out_withheld: bool = False
) -> None:
    """Make the missing vectors of one corpus, or of all if it is "", and write the counts.

    A corpus that the model may not read is skipped with a remark if all corpora are embedded or
    `leave_out_withheld` is true; else CorpusWithheld is raised. Raises CorpusNotFound,
    VectorsUnsupported, UsageError, ModelError, SettingsError.
    """
    if hasattr(os, "nice"):
        os.nice(_POLITE)
    corpora = await _choose_corpora(app, corpus)
    for selected in corpora:
        try:
            filled = await embed_corpus(app, selected, output=output)
        except CorpusWithheld as refusal:
            if corpus and not leave_out_withheld:
                raise
            output.remark(f"{selected.name} is not embedded. {refusal}")
            continue
        counts = f"{filled.embedded:,} embedded, {filled.vectors:,} vectors of {filled.model}"
        output.tell(asdict(filled), f"{filled.corpus}: {counts}", json=json)
        if filled.anew and not json:
            output.remark(
                f"The vectors of {filled.corpus} were made anew: its words are other ones by now."
            )


async def embed_if_quick(app: "App", corpus: str, output: Output) -> None:
    """Make the missing vectors of a corpus by a shipped model, if that takes less than a minute.

    Else says how long `presagio embed` takes. Nothing is embedded without such a model, or where
    the database keeps no vectors.
    """
    selected = await app.corpora.get(corpus)
    embedder = app.embedders(selected)
    if not isinstance(embedder, LocalEmbedder) or app.settings.embeddings.model not in _QUICK:
        return
    stored = (await app.embeddings.coverage()).get(corpus, {}).get(embedder.name, 0.0)
    missing = round(selected.documents * (1 - stored))
    if not missing:
        return
    try:
        seconds = missing * await _time_a_text(embedder, selected)
        if seconds <= _LONGEST:
            filled = await embed_corpus(app, selected, output=output)
            output.remark(f"Texts that can be found by their meaning: {filled.vectors:,}.")
        else:
            minutes = max(1, round(seconds / 60))
            output.remark(
                f"To find {missing:,} texts by their meaning too, run: presagio embed --corpus"
                f" {corpus} (about {minutes} min). presagio serve does it by itself."
            )
    except (ModelError, UsageError, VectorsUnsupported) as error:
        output.remark(f"{corpus} is not embedded. {error}")


async def _time_a_text(embedder: LocalEmbedder, corpus: Corpus) -> float:
    """Return the seconds for a text of average length, once the model is loaded."""
    text = " ".join(["presagio"] * max(1, round(corpus.average_length)))
    await embedder.embed_documents([text])
    begun = time.monotonic()
    await embedder.embed_documents([text] * _TIMED)
    return (time.monotonic() - begun) / _TIMED


async def embed_corpus(app: "App", corpus: Corpus, *, output: Output) -> FillResult:
    """Make the missing vectors of a corpus, with a progress bar."""
    embedder = app.embedders(corpus)
    if embedder.dimensions == 0:
        raise UsageError("No embeddings are set up.", fix=how_to_embed())
    lines = ProgressLines(corpus.name, output.remark, time.monotonic)
    with progress_bar(output.remarks, f"embed {corpus.name}", corpus.documents) as tell:

        def progress(done: int, missing: int) -> None:
            tell(corpus.documents - missing + done, f"{done:,} of {missing:,} missing")
            if not output.remarks.isatty():
                lines.tell(done, missing)

        try:
            return await fill_vectors(
                app.embeddings, embedder, corpus, progress=progress, batch=batch_of(app.settings)
            )
        except asyncio.CancelledError:
            output.remark("Stopped. What was embedded stays; the same command completes it.")
            raise


class ProgressLines:
    """Tells of progress a line at a time, where no bar can be shown.

    The rate is that since the line before: a part of a document takes many times as long as a post,
    so that the average of all would promise too much or too little.
    """

    def __init__(self, name: str, write: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._name, self._write, self._clock = name, write, clock
        self._last_line: tuple[int, float] | None = None  # what was done at the last line, and when

    def tell(self, done: int, missing: int) -> None:
        """Write a line if the last one is old enough and there is something left."""
        now = self._clock()
        if self._last_line is None:
            self._last_line = done, now
        before, since = self._last_line
        if now - since < _BETWEEN_LINES or done >= missing:
            return
        self._last_line = done, now
        rate = (done - before) / (now - since)
        left = f", about {(missing - done) / rate / 60:,.0f} min left" if rate else ""
        self._write(f"{self._name}: {done:,} of {missing:,} embedded, {rate:,.1f} a second{left}")


async def prepare_model(settings: Settings, database: Database, *, output: Output) -> None:
    """Ask an endpoint for the dimensions of its vectors, prepare storage and report them.

    Raises VectorsUnsupported, UsageError, ModelError, SettingsError.
    """
    async with remote_embedder(settings, database) as embedder:
        dimensions = len(await embedder.embed_query("word"))
    await Embeddings(database).prepare(embedder.name, dimensions)
    output.line(f"Vectors of {embedder.name} have {dimensions} dimensions.")


async def show_status(app: "App", corpus: str, *, json: bool, output: Output) -> None:
    """Write how many documents of each corpus have a vector of each model."""
    rows = [
        {
            "corpus": selected.name,
            "model": model.name,
            "dimensions": model.dimensions,
            "documents": selected.documents,
            "vectors": await app.embeddings.count(selected, model.id),
            "missing": await app.embeddings.count_missing(selected, model.id),
        }
        for selected in await _choose_corpora(app, corpus)
        for model in await app.embeddings.models()
    ]
    output.rows(rows, json=json, none="There are no vectors.")


async def clear_model(app: "App", model: str, *, json: bool, output: Output) -> None:
    """Remove a model's vectors. Raises UsageError if there is no model of that name."""
    await app.embeddings.clear(model)
    output.tell({"cleared": model}, f"The vectors of {model} are gone.", json=json)


async def _choose_corpora(app: "App", corpus: str) -> Sequence[Corpus]:
    return [await app.corpora.get(corpus)] if corpus else await app.corpora.list()


def command(
    context: typer.Context,
    corpus: Annotated[str, CorpusOption(help="One corpus; default: all.")] = "",
    status: Annotated[bool, typer.Option("--status", help="Show what there is.")] = False,
    clear: Annotated[
        str, TextOption("--clear", metavar="MODEL", help="Remove all vectors of a model.")
    ] = "",
    json: Json = False,
) -> None:
    """Make the vectors that searches by meaning compare.

    Those of new and changed texts are made, the others kept.

    May be ended at any time; the next run goes on where it was.

    Example: presagio embed --corpus me
    """
    if status and clear:
        raise UsageError("--status and --clear exclude each other.", fix="Pass one of them.")
    if clear and corpus:
        raise UsageError("--clear removes a model from all corpora.", fix="Leave --corpus out.")
    settings, output = settings_of(context), Output.of_process()
    if clear:
        with_app(settings, lambda opened: clear_model(opened, clear, json=json, output=output))
    elif status:
        with_app(settings, lambda opened: show_status(opened, corpus, json=json, output=output))
    else:
        with_app(settings, lambda opened: embed_corpora(opened, corpus, json=json, output=output))
