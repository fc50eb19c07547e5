"""What the bot may do in the stand-in, asked for by python-telegram-bot's own Bot."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from telegram import (
    Bot,
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InlineQueryResultArticle,
    InputTextMessageContent,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    RetryAfter,
    TelegramError,
)

from tests.fakes.telegram import Chat, RateLimits, TelegramServer, User, png

UP = InlineKeyboardMarkup([[InlineKeyboardButton("Up", callback_data="up")]])


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


def keyboard(**button: Any) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton("b", **button)]])


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


@pytest.mark.parametrize(
    ("markup", "refusal"),
    [
        (keyboard(callback_data="x" * 65), "Button_data_invalid"),
        (keyboard(callback_data="ñ" * 33), "Button_data_invalid"),
        (keyboard(url="javascript:alert(1)"), "unsupported url protocol"),
        (keyboard(), "text buttons are unallowed"),
        (keyboard(url="https://x.example", callback_data="a"), "exactly one action"),
        (InlineKeyboardMarkup([UP.inline_keyboard[0] * 9]), "Reply markup is too long"),
        (InlineKeyboardMarkup([UP.inline_keyboard[0]] * 101), "Reply markup is too long"),
    ],
)
async def test_invalid_keyboards_are_refused(
    bot: Bot, chat: Chat, markup: InlineKeyboardMarkup, refusal: str
) -> None:
    with pytest.raises(BadRequest, match=refusal):
        await bot.send_message(chat.id, "x", reply_markup=markup)


@pytest.mark.parametrize(
    ("content", "caption", "refusal"),
    [
        (b"no picture", "", "Image_process_failed"),
        (png(30_000, 1), "", "Photo_invalid_dimensions"),
        (b"\x89PNG" + bytes(10 << 20), "", "too big for a photo"),
        (png(), "x" * 1025, "Message caption is too long"),
    ],
)
async def test_invalid_photos_are_refused(
    bot: Bot, chat: Chat, content: bytes, caption: str, refusal: str
) -> None:
    with pytest.raises(BadRequest, match=refusal):
        await bot.send_photo(chat.id, content, caption=caption)


# Replies, threads, chats


async def test_replies_may_quote_and_must_name_an_existing_message(
    bot: Bot, chat: Chat, alice: User
) -> None:
    asked = await alice.says(chat, "Man bites dog")
    await bot.send_message(chat.id, "x", reply_parameters=ReplyParameters(asked.id, quote="bites"))
    assert chat.messages[-1].reply_to is asked
    with pytest.raises(BadRequest, match="Quote_text_invalid"):
        reply = ReplyParameters(asked.id, quote="cat")
        await bot.send_message(chat.id, "x", reply_parameters=reply)
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
    sport, gone = forum.topic("Sport"), forum.topic("Gone")
    sent = await bot.send_message(forum.id, "x", message_thread_id=sport.id)
    assert (sent.message_thread_id, sent.is_topic_message) == (sport.id, True)
    general = await bot.send_message(forum.id, "x")
    assert (general.message_thread_id, general.is_topic_message) == (None, None)
    forum.delete_topic(gone)
    sport.closed = True
    for thread, refusal in ((1, "thread not found"), (gone.id, "not found"), (sport.id, "_closed")):
        with pytest.raises(BadRequest, match=refusal):
            await bot.send_message(forum.id, "x", message_thread_id=thread)


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


# Editing


async def test_only_own_messages_of_the_same_kind_are_edited(
    telegram: TelegramServer, bot: Bot, alice: User
) -> None:
    group = telegram.group("News", admins=[alice])
    asked = await alice.says(group, "x")
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("y", group.id, asked.id)
    with pytest.raises(BadRequest, match="Message can't be deleted"):
        await bot.delete_message(group.id, asked.id)
    photo = await bot.send_photo(group.id, png())
    with pytest.raises(BadRequest, match="There is no text in the message to edit"):
        await photo.edit_text("y")
    await photo.edit_caption("y")
    assert group.messages[-1].text == "y"


async def test_reactions_are_validated_and_stored(
    telegram: TelegramServer, bot: Bot, chat: Chat, alice: User
) -> None:
    asked = await alice.says(chat, "x")
    await bot.set_message_reaction(chat.id, asked.id, "👀")
    assert asked.reactions == {telegram.bot.id: ("👀",)}
    with pytest.raises(BadRequest, match="Reaction_invalid"):
        await bot.set_message_reaction(chat.id, asked.id, "🔮")
    with pytest.raises(BadRequest, match="Reactions_too_many"):
        eyes = ReactionTypeEmoji("👀")
        await bot.set_message_reaction(chat.id, asked.id, [eyes, eyes])
    with pytest.raises(BadRequest, match="Message to react not found"):
        await bot.set_message_reaction(chat.id, 999, "👀")


# Buttons and inline mode


def article(number: int, text: str = "<b>x</b>") -> InlineQueryResultArticle:
    content = InputTextMessageContent(text, "HTML")
    return InlineQueryResultArticle(str(number), f"t{number}", content, reply_markup=UP)


@pytest.mark.parametrize(
    ("results", "refusal"),
    [
        ([article(1), article(1)], "Result_id_duplicate"),
        ([article(n) for n in range(51)], "Results_too_much"),
        ([article(1, "<p>x</p>")], "unsupported start tag"),
        ([article(1, "x" * 4097)], "Message is too long"),
    ],
)
async def test_invalid_inline_answers_are_refused(
    telegram: TelegramServer,
    bot: Bot,
    alice: User,
    results: list[InlineQueryResultArticle],
    refusal: str,
) -> None:
    query = await alice.asks_inline("x")
    with pytest.raises(BadRequest, match=refusal):
        await bot.answer_inline_query(query.id, results)


async def test_inline_queries_expire() -> None:
    now = [1_000_000.0]
    async with TelegramServer(clock=lambda: now[0]) as telegram, client(telegram) as bot:
        query = await telegram.user("Alice").asks_inline("x")
        now[0] += 11
        with pytest.raises(BadRequest, match="Query is too old"):
            await bot.answer_inline_query(query.id, [])


# Chats, members, menus


@pytest.mark.parametrize(
    ("command", "description", "refusal"),
    [
        ("Prophecy", "x", "Bot_command_invalid"),
        ("p", "", "Bot_command_description_invalid"),
        ("p", "x" * 257, "Bot_command_description_invalid"),
    ],
)
async def test_invalid_commands_are_refused(
    bot: Bot, command: str, description: str, refusal: str
) -> None:
    with pytest.raises(BadRequest, match=refusal):
        await bot.set_my_commands([BotCommand(command, description)])


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
