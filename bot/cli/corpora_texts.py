"""`presagio corpora threads` and `thread`: lists threads, and shows one in order."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Json, Name, settings_of, text, with_app
from bot.console.screen import Output, progress_bar
from bot.media import Media, files_in, text_ids
from bot.settings import Settings
from db.corpus.postings import Postings
from db.corpus.reindexing import Reindexing
from db.search.shown import Shown, Threads
from engine.documents import Thread, ThreadMessage
from engine.errors import InputError
from engine.values import Corpus

if TYPE_CHECKING:
    from bot.app import App

_BATCH = 10_000  # ids in one statement


async def bring_media(app: "App", name: str, folder: str, *, json: bool, output: Output) -> None:
    """Copy the media of a corpus's texts. Raises CorpusNotFound, InputError, StorageError."""
    corpus, shown = await app.corpora.get(name), Shown(app.database)
    files = await asyncio.to_thread(files_in, folder)
    ids, known = list(text_ids(files)), set[str]()
    for first in range(0, len(ids), _BATCH):
        known |= await shown.find_existing_ids(corpus, ids[first : first + _BATCH])
    media = Media(app.settings.data_dir)
    brought = await asyncio.to_thread(media.bring, corpus, files, known)
    if json:
        left_out = {reason.name.lower(): number for reason, number in brought.left_out.items()}
        row = {"name": name, "files": brought.files, "texts": brought.texts, "left_out": left_out}
        output.json(row)
        return
    output.line(f"{brought.files:,} files of {brought.texts:,} texts are with {name} now.")
    for reason, number in sorted(brought.left_out.items()):
        output.remark(f"Left out: {number:,}, {reason.value}.")


async def save_media(settings: Settings, file: Path | None, *, output: Output) -> int:
    """Write all files to the archive `file` and return their number; without one, tell of them.

    Raises InputError.
    """
    media = Media(settings.data_dir)
    if file:
        return await asyncio.to_thread(media.pack, file)
    if number := await asyncio.to_thread(media.files):
        output.remark(
            f"{number:,} pictures and videos of texts are not in it. To save them: --media FILE.tar"
        )
    return 0


async def load_media(settings: Settings, file: Path) -> int:
    """Replace all files by those of the archive `file` and return their number.

    Raises InputError.
    """
    return await asyncio.to_thread(Media(settings.data_dir).unpack, file)


if TYPE_CHECKING:
    from bot.app import App

_STOPPED = "Stopped. What was indexed stays; the same command completes it."


async def reindex_corpora(app: "App", name: str, *, json: bool, output: Output) -> None:
    """Reindex one corpus, or all if `name` is "", and write the counts.

    A corpus that is up to date is left alone. Raises CorpusNotFound, StorageError.
    """
    corpora = [await app.corpora.get(name)] if name else await app.corpora.list()
    if not corpora:
        output.remark("There is no corpus.")
    for corpus in corpora:
        documents, changed = await _reindex(Reindexing(app.database), corpus, output=output)
        posted = await _post(Postings(app.database), corpus, output=output)
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


async def _post(postings: Postings, corpus: Corpus, *, output: Output) -> int:
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


if TYPE_CHECKING:
    from bot.app import App


async def list_threads(app: "App", name: str, *, limit: int, json: bool, output: Output) -> None:
    """Write one row per thread, latest first. Raises CorpusNotFound."""
    corpus = await app.corpora.get(name)
    rows = [_row(thread) for thread in await Threads(app.database).list(corpus, limit=limit)]
    output.rows(rows, json=json, none=f"Corpus {name!r} has no threads.")


async def show_thread(
    app: "App", name: str, thread: str, *, limit: int, json: bool, output: Output
) -> None:
    """Write the messages of a thread, oldest first. Raises CorpusNotFound, InputError."""
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
            output.line(f"{message.created_at:%Y-%m-%d %H:%M}  {message.author or '-'}")
            for line in message.text.splitlines():
                output.line(f"    {line}".rstrip())
    if len(found) > limit:
        output.remark(f"These are the first {limit:,}; --limit shows more.")


def _row(thread: Thread) -> dict[str, object]:
    return {
        "thread": thread.id,
        "title": thread.title,
        "documents": thread.documents,
        "authors": thread.authors,
        "oldest": thread.oldest.isoformat(),
        "newest": thread.newest.isoformat(),
    }


def _fields(message: ThreadMessage) -> dict[str, object]:
    return {
        "id": message.external_id,
        "created_at": message.created_at.isoformat(),
        "author": message.author,
        "role": message.role,
        "text": message.text,
        "url": message.url,
        "reply_to": message.reply_to,
        "attribution": message.attribution,
        "flags": list(message.flags.names),
    }


threads = typer.Typer(rich_markup_mode=None)


@threads.command("threads")
def corpora_threads(
    context: typer.Context,
    name: Name,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="Threads.")] = 20,
    json: Json = False,
) -> None:
    """List the conversations, channels or folders of a corpus.

    The latest come first.

    Example: presagio corpora threads personal
    """
    with_app(
        settings_of(context),
        lambda opened: list_threads(
            opened, name, limit=limit, json=json, output=Output.of_process()
        ),
    )


@threads.command("thread")
def corpora_thread(
    context: typer.Context,
    name: Name,
    thread: Annotated[str, typer.Argument(help="The thread, as listed.", callback=text)],
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1_000_000, help="Texts.")
    ] = 1_000,
    json: Json = False,
) -> None:
    """Show one thread in order.

    Example: presagio corpora thread personal general
    """
    with_app(
        settings_of(context),
        lambda opened: show_thread(
            opened, name, thread, limit=limit, json=json, output=Output.of_process()
        ),
    )
