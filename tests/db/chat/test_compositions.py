"""Tasks of writing: begun once, stopped or written once, taken over from the dead alone."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from db.chat.chats import Chats
from db.chat.compositions import ComposeTask, Compositions, TaskState
from db.chat.events import EventClaims
from db.pool import Database
from engine.chat import Chat
from engine.compose.composition import (
    ComposeRequest,
    Composition,
    Fact,
    SourceKind,
    SourcePassage,
    Step,
    StepName,
    Tweet,
    Variant,
)
from engine.messages import Message

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
TASK = ComposeTask(prompt="Café ☕", corpora=("demo",), person="test:ana", language="es", first=3)
PASSAGE = SourcePassage(key="a:1", kind=SourceKind.WEB, text="x", title="X")
OUTCOME = Composition(
    request=ComposeRequest(prompt="Café ☕", corpora=()),
    variants=(Variant(tweets=(Tweet(text="So. [1]", length=7),)),),
    steps=(Step(name=StepName.WEB, skipped=Message("Only {n}.", n=2)),),
    facts=(Fact(text="f", quote="q", passage=1, confidence=0.5),),
    passages=(PASSAGE,),
    notice=Message("Said."),
)


@pytest.fixture
async def chat(database: Database) -> Chat:
    return await Chats(database).meet("test", "1", private=True, title=None)


@pytest.fixture
def tasks(database: Database) -> Compositions:
    return Compositions(database)


@pytest.fixture
async def process(database: Database) -> AsyncIterator[int]:
    """The number of a process that lives."""
    async with EventClaims(database) as claims:
        yield claims.process


async def test_a_task_is_begun_written_and_shown(
    tasks: Compositions, chat: Chat, process: int
) -> None:
    number = await tasks.keep(chat, "7", TASK, now=NOW)
    assert await tasks.begin(number, process, "m1")
    assert not await tasks.begin(number, process, "m2")
    assert not await tasks.store_written(number, process + 1, OUTCOME), "another process has it"
    assert await tasks.store_written(number, process, OUTCOME)
    await tasks.note_shown(number, process)
    kept = await tasks.get(chat, number)
    assert kept
    assert (kept.task, kept.thread, kept.message, kept.state) == (TASK, "7", "m1", TaskState.SHOWN)
    assert kept.outcome
    assert kept.outcome.variants == OUTCOME.variants
    assert kept.outcome.steps == OUTCOME.steps
    assert (kept.outcome.passages, kept.outcome.facts) == ((), ()), "no button needs them"


async def test_a_task_of_another_chat_is_not_there(
    tasks: Compositions, chat: Chat, database: Database
) -> None:
    number = await tasks.keep(chat, None, TASK, now=NOW)
    other = await Chats(database).meet("test", "2", private=True, title=None)
    assert await tasks.get(other, number) is None


async def test_a_stopped_task_can_neither_begin_nor_be_written(
    tasks: Compositions, chat: Chat, process: int
) -> None:
    early = await tasks.keep(chat, None, TASK, now=NOW)
    assert await tasks.stop(early)
    assert not await tasks.begin(early, process, "m1")
    late = await tasks.keep(chat, None, TASK, now=NOW)
    await tasks.begin(late, process, "m2")
    assert await tasks.stop(late)
    assert not await tasks.stop(late)
    assert not await tasks.store_written(late, process, OUTCOME)


async def test_only_tasks_of_dead_processes_are_taken_over(
    tasks: Compositions, chat: Chat, database: Database, process: int
) -> None:
    async with EventClaims(database) as dying:
        left = await tasks.keep(chat, None, TASK, now=NOW)
        await tasks.begin(left, dying.process, "m1")
        unseen = await tasks.keep(chat, None, TASK, now=NOW)
        await tasks.begin(unseen, dying.process, None)
        await tasks.keep(chat, None, TASK, now=NOW)  # never announced
        assert await tasks.take_left("test", process) == [], "it lives"
    assert await tasks.take_left("other", process) == []
    (taken,) = await tasks.take_left("test", process)
    assert (taken.id, taken.attempts, taken.message) == (left, 2, "m1")
    assert await tasks.take_left("test", process) == []


async def test_a_draft_is_kept_by_its_delivery(tasks: Compositions) -> None:
    assert await tasks.draft("draft:daily:1:2026-05-01") is None
    await tasks.keep_draft("draft:daily:1:2026-05-01", OUTCOME, now=NOW)
    await tasks.keep_draft("draft:daily:1:2026-05-01", OUTCOME, now=NOW)
    known = await tasks.draft("draft:daily:1:2026-05-01")
    assert known
    assert known.variants == OUTCOME.variants


async def test_tasks_and_drafts_expire_after_ninety_days(tasks: Compositions, chat: Chat) -> None:
    number = await tasks.keep(chat, None, TASK, now=NOW)
    await tasks.keep_draft("k", OUTCOME, now=NOW)
    await tasks.forget(now=NOW + timedelta(days=89))
    assert await tasks.get(chat, number)
    await tasks.forget(now=NOW + timedelta(days=91))
    assert await tasks.get(chat, number) is None
    assert await tasks.draft("k") is None
