"""What the bot may do in the stand-in, asked for by python-telegram-bot's own Bot."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from telegram import Bot
from telegram.error import BadRequest, ChatMigrated, Forbidden, RetryAfter, TelegramError

from tests.fakes.telegram import Chat, RateLimits, TelegramServer, User


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server
        assert server.errors == []


@pytest.fixture
async def bot(telegram: TelegramServer) -> AsyncIterator[Bot]:
    async with client(telegram) as one:
        yield one


@pytest.fixture
def alice(telegram: TelegramServer) -> User:
    return telegram.user("Alice", language="es")


@pytest.fixture
def chat(telegram: TelegramServer, alice: User) -> Chat:
    return telegram.private_chat(alice)


@asynccontextmanager
async def client(telegram: TelegramServer, token: str | None = None) -> AsyncIterator[Bot]:
    async with Bot(
        token or telegram.token,
        base_url=telegram.base_url,
        base_file_url=telegram.base_file_url,
    ) as one:
        yield one


# Sending


@pytest.mark.parametrize(
    ("text", "parse_mode", "refusal"),
    [
        ("", None, "Message text is empty"),
        (" \n ", None, "Text must be non-empty"),
        ("<b></b>", "HTML", "Text must be non-empty"),
        ("x" * 4097, None, "Message is too long"),
        ("😀" * 2049, None, "Message is too long"),
        ("<b>x", "HTML", "Can't parse entities: can't find end tag corresponding to start tag b"),
        ("*x*", "MarkdownV2", "Unsupported parse_mode: the stand-in reads html, not markdownv2"),
    ],
)
async def test_invalid_texts_are_refused(
    bot: Bot, chat: Chat, text: str, parse_mode: str | None, refusal: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        await bot.send_message(chat.id, text, parse_mode)
    assert refused.value.message == refusal
    assert chat.messages == []


@pytest.mark.parametrize("parse_mode", [None, "HTML"])
async def test_control_characters_never_reach_the_chat(
    bot: Bot, chat: Chat, parse_mode: str | None
) -> None:
    sent = await bot.send_message(chat.id, "a\0b\u202ec\r\nd", parse_mode)
    assert (sent.text, chat.messages[0].text) == ("a bc\nd", "a bc\nd")


async def test_markup_does_not_count_towards_the_limit(bot: Bot, chat: Chat) -> None:
    await bot.send_message(chat.id, f"<b>{'&amp;' * 4096}</b>", "HTML")
    assert chat.messages[0].text == "&" * 4096


# Replies, threads, chats


async def test_a_reply_must_name_an_existing_message(bot: Bot, chat: Chat, alice: User) -> None:
    asked = await alice.says(chat, "Man bites dog")
    chat.delete(asked)
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await bot.send_message(chat.id, "x", reply_to_message_id=asked.id)
    sent = await bot.send_message(
        chat.id, "x", reply_to_message_id=asked.id, allow_sending_without_reply=True
    )
    assert sent.reply_to_message is None


async def test_topics_are_addressed_by_id_and_the_general_topic_by_none(
    telegram: TelegramServer, bot: Bot, alice: User
) -> None:
    forum = telegram.group("News", admins=[alice], forum=True)
    sport = forum.topic("Sport")
    sent = await bot.send_message(forum.id, "x", message_thread_id=sport.id)
    assert (sent.message_thread_id, sent.is_topic_message) == (sport.id, True)
    general = await bot.send_message(forum.id, "x")
    assert (general.message_thread_id, general.is_topic_message) == (None, None)
    with pytest.raises(BadRequest, match="thread not found"):
        await bot.send_message(forum.id, "x", message_thread_id=1)


async def test_sending_to_an_unavailable_chat_is_refused(
    telegram: TelegramServer, bot: Bot, alice: User, chat: Chat
) -> None:
    group = telegram.group("News", admins=[alice])
    old = telegram.group("Old", admins=[alice], basic=True)
    await alice.blocks_bot()
    group.remove_bot()
    new = old.migrate()
    for place, refusal in (
        (chat, Forbidden("Forbidden: bot was blocked by the user")),
        (group, Forbidden("Forbidden: bot was kicked from the supergroup chat")),
        (old, ChatMigrated(new.id)),
    ):
        with pytest.raises(TelegramError) as refused:
            await bot.send_message(place.id, "x")
        assert (type(refused.value), refused.value.message) == (type(refusal), refusal.message)
    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.send_message(42, "x")
    await bot.send_message(new.id, "x")
    await alice.unblocks_bot()
    await bot.send_message(chat.id, "x")


# Limits


async def test_rate_limits_return_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "true")  # the old type of retry_after is a warning
    now = [1_000_000.0]
    limits = RateLimits(overall_a_second=30, chat_burst=3, group_a_minute=20)
    async with (
        TelegramServer(limits=limits, clock=lambda: now[0]) as telegram,
        client(telegram) as bot,
    ):
        group = telegram.group("News", admins=[telegram.user("Alice")])
        for _ in range(3):
            await bot.send_message(group.id, "x")
        with pytest.raises(RetryAfter) as refused:
            await bot.send_message(group.id, "x")
        assert refused.value.retry_after == timedelta(seconds=3)
        now[0] += 1
        for _ in range(17):
            now[0] += 2
            await bot.send_message(group.id, "x")
        now[0] += 3
        with pytest.raises(RetryAfter) as refused:
            await bot.send_message(group.id, "x")
        assert refused.value.retry_after == timedelta(seconds=22)
        chats = [telegram.private_chat(telegram.user(str(n))) for n in range(31)]
        for chat in chats[:30]:
            await bot.send_message(chat.id, "x")
        with pytest.raises(RetryAfter) as refused:
            await bot.send_message(chats[30].id, "x")
        assert refused.value.retry_after == timedelta(seconds=1)
