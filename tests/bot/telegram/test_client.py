"""The library's bot against a stand-in: every wait ends, and nothing is sent twice."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import patch

import httpx
import pytest
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from bot.adapter import (
    ChatGone,
    DeliveryError,
    DeliveryRefused,
    PlatformFailed,
    SlowDown,
    Unsure,
    WritingForbidden,
)
from bot.pace import Holds
from bot.telegram.client import (
    Bot,
    GroupMigrated,
    MessageUnchanged,
    describe_telegram_error,
    map_telegram_errors,
)
from bot.telegram.receiving import pause_after
from tests.fakes.telegram import Chat, TelegramServer
from tests.patience import PATIENCE, movable_time, until


@pytest.fixture
async def bot(telegram: TelegramServer) -> AsyncIterator[Bot]:
    bot = Bot(telegram.token, api_base=telegram.root + "/", hold=1, seconds=PATIENCE)
    await bot.initialize()
    yield bot
    await bot.shutdown()


@pytest.fixture
def group(telegram: TelegramServer) -> Chat:
    return telegram.group("Friends", admins=[telegram.user("Alice")])


async def test_a_request_that_is_never_answered_ends(telegram: TelegramServer, group: Chat) -> None:
    async with Bot(telegram.token, api_base=telegram.root, hold=1, seconds=0.3) as bot:
        telegram.fail("sendMessage", error="hang")
        with pytest.raises(TimedOut):
            await bot.send_message(group.id, "x")
    assert len(telegram.called("sendMessage")) == 1


async def test_what_never_reached_telegram_is_tried_again(
    telegram: TelegramServer, bot: Bot, group: Chat
) -> None:
    await telegram.stop()
    sending = asyncio.create_task(bot.send_message(group.id, "x"))
    await asyncio.sleep(0.2)
    await telegram.start()
    await sending
    assert [message.text for message in group.bot_messages] == ["x"]


async def test_a_connection_that_broke_is_not_tried_again(
    telegram: TelegramServer, bot: Bot, group: Chat
) -> None:
    telegram.fail("sendMessage", error="drop_connection_after_processing")
    with pytest.raises(NetworkError):
        await bot.send_message(group.id, "x")
    assert [message.text for message in group.bot_messages] == ["x"]


async def test_typing_does_not_use_up_what_a_group_may_be_sent(bot: Bot, group: Chat) -> None:
    started = time.monotonic()
    for _ in range(25):  # Telegram's limit is 20 messages a minute
        await bot.send_chat_action(group.id, "typing")
    await bot.send_message(group.id, "x")
    assert time.monotonic() - started < 15  # the last of 26 messages goes after 18 seconds


async def test_a_group_is_sent_twenty_messages_a_minute(bot: Bot, group: Chat) -> None:
    started = time.monotonic()
    sending = [asyncio.create_task(bot.send_message(group.id, str(n))) for n in range(40)]
    await until(lambda: len(group.bot_messages) >= 20)
    await asyncio.sleep(0.5)
    assert len(group.bot_messages) <= 20 + (time.monotonic() - started) / 3
    for each in sending:
        each.cancel()
    await asyncio.gather(*sending, return_exceptions=True)


async def test_a_chat_that_is_refused_keeps_no_other_waiting(
    telegram: TelegramServer, bot: Bot, group: Chat, refused: list[str]
) -> None:
    other = telegram.group("Colleagues", admins=[telegram.user("Bob")])
    telegram.fail("sendMessage", error=429, retry_after=60, chat=group)
    with _moved_clock() as move:
        waiting = asyncio.create_task(bot.send_message(group.id, "first"))
        await until(lambda: refused)
        await bot.send_message(other.id, "meanwhile")
        move(59)
        await asyncio.sleep(0.05)
        assert not waiting.done()
        move(2)
        await waiting
    chats = [int(call.parameters["chat_id"]) for call in telegram.called("sendMessage")]
    assert chats == [group.id, other.id, group.id]
    assert [message.text for message in group.bot_messages] == ["first"]


async def test_all_chats_wait_once_a_second_one_is_refused_meanwhile(
    telegram: TelegramServer, bot: Bot, group: Chat, refused: list[str]
) -> None:
    second, third = (telegram.group(name, admins=[telegram.user(name)]) for name in ("B", "C"))
    for chat in (group, second):
        telegram.fail("sendMessage", error=429, retry_after=60, chat=chat)
    with _moved_clock() as move:
        sent = [asyncio.create_task(bot.send_message(chat.id, "x")) for chat in (group, second)]
        await until(lambda: len(refused) == 2)
        sent.append(asyncio.create_task(bot.send_message(third.id, "x")))
        move(59)
        await asyncio.sleep(0.05)
        assert len(telegram.called("sendMessage")) == 2
        move(2)
        await asyncio.gather(*sent)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The chats that the bot knows it has to wait for."""
    chats: list[str] = []
    hold = Holds.hold_chat

    def noted(self: Holds, chat: str, seconds: float, now: float) -> None:
        hold(self, chat, seconds, now)
        chats.append(chat)

    monkeypatch.setattr(Holds, "hold_chat", noted)
    return chats


@contextmanager
def _moved_clock() -> Iterator[Callable[[float], None]]:
    with movable_time() as move:
        clock = SimpleNamespace(monotonic=asyncio.get_running_loop().time)
        with patch("bot.telegram.client.time", clock):
            yield move


async def test_a_refused_chat_is_tried_a_few_times(
    telegram: TelegramServer, bot: Bot, group: Chat
) -> None:
    telegram.fail("sendMessage", error=429, retry_after=0, times=9)
    with pytest.raises(RetryAfter):
        await bot.send_message(group.id, "x")
    assert len(telegram.called("sendMessage")) == 4


async def test_malformed_updates_are_returned_raw(telegram: TelegramServer, bot: Bot) -> None:
    telegram.malformed_update()
    found = await bot.get_raw_updates(0, 0, ["message"])
    assert [one["message"] for one in found] == ["not an object"]


async def test_lone_surrogates_become_replacement_characters(
    telegram: TelegramServer, bot: Bot
) -> None:
    telegram.malformed_update(content={"text": "a \ud83d b \U0001f600", "caption": ["\udc00"]})
    found = await bot.get_raw_updates(0, 0, ["message"])
    assert [one["message"] for one in found] == [
        {"text": "a \ufffd b \U0001f600", "caption": ["\ufffd"]}
    ]


SECRET = "what-somebody-wrote"


async def raised(error: TelegramError) -> DeliveryError:
    with pytest.raises(DeliveryError) as failed:
        async with map_telegram_errors():
            raise error
    return failed.value


def never_sent() -> TelegramError:
    error = NetworkError("httpx.ConnectError")
    error.__cause__ = httpx.ConnectError("")
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Forbidden("Forbidden: bot was blocked by the user"), ChatGone),
        (BadRequest("Bad Request: chat not found"), ChatGone),
        (BadRequest("Bad Request: message is not modified: same"), MessageUnchanged),
        (BadRequest("Bad Request: message is too long"), DeliveryRefused),
        (BadRequest("Bad Request: TOPIC_CLOSED"), WritingForbidden),
        (BadRequest("Bad Request: CHAT_WRITE_FORBIDDEN"), WritingForbidden),
        (Forbidden("Forbidden: CHAT_WRITE_FORBIDDEN"), WritingForbidden),
        (BadRequest("Bad Request: CHAT_RESTRICTED"), WritingForbidden),
        (BadRequest("Bad Request: CHAT_SEND_PHOTOS_FORBIDDEN"), WritingForbidden),
        (BadRequest("Bad Request: have no rights to send a message"), WritingForbidden),
        (
            BadRequest("Bad Request: not enough rights to send text messages to the chat"),
            WritingForbidden,
        ),
        (Forbidden("Forbidden: bot was kicked from the supergroup chat"), ChatGone),
        (ChatMigrated(-100), GroupMigrated),
        (RetryAfter(7), SlowDown),
        (TimedOut(), Unsure),
        (NetworkError("Bad Gateway"), PlatformFailed),
        (never_sent(), DeliveryError),
        (InvalidToken(f"The token {SECRET} was rejected"), DeliveryError),
    ],
)
async def test_telegram_errors_map_to_delivery_errors(error: TelegramError, kind: type) -> None:
    failed = await raised(error)
    assert type(failed) is kind
    assert SECRET not in str(failed)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            BadRequest(f"Bad Request: can't parse entities: unsupported start tag {SECRET!r}"),
            "can't parse entities",
        ),
        (BadRequest(f"Bad Request: wrong something: {SECRET}"), "BadRequest"),
        (Forbidden(f"Forbidden: {SECRET}"), "Forbidden"),
        (NetworkError(f"Unknown error in HTTP implementation: {SECRET}"), "NetworkError"),
        (BadRequest("Bad Request: PEER_ID_INVALID"), "PEER_ID_INVALID"),
        (BadRequest(f"Bad Request: PEER_ID_INVALID {SECRET}"), "BadRequest"),
    ],
)
async def test_quoted_text_is_removed_from_error_descriptions(
    error: TelegramError, expected: str
) -> None:
    assert describe_telegram_error(error) == expected
    message = str(await raised(error))
    assert expected in message
    assert SECRET not in message


def test_a_broken_connection_is_told_by_its_type() -> None:
    error = NetworkError(f"httpx.ReadError: {SECRET}")
    error.__cause__ = httpx.ReadError(SECRET)
    assert describe_telegram_error(error) == "NetworkError from ReadError"


@pytest.mark.parametrize(
    ("error", "failures", "seconds"),
    [
        (NetworkError("x"), 1, 1),
        (NetworkError("x"), 3, 4),
        (Conflict("x"), 5, 16),
        (NetworkError("x"), 6, 30),
        (NetworkError("x"), 5000, 30),
        (RetryAfter(7), 1, 7),
        (RetryAfter(timedelta(seconds=90)), 4, 90),
    ],
)
def test_pauses_grow_to_an_end_unless_telegram_says_how_long(
    error: TelegramError, failures: int, seconds: float
) -> None:
    assert pause_after(error, failures) == seconds
