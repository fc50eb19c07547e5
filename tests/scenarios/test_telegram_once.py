"""One answer an event: whatever is delivered again, whoever dies in between."""

import asyncio
from functools import partial

import pytest
from aiohttp import web

from bot.conversation.conversation import Conversation
from tests.fakes.model import Asked, scoring, slow
from tests.fakes.telegram import Message
from tests.patience import PATIENCE, until
from tests.scenarios.stage import HEADLINE, Stage, asks_for_full_answers, judged_by_words


async def test_an_answered_message_is_not_answered_again_after_a_restart(stage: Stage) -> None:
    alice, chat = stage.telegram.alone("Alice")
    async with stage.serving():
        asked = await alice.says(chat, HEADLINE)
        await asked.answer()
    assert stage.telegram.pending == 0, "it was confirmed on the way out"
    assert asked.update
    stage.telegram.redeliver(asked.update.id)
    async with stage.serving():
        await stage.telegram.until_acknowledged()
    assert len(chat.bot_messages) == 1


@pytest.mark.slow  # waits for most of the ten seconds
async def test_a_stop_does_not_wait_for_a_slow_answer_and_leaves_the_rest(stage: Stage) -> None:
    stage.model.script = [slow(60.0, scoring(judged_by_words)), scoring(judged_by_words)]
    alice, chat = stage.telegram.alone("Alice")
    clock = asyncio.get_running_loop().time
    async with stage.serving():
        await alice.says(chat, HEADLINE)
        await stage.model.until_asked(1)
        begun = clock()
    assert clock() - begun < 30, "after ten seconds on a quiet machine; the model takes sixty"
    assert chat.bot_messages == []
    assert "Some answers were not finished; their events may be delivered again." in stage.said
    async with stage.serving():
        await chat.until(lambda one: one.from_bot)
        await stage.telegram.until_acknowledged()
    assert len(chat.bot_messages) == 1


async def test_a_process_that_is_told_to_end_finishes_its_answer(stage: Stage) -> None:
    stage.model.script = [slow(1.0, scoring(judged_by_words))]
    alice, chat = stage.telegram.alone("Alice")
    with stage.process() as serving:
        await alice.says(chat, HEADLINE)
        await until(lambda: stage.model.calls)
        serving.terminate()
        assert await asyncio.to_thread(serving.wait, PATIENCE) == 128 + 15
    assert len(chat.bot_messages) == 1
    assert stage.telegram.pending == 0


@pytest.mark.slow
async def test_only_unanswered_messages_are_answered_after_a_kill(stage: Stage) -> None:
    """The first process dies while the model thinks; the second gets the same updates."""
    people = [stage.telegram.user(f"P{number}") for number in range(4)]
    chats = [stage.telegram.private_chat(person) for person in people]
    with stage.process() as first:
        done = await people[0].says(chats[0], HEADLINE)
        await done.answer()
        stage.model.script = [slow(60.0, scoring(judged_by_words))]
        asked: list[Message] = []
        for person, chat in zip(people[1:], chats[1:], strict=True):
            asked.append(await person.says(chat, f"{HEADLINE} in {person.first_name}"))
        async with asyncio.timeout(PATIENCE):
            await stage.model.until_asked(4)
        first.kill()
    assert stage.telegram.pending >= 3
    stage.model.script = [scoring(judged_by_words)]
    with stage.process():
        for one in asked:
            await one.answer()
        await stage.telegram.until_acknowledged()
    assert [len(chat.bot_messages) for chat in chats] == [1, 1, 1, 1]


@pytest.mark.slow
async def test_an_answer_after_a_kill_replaces_the_progress_message(stage: Stage) -> None:
    stage.model.script = [slow(60.0, scoring(judged_by_words))]
    alice, chat = stage.telegram.alone("Alice")
    with stage.process() as first:
        asked = await alice.says(chat, HEADLINE)
        step = await asked.answer(PATIENCE)
        assert step.text == "Searching …"
        await until(lambda: stage.telegram.pending)
        await eventually_kept(stage)
        first.kill()
    stage.model.script = [scoring(judged_by_words)]
    with stage.process():
        await stage.telegram.until_acknowledged(PATIENCE)
        await until(lambda: step.edits)
    assert [message.text for message in chat.bot_messages] == [step.text]
    assert "foretold" in step.text


async def eventually_kept(stage: Stage) -> None:
    """Wait until the database knows the message of a step."""
    await until(lambda: stage.rows("SELECT FROM turn WHERE answered_by IS NOT NULL"))


async def test_chat_order_is_kept_and_a_slow_chat_does_not_delay_others(bot: Stage) -> None:
    thought, quick = asyncio.Event(), scoring(judged_by_words)

    async def held(asked: Asked, request: web.Request) -> web.StreamResponse:
        await thought.wait()
        return await quick(asked, request)

    bot.model.script = [held, quick]
    alice, bob = bot.telegram.user("Alice"), bot.telegram.user("Bob")
    first, other = bot.telegram.private_chat(alice), bot.telegram.private_chat(bob)
    setting = await asks_for_full_answers(alice, first)
    headlines = [f"{HEADLINE} in {place}" for place in ("Rome", "Oslo", "Lima")]
    for headline in headlines:
        await alice.says(first, headline)
    await bot.model.until_asked(1)
    await (await bob.says(other, HEADLINE)).answer()
    assert [message for message in first.bot_messages if HEADLINE in message.text] == []
    thought.set()
    await first.until(lambda one: one.from_bot and "Lima" in one.text)
    assert first.bot_messages[0] is setting
    assert [message.text.splitlines()[0] for message in first.bot_messages[1:]] == headlines


async def test_an_update_that_cannot_be_read_holds_up_nobody(bot: Stage) -> None:
    bot.telegram.malformed_update()
    bot.telegram.malformed_update("callback_query", {"id": 5})
    alice = bot.telegram.user("Alice")
    asked = await alice.says(bot.telegram.private_chat(alice), HEADLINE)
    assert "Coffee prices" in (await asked.answer()).text
    await bot.telegram.until_acknowledged()


async def test_update_ids_may_restart_at_a_lower_number(bot: Stage) -> None:
    """Telegram chooses any number after a quiet week."""
    alice, chat = bot.telegram.alone("Alice")
    await asks_for_full_answers(alice, chat)
    await bot.telegram.until_acknowledged()
    queue = bot.telegram.world.updates
    update = bot.telegram.world.publish("message", {**_message(chat.id), "from": alice.payload()})
    del queue.pending[update.id], queue.all[update.id]
    update.id, update.again = 5, True
    queue.add(update)
    answer = await chat.until(lambda one: one.from_bot and "Oslo" in one.text)
    assert answer in chat.bot_messages


def _message(chat_id: int) -> dict[str, object]:
    return {
        "message_id": 99,
        "date": 1_700_000_000,
        "chat": {"id": chat_id, "type": "private", "first_name": "Alice"},
        "text": f"{HEADLINE} in Oslo",
    }


def _answers(words: str, message: Message) -> bool:
    return message.from_bot and words in message.text


@pytest.mark.slow
async def test_a_chat_with_very_many_updates_does_not_delay_others(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The updates of one chat fill what Telegram hands out at once; another one is behind them."""
    stage.model.script = [slow(60.0, scoring(judged_by_words)), scoring(judged_by_words)]
    alice, bob = stage.telegram.user("Alice"), stage.telegram.user("Bob")
    busy, other = stage.telegram.private_chat(alice), stage.telegram.private_chat(bob)
    roomy = partial(Conversation, max_in_chat=200)
    monkeypatch.setattr("bot.serve.Conversation", roomy)
    async with stage.serving():
        setting = await asks_for_full_answers(alice, busy)
        for number in range(130):
            await alice.says(busy, f"{HEADLINE} in {number}")
        await stage.model.until_asked(1)
        await (await bob.says(other, HEADLINE)).answer()
        assert [message for message in busy.bot_messages if HEADLINE in message.text] == []
        assert await stage.rows("SELECT count(*) >= 100 FROM inbox") == [(True,)]
    # They were confirmed, yet the next process has them.
    stage.model.script = [scoring(judged_by_words)]
    stage.environment["PRESAGIO_CHAT__USER_DAILY"] = "-1"
    async with stage.serving():
        last = await busy.until(partial(_answers, "in 129"))
        await stage.telegram.until_acknowledged()
    first, *answers = [message for message in busy.bot_messages if not message.deleted]
    assert first is setting
    assert answers[-1] is last
    assert len(answers) == 130
    assert await stage.rows("SELECT 1 FROM inbox") == []
