"""The stand-in as aiogram sees it: its models read what is sent, its client drives it.

aiogram wants an older pydantic than ours, so it is no dependency: `.ci/telegram-strangers` brings
it along in a folder of its own. Elsewhere these tests are skipped.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from telegram import Bot as LibraryBot
from telegram import BotCommand, InlineKeyboardButton, InlineKeyboardMarkup

from tests.fakes.every_update import every_update
from tests.fakes.telegram import TelegramServer, png

aiogram = pytest.importorskip("aiogram", reason="aiogram is absent; see .ci/telegram-strangers")
clients = pytest.importorskip("aiogram.client.telegram")
sessions = pytest.importorskip("aiogram.client.session.aiohttp")
methods = pytest.importorskip("aiogram.methods")
refusals = pytest.importorskip("aiogram.exceptions")
types = pytest.importorskip("aiogram.types")


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(username="presagio_bot") as server:
        yield server
        assert server.errors == []


@asynccontextmanager
async def client(telegram: TelegramServer) -> AsyncIterator[Any]:
    api = clients.TelegramAPIServer.from_base(telegram.root)
    async with aiogram.Bot(telegram.token, session=sessions.AiohttpSession(api=api)) as bot:
        yield bot


@asynccontextmanager
async def polling(telegram: TelegramServer, dispatcher: Any) -> AsyncIterator[Any]:
    async with client(telegram) as bot:
        task = asyncio.create_task(
            dispatcher.start_polling(bot, handle_signals=False, close_bot_session=False)
        )
        await telegram.until_called("getUpdates")
        try:
            yield bot
        finally:
            await dispatcher.stop_polling()
            await task


def models(value: Any) -> Iterator[Any]:
    """A model and all that hang below it."""
    if isinstance(value, types.TelegramObject):
        yield value
        for name in type(value).model_fields:
            yield from models(getattr(value, name))
    elif isinstance(value, list):
        for one in value:
            yield from models(one)


async def test_aiogram_models_know_every_field_of_every_update(telegram: TelegramServer) -> None:
    for payload in await every_update(telegram):
        for model in models(types.Update.model_validate(payload)):
            assert not model.model_extra, model


async def test_aiogram_models_accept_what_python_telegram_bot_sends(
    telegram: TelegramServer,
) -> None:
    alice = telegram.user("Alice")
    chat = telegram.private_chat(alice)
    markup = InlineKeyboardMarkup([[InlineKeyboardButton("Up", callback_data="up")]])
    async with LibraryBot(telegram.token, base_url=telegram.base_url) as bot:
        asked = await alice.says(chat, "x")
        await bot.get_updates(timeout=1, allowed_updates=["message"])
        sent = await bot.send_message(
            chat.id, "<b>y</b>", "HTML", reply_to_message_id=asked.id, reply_markup=markup
        )
        await sent.edit_text("z")
        await bot.send_chat_action(chat.id, "typing")
        await bot.set_message_reaction(chat.id, asked.id, "👀")
        await bot.set_my_commands([BotCommand("p", "Find")], language_code="es")
        press = await alice.presses(await _with_button(chat, bot, markup), "Up")
        await bot.answer_callback_query(press.id, "ok")
    for call in telegram.calls:
        model = getattr(methods, call.method[0].upper() + call.method[1:])
        assert not model.model_validate(dict(call.parameters)).model_extra


async def _with_button(chat: Any, bot: LibraryBot, markup: InlineKeyboardMarkup) -> Any:
    sent = await bot.send_message(chat.id, "press", reply_markup=markup)
    return chat.message(sent.message_id)


def bot_of_aiogram() -> Any:
    """Echoes texts under a button, counts presses, answers inline queries, sends a picture."""
    dispatcher = aiogram.Dispatcher()
    button = types.InlineKeyboardButton(text="Up", callback_data="up")
    markup = types.InlineKeyboardMarkup(inline_keyboard=[[button]])

    async def echo(message: Any) -> None:
        if message.text == "/picture":
            await message.answer_photo(types.BufferedInputFile(png(9, 9), "a.png"), caption="c")
        else:
            await message.reply(f"<b>{message.text}</b>", parse_mode="HTML", reply_markup=markup)

    async def pressed(query: Any) -> None:
        await query.message.edit_text("pressed", reply_markup=markup)
        await query.answer("Thanks")

    async def asked(query: Any) -> None:
        content = types.InputTextMessageContent(message_text=query.query)
        found = types.InlineQueryResultArticle(id="1", title="t", input_message_content=content)
        await query.answer([found], cache_time=0)

    dispatcher.message.register(echo)
    dispatcher.callback_query.register(pressed)
    dispatcher.inline_query.register(asked)
    return dispatcher


async def test_an_aiogram_bot_talks_to_people(telegram: TelegramServer) -> None:
    alice = telegram.user("Alice")
    chat = telegram.private_chat(alice)
    async with polling(telegram, bot_of_aiogram()):
        asked = await alice.says(chat, "man bites dog")
        answer = await asked.answer()
        assert (answer.text, answer.body.marked("bold")) == ("man bites dog", ["man bites dog"])
        press = await alice.presses(answer, "Up")
        assert (await press.answered()).text == "Thanks"
        assert answer.text == "pressed"
        picture = await (await alice.says(chat, "/picture")).answer()
        assert picture.photo
        assert (picture.photo.width, picture.text) == (9, "c")
        query = await alice.asks_inline("a headline")
        assert (await query.answered()).results[0].body.text == "a headline"
        await telegram.until_acknowledged()
    assert [
        len(update.answers) for update in telegram.updates.values() if update.kind == "message"
    ] == [
        1,
        1,
    ]
    for call in telegram.calls:
        assert call.error is None


async def test_aiogram_reads_every_response(telegram: TelegramServer) -> None:
    alice = telegram.user("Alice")
    group = telegram.group("News", admins=[alice], forum=True)
    async with client(telegram) as bot:
        updates = [
            await bot.get_me(),
            await bot.get_chat(group.id),
            await bot.get_chat_member(group.id, alice.id),
            await bot.get_chat_member(group.id, telegram.user("Eve").id),
            await bot.get_webhook_info(),
            await bot.send_message(group.id, "x"),
        ]
        assert not [model for model in models(updates) if model.model_extra]
        commands = [types.BotCommand(command="p", description="Find")]
        await bot.set_my_commands(commands, scope=types.BotCommandScopeChat(chat_id=group.id))
        assert telegram.menu(alice, group) == {"p": "Find"}


@pytest.mark.parametrize(
    ("trouble", "refusal"),
    [
        ({"error": 429, "retry_after": 7}, "TelegramRetryAfter"),
        ({"error": 400, "migrate_to_chat_id": -1005}, "TelegramMigrateToChat"),
        ({"error": 403}, "TelegramForbiddenError"),
        ({"error": 500}, "TelegramServerError"),
        ({"error": 400}, "TelegramBadRequest"),
        ({"error": 409}, "TelegramConflictError"),
        ({"error": "drop_connection_before"}, "TelegramNetworkError"),
    ],
)
async def test_aiogram_maps_every_refusal_to_its_exception(
    telegram: TelegramServer, trouble: dict[str, Any], refusal: str
) -> None:
    chat = telegram.private_chat(telegram.user("Alice"))
    telegram.fail("sendMessage", **trouble)
    async with client(telegram) as bot:
        with pytest.raises(getattr(refusals, refusal)):
            await bot.send_message(chat.id, "x")
