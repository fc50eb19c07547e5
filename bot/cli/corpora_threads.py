"""`presagio corpora threads` and `thread`: lists threads, and shows one in order."""

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.shared import Json, Name, app_command, text
from bot.console.screen import Output
from db.search.shown import Threads
from engine.corpora import Thread, ThreadMessage, iso_moment
from engine.errors import InputError

if TYPE_CHECKING:
    from bot.app import App


threads = typer.Typer(rich_markup_mode=None)


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
