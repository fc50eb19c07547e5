"""What the bot may do in the stand-in, asked for by python-telegram-bot's own Bot."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
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


async def test_a_sent_message_is_what_people_see(bot: Bot, chat: Chat) -> None:
    link = '<a href="https://x.example/1">tweet</a>'
    sent = await bot.send_message(chat.id, f"<b>Old</b> {link} &lt;3", "HTML", reply_markup=UP)
    (seen,) = chat.messages
    assert (seen.text, seen.from_bot, seen.id) == ("Old tweet <3", True, sent.message_id)
    assert seen.links == [("tweet", "https://x.example/1")]
    assert seen.body.marked("bold") == ["Old"]
    assert [(b.text, b.data) for b in seen.buttons] == [("Up", "up")]
    assert sent.text_html.startswith("<b>Old</b>")


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


async def test_photos_can_be_uploaded_reused_by_id_and_downloaded(bot: Bot, chat: Chat) -> None:
    picture = png(1200, 630)
    sent = await bot.send_photo(chat.id, io.BytesIO(picture), caption="<i>x</i>", parse_mode="HTML")
    assert (sent.photo[-1].width, sent.photo[-1].height, sent.caption) == (1200, 630, "x")
    await bot.send_photo(chat.id, sent.photo[-1].file_id)
    assert [message.photo and message.photo.content for message in chat.messages] == [
        picture,
        picture,
    ]
    file = await bot.get_file(sent.photo[-1].file_id)
    assert bytes(await file.download_as_bytearray()) == picture


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


async def test_a_reply_stays_in_its_topic(telegram: TelegramServer, bot: Bot, alice: User) -> None:
    forum = telegram.group("News", admins=[alice], forum=True)
    asked = await alice.says(forum, "x", thread=forum.topic("Sport"))
    sent = await bot.send_message(forum.id, "y", reply_to_message_id=asked.id)
    assert sent.message_thread_id == asked.thread_id


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


async def test_a_bot_can_leave_a_group_but_not_a_private_chat(
    telegram: TelegramServer, bot: Bot, alice: User
) -> None:
    group = telegram.group("News", admins=[alice])
    assert await bot.leave_chat(group.id)
    with pytest.raises(Forbidden, match="bot is not a member of the supergroup chat"):
        await bot.send_message(group.id, "x")
    with pytest.raises(BadRequest, match="can't be changed in private chats"):
        await bot.leave_chat(telegram.private_chat(alice).id)


# Editing


async def test_edits_change_what_people_see(bot: Bot, chat: Chat) -> None:
    sent = await bot.send_message(chat.id, "one", reply_markup=UP)
    with pytest.raises(BadRequest, match="Message is not modified"):
        await sent.edit_text("<b></b>one", "HTML", reply_markup=UP)
    await sent.edit_text("<b>two</b>", "HTML", reply_markup=UP)
    with pytest.raises(BadRequest, match="Message is not modified"):
        await sent.edit_reply_markup(UP)
    await sent.edit_reply_markup(None)
    (seen,) = chat.messages
    assert (seen.text, seen.buttons, seen.edits) == ("two", [], 2)
    assert await sent.delete()
    assert chat.messages == []
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await sent.edit_text("three")
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await sent.delete()


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


async def test_chat_actions_are_recorded(bot: Bot, chat: Chat) -> None:
    await bot.send_chat_action(chat.id, "typing")
    assert chat.actions == ["typing"]
    with pytest.raises(BadRequest, match="Wrong parameter action"):
        await bot.send_chat_action(chat.id, "juggling")


# Buttons and inline mode


async def test_a_pressed_button_is_answered_once(bot: Bot, chat: Chat, alice: User) -> None:
    await bot.send_message(chat.id, "x", reply_markup=UP)
    press = await alice.presses(chat.messages[0], "Up")
    (update,) = await bot.get_updates(timeout=1)
    assert update.callback_query
    assert update.callback_query.data == "up"
    with pytest.raises(BadRequest, match="Message_too_long"):
        await update.callback_query.answer("x" * 201)
    await update.callback_query.answer("Counted", show_alert=True)
    answer = await press.answered()
    assert (answer.text, answer.alert) == ("Counted", True)
    with pytest.raises(BadRequest, match="Query is too old"):
        await update.callback_query.answer()


def article(number: int, text: str = "<b>x</b>") -> InlineQueryResultArticle:
    content = InputTextMessageContent(text, "HTML")
    return InlineQueryResultArticle(str(number), f"t{number}", content, reply_markup=UP)


async def test_an_inline_result_becomes_a_message_with_an_id_of_its_own(
    telegram: TelegramServer, bot: Bot, alice: User
) -> None:
    group = telegram.group("News", admins=[alice])
    query = await alice.asks_inline("man bites dog", where="group")
    (update,) = await bot.get_updates(timeout=1)
    assert update.inline_query
    await update.inline_query.answer([article(1), article(2)], cache_time=0)
    assert [result.title for result in (await query.answered()).results] == ["t1", "t2"]
    message = await alice.chooses(query, 1, group)
    assert (message.text, message.body.marked("bold")) == ("x", ["x"])
    await alice.presses(message, "up")
    shown, pressed = await bot.get_updates(update.update_id + 1, timeout=1)
    assert shown.message
    assert shown.message.via_bot == bot.bot
    assert pressed.callback_query
    assert pressed.callback_query.message is None
    assert await pressed.callback_query.edit_message_text("counted")
    assert (message.text, message.buttons) == ("counted", [])


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


@pytest.mark.parametrize("personal", [True, False])
async def test_inline_answers_are_repeated_from_the_cache(
    telegram: TelegramServer, bot: Bot, alice: User, personal: bool
) -> None:
    query = await alice.asks_inline("x")
    await bot.answer_inline_query(query.id, [article(1)], cache_time=60, is_personal=personal)
    assert (await alice.asks_inline("x")).from_cache
    assert (await telegram.user("Bob").asks_inline("x")).from_cache is not personal
    assert not (await alice.asks_inline("y")).from_cache


# Chats, members, menus


async def test_chats_and_members_are_described(
    telegram: TelegramServer, bot: Bot, alice: User
) -> None:
    bob, eve = telegram.user("Bob"), telegram.user("Eve")
    other_bot = telegram.user("Other", is_bot=True)
    group = telegram.group("News", admins=[alice, other_bot], members=[bob], forum=True)
    described = await bot.get_chat(group.id)
    assert (described.title, described.type, described.is_forum) == ("News", "supergroup", True)
    statuses = [(await bot.get_chat_member(group.id, one.id)).status for one in (alice, bob, eve)]
    assert statuses == ["creator", "member", "left"]
    administrators = await bot.get_chat_administrators(group.id)
    assert [administrator.user.id for administrator in administrators] == [alice.id]
    assert await bot.get_chat_member_count(group.id) == 4
    with pytest.raises(BadRequest, match="no administrators in the private chat"):
        await bot.get_chat_administrators(telegram.private_chat(bob).id)


async def test_menus_are_kept_for_each_scope_and_language(
    telegram: TelegramServer, bot: Bot, alice: User, chat: Chat
) -> None:
    english, spanish = [BotCommand("p", "Find")], [BotCommand("p", "Buscar")]
    await bot.set_my_commands(english)
    await bot.set_my_commands(spanish, language_code="es")
    assert await bot.get_my_commands() == tuple(english)
    assert telegram.menu(alice, chat) == {"p": "Buscar"}
    await bot.set_my_commands([BotCommand("w", "All")], BotCommandScopeAllPrivateChats())
    assert telegram.menu(alice, chat) == {"w": "All"}
    here = BotCommandScopeChat(chat.id)
    await bot.set_my_commands([BotCommand("v", "Here")], here)
    assert telegram.menu(alice, chat) == {"v": "Here"}
    await bot.delete_my_commands(here)
    await bot.delete_my_commands(BotCommandScopeAllPrivateChats())
    assert telegram.menu(alice, chat) == {"p": "Buscar"}


async def test_administrators_of_a_group_see_their_own_menu(
    telegram: TelegramServer, bot: Bot, alice: User
) -> None:
    bob = telegram.user("Bob")
    group = telegram.group("News", admins=[alice], members=[bob])
    await bot.set_my_commands([BotCommand("p", "Find")], BotCommandScopeAllGroupChats())
    admins = [BotCommand("settings", "Change")]
    await bot.set_my_commands(admins, BotCommandScopeAllChatAdministrators())
    assert telegram.menu(alice, group) == {"settings": "Change"}
    assert telegram.menu(bob, group) == {"p": "Find"}


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
