"""Stores models' answers, what they cost, and web pages; implements the caches of the engine."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Generic, TypeVar

import asyncpg
import orjson

from db.connection import list_values, read_row
from db.pool import Store
from engine.answer.cited_answer import Claim, ModelAnswer, Objection
from engine.budget import BudgetSource, PlannedCall
from engine.messages import message_from_json, message_json
from engine.search import Expansion, HitKind, Verdict
from engine.values import Usage
from engine.web.results import FetchedPage

# Judgments are requested again while the news is fresh, and never after that.
_KEPT = timedelta(days=90)
_PAGE = (
    "url", "title", "author", "site", "date", "text", "etag", "last_modified", "fetched_at",
)  # fmt: skip

_Answer = TypeVar("_Answer")


class _Answers(Store, ABC, Generic[_Answer], sql="model"):
    """Answers of models by the key of their request; storing a new one removes old ones.

    `_table` names the statements that read and write them.
    """

    _table: str

    async def get(self, key: str) -> _Answer | None:
        """Return the stored answer, or None."""
        row = await self._fetch_row(self._table, key)
        return None if row is None else self._read_row(row)

    async def put(self, key: str, answer: _Answer, *, now: datetime) -> None:
        """Store an answer under its key, and remove those older than 90 days."""
        values = self._list_values(answer)
        await self._execute(f"store_{self._table}", key, now, now - _KEPT, *values)

    @abstractmethod
    def _read_row(self, row: asyncpg.Record) -> _Answer:
        """Return the answer that a row holds."""

    @abstractmethod
    def _list_values(self, answer: _Answer) -> tuple[object, ...]:
        """Return the values of the columns that an answer is stored in."""


class Judgments(_Answers[Verdict]):
    """Verdicts by the key of their request."""

    _table = "judgment"

    def _read_row(self, row: asyncpg.Record) -> Verdict:
        entries = orjson.loads(row["scores"])
        return Verdict(
            scores={entry["i"]: entry["score"] for entry in entries},
            kinds={entry["i"]: HitKind(entry["kind"]) for entry in entries if "kind" in entry},
            best=tuple(
                entry["i"]
                for entry in sorted(entries, key=lambda entry: entry.get("place", 0))
                if "place" in entry
            ),
            event=tuple(entry["i"] for entry in entries if "event" in entry),
            reasons={entry["i"]: entry["why"] for entry in entries if "why" in entry},
            model=row["model"],
            prompt_version=row["prompt_version"],
        )

    def _list_values(self, answer: Verdict) -> tuple[object, ...]:
        places = {document: place for place, document in enumerate(answer.best)}
        event = dict.fromkeys(answer.event, True)
        details = {"kind": answer.kinds, "place": places, "event": event, "why": answer.reasons}
        entries = [
            {"i": document, "score": score}
            | {
                name: by_document[document]
                for name, by_document in details.items()
                if document in by_document
            }
            for document, score in answer.scores.items()
        ]
        return answer.model, answer.prompt_version, orjson.dumps(entries).decode()


class Expansions(_Answers[Expansion]):
    """Phrases by the key of their request."""

    _table = "expansion"

    def _read_row(self, row: asyncpg.Record) -> Expansion:
        return read_row(Expansion, row)

    def _list_values(self, answer: Expansion) -> tuple[object, ...]:
        return answer.model, answer.prompt_version, list(answer.phrases)


class ModelAnswers(_Answers[ModelAnswer]):
    """Answers to questions by the key of their request."""

    _table = "model_answer"

    def _read_row(self, row: asyncpg.Record) -> ModelAnswer:
        claims = tuple(_read_claim(*entry) for entry in orjson.loads(row["claims"]))
        return read_row(ModelAnswer, row, claims=claims, damage=orjson.loads(row["damage"]))

    def _list_values(self, answer: ModelAnswer) -> tuple[object, ...]:
        claims = orjson.dumps([_claim_entry(claim) for claim in answer.claims]).decode()
        damage = orjson.dumps(dict(answer.damage)).decode()
        return answer.model, answer.prompt_version, claims, damage


def _claim_entry(claim: Claim) -> list[object]:
    entry: list[object] = [claim.text, claim.passages]
    if objection := claim.objection:
        entry += [claim.supported, objection.text, message_json(objection.why)]
    return entry


def _read_claim(
    text: str, numbers: list[int], supported: bool = True, written: str = "", why: str = ""
) -> Claim:
    """Return a claim as it was stored; the last three are there if the check objected."""
    objection = Objection(text=written, why=message_from_json(why)) if why else None
    return Claim(text=text, passages=tuple(numbers), supported=supported, objection=objection)


class Ledger(Store, sql="model"):
    """One row per call, failed ones included, and one per call in progress."""

    async def spent(self, day: date) -> dict[BudgetSource, Usage]:
        """Return the sums of that day (UTC); unknown figures count as 0."""
        return _read_usages(await self._fetch_rows("spent", *_find_day_bounds(day), None))

    async def spent_in_all(self) -> Usage:
        """Return the sums of all calls ever made; unknown figures count as 0."""
        row = await self._fetch_row("spent_in_all")
        assert row is not None  # noqa: S101 - sums have one row
        return read_row(Usage, row)

    async def record(
        self, usage: Usage, *, model: str, purpose: str, source: BudgetSource, now: datetime
    ) -> None:
        """Add one call."""
        spent = usage.prompt_tokens, usage.completion_tokens, usage.cost_usd
        await self._execute("record", now, purpose, model, *spent, source.value)

    async def reserve(
        self,
        planned: PlannedCall,
        check: Callable[[Mapping[BudgetSource, Usage]], None],
        *,
        now: datetime,
    ) -> int:
        """Count a call as in progress if `check` allows it, one process at a time."""
        bounds = _find_day_bounds(now.astimezone(UTC).date())
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_ledger"])
            check(_read_usages(await connection.fetch(self._sql["spent"], *bounds, now)))
            values = planned.source.value, planned.tokens, planned.cost_usd, planned.until, now
            return int(await connection.fetchval(self._sql["reserve"], *values))

    async def release(self, place: int) -> None:
        """Stop counting a call as in progress."""
        await self._execute("release", place)


def _find_day_bounds(day: date) -> tuple[datetime, datetime]:
    start = datetime.combine(day, time(), tzinfo=UTC)
    return start, start + timedelta(days=1)


def _read_usages(rows: Iterable[asyncpg.Record]) -> dict[BudgetSource, Usage]:
    return {BudgetSource(row["source"]): read_row(Usage, row) for row in rows}


class WebPages(Store, sql="model"):
    """Pages by the canonical address that they were asked for by."""

    async def get(self, address: str) -> FetchedPage | None:
        """Return the stored page, or None."""
        row = await self._fetch_row("page", address)
        return read_row(FetchedPage, row) if row else None

    async def put(self, address: str, page: FetchedPage) -> None:
        """Store a page in place of an older one."""
        await self._execute("store_page", address, *list_values(page, _PAGE))

    async def forget(self, *, before: datetime, max_bytes: int) -> int:
        """Remove pages fetched before `before`, and the oldest ones beyond `max_bytes` of text.

        Returns how many were removed.
        """
        return int(await self._fetch_value("forget_pages", before, max_bytes))
