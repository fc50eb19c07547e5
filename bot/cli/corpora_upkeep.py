"""`presagio corpora reindex` and `place`: how corpora are indexed, and on which machine."""

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Json, Name, app_command, corpus_names, text
from bot.console.screen import Output, progress_bar
from db.corpus.corpora import Postings
from db.corpus.health import Reindexing
from db.corpus.placement import Placement
from engine.values import Corpus

if TYPE_CHECKING:
    from bot.app import App

_STOPPED = "Stopped. What was indexed stays; the same command completes it."
_UNDONE = "Stopped. {name} is where it was."

upkeep = typer.Typer(rich_markup_mode=None)


@app_command(upkeep, "reindex")
async def reindex_corpora(
    app: "App",
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the corpus; default: all.", callback=text, autocompletion=corpus_names
        ),
    ] = "",
    *,
    json: Json = False,
    output: Output,
) -> None:
    """Index stored texts again if the rules have changed since.

    Searches go on meanwhile. May be ended at any time; the next run goes on where it was.
    `presagio serve` does it by itself.

    Example: presagio corpora reindex me
    """
    corpora = [await app.corpora.get(name)] if name else await app.corpora.list()
    if not corpora:
        output.remark("There is no corpus.")
    for corpus in corpora:
        documents, changed = await _reindex(Reindexing(app.database), corpus, output=output)
        posted = await _store_postings(Postings(app.database), corpus, output=output)
        if json:
            figures = {"documents": documents, "changed": changed, "postings": posted}
            output.json({"corpus": corpus.name, **figures})
            continue
        if corpus.is_outdated:
            output.line(f"{corpus.name}: {documents:,} texts indexed anew, {changed:,} changed.")
        if posted:
            output.line(f"{corpus.name}: postings stored for {posted:,} texts.")
        if not corpus.is_outdated and not posted:
            output.line(f"{corpus.name} is up to date.")


async def _reindex(reindexing: Reindexing, corpus: Corpus, *, output: Output) -> tuple[int, int]:
    """Index the remaining texts of a corpus; return how many were indexed and how many changed."""
    documents = changed = 0
    rest = await reindexing.rest(corpus)
    with progress_bar(output.remarks, f"reindex {corpus.name}", corpus.documents) as tell:
        try:
            async for page in reindexing.pages(corpus):
                documents += page.seen
                changed += page.changed
                tell(corpus.documents - rest + documents, f"{changed:,} changed")
        except asyncio.CancelledError:
            output.remark(_STOPPED)
            raise
    return documents, changed


async def _store_postings(postings: Postings, corpus: Corpus, *, output: Output) -> int:
    """Store the postings that a corpus lacks; return how many texts got them."""
    stored = 0
    with progress_bar(output.remarks, f"postings of {corpus.name}", corpus.documents) as tell:
        try:
            async for documents in postings.pages(corpus):
                stored += documents
                tell(stored, "")
        except asyncio.CancelledError:
            output.remark(_STOPPED)
            raise
    return stored


class PlacedOn(StrEnum):
    """Where the texts of a corpus can be."""

    WORKER = "worker"
    HERE = "here"


@app_command(upkeep, "place")
async def place_corpus(
    app: "App",
    name: Name,
    *,
    on: Annotated[PlacedOn, typer.Option("--on", help="A worker of Citus, or the coordinator.")],
    json: Json = False,
    output: Output,
) -> None:
    """Move a corpus to a worker of Citus, or back.

    Searches go on meanwhile. If it is ended before its end, nothing has changed.

    Example: presagio corpora place me --on worker
    """
    corpus, placement = await app.corpora.get(name), Placement(app.database)
    with progress_bar(output.remarks, f"place {name}", corpus.documents) as tell:
        try:
            if on is PlacedOn.WORKER:
                await placement.move_to_worker(corpus, lambda moved: tell(moved, ""))
            else:
                await placement.move_here(corpus, lambda moved: tell(moved, ""))
        except asyncio.CancelledError:
            output.remark(_UNDONE.format(name=name))
            raise
    worker = (await placement.places()).get(name)
    output.tell(
        {"corpus": name, "worker": worker, "documents": corpus.documents},
        f"The texts of {name} are on the worker {worker} now."
        if worker
        else f"The texts of {name} are in this database.",
        json=json,
    )
