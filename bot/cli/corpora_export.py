"""`presagio corpora export`: writes an archive as JSON lines or a CSV, which ingest reads."""

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

from bot.cli.shared import Name, app_command, text
from bot.console.screen import Output, progress_bar
from db.corpus.documents import StoredDocuments
from engine.corpora import Document
from engine.errors import InputError
from engine.ingest.exchange import COLUMNS, cells_of, record_of
from engine.values import Corpus, Kind

if TYPE_CHECKING:
    from bot.app import App

exports = typer.Typer(rich_markup_mode=None)


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
