"""What a corpus holds and what it foretold, counted for display."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from db.corpus.partitions import about_corpus, partition
from db.pool import Database
from db.statements import statements
from engine.chat import WallRule
from engine.types import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A headline, and the earlier text that foretold it."""

    headline: str
    until: datetime  # date of the headline
    external_id: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """The text before or after another one in time."""

    external_id: str
    text: str
    created_at: datetime


class Overview:
    """Counts the texts of a corpus and what they foretold.

    That is what was posted from feeds of the settings, and what was voted for and may be shown.
    """

    def __init__(self, database: Database, rule: WallRule | None = None) -> None:
        self._database = database
        rule = rule or WallRule()
        self._shown = (rule.chats, rule.trusted, rule.voters)

    async def months(self, corpus: Corpus) -> Mapping[str, int]:
        """Return the number of texts by month (UTC, "2012-03"), without empty months."""
        async with self._database.reading() as reader:
            rows = await reader.fetch(about_corpus("overview", "months", corpus.id))
        return {row["month"]: row["documents"] for row in rows}

    async def leads(self, corpus: Corpus, *, limit: int) -> Sequence[Lead]:
        """Return the headlines that were foretold longest before, and the texts."""
        statement = _about_foretold("leads", corpus.id)
        async with self._database.reading() as reader:
            rows = await reader.fetch(statement, corpus.name, *self._shown, limit)
        return [Lead(**dict(row)) for row in rows]

    async def subjects(self, corpus: Corpus, *, limit: int) -> Mapping[str, int]:
        """Return the words that most headlines were foretold by, each with its headlines."""
        statement = _about_foretold("subjects", corpus.id)
        async with self._database.reading() as reader:
            rows = await reader.fetch(statement, corpus.name, *self._shown, limit)
        return {row["word"]: row["headlines"] for row in rows}

    async def foretold_by(
        self, corpus: Corpus, external_id: str, *, limit: int
    ) -> Sequence[tuple[str, datetime]]:
        """Return the headlines that a text foretold, with their dates, newest first."""
        statement = _about_foretold("foretold_by", corpus.id)
        async with self._database.reading() as reader:
            rows = await reader.fetch(statement, corpus.name, *self._shown, external_id, limit)
        return [(row["headline"], row["until"]) for row in rows]

    async def neighbours(
        self, corpus: Corpus, document: int, created_at: datetime
    ) -> tuple[Neighbour | None, Neighbour | None]:
        """Return the texts before and after a text, which was created at `created_at`."""
        statement = about_corpus("overview", "neighbours", corpus.id)
        async with self._database.reading() as reader:
            rows = await reader.fetch(statement, document, created_at)
        found = {
            row["later"]: Neighbour(
                external_id=row["external_id"], text=row["text"], created_at=row["created_at"]
            )
            for row in rows
        }
        return found.get(False), found.get(True)


@lru_cache(maxsize=1024)
def _about_foretold(name: str, corpus_id: int) -> str:
    """Return a statement about one corpus; {foretold} in it stands for what it foretold."""
    sql = statements("overview")
    foretold = sql["foretold"].format(voted=statements("wall")["voted"])
    return sql[name].format(document=partition(corpus_id), corpus=int(corpus_id), foretold=foretold)
