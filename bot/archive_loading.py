"""Archives that the owner sends to a chat: what a file holds, and the interface that loads it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.ingest.records import TableLayout
from engine.values import Corpus, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedArchive:
    """A file that waits under a `key`: what it holds, and which corpus it would fill."""

    key: str
    kind: Kind  # of the corpus: personal as soon as anything in the file is
    kinds: tuple[Kind, ...]  # of what the file holds
    corpus: str
    is_known: bool  # there is a corpus of that name
    table: TableLayout | None = None  # how a table is read, if some of that was guessed
    unread: tuple[str, ...] = ()  # what is in the file and not read


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedArchive:
    """The corpus that a file was loaded into."""

    corpus: Corpus
    # In which most of its texts seem to be written, if it is not that of the corpus; as
    # `ingest --language` names it.
    other_language: str | None = None


class ArchiveLoader(Protocol):
    """Loads files that the owner sends, as `presagio ingest` does.

    Times of a table that name no zone are read in `zone`; for other files it is None.
    """

    async def receive(
        self, name: str, fetch: Callable[[Path], Awaitable[None]], *, zone: str
    ) -> OfferedArchive:
        """Keep a file for a day, and tell what it holds. Raises PresagioError."""

    async def load(self, key: str, *, zone: str | None) -> LoadedArchive | None:
        """Load a file; return None if it is gone. Raises PresagioError."""

    def drop(self, key: str) -> None:
        """Delete a file."""
