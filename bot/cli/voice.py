"""Whose texts a corpus holds: asked for after an ingest, and the picture of the author."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bot.console.output import Output
from engine.errors import InputError
from engine.types import Corpus, Kind

if TYPE_CHECKING:
    from bot.app import App

_LARGEST = 2_000_000  # bytes
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # PNG, JPEG
_SPOKEN = (Kind.TWEETS, Kind.SOCIAL)  # kinds that one voice usually wrote


def picture_in(file: str) -> bytes:
    """Return the bytes of a PNG or JPEG file. Raises InputError."""
    try:
        with Path(file).expanduser().open("rb") as opened:
            found = opened.read(_LARGEST + 1)
    except OSError as exc:
        raise InputError(f"{file} cannot be read: {(exc.strerror or str(exc)).lower()}.") from exc
    if not found.startswith(_SIGNATURES):
        raise InputError(f"{file} is no PNG or JPEG picture.", fix="Save it as one of these.")
    if len(found) > _LARGEST:
        raise InputError(f"{file} is larger than 2 MB.", fix="Make it smaller.")
    return found


async def name_the_author(app: "App", name: str, output: Output) -> None:
    """Ask whose posts a corpus holds if that is unknown; without a terminal, warn."""
    corpus = await app.corpora.get(name)
    if corpus.kind not in _SPOKEN or corpus.author or await app.corpora.names_authors(corpus):
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write("Whose posts are these? Name the account, such as @ana (empty: unknown): ")
        sys.stderr.flush()
        if author := sys.stdin.readline().strip().removeprefix("@"):
            await app.corpora.change(name, author=author)
            return
    output.remark(
        f"Nothing says whose posts {name} holds, so answers name nobody."
        f' Run: presagio corpora describe {name} --author HANDLE --name "THE NAME"'
    )


def tell_what_next(corpus: Corpus, output: Output) -> None:
    """Say how to ask a new corpus, to a person at a terminal."""
    if output.remarks.isatty():
        ask = 'search "A headline"' if corpus.kind in _SPOKEN else 'ask "A question?"'
        output.remark(f"Next: presagio {ask} --corpus {corpus.name}")
