"""The page's votes: the keys that turn addresses into voters, a new one every day (UTC), and which
of the hits that were voted for everybody may see."""

import secrets
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

import asyncpg

from db.chat.answers import favourite_of
from db.connection import statements
from db.pool import Database
from engine.chat import Favourite, WallEntry, WallRule, WallState

_BYTES = 32


class VotingKeys:
    """The keys of all processes on one database. They are deleted for good after their day."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("wall")

    async def today(self, *, now: datetime) -> bytes:
        """Return the key of the day, the same for all processes."""
        day = now.astimezone(UTC).date()
        async with self._database.connection() as connection:
            await connection.execute(self._sql["make_key"], day, secrets.token_bytes(_BYTES))
            return bytes(await connection.fetchval(self._sql["key"], day))

    async def forget(self, *, now: datetime) -> None:
        """Remove the keys of past days."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_keys"], now.astimezone(UTC).date())


class Wall:
    """Reads what was voted for under a rule, and writes what the owner decided about it."""

    def __init__(self, database: Database, rule: WallRule) -> None:
        self._database = database
        self._rule = rule
        self._sql = statements("wall")

    async def list_shown(self, corpora: Collection[str], *, limit: int) -> list[Favourite]:
        """Return the best-voted hits in some corpora that everybody may see, best first."""
        return [entry.favourite for entry in await self._read("shown", limit, list(corpora))]

    async def list_entries(self, *, limit: int) -> list[WallEntry]:
        """Return what was voted for or decided about, what waits for a decision first."""
        return await self._read("listed", limit)

    async def count_waiting(self, *, limit: int) -> int:
        """Return how many hits wait for a decision of the owner, counted up to a limit."""
        async with self._database.read_anywhere() as reader:
            return int(await reader.fetchval(*self._statement("waiting", limit)))

    async def decide(self, answer_id: int, rank: int, *, approved: bool, now: datetime) -> bool:
        """Approve or remove a hit for good. Return whether it was ever voted on."""
        async with self._database.connection() as connection:
            decide, chats = self._sql["decide"], self._rule.chats
            return bool(await connection.fetchval(decide, answer_id, rank, approved, now, chats))

    async def decided_last(self) -> datetime | None:
        """Return when the last decision was made."""
        async with self._database.read_anywhere(latest=True) as reader:
            moment: datetime | None = await reader.fetchval(self._sql["decided_last"])
        return moment

    async def _read(self, name: str, limit: int, *given: object) -> list[WallEntry]:
        async with self._database.read_anywhere(latest=True) as reader:
            rows = await reader.fetch(*self._statement(name, limit, *given))
        return list(_entries(rows))

    def _statement(self, name: str, limit: int, *given: object) -> tuple[Any, ...]:
        """Return a statement about what was voted for, and its arguments."""
        rule, sql = self._rule, self._sql[name].format(voted=self._sql["voted"])
        return sql, limit, rule.chats, rule.trusted, rule.voters, *given


def _entries(rows: Iterable[asyncpg.Record]) -> Iterable[WallEntry]:
    for row in rows:
        if favourite := favourite_of(row):
            yield WallEntry(answer_id=row["answer_id"], favourite=favourite, state=_state(row))


def _state(row: asyncpg.Record) -> WallState:
    if row["approved"] is None:
        return WallState.SHOWN if row["shown"] else WallState.WAITING
    return WallState.APPROVED if row["approved"] else WallState.REMOVED
