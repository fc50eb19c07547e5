"""One event, one answer: in order, in time, whatever fails in between."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.adapter import DeliveryError
from bot.reply import Reply
from bot.request import Person, Place, Request, Revision, Trigger
from db.pool import Database
from engine.chat import Listening
from engine.errors import CorpusNotFound, ExtraMissing, PresagioError
from engine.messages import Message
from tests.bot.conversing import GROUP, PRIVATE, Bot, MemoryAdapter, bot_on, event
from tests.patience import PATIENCE, until

HEADLINE = "Senate Passes The Budget After A Long Night"
SECRET = "what-somebody-wrote"
BUSY = "I have too much to do just now. Try again in a minute."
APOLOGY = "Sorry, something went wrong. Its number in the log is "


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    async with bot_on(storage) as ready:
        yield ready


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="presagio")
    return caplog


async def states(storage: Database) -> dict[str, str]:
    async with storage.connection() as connection:
        rows = await connection.fetch("SELECT event_id, state FROM turn")
    return {row["event_id"]: row["state"] for row in rows}


class TestOnce:
    async def test_one_of_eight_deliveries_to_two_processes_is_answered(
        self, bot: Bot, storage: Database
    ) -> None:
        async with bot_on(storage) as other:
            for number in range(5):
                request = event(f"Coffee prices {number}")
                await asyncio.gather(
                    *(one.conversation.answer(request, one.adapter) for one in (bot, other) * 4)
                )
            answered = bot.adapter.texts + other.adapter.texts
        assert sorted(answered) == [f"Coffee prices {number}" for number in range(5)]
        assert set((await states(storage)).values()) == {"done"}

    async def test_a_cancelled_event_is_answered_when_it_comes_again(
        self, bot: Bot, storage: Database
    ) -> None:
        bot.engine.gate = asyncio.Event()
        request = event("Coffee prices soar")
        task = asyncio.create_task(bot.hear(request))
        await until(lambda: bot.engine.calls)
        assert await states(storage) == {request.event_id: "taken"}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await states(storage) == {}
        bot.engine.gate.set()
        assert await bot.hear(request)


class TestOrder:
    async def test_events_of_a_chat_are_answered_in_order_and_chats_in_parallel(
        self, bot: Bot
    ) -> None:
        bot.engine.gate = asyncio.Event()
        places = [Place(platform="test", chat_id=str(n), private=True) for n in range(5)]
        tasks = [bot.begin(f"Coffee {turn}", place=place) for turn in range(4) for place in places]
        await until(lambda: len(bot.engine.calls) >= len(places))
        await asyncio.sleep(0.05)
        # One of each chat is under way, and no second one.
        assert [call[0] for call in bot.engine.calls] == ["Coffee 0"] * len(places)
        bot.engine.gate.set()
        await asyncio.gather(*tasks)
        heard = defaultdict(list)
        for request, reply in bot.adapter.delivered:
            assert reply.hits
            heard[request.place.chat_id].append(request.text)
        assert all(texts == [f"Coffee {n}" for n in range(4)] for texts in heard.values())
        assert len(heard) == 5

    async def test_two_slow_answers_of_a_group_are_under_way_and_the_next_waits(
        self, bot: Bot
    ) -> None:
        """Whoever waits sees at once that his message was taken, in threads as well."""
        bot.engine.gate = asyncio.Event()
        places = [replace(GROUP, thread=thread) for thread in (None, "7", "7", None, None)]
        tasks = [
            bot.begin(f"Coffee {n}", place=place, person=Person(id=f"p{n}"))
            for n, place in enumerate(places)
        ]
        await until(lambda: bot.adapter.signs == len(places) and len(bot.engine.calls) == 2)
        await asyncio.sleep(0.05)
        assert {call[0] for call in bot.engine.calls} == {"Coffee 0", "Coffee 1"}
        bot.engine.gate.set()
        await asyncio.gather(*tasks)
        assert len(bot.adapter.delivered) == 5

    @pytest.mark.parametrize("place", [PRIVATE, GROUP], ids=["in private", "in a group"])
    @pytest.mark.parametrize("text", ["/help", "/find coffee", "/settings", "thanks a lot"])
    async def test_what_needs_no_model_waits_for_no_answer_that_does(
        self, bot: Bot, place: Place, text: str
    ) -> None:
        bot.engine.gate = asyncio.Event()
        slow = [bot.begin("Coffee", place=place, person=Person(id=f"p{n}")) for n in range(3)]
        await until(lambda: bot.engine.calls)
        assert await bot.hear(event(text, place=place))
        bot.engine.gate.set()
        await asyncio.gather(*slow)
        assert len(bot.adapter.delivered) == 4

    async def test_a_message_edited_while_it_is_answered_keeps_its_answer_up_to_date(
        self, bot: Bot
    ) -> None:
        bot.engine.gate = asyncio.Event()
        asked = event("Coffee", place=GROUP)
        edit = replace(
            event("Tea", place=GROUP), revision=Revision(event_id=asked.event_id), now=asked.now
        )
        tasks = [bot.begin(request) for request in (asked, edit)]
        await until(lambda: bot.engine.calls)
        await asyncio.sleep(0.05)
        assert await bot.hear(event("/help", place=GROUP)), "an edit that waits holds nobody"
        bot.engine.gate.set()
        await asyncio.gather(*tasks)
        assert [call[0] for call in bot.engine.calls] == ["Coffee", "Tea"]
        assert len(bot.adapter.changed) == 1


class TestOneAtATime:
    async def test_of_thirty_headlines_of_one_person_in_a_group_one_is_answered(
        self, bot: Bot
    ) -> None:
        bot.engine.gate = asyncio.Event()
        tasks = [bot.begin(f"Coffee {n}", place=GROUP) for n in range(30)]
        await until(lambda: sum(task.done() for task in tasks) == 29 and bot.engine.calls)
        assert bot.adapter.texts == ["One at a time, please. Send me the others later."]
        other = event("Tea", place=GROUP, person=Person(id="bob"))
        waiting = bot.begin(other)
        await until(lambda: len(bot.engine.calls) == 2)
        bot.engine.gate.set()
        await asyncio.gather(waiting, *tasks)
        assert len(bot.engine.calls) == 2
        assert len(bot.adapter.delivered) == 3


class TestQueue:
    async def test_full_queue_answers_that_the_bot_is_busy(self, storage: Database) -> None:
        async with bot_on(storage, maximum=3) as bot:
            bot.engine.gate = asyncio.Event()
            waiting = [bot.begin(f"Coffee {n}") for n in range(3)]
            await asyncio.sleep(0)
            reply = await bot.say("Tea")
            assert reply.text == BUSY
            bot.engine.gate.set()
            await asyncio.gather(*waiting)
            assert (await bot.say("Tea")).hits

    async def test_events_beyond_twice_the_limit_are_ignored_until_redelivery(
        self, storage: Database
    ) -> None:
        async with bot_on(storage, maximum=2) as bot:
            bot.adapter.hold = asyncio.Event()
            requests = [event(f"Coffee {n}") for n in range(10)]
            tasks = [bot.begin(request) for request in requests]
            await asyncio.sleep(0)
            bot.adapter.hold.set()
            await asyncio.gather(*tasks)
            assert sorted(bot.adapter.texts) == ["Coffee 0", "Coffee 1", BUSY]
            assert len(await states(storage)) == 4
            # Nothing was noted of the others: they are answered when they come again.
            assert await bot.hear(requests[-1])

    async def test_a_chat_that_says_too_much_takes_no_room_from_others(
        self, storage: Database
    ) -> None:
        async with bot_on(storage, maximum=10, max_in_chat=2) as bot:
            bot.engine.gate = asyncio.Event()
            tasks = [bot.begin(f"Coffee {n}") for n in range(30)]
            await asyncio.sleep(0)
            tea = bot.conversation.answer(event("Tea", place=GROUP), bot.adapter)
            tasks.append(asyncio.create_task(tea))
            await until(lambda: len(bot.engine.calls) == 2 and bot.adapter.delivered)
            assert bot.adapter.texts == [BUSY]
            bot.engine.gate.set()
            await asyncio.gather(*tasks)
            heard = [request.text for request, reply in bot.adapter.delivered if reply.hits]
            assert sorted(filter(None, heard)) == ["Coffee 0", "Coffee 1", "Tea"]
            assert (await bot.say("Milk")).hits

    async def test_small_talk_does_not_wait_in_line(self, storage: Database) -> None:
        async with bot_on(storage, maximum=1) as bot:
            bot.engine.gate = asyncio.Event()
            under_way = asyncio.create_task(bot.hear(event("Coffee", place=GROUP)))
            await until(lambda: bot.engine.calls)
            talk = event("see you all tomorrow", place=GROUP, trigger=Trigger.OVERHEARD)
            async with asyncio.timeout(PATIENCE):
                await bot.conversation.answer(talk, bot.adapter)
            bot.engine.gate.set()
            assert await under_way

    async def test_drain_waits_for_what_is_under_way(self, bot: Bot) -> None:
        assert await bot.conversation.drain(0.01)
        bot.engine.gate = asyncio.Event()
        task = asyncio.create_task(bot.hear(event("Coffee")))
        await asyncio.sleep(0)
        assert not await bot.conversation.drain(0.01)
        draining = asyncio.create_task(bot.conversation.drain(20))
        bot.engine.gate.set()
        assert await draining
        assert task.done() or await task
        assert len(bot.adapter.delivered) == 1


class TestErrors:
    async def test_unexpected_error_becomes_an_apology_with_a_logged_incident_id(
        self, bot: Bot, storage: Database, log: pytest.LogCaptureFixture
    ) -> None:
        bot.engine.errors["Coffee"] = RuntimeError(f"token=123:ABC {SECRET}")
        said = await bot.told(f"/p Coffee {SECRET}")
        assert said.startswith(APOLOGY)
        incident = said.removeprefix(APOLOGY).rstrip(".")
        [line] = [r.getMessage() for r in log.records if incident in r.getMessage()]
        assert "RuntimeError" in line
        assert "tests.bot.prophecies" in line  # where it was raised
        assert set((await states(storage)).values()) == {"done"}

    async def test_no_log_line_holds_what_people_wrote(
        self, bot: Bot, log: pytest.LogCaptureFixture
    ) -> None:
        bot.engine.errors = {"Bug": ValueError(SECRET), "Gone": CorpusNotFound(SECRET)}
        for text in ("Coffee", "Bug", "Gone", "/settings", "/p", "/nonsense"):
            await bot.say(f"{text} {SECRET}")
        bot.adapter.error = ValueError(SECRET)
        await bot.say(SECRET)
        assert log.records
        for record in log.records:
            assert SECRET not in logging.Formatter().format(record)

    @pytest.mark.parametrize("error", [RuntimeError(), CorpusNotFound("Gone."), None])
    async def test_errors_about_what_was_overheard_stay_in_the_log(
        self, bot: Bot, error: Exception | None
    ) -> None:
        await bot.set_up(listening=Listening.parse("all"))
        overheard = event(HEADLINE, place=GROUP, trigger=Trigger.OVERHEARD)
        if error:
            bot.engine.errors["Senate"] = error
            assert await bot.hear(overheard) is None
        else:  # the same, without a fault, is answered
            assert await bot.hear(overheard)
        assert len(bot.engine.calls) == 1

    @pytest.mark.parametrize("trigger", [Trigger.COMMAND, Trigger.OVERHEARD])
    async def test_error_for_operators_is_reported_to_them(
        self, storage: Database, trigger: Trigger
    ) -> None:
        reported: list[PresagioError] = []
        missing = ExtraMissing(Message("Pictures need libraries."), extra="pictures")
        async with bot_on(storage, report=reported.append) as bot:
            await bot.set_up(listening=Listening.parse("all"))
            bot.engine.errors["Senate"] = missing
            text = HEADLINE if trigger is Trigger.OVERHEARD else f"/prophecy {HEADLINE}"
            reply = await bot.hear(event(text, place=GROUP, trigger=trigger))
        assert reported == [missing]
        assert (reply and reply.text) == (
            None
            if trigger is Trigger.OVERHEARD
            else "A part of me that this needs is not installed."
        )

    async def test_a_sign_of_life_comes_before_the_answer_and_only_to_who_asked(
        self, bot: Bot
    ) -> None:
        await bot.set_up(listening=Listening.parse("all"))
        await bot.hear(event(HEADLINE, place=GROUP, trigger=Trigger.OVERHEARD))
        assert bot.adapter.signs == 0
        await bot.say("Coffee")
        assert bot.adapter.signs == 1


class TestDelivery:
    async def test_what_was_not_delivered_is_not_sent_again(
        self, bot: Bot, storage: Database, log: pytest.LogCaptureFixture
    ) -> None:
        bot.adapter.error = DeliveryError("Nobody knows whether it arrived.")
        request = event("Coffee")
        await bot.conversation.answer(request, bot.adapter)
        await bot.conversation.answer(request, bot.adapter)
        assert len(bot.adapter.delivered) == 1
        assert await states(storage) == {request.event_id: "done"}
        assert "Nobody knows whether it arrived." in log.text


class TestDeadDatabase:
    """The tables are renamed away: every statement fails, as on a server that is gone."""

    @pytest.fixture
    async def storage(self, database_url: str) -> AsyncIterator[Database]:
        """A database of its own, to break."""
        opened = await Database.open(database_url)
        yield opened
        await opened.close()

    @pytest.fixture
    async def dead(self, bot: Bot, storage: Database) -> Bot:
        await self._rename(storage, "turn", "turn_away")
        return bot

    async def _rename(self, storage: Database, old: str, new: str) -> None:
        async with storage.connection() as connection:
            await connection.execute(f"ALTER TABLE {old} RENAME TO {new}")

    async def test_redelivered_event_is_not_answered_after_recovery(
        self, dead: Bot, storage: Database
    ) -> None:
        request = event("Coffee")
        assert await dead.hear(request)
        await self._rename(storage, "turn_away", "turn")
        assert await dead.hear(request) is None
        assert (await dead.say("Tea")).hits

    async def test_apology_is_replaced_by_the_answer_after_recovery(
        self, storage: Database
    ) -> None:
        async with bot_on(storage, retry_pauses=(0.05,) * 100) as bot:
            await self._rename(storage, "turn", "turn_away")
            request = event("Coffee")
            assert await bot.hear(request)
            await self._rename(storage, "turn_away", "turn")
            await until(lambda: bot.adapter.changed)
            ((message, reply),) = bot.adapter.changed
            assert message == "m1"
            assert reply.hits
            await until(lambda: not bot.conversation._background)
            assert (len(bot.adapter.delivered), len(bot.adapter.changed)) == (1, 1)
            assert await bot.hear(request) is None

    async def test_command_that_changes_state_is_not_retried_after_recovery(
        self, storage: Database
    ) -> None:
        async with bot_on(storage, retry_pauses=(0.01,) * 10) as bot:
            await self._rename(storage, "turn", "turn_away")
            said = await bot.say("/settings threshold foretold")
            assert "Try again in a few minutes." in (said.text or "")
            assert not bot.conversation._background

    async def test_database_failure_during_the_answer_is_apologised_for(
        self, bot: Bot, storage: Database
    ) -> None:
        bot.engine.gate = asyncio.Event()
        task = asyncio.create_task(bot.hear(event("Coffee")))
        await until(lambda: bot.engine.calls)
        await self._rename(storage, "answer", "answer_away")
        bot.engine.gate.set()
        reply = await task
        assert reply
        assert (reply.text or "").startswith("Sorry, I cannot reach my archive just now.")

    async def test_database_failure_after_sending_is_only_logged(
        self, bot: Bot, storage: Database, log: pytest.LogCaptureFixture
    ) -> None:
        class Last(MemoryAdapter):
            async def deliver(inner, request: Request, reply: Reply) -> None:  # noqa: N805
                await super().deliver(request, reply)
                await self._rename(storage, "turn", "turn_away")

        adapter = Last()
        await bot.conversation.answer(event("Coffee"), adapter)
        assert [request.text for request, reply in adapter.delivered if reply.hits] == ["Coffee"]
        assert "was not settled" in log.text


class TestHostileText:
    @pytest.mark.parametrize(
        "text", ["a\0b coffee", "\ud800 coffee \udfff", "coffee " * 20_000, "\u202ecoffee"]
    )
    async def test_it_is_answered_and_stored(self, bot: Bot, text: str) -> None:
        reply = await bot.say(text)
        assert reply.hits
        assert (await bot.say("/more")).hits

    async def test_hostile_chat_title_is_cleaned_and_stored(self, bot: Bot) -> None:
        assert await bot.say("Coffee", place=replace(GROUP, title="A\0\ud800B"))
        assert (await bot.chat(replace(GROUP, title=None))).title == "AB"
