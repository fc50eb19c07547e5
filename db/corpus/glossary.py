"""Stores the groups of words with the same meaning, and the pairs that people rejected."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from db.connection import Connection, read_row
from db.pool import Store
from engine.errors import InputError
from engine.glossary.groups import AliasGroup, GroupStatus, Pair, fold_terms, list_pairs
from engine.messages import Message
from engine.values import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedPair:
    """Two keys never to be suggested as a pair, in one corpus or, if that is None, in all."""

    corpus: str | None
    pair: Pair


class Groups(Store, sql="glossary"):
    """Reads and writes the glossary. A corpus of None means all corpora.

    Writers queue, so that no suggestion is stored while one of its pairs is being rejected.
    """

    async def groups(
        self, *, status: GroupStatus | None = None, corpus: Corpus | None = None
    ) -> list[AliasGroup]:
        """Return groups by id; with `corpus`, those that apply in it."""
        rows = await self._fetch_rows("groups", status, _find_scope(corpus))
        return [read_row(AliasGroup, row) for row in rows]

    async def rejected_pairs(self, corpus: Corpus | None = None) -> list[RejectedPair]:
        """Return the rejected pairs; with `corpus`, those that apply in it."""
        rows = await self._fetch_rows("rejected", _find_scope(corpus))
        return [RejectedPair(corpus=r["corpus"], pair=(r["first"], r["second"])) for r in rows]

    async def add(self, corpus: Corpus | None, terms: Sequence[str], *, now: datetime) -> bool:
        """Approve a group that a person wrote, even if its pairs were rejected before.

        `terms` are checked already. Returns False if an approved group holds them already.
        """
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock"])
            scope = _find_scope(corpus)
            await self._lift_bars(connection, scope, terms)
            values = (scope, GroupStatus.APPROVED, list(terms), list(fold_terms(terms)), None, now)
            return await connection.fetchval(self._sql["insert"], *values) is not None

    async def propose(
        self,
        corpus: Corpus | None,
        terms: Sequence[str],
        *,
        sure: bool | None,
        status: GroupStatus = GroupStatus.PENDING,
        now: datetime,
    ) -> bool:
        """Store a suggestion. Returns False if it is known, or one of its pairs was rejected."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock"])
            scope = _find_scope(corpus)
            rows = await connection.fetch(self._sql["rejected"], scope)
            if {(r["first"], r["second"]) for r in rows}.intersection(list_pairs(terms)):
                return False
            if await connection.fetchval(self._sql["same"], scope, list(fold_terms(terms)), status):
                return False
            values = (scope, status, list(terms), list(fold_terms(terms)), sure, now)
            return await connection.fetchval(self._sql["insert"], *values) is not None

    async def approve(self, ids: Sequence[int]) -> list[AliasGroup]:
        """Approve groups and return them. Raises InputError, changing nothing."""
        async with self._database.transaction() as connection:
            for row in await self._lock_all(connection, ids):
                await self._lift_bars(connection, row["corpus_id"], row["terms"])
                await connection.execute(self._sql["approve"], row["id"])
            rows = await connection.fetch(self._sql["groups"], None, None)
        return [read_row(AliasGroup, row) for row in rows if row["id"] in set(ids)]

    async def reject(self, ids: Sequence[int], *, now: datetime) -> list[tuple[str, ...]]:
        """Remove groups, pending or approved, and never suggest their pairs again.

        Returns their terms. Raises InputError, changing nothing.
        """
        async with self._database.transaction() as connection:
            rows = await self._lock_all(connection, ids)
            for row in rows:
                await connection.execute(self._sql["remove"], row["id"])
                await self._bar_pairs(connection, row["corpus_id"], list_pairs(row["terms"]), now)
        return [tuple(row["terms"]) for row in rows]

    async def bar(self, corpus: Corpus | None, terms: Sequence[str], *, now: datetime) -> None:
        """Never suggest a pair of these terms again."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock"])
            await self._bar_pairs(connection, _find_scope(corpus), list_pairs(terms), now)

    async def sample(self, corpus: Corpus, maximum: int) -> list[str]:
        """Return about `maximum` texts, spread over the whole corpus."""
        step = max(1, corpus.documents // maximum)
        rows = await self._fetch_rows("sample", corpus.id, step, maximum, corpus=corpus)
        return [row["text"] for row in rows]

    async def _lock_all(self, connection: Connection, ids: Sequence[int]) -> list[asyncpg.Record]:
        await connection.execute(self._sql["lock"])
        rows = await connection.fetch(self._sql["find"], list(ids))
        if missing := set(ids) - {row["id"] for row in rows}:
            raise InputError(Message("There is no group {missing}.", missing=min(missing)))
        return rows

    async def _bar_pairs(
        self, connection: Connection, scope: int | None, barred: Iterable[Pair], now: datetime
    ) -> None:
        firsts, seconds = _split_pairs(barred)
        await connection.execute(self._sql["bar"], scope, firsts, seconds, now)
        await connection.execute(self._sql["forget_pending"], scope, firsts, seconds)

    async def _lift_bars(
        self, connection: Connection, scope: int | None, terms: Sequence[str]
    ) -> None:
        await connection.execute(self._sql["lift"], scope, *_split_pairs(list_pairs(terms)))


def _find_scope(corpus: Corpus | None) -> int | None:
    return None if corpus is None else corpus.id


def _split_pairs(pairs: Iterable[Pair]) -> tuple[list[str], list[str]]:
    listed = list(pairs)
    return [first for first, _ in listed], [second for _, second in listed]
