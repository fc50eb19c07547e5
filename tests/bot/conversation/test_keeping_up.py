"""Answers follow what people do to their messages, and say what a slow one waits for."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.adapter import DeliveryRefused
from bot.conversation.sending import LatestShown, Steps
from bot.reply import Reply
from bot.request import Place, Request, Revision, Trigger
from bot.settings.model import ChatSettings
from db.pool import Database
from engine.errors import CorpusNotFound, ModelError
from engine.search import Headline, HitKind
from tests.bot.conversing import GROUP, PRIVATE, Bot, MemoryAdapter, bot_on, event, read
from tests.bot.prophecies import NOW
from tests.patience import PATIENCE, until


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    async with bot_on(storage) as ready:
        yield ready


def edited(request: Request, text: str, *, minutes: float = 1, **changes: object) -> Request:
    """The same message as it was edited later."""
    return replace(
        request,
        event_id=f"{request.event_id}:edited",
        revision=Revision(event_id=request.event_id),
        text=text,
        now=NOW + timedelta(minutes=minutes),
        **changes,  # type: ignore[arg-type]  # fields of Request
    )


def deleted(request: Request) -> Request:
    revision = Revision(event_id=request.event_id, deleted=True)
    return replace(edited(request, ""), event_id=f"{request.event_id}:deleted", revision=revision)


class TestNotices:
    """An edited headline that is not answered keeps the answer that it had."""

    async def edit(self, storage: Database, texts: tuple[str, str], error: Exception) -> Bot:
        """Ask and edit a headline where one that tells of prices cannot be read."""

        async def read_or_fail(text: str, *, now: datetime) -> Headline:
            if "prices" in text:
                raise error
            return await read(text, now=now)

        async with bot_on(storage, read_headline=read_or_fail) as bot:
            asked = event(texts[0])
            assert await bot.hear(asked)
            await bot.hear(edited(asked, texts[1]))
            return bot

    @pytest.mark.parametrize(
        "error", [CorpusNotFound("There is no corpus."), ModelError("It fails."), ValueError()]
    )
    async def test_an_error_replaces_no_answer(self, storage: Database, error: Exception) -> None:
        bot = await self.edit(storage, ("Coffee costs fall", "Coffee prices soar"), error)
        assert bot.adapter.changed == []

    async def test_an_answer_replaces_a_notice(self, storage: Database) -> None:
        gone = CorpusNotFound("There is no corpus.")
        bot = await self.edit(storage, ("Coffee prices soar", "Coffee costs soar"), gone)
        assert [reply.hits != () for _, reply in bot.adapter.changed] == [True]


@pytest.mark.parametrize(
    "text", ["/settings threshold foretold", "/today", "/subscribe off", "thanks"]
)
async def test_edit_into_another_command_is_ignored(bot: Bot, text: str) -> None:
    asked = event("/p Coffee prices soar")
    await bot.hear(asked)
    await bot.hear(edited(asked, text))
    assert bot.adapter.changed == []
    assert (await bot.chat()).threshold is HitKind.MIRROR


@pytest.mark.parametrize(
    "changes",
    [{"limits": ChatSettings(block=("test:g",))}, {"access": "owner"}],
    ids=["blocked", "not let in"],
)
async def test_edits_and_deletions_in_a_blocked_chat_are_ignored(
    bot: Bot, storage: Database, changes: dict[str, Any]
) -> None:
    asked = event("Coffee prices soar", place=GROUP)
    assert await bot.hear(asked)
    async with bot_on(storage, **changes) as since:
        assert await since.hear(edited(asked, "Tea prices soar")) is None
        assert await since.hear(deleted(asked)) is None
        assert (since.adapter.changed, since.adapter.withdrawn, since.engine.calls) == ([], [], [])


class TestSteps:
    @pytest.fixture
    async def bot(self, storage: Database) -> AsyncIterator[Bot]:
        async with bot_on(storage, step_after=0.0) as ready:
            yield ready

    async def hear_slowly(self, bot: Bot, request: Request | None = None) -> Reply | None:
        """Answer a headline once a step was shown; return what was sent beside that."""
        bot.engine.gate = asyncio.Event()
        asked = asyncio.create_task(bot.hear(request or event("Coffee prices soar")))
        await until(lambda: bot.adapter.steps)
        bot.engine.gate.set()
        return await asked

    async def test_a_slow_answer_replaces_the_step_that_it_waited_for(self, bot: Bot) -> None:
        assert await self.hear_slowly(bot) is None, "nothing is sent beside the message of the step"
        assert bot.adapter.steps == ["Searching …"]
        ((message, reply),) = bot.adapter.changed
        assert (message, len(reply.hits)) == ("step", 3)

    async def test_whoever_sees_nothing_else_is_shown_a_step_of_any_command(
        self, bot: Bot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.conversation.conversation._SOON_SECONDS", 0.0)
        assert await bot.hear(event("/top", trigger=Trigger.COMMAND))
        assert bot.adapter.steps == []
        await bot.hear(event("/top", trigger=Trigger.COMMAND, needs_step=True))
        assert bot.adapter.steps == ["One moment …"]

    async def test_a_step_that_cannot_be_changed_is_followed_by_the_answer(self, bot: Bot) -> None:
        bot.adapter.unchangeable = True
        reply = await self.hear_slowly(bot)
        assert reply
        assert len(reply.hits) == 3
        assert (bot.adapter.changed, bot.adapter.withdrawn) == ([], [])

    async def test_an_answer_whose_step_was_deleted_is_sent(
        self, bot: Bot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def gone(*_: object) -> None:
            raise DeliveryRefused("There is no such message.")

        monkeypatch.setattr(bot.adapter, "change", gone)
        reply = await self.hear_slowly(bot)
        assert reply
        assert len(reply.hits) == 3

    async def test_step_message_is_withdrawn_with_the_deleted_headline(self, bot: Bot) -> None:
        asked = event("Coffee prices soar")
        await self.hear_slowly(bot, asked)
        await bot.hear(deleted(asked))
        assert bot.adapter.withdrawn == ["step"]

    @pytest.mark.parametrize("place", [GROUP, PRIVATE], ids=["group", "private"])
    async def test_private_reply_does_not_replace_a_public_step(
        self, bot: Bot, place: Place
    ) -> None:
        bot.engine.errors["Coffee"] = CorpusNotFound("There is no corpus.")
        reply = await self.hear_slowly(bot, event("Coffee prices soar", place=place))
        if place.private:
            assert reply is None
            assert [message for message, _ in bot.adapter.changed] == ["step"]
        else:
            assert reply
            assert reply.ephemeral
            assert (bot.adapter.changed, bot.adapter.withdrawn) == ([], ["step"])

    async def test_the_step_of_a_process_that_died_is_edited_and_not_kept_again(self) -> None:
        adapter, kept = MemoryAdapter(), list[str]()

        async def keep(message: str) -> None:
            kept.append(message)

        async with Steps(adapter, event("x"), after=0.0, message="old", keep=keep) as steps:
            steps.show("Searching …")
            await until(lambda: adapter.steps)
            await steps.end()
            assert steps.take() == "old"
        assert (kept, adapter.withdrawn) == ([], [])

    async def test_step_message_of_a_dead_process_is_replaced_without_new_steps(self) -> None:
        async def keep(message: str) -> None:
            raise AssertionError(message)

        adapter = MemoryAdapter()
        async with Steps(adapter, event("x"), after=60.0, message="old", keep=keep) as steps:
            await steps.end()
            assert steps.take() == "old"
        assert not adapter.withdrawn

    async def test_step_message_is_stored_once(self) -> None:
        adapter, kept = MemoryAdapter(), list[str]()

        async def keep(message: str) -> None:
            kept.append(message)

        async with Steps(adapter, event("x"), after=0.0, keep=keep) as steps:
            steps.show("Reading the page …")
            await until(lambda: adapter.steps)
            steps.show("Searching …")
            await until(lambda: len(adapter.steps) == 2)
        assert kept == ["step"]


class TestUnfinished:
    """An answer that did not wait until its texts were compared, and what takes its place."""

    @pytest.fixture
    async def bot(self, storage: Database) -> AsyncIterator[Bot]:
        async with bot_on(storage, patience=1.0) as ready:
            ready.engine.late = asyncio.Event()
            yield ready

    async def finish(self, bot: Bot) -> None:
        assert bot.engine.late
        bot.engine.late.set()
        assert await bot.conversation.drain(PATIENCE)

    @pytest.mark.parametrize("text", ["Coffee prices soar", "/prophecy Coffee prices soar"])
    async def test_early_answer_is_sent_at_once_and_edited_once(self, bot: Bot, text: str) -> None:
        trigger = Trigger.COMMAND if text.startswith("/") else Trigger.ADDRESSED
        early = await bot.say(text, trigger=trigger)
        assert len(early.hits) == 1
        assert "this may change" in (early.notice or "")
        assert bot.adapter.changed == []
        await self.finish(bot)
        ((message, whole),) = bot.adapter.changed
        assert (message, len(whole.hits)) == ("m1", 3)
        assert "this may change" not in (whole.notice or "")
        assert len((await bot.say("/more", trigger=Trigger.COMMAND)).hits) == 2
        assert len(bot.engine.calls) == 2

    async def test_late_result_does_not_overwrite_the_answer_to_an_edit(self, bot: Bot) -> None:
        asked = event("Cofee prices soar")
        await bot.hear(asked)
        late, bot.engine.late = bot.engine.late, None
        await bot.hear(edited(asked, "Tea prices soar"))
        bot.engine.late = late
        await self.finish(bot)
        ((_, reply),) = bot.adapter.changed
        assert reply.shows
        assert reply.shows.prophecy.headline.text == "Tea prices soar"


async def test_what_stands_there_is_not_shown_again() -> None:
    shown: list[str] = []

    async def show(text: str) -> None:
        shown.append(text)

    async with LatestShown(show, shown="reading") as latest:
        for text in ("reading", "writing", "writing", "checking"):
            latest.note(text)
            for _ in range(9):  # turns of the event loop
                await asyncio.sleep(0)
    assert shown == ["writing", "checking"]
