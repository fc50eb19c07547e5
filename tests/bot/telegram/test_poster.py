"""Each answer of Telegram to a post means one thing: shown, not shown, never, or nobody knows."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.adapter import ChatGone, DeliveryError, PlatformFailed, SlowDown, Unsure, WritingForbidden
from bot.i18n.words import words_for
from bot.pace import EvenPace
from bot.reply import Action, Button, Reply
from bot.request import Place
from bot.telegram import client
from bot.telegram.adapter import TelegramAdapter, TelegramPoster
from bot.telegram.client import Bot
from db.chat.chats import Chats
from db.pool import Database
from engine.chat import Chat as KnownChat
from tests.bot.conversing import event
from tests.fakes.telegram import Chat, TelegramServer

WORDS = words_for("en")
POST = Reply(
    words=WORDS,
    text="News & more",
    buttons=((Button(label="Why?", action=Action(name="why", answer_id=1, value="0")),),),
)
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server
        assert server.errors == []


@pytest.fixture
def group(telegram: TelegramServer) -> Chat:
    return telegram.group("Friends", admins=[telegram.user("Alice")], forum=True)


@pytest.fixture
async def poster(telegram: TelegramServer, storage: Database) -> AsyncIterator[TelegramPoster]:
    poster = TelegramPoster(telegram.token, api_base=telegram.root, chats=Chats(storage))
    yield poster
    await poster.close()


def known(chat: Chat) -> KnownChat:
    return KnownChat(id=1, platform="telegram", external_id=str(chat.id), private=False)


async def test_a_post_longer_than_a_message_is_one_all_the_same(
    poster: TelegramPoster, group: Chat
) -> None:
    """A part that was sent would be sent again if the rest failed."""
    identity = await poster.post(known(group), None, replace(POST, text="🌊 " * 3000), key="k")
    (message,) = group.bot_messages
    assert identity == str(message.id)
    assert message.buttons


async def test_a_post_goes_to_its_topic_and_without_it_to_the_chat(
    poster: TelegramPoster, group: Chat
) -> None:
    topic = group.topic("News")
    await poster.post(known(group), str(topic.id), POST, key="1")
    await poster.post(known(group), "4711", POST, key="2")
    assert [message.thread_id for message in group.bot_messages] == [topic.id, None]


async def test_a_group_that_has_moved_is_followed(
    telegram: TelegramServer, poster: TelegramPoster, storage: Database
) -> None:
    old = telegram.group("Friends", admins=[telegram.user("Alice")], basic=True)
    chats = Chats(storage)
    chat = await chats.meet("telegram", str(old.id), private=False, title="Friends")
    new = old.migrate()
    await poster.post(chat, None, POST, key="k")
    assert len(new.bot_messages) == 1
    moved = await chats.meet("telegram", str(new.id), private=False, title="Friends")
    assert moved.id == chat.id


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"error": 429, "retry_after": 17}, SlowDown),
        ({"error": 403}, ChatGone),
        ({"error": 400, "description": "Bad Request: chat not found"}, ChatGone),
        ({"error": 400, "description": "Bad Request: not enough rights"}, WritingForbidden),
        ({"error": 500}, PlatformFailed),
        ({"error": "bad_gateway"}, PlatformFailed),
        ({"error": "drop_connection_before"}, Unsure),
        ({"error": "drop_connection_after_processing"}, Unsure),
        ({"error": 401, "description": "Unauthorized"}, DeliveryError),
    ],
)
async def test_telegram_faults_map_to_delivery_errors(
    telegram: TelegramServer,
    poster: TelegramPoster,
    group: Chat,
    fault: dict[str, int | str],
    expected: type[DeliveryError],
) -> None:
    telegram.fail("sendMessage", **fault)  # type: ignore[arg-type]  # a table of faults
    with pytest.raises(DeliveryError) as raised:
        await poster.post(known(group), None, POST, key="k")
    assert type(raised.value) is expected
    assert telegram.token not in str(raised.value)
    assert len(telegram.called("sendMessage")) == 1, "the outbox tries again, nobody else"
    if isinstance(raised.value, SlowDown):
        assert raised.value.seconds == 17


async def test_unreachable_telegram_raises_a_plain_delivery_error(
    telegram: TelegramServer, poster: TelegramPoster, group: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_PAUSES", (0.0,) * len(client._PAUSES))
    await telegram.stop()
    with pytest.raises(DeliveryError) as raised:
        await poster.post(known(group), None, POST, key="k")
    assert type(raised.value) is DeliveryError
    await telegram.start()


async def test_find_posted_returns_none(poster: TelegramPoster, group: Chat) -> None:
    await poster.post(known(group), None, POST, key="k")
    assert await poster.find_posted(known(group), None, "k", datetime.now(UTC)) is None


async def test_posts_are_paced_below_the_telegram_limit(
    poster: TelegramPoster, group: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Telegram accepts thirty a second from one bot, whoever they are to."""
    waits: list[float] = []

    def reserved(pace: EvenPace, now: float) -> float:
        waits.append(reserve(pace, now))
        return 0.0

    reserve = EvenPace.reserve
    monkeypatch.setattr(EvenPace, "reserve", reserved)
    await asyncio.gather(*(poster.post(known(group), None, POST, key=str(n)) for n in range(9)))
    assert len(group.bot_messages) == len(waits) == 9
    assert max(waits) <= 8 / 25
    assert max(waits) > 0


async def test_an_answer_of_two_messages_is_changed_and_withdrawn_whole(
    telegram: TelegramServer, storage: Database
) -> None:
    alice = telegram.user("Alice")
    chat = telegram.private_chat(alice)
    bot = Bot(telegram.token, api_base=telegram.root, hold=0, limited=False)
    adapter = TelegramAdapter(bot, Chats(storage))
    place = Place(platform="telegram", chat_id=str(chat.id), private=True)
    asked = event("why", place=place)
    long = replace(POST, text=" ".join(["coffee"] * 1000))
    names = await adapter.deliver(asked, long) or ""
    first, second = chat.bot_messages
    assert names == f"{first.id} {second.id}"
    assert await adapter.change(asked, names, POST) == f"{first.id}"
    assert (first.text, second.deleted, len(first.buttons)) == ("News & more", True, 1)
    longer = await adapter.change(asked, str(first.id), long)
    await adapter.delete(asked, longer)
    assert all(message.deleted for message in chat.bot_messages)
    await bot.request.shutdown()


async def test_a_post_for_a_closed_topic_goes_to_the_chat(
    telegram: TelegramServer, poster: TelegramPoster
) -> None:
    forum = telegram.group("Forum", admins=[telegram.user("Alice")], forum=True)
    topic = forum.topic("News")
    telegram.fail("sendMessage", error=400, description="Bad Request: TOPIC_CLOSED")
    await poster.post(known(forum), str(topic.id), POST, key="k")
    (message,) = forum.bot_messages
    assert message.thread_id != topic.id
