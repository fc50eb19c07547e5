"""Stores the tweets that people in chats asked for, from the task to what was written."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import TypeVar

import asyncpg
from pydantic import TypeAdapter

from db.connection import read_row
from db.pool import Store
from engine.chat import Chat
from engine.compose.composition import Composition

_Kept = TypeVar("_Kept")

_KEPT = timedelta(days=90)  # as long as answers


class TaskState(StrEnum):
    """How far a task has come."""

    ASKED = "asked"  # its message is not sent yet
    WAITING = "waiting"
    WRITTEN = "written"  # but perhaps not shown
    SHOWN = "shown"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeTask:
    """What a person in a chat asked for."""

    prompt: str
    corpora: tuple[str, ...]
    person: str  # "platform:id"
    language: str  # of what is said about it, such as "en"
    as_thread: bool = False
    answer_id: int | None = None  # of the headline that it is about
    first: int = 0  # hit of the page of that answer


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTask:
    """A stored task. `message` is the platform's id of the message that says how far it is."""

    id: int
    chat: Chat  # without its settings
    thread: str | None
    task: ComposeTask
    asked_at: datetime
    state: TaskState
    attempts: int
    message: str | None
    outcome: Composition | None


@cache
def _build_adapter(model: type[_Kept]) -> TypeAdapter[_Kept]:
    return TypeAdapter(model)


class Compositions(Store, sql="compositions"):
    """Reads and writes tasks and what came of them. Methods raise StorageError.

    `process` is the number under which `EventClaims` announced this process.
    """

    async def keep(
        self, chat: Chat, thread: str | None, task: ComposeTask, *, now: datetime
    ) -> int:
        """Store a task and return its id."""
        written = _build_adapter(ComposeTask).dump_json(task).decode()
        return int(await self._fetch_value("keep_task", chat.id, thread, now, written))

    async def begin(self, task_id: int, process: int, message: str | None) -> bool:
        """Note that a process works on a task; return False if it was begun or stopped before."""
        return await self._has_changed("begin_task", task_id, process, message)

    async def stop(self, task_id: int) -> bool:
        """Stop a task; return False if it is written or was stopped before."""
        return await self._has_changed("stop_task", task_id)

    async def store_written(self, task_id: int, process: int, outcome: Composition) -> bool:
        """Store what was written; return False if the task was stopped or taken over."""
        return await self._has_changed("written", task_id, process, _outcome_json(outcome))

    async def note_shown(self, task_id: int, process: int) -> None:
        """Note that what was written is shown."""
        await self._has_changed("shown", task_id, process)

    async def get(self, chat: Chat, task_id: int) -> KeptTask | None:
        """Return a task of this chat, or None."""
        row = await self._fetch_row("task", task_id, chat.id)
        return _read_task(row) if row else None

    async def take_left(self, platform: str, process: int) -> list[KeptTask]:
        """Take over the unfinished tasks of processes that have ended."""
        rows = await self._fetch_rows("take_left", platform, process)
        return [_read_task(row) for row in rows]

    async def draft(self, delivery_key: str) -> Composition | None:
        """Return what was drafted for a delivery, or None."""
        draft = await self._fetch_value("draft", delivery_key)
        return _build_adapter(Composition).validate_json(draft) if draft else None

    async def keep_draft(self, delivery_key: str, outcome: Composition, *, now: datetime) -> None:
        """Store what was drafted for a delivery."""
        await self._execute("keep_draft", delivery_key, now, _outcome_json(outcome))

    async def forget(self, *, now: datetime) -> None:
        """Remove tasks and drafts older than 90 days."""
        await self._execute("forget_compositions", now - _KEPT)

    async def _has_changed(self, statement: str, *values: object) -> bool:
        return bool(await self._fetch_value(statement, *values))


def _outcome_json(outcome: Composition) -> str:
    # The buttons need neither the passages nor the facts.
    stored = replace(outcome, passages=(), facts=(), request=replace(outcome.request, found=()))
    return _build_adapter(Composition).dump_json(stored).decode()


def _read_task(row: asyncpg.Record) -> KeptTask:
    outcome = row["outcome"] and _build_adapter(Composition).validate_json(row["outcome"])
    return read_row(
        KeptTask,
        row,
        id=row["task_id"],
        chat=read_row(Chat, row, id=row["chat_id"]),
        task=_build_adapter(ComposeTask).validate_json(row["task"]),
        outcome=outcome,
    )
