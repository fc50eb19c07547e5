"""The port through which files that the owner sends become archives: offered, loaded, dropped."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.ingest.records import TableLayout
from engine.values import Corpus, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedArchive:
    """A file that waits under a `key`: what it holds, and which corpus it would fill; how it is
    read, if it is a table of which something was guessed; and what is in it and not read."""

    key: str
    kind: Kind  # of the corpus: personal as soon as anything is
    kinds: tuple[Kind, ...]  # of what it holds
    corpus: str
    is_known: bool  # there is a corpus of that name
    table: TableLayout | None = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedArchive:
    """The corpus that a file was loaded into. `other_language` is that of texts which it reads in
    another one, as `ingest --language` names it."""

    corpus: Corpus
    other_language: str | None = None


class ArchiveLoader(Protocol):
    """Loads files that the owner sends, as `presagio ingest` does. Times of a table that name no
    zone are read in `zone`; of others it is None."""

    async def receive(
        self, name: str, fetch: Callable[[Path], Awaitable[None]], *, zone: str
    ) -> OfferedArchive:
        """Keep a file for a day, and tell what it holds. Raises PresagioError."""

    async def load(self, key: str, *, zone: str | None) -> LoadedArchive | None:
        """Load a file; return None if it is gone. Raises PresagioError."""

    def drop(self, key: str) -> None:
        """Delete a file."""
