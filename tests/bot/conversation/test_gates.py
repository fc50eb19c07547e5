"""Each gate stops what it is for, before those that come after it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from time import monotonic

import pytest

from bot.commands import standard_commands
from bot.conversation.gates import Gates, Stop, find_reason_to_ignore
from bot.request import Person, Place, Request, Trigger
from bot.settings.model import ChatSettings
from db.chat.chats import Chats
from db.pool import Database
from engine.chat import Listening
from tests.bot.apps import app_on, change_settings
from tests.bot.conversing import GROUP, PRIVATE, event
from tests.bot.prophecies import NOW

INLINE = Place(platform="test", chat_id="inline:ana", private=True, kept=False)
HEADLINE = "Senate Passes The Budget After A Long Night"


def gates(storage: Database, clock: Callable[[], float] = monotonic, **limits: object) -> Gates:
    settings = change_settings(chat=ChatSettings.model_validate({"access": "open", **limits}))
    app = app_on(storage, settings=settings)
    return Gates(app, standard_commands().count_searches, None, clock=clock)


async def consider(gates: Gates, request: Request, *, crowded: bool = False) -> Request | Stop:
    """Admit a request, and charge it as if it were its turn."""
    admitted = await gates.admit(request, crowded=crowded)
    return admitted if isinstance(admitted, Stop) else await gates.charge(admitted) or admitted


async def why(gates: Gates, request: Request, *, crowded: bool = False) -> str:
    """Return why a request is stopped; "" when it is let through."""
    outcome = await consider(gates, request, crowded=crowded)
    return outcome.why if isinstance(outcome, Stop) else ""


async def used(storage: Database) -> dict[str, int]:
    async with storage.connection() as connection:
        rows = await connection.fetch("SELECT scope, used FROM quota")
    return {row["scope"].partition(":")[0]: row["used"] for row in rows}


async def set_up(storage: Database, **changes: object) -> None:
    chats = Chats(storage)
    chat = await chats.meet("test", GROUP.chat_id, private=False, title=None)
    await chats.change(replace(chat, **changes))  # type: ignore[arg-type]  # settings of Chat


def overheard(text: str = HEADLINE, **changes: object) -> Request:
    return event(text, place=GROUP, trigger=Trigger.OVERHEARD, **changes)


class TestNotMeant:
    @pytest.mark.parametrize(
        ("request_", "expected"),
        [
            (event("Hi", person=Person(id="me", bot=True, myself=True)), "own message"),
            (event("Hi", person=Person(id="it", bot=True)), "other bot"),
            (overheard(""), "empty"),
            (overheard(" \n\0\t").strip_unstorable(), "empty"),
            (overheard("see you all tomorrow at five then"), "overheard, no headline"),
        ],
    )
    def test_messages_not_meant_for_the_bot_are_ignored(
        self, request_: Request, expected: str
    ) -> None:
        assert find_reason_to_ignore(request_) == expected


class TestAllowedChats:
    @pytest.mark.parametrize(
        ("place", "allow", "block", "expected"),
        [
            (PRIVATE, (), (), ""),
            (PRIVATE, ("test:p",), (), ""),
            (PRIVATE, ("test:g", "other:p"), (), "chat not allowed"),
            (PRIVATE, (), ("test:p",), "chat not allowed"),
            (PRIVATE, ("test:p",), ("test:p",), "chat not allowed"),
            (PRIVATE, (), ("test:g",), ""),
            (INLINE, (), (), ""),
            (INLINE, ("test:ana",), (), ""),
            (INLINE, ("test:g", "other:ana"), (), "chat not allowed"),
            (INLINE, ("test:ana",), ("test:ana",), "chat not allowed"),
            (INLINE, (), ("test:ben",), ""),
            (GROUP, ("test:ana",), (), "chat not allowed"),
        ],
    )
    async def test_allow_and_block_lists_apply_to_chats_and_to_the_person_of_an_inline_query(
        self,
        storage: Database,
        place: Place,
        allow: tuple[str, ...],
        block: tuple[str, ...],
        expected: str,
    ) -> None:
        chosen = gates(storage, allow=allow, block=block)
        assert await why(chosen, event("Coffee", place=place)) == expected

    async def test_blocked_chat_is_ignored_and_not_stored(self, storage: Database) -> None:
        chosen = gates(storage, block=("test:p",), user_daily=0)
        stopped = await chosen.admit(event("Coffee"), crowded=True)
        assert stopped == Stop("chat not allowed")
        assert await used(storage) == {}
        async with storage.connection() as connection:
            assert await connection.fetchval("SELECT count(*) FROM chat") == 0


class TestListening:
    @pytest.mark.parametrize(
        ("listening", "overheard_", "mention", "command"),
        [
            (Listening.parse("all"), "", "", ""),
            (Listening.parse("mentions"), "not listening", "", ""),
            (Listening.parse("commands"), "not listening", "not listening", ""),
        ],
    )
    async def test_the_setting_of_a_group_decides(
        self, storage: Database, listening: Listening, overheard_: str, mention: str, command: str
    ) -> None:
        await set_up(storage, listening=listening)
        chosen = gates(storage)
        assert await why(chosen, overheard()) == overheard_
        assert await why(chosen, event("Coffee", place=GROUP)) == mention
        assert await why(chosen, event("/help", place=GROUP)) == command
        said = event("/p Coffee", place=GROUP, trigger=Trigger.COMMAND)
        assert await why(chosen, said) == command
        pressed = event("up:1:1", place=GROUP, trigger=Trigger.BUTTON)
        assert await why(chosen, pressed) == ""

    async def test_quiet_hours_apply_only_to_overheard_messages(self, storage: Database) -> None:
        await set_up(
            storage, listening=Listening.parse("all"), quiet_from=time(11), quiet_to=time(13)
        )
        chosen = gates(storage)
        assert await why(chosen, overheard()) == "not listening"
        assert await why(chosen, event("Coffee", place=GROUP)) == ""


class TestQuotas:
    async def test_person_over_quota_is_told_the_waiting_time(self, storage: Database) -> None:
        chosen = gates(storage, user_daily=2)
        now = datetime(2024, 6, 1, 21, 29, 30, tzinfo=UTC)
        for _ in range(2):
            assert await why(chosen, event("Coffee", now=now)) == ""
        stopped = await consider(chosen, event("Coffee", now=now))
        assert isinstance(stopped, Stop)
        assert stopped.why == "over quota"
        assert stopped.reply
        assert stopped.reply.ephemeral
        assert stopped.reply.text == (
            "That was enough for today: 2 searches a day for each person. I answer again in 2 h"
            " 31 min (0:00, UTC). Whoever runs me can allow more."
        )
        # Whoever waits that long is answered.
        assert await why(chosen, event("Coffee", now=now + timedelta(hours=2, minutes=31))) == ""

    async def test_quota_reset_is_shown_in_the_time_zone_of_the_chat(
        self, storage: Database
    ) -> None:
        chat = await Chats(storage).meet("test", "p", private=True, title=None)
        await Chats(storage).change(replace(chat, time_zone="Europe/Madrid"))
        chosen = gates(storage, user_daily=1)
        assert await why(chosen, event("Coffee")) == ""
        stopped = await consider(chosen, event("Coffee"))
        assert isinstance(stopped, Stop)
        assert stopped.reply
        assert "(2:00, Madrid)" in (stopped.reply.text or "")

    @pytest.mark.parametrize(
        ("trigger", "text"),
        [
            *((Trigger.COMMAND, text) for text in (
                "/unsubscribe", "/subscribe off", "/help", "/settings language es", "/history",
                "/feeds", "/feeds remove 1", "/corpus demo", "/top", "/why", "/preview",
                "/today", "/more", "/glossary list", "/nonsense",
            )),
            *((Trigger.BUTTON, text) for text in (
                "up:1:1", "more:1:3", "why:1:", "set::threshold=mirrors", "x",
            )),
        ],
    )  # fmt: skip
    async def test_what_searches_nothing_works_over_quota(
        self, storage: Database, trigger: Trigger, text: str
    ) -> None:
        chosen = gates(storage, user_daily=0, chat_daily=0)
        assert await why(chosen, event(text, trigger=trigger)) == ""
        assert await used(storage) == {}

    @pytest.mark.parametrize(
        "text", ["Coffee", "/p Coffee", "/Prophecy\nCoffee", "/find x", "/ask x", "/feeds add x"]
    )
    async def test_searches_are_refused_over_quota(self, storage: Database, text: str) -> None:
        chosen = gates(storage, user_daily=0, chat_daily=0)
        assert await why(chosen, event(text)) == "over quota"

    async def test_overheard_headline_uses_only_the_quota_of_the_chat(
        self, storage: Database
    ) -> None:
        await set_up(storage, listening=Listening.parse("all"))
        chosen = gates(storage, chat_daily=1, user_daily=1)
        assert await why(chosen, overheard()) == ""
        assert await used(storage) == {"chat": 1}
        assert await consider(chosen, overheard()) == Stop("over quota")


class TestPace:
    def test_who_searches_too_fast_in_a_group_is_answered_after_a_pause(
        self, storage: Database
    ) -> None:
        seconds = [0.0]
        chosen = gates(storage, clock=lambda: seconds[0])
        first, *later = (event(f"Coffee {n}", place=GROUP) for n in range(4))
        with chosen.keep_pace(event("/help", place=GROUP)), chosen.keep_pace(first) as paced:
            assert not paced.hurried
            assert hurries(chosen, later[0])
            assert not hurries(chosen, event("/help", place=GROUP))
            assert not hurries(chosen, event("Tea", place=GROUP, person=Person(id="bob")))
            assert not hurries(chosen, event("Tea"))
        seconds[0] = 0.9
        assert hurries(chosen, later[1])
        seconds[0] = 2.0
        assert not hurries(chosen, later[2])
        assert not hurries(chosen, later[2])

    async def test_the_notice_is_given_once_and_nobody_who_is_overheard_gets_it(
        self, storage: Database
    ) -> None:
        await set_up(storage, listening=Listening.parse("all"))
        chosen = gates(storage)
        asked = (event("Coffee", place=GROUP, hurried=True) for _ in range(2))
        stops = [
            await chosen.admit(request, crowded=False)
            for request in (overheard(hurried=True), *asked)
        ]
        replies = [stop.reply for stop in stops if isinstance(stop, Stop)]
        said = "One at a time, please. Send me the others later."
        assert [reply and reply.text for reply in replies] == [None, said, None]
        assert await used(storage) == {}, "what is not answered costs nothing"


def hurries(gates: Gates, request: Request) -> bool:
    """Tell whether a request comes too fast; it is answered at once."""
    with gates.keep_pace(request) as paced:
        return paced.hurried


class TestBusy:
    async def test_busy_reply_is_sent_once_a_minute_per_person_and_chat(
        self, storage: Database
    ) -> None:
        chosen = gates(storage)

        async def is_told(seconds: float, **changes: object) -> bool:
            request = event("Coffee", now=NOW + timedelta(seconds=seconds), **changes)
            stopped = await chosen.admit(request, crowded=True)
            assert isinstance(stopped, Stop)
            return stopped.reply is not None

        assert await is_told(0)
        assert not await is_told(59)
        assert await is_told(59, person=Person(id="ben"))
        assert await is_told(59, place=GROUP)
        assert await is_told(60)
        assert not await is_told(119)

    async def test_what_cannot_be_read_is_answered_once_a_day(self, storage: Database) -> None:
        sent = event("", unreadable=True)
        assert [await why(gates(storage), sent) for _ in range(3)] == ["", *["told today"] * 2]

    def test_turned_away_reply_is_sent_once_in_the_language_of_the_person(
        self, storage: Database
    ) -> None:
        chosen = gates(storage, block=("test:g",))
        spanish = Person(id="ana", language="es")
        reply = chosen.turn_away(event("Coffee", person=spanish))
        assert reply
        assert (reply.text or "").startswith("Ahora tengo demasiado que hacer.")
        assert chosen.turn_away(event("Coffee", person=spanish)) is None
        assert chosen.turn_away(event("Coffee", place=GROUP)) is None
        assert chosen.turn_away(event(HEADLINE, trigger=Trigger.OVERHEARD)) is None


async def test_a_place_that_is_not_kept_leaves_no_trace_but_the_quota_of_the_person(
    storage: Database,
) -> None:
    chosen = gates(storage, user_daily=1, chat_daily=0)
    admitted = await consider(chosen, event("Coffee", place=INLINE))
    assert isinstance(admitted, Request)
    assert admitted.known_chat.external_id == "inline:ana"
    assert await used(storage) == {"user": 1}
    assert await why(chosen, event("Coffee", place=INLINE)) == "over quota"
    async with storage.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM chat") == 0


@pytest.mark.parametrize("text", ["/save https://example.org/news", f"/Poll {HEADLINE}"])
def test_a_command_that_was_meant_for_another_bot_is_no_headline(text: str) -> None:
    assert find_reason_to_ignore(overheard(text)) == "overheard, no headline"
