"""`presagio corpora export`, `threads` and `thread`: writes out what an archive holds."""

import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from bot.cli.shared import Json, Name, app_command, text
from bot.console.screen import Output, progress_bar
from db.corpus.documents import StoredDocuments
from db.search.shown import Threads
from engine.corpora import Document, Thread, ThreadMessage, iso_moment
from engine.errors import InputError
from engine.ingest.exchange import COLUMNS, cells_of, record_of
from engine.values import Corpus, Kind

if TYPE_CHECKING:
    from bot.app import App

exports = typer.Typer(rich_markup_mode=None)
threads = typer.Typer(rich_markup_mode=None)


class ExportFormat(StrEnum):
    """What an archive is written as."""

    JSONL = "jsonl"
    CSV = "csv"


@app_command(exports, "export")
async def export_corpus(
    app: "App",
    name: Name,
    *,
    format: Annotated[  # noqa: A002 - the name of the option
        ExportFormat, typer.Option("--format", help="JSON lines, or a CSV for spreadsheets.")
    ] = ExportFormat.JSONL,
    path: Annotated[
        str,
        typer.Option("--output", "-o", help="File to write [standard output].", callback=text),
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
            write(_rows([COLUMNS]))
        async for page in StoredDocuments(app.database).pages(corpus):
            write(_page_text(page, corpus.kind, format))
            written += len(page)
            tell(written, f"{written:,} texts")
    if path:
        output.remark(f"{path}: {written:,} texts. {_how_to_read(corpus, path)}")


def _how_to_read(corpus: Corpus, path: str) -> str:
    said = f"presagio ingest {path} --corpus {corpus.name} --language {corpus.language}"
    return f"To read it again: {said}"


def _page_text(page: Sequence[Document], kind: Kind, form: ExportFormat) -> str:
    """Return a page of documents. Raises RecordError for what a CSV cannot hold."""
    records = (record_of(document, kind) for document in page)
    if form is ExportFormat.CSV:
        return _rows(cells_of(record) for record in records)
    return "".join(f"{orjson.dumps(record).decode()}\n" for record in records)


def _rows(rows: "Sequence[Sequence[str]] | Iterator[Sequence[str]]") -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


@contextmanager
def _open_target(path: str, output: Output, *, has_bom: bool) -> Iterator[Callable[[str], None]]:
    """Yield what writes to a file, which appears when it is whole, or to standard output.

    Only its owner may read the file. A byte order mark tells Excel that a CSV is in UTF-8. Raises
    InputError.
    """
    if not path:
        yield output.exact
        return
    target = Path(path).expanduser()
    try:
        number, unfinished = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    except OSError as exc:
        raise _unwritable(path, exc) from exc
    try:
        with os.fdopen(
            number, "w", encoding="utf-8-sig" if has_bom else "utf-8", newline=""
        ) as file:

            def write(said: str) -> None:
                file.write(said)

            yield write
        Path(unfinished).replace(target)
    except OSError as exc:
        raise _unwritable(path, exc) from exc
    finally:
        Path(unfinished).unlink(missing_ok=True)


def _unwritable(path: str, exc: OSError) -> InputError:
    reason = exc.strerror or str(exc)
    return InputError(f"{path} cannot be written: {reason.lower()}.", fix="Name another place.")


@app_command(threads, "threads")
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
    rows = [_thread_row(thread) for thread in await Threads(app.database).list(corpus, limit=limit)]
    output.rows(rows, json=json, none=f"Corpus {name!r} has no threads.")


@app_command(threads, "thread")
async def show_thread(
    app: "App",
    name: Name,
    thread: Annotated[str, typer.Argument(help="The thread, as listed.", callback=text)],
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
    found = await Threads(app.database).read(corpus, thread, limit=limit + 1)
    if not found:
        raise InputError(
            f"Corpus {name!r} has no thread {thread!r}.",
            fix=f"List them with: presagio corpora threads {name}",
        )
    for message in found[:limit]:
        if json:
            output.json(_fields(message))
        else:
            written = f"{message.created_at:%Y-%m-%d %H:%M}" if message.created_at else "-"
            output.line(f"{written}  {message.author or '-'}")
            for line in message.text.splitlines():
                output.line(f"    {line}".rstrip())
    if len(found) > limit:
        output.remark(f"These are the first {limit:,}; --limit shows more.")


def _thread_row(thread: Thread) -> dict[str, object]:
    return {
        "thread": thread.id,
        "title": thread.title,
        "documents": thread.documents,
        "authors": thread.authors,
        "oldest": iso_moment(thread.oldest),
        "newest": iso_moment(thread.newest),
    }


def _fields(message: ThreadMessage) -> dict[str, object]:
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
