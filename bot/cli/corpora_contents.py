"""`presagio corpora threads`, `thread`, `export`, `reindex` and `place`: the contents of a corpus,
how it is indexed, and on which machine."""

import asyncio
import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from bot.cli.shared import Json, Name, TextArgument, TextOption, app_command, corpus_names
from bot.console.screen import Output, progress_bar
from db.corpus.corpora import Postings
from db.corpus.documents import Documents
from db.corpus.health import Reindexing
from db.corpus.placement import Placement
from db.search.shown import Threads
from engine.corpora import ThreadMessage, iso_moment
from engine.errors import InputError
from engine.ingest.exchange import COLUMNS, cells_of, record_of
from engine.values import Corpus

if TYPE_CHECKING:
    from bot.app import App

contents = typer.Typer(rich_markup_mode=None)


@app_command(contents, "threads")
async def list_threads(
    app: "App",
    name: Name,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="Threads.")] = 20,
    json: Json = False,
    output: Output,
) -> None:
    """List the conversations, channels or folders of a corpus.

    The latest come first.

    Example: presagio corpora threads personal
    """
    corpus = await app.corpora.get(name)
    rows = [
        {
            "thread": thread.id,
            "title": thread.title,
            "documents": thread.documents,
            "authors": thread.authors,
            "oldest": iso_moment(thread.oldest),
            "newest": iso_moment(thread.newest),
        }
        for thread in await Threads(app.database).list(corpus, limit=limit)
    ]
    output.rows(rows, json=json, none=f"Corpus {name!r} has no threads.")


@app_command(contents, "thread")
async def show_thread(
    app: "App",
    name: Name,
    thread: Annotated[str, TextArgument(help="The thread, as listed.")],
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1_000_000, help="Texts.")
    ] = 1_000,
    json: Json = False,
    output: Output,
) -> None:
    """Show one thread in order.

    Example: presagio corpora thread personal general
    """
    corpus = await app.corpora.get(name)
    # Fetch one more than is shown, to know whether there are more.
    texts = await Threads(app.database).read(corpus, thread, limit=limit + 1)
    if not texts:
        raise InputError(
            f"Corpus {name!r} has no thread {thread!r}.",
            fix=f"List them with: presagio corpora threads {name}",
        )
    for message in texts[:limit]:
        if json:
            output.json(_build_message_fields(message))
        else:
            written = f"{message.created_at:%Y-%m-%d %H:%M}" if message.created_at else "-"
            output.line(f"{written}  {message.author or '-'}")
            for line in message.text.splitlines():
                output.line(f"    {line}".rstrip())
    if len(texts) > limit:
        output.remark(f"These are the first {limit:,}; --limit shows more.")


def _build_message_fields(message: ThreadMessage) -> dict[str, object]:
    return {
        "id": message.external_id,
        "created_at": iso_moment(message.created_at),
        "author": message.author,
        "role": message.role,
        "text": message.text,
        "url": message.url,
        "reply_to": message.reply_to,
        "attribution": message.attribution,
        "flags": list(message.flags.names),
    }


class ExportFormat(StrEnum):
    """What an archive is written as."""

    JSONL = "jsonl"
    CSV = "csv"


@app_command(contents, "export")
async def export_corpus(
    app: "App",
    name: Name,
    *,
    format: Annotated[  # noqa: A002 - the name of the option
        ExportFormat, typer.Option("--format", help="JSON lines, or a CSV for spreadsheets.")
    ] = ExportFormat.JSONL,
    path: Annotated[
        str, TextOption("--output", "-o", help="File to write [standard output].")
    ] = "",
    output: Output,
) -> None:
    """Write all texts of a corpus, for ingest or for other programs.

    Ingest makes the same corpus of them. Pictures are named, not written.

    Example: presagio corpora export demo --format csv
    """
    corpus = await app.corpora.get(name)
    written = 0
    with (
        _open_target(path, output, has_bom=format is ExportFormat.CSV) as write,
        progress_bar(output.remarks, f"export {name}", corpus.documents) as tell,
    ):
        if format is ExportFormat.CSV:
            write(_format_csv([COLUMNS]))
        async for page in Documents(app.database).pages(corpus):
            records = (record_of(document, corpus.kind) for document in page)
            if format is ExportFormat.CSV:
                write(_format_csv(map(cells_of, records)))
            else:
                write("".join(f"{orjson.dumps(record).decode()}\n" for record in records))
            written += len(page)
            tell(written, f"{written:,} texts")
    if path:
        command = f"presagio ingest {path} --corpus {corpus.name} --language {corpus.language}"
        output.remark(f"{path}: {written:,} texts. To read it again: {command}")


def _format_csv(rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


@contextmanager
def _open_target(path: str, output: Output, *, has_bom: bool) -> Iterator[Callable[[str], object]]:
    """Yield what writes to a file, which appears when it is whole, or to standard output.

    Only its owner may read the file. A byte order mark tells Excel that a CSV is in UTF-8. Raises
    InputError.
    """
    if not path:
        yield output.exact
        return
    target = Path(path).expanduser()
    encoding = "utf-8-sig" if has_bom else "utf-8"
    unfinished = None
    try:
        number, unfinished = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        with os.fdopen(number, "w", encoding=encoding, newline="") as file:
            yield file.write
        Path(unfinished).replace(target)
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        raise InputError(f"{path} cannot be written: {reason}.", fix="Name another place.") from exc
    finally:
        if unfinished:
            Path(unfinished).unlink(missing_ok=True)


@app_command(contents, "reindex")
async def reindex_corpora(
    app: "App",
    name: Annotated[
        str, TextArgument(help="Name of the corpus; default: all.", autocompletion=corpus_names)
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
        try:
            documents, changed = await _reindex_corpus(Reindexing(app.database), corpus, output)
            posted = await _store_postings(Postings(app.database), corpus, output)
        except asyncio.CancelledError:
            output.remark("Stopped. What was indexed stays; the same command completes it.")
            raise
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


async def _reindex_corpus(
    reindexing: Reindexing, corpus: Corpus, output: Output
) -> tuple[int, int]:
    """Index the remaining texts of a corpus; return how many were indexed and how many changed."""
    documents = changed = 0
    rest = await reindexing.rest(corpus)
    with progress_bar(output.remarks, f"reindex {corpus.name}", corpus.documents) as tell:
        async for page in reindexing.pages(corpus):
            documents += page.seen
            changed += page.changed
            tell(corpus.documents - rest + documents, f"{changed:,} changed")
    return documents, changed


async def _store_postings(postings: Postings, corpus: Corpus, output: Output) -> int:
    """Store the postings that a corpus lacks; return how many texts got them."""
    stored = 0
    with progress_bar(output.remarks, f"postings of {corpus.name}", corpus.documents) as tell:
        async for documents in postings.pages(corpus):
            stored += documents
            tell(stored, "")
    return stored


class PlacedOn(StrEnum):
    """Where the texts of a corpus can be."""

    WORKER = "worker"
    HERE = "here"


def _read_place(written: str) -> PlacedOn:
    """Return where to place a corpus. Raises BadParameter."""
    if written in list(PlacedOn):
        return PlacedOn(written)
    if written == "spread":
        raise typer.BadParameter(
            "a corpus is not divided among workers. Below ten million texts that would answer no"
            " sooner, and cost several times the processor time. Use --on worker, which moves it"
            " as a whole; ingest larger archives as several corpora, by subject or year."
        )
    raise typer.BadParameter(f"{written!r} is neither 'worker' nor 'here'.")


@app_command(contents, "place")
async def place_corpus(
    app: "App",
    name: Name,
    *,
    on: Annotated[
        PlacedOn,
        typer.Option(
            "--on",
            parser=_read_place,
            metavar="[worker|here]",
            autocompletion=lambda: list(PlacedOn),
            help="A worker of Citus, or the coordinator.",
        ),
    ],
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
            is_away = on is PlacedOn.WORKER
            move = placement.move_to_worker if is_away else placement.move_here
            await move(corpus, lambda moved: tell(moved, ""))
        except asyncio.CancelledError:
            output.remark(f"Stopped. {name} is where it was.")
            raise
    worker = (await placement.places()).get(name)
    output.tell(
        {"corpus": name, "worker": worker, "documents": corpus.documents},
        f"The texts of {name} are on the worker {worker} now."
        if worker
        else f"The texts of {name} are in this database.",
        json=json,
    )
