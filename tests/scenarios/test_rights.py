"""Who may do what on Telegram, and what works when the quotas are spent."""

import json
from datetime import UTC, datetime

import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup

from bot.commands import standard_commands
from db.corpus.corpora import Corpora
from db.corpus.glossary import Groups
from tests.database import pool_on
from tests.fakes.telegram import User
from tests.scenarios.stage import HEADLINE, Stage, load_tweets

OPERATORS_ONLY = "Only my operators may use "


@pytest.fixture
def root(stage: Stage) -> User:
    """Who runs the bot."""
    person = stage.telegram.user("Root")
    stage.environment["PRESAGIO_CHAT__ADMINS"] = json.dumps([f"telegram:{person.id}"])
    return person


@pytest.fixture
def eve(stage: Stage) -> User:
    return stage.telegram.user("Eve")


async def suggested(stage: Stage, *terms: str) -> None:
    """Let a pair wait for somebody's decision."""
    async with pool_on(stage.database_url) as database:
        demo = await Corpora(database).get("demo")
        await Groups(database).propose(demo, terms, sure=True, now=datetime.now(UTC))


async def test_a_suggestion_button_works_only_for_operators(
    stage: Stage, root: User, eve: User
) -> None:
    group = stage.telegram.group("Eve's", admins=[eve], members=[root], privacy_mode=False)
    async with stage.serving():
        await suggested(stage, "coffee", "java")
        shown = await (await root.says(group, "/glossary")).answer()
        press = await eve.presses(shown, "Approve 1")
        assert (await press.answered()).text.startswith(OPERATORS_ONLY)
        assert await stage.rows("SELECT status FROM alias_group") == [("pending",)]
        await (await root.presses(shown, "Approve 1")).answered()
        await stage.telegram.until_acknowledged()
    assert await stage.rows("SELECT status FROM alias_group") == [("approved",)]


async def test_only_channel_admins_can_use_settings_buttons_in_a_channel(
    stage: Stage, root: User, eve: User
) -> None:
    owner = stage.telegram.user("Owner")
    channel = stage.telegram.channel("News")
    channel.members |= {owner.id: "creator", eve.id: "member"}
    async with stage.serving():
        row = [InlineKeyboardButton("threshold foretold", callback_data="set::threshold=foretold")]
        row.append(InlineKeyboardButton("Approve 1", callback_data="alias::yes=1"))
        async with Bot(stage.telegram.token, base_url=stage.telegram.base_url) as bot:
            markup = InlineKeyboardMarkup([row])
            await bot.send_message(channel.id, "Settings", reply_markup=markup)
        (shown,) = channel.bot_messages
        refused = await (await eve.presses(shown, "threshold foretold")).answered()
        assert refused.text == "Only admins of this chat may use this button. Ask one of them."
        refused = await (await owner.presses(shown, "Approve 1")).answered()
        assert refused.text.startswith(OPERATORS_ONLY)
        assert (
            await (await owner.presses(shown, "threshold foretold")).answered()
        ).text == "Noted."
        await stage.telegram.until_acknowledged()
    rows = await stage.rows("SELECT external_id, private, threshold FROM chat")
    assert rows == [(str(channel.id), False, "prediction")]


CHANNEL_COMMANDS = {
    "/subscribe @our_news daily 9:00": "Every day at 9:00 (UTC) I post the best 3",
    "/subscribe @our_news best 5": "Every day at 9:00 (UTC) I post the best 5",
    "/settings @our_news threshold foretold": "threshold: foretold",
    "/corpus @our_news demo": "Here I search: demo.",
    "/corpus @our_news": "I can search:",
    "/feeds @our_news": "This chat has no feed yet.",
    "/preview @our_news": "Next post: ",
    "/history @our_news": "Nothing was posted here unasked yet.",
    "/today @our_news": "Nothing to tell just now",
    "/unsubscribe @our_news": "This chat is told nothing unasked.",
}


async def test_only_channel_admins_can_configure_the_channel_from_private_chat(
    stage: Stage, root: User, eve: User
) -> None:
    telegram = stage.telegram
    alice, reader = telegram.user("Alice"), telegram.user("Reader")
    channel = telegram.channel("News", username="our_news", admins=[alice])
    channel.members[reader.id] = "member"
    telegram.group("Eve's", admins=[eve])
    assert {command.split()[0] for command in CHANNEL_COMMANDS} == {
        f"/{one.name}" for one in standard_commands().commands if one.for_channels
    }
    async with stage.serving():
        for person in (root, reader, eve, alice):
            chat = telegram.private_chat(person)
            for command, done in CHANNEL_COMMANDS.items():
                said = (await (await person.says(chat, command)).answer()).text
                plain = said.replace("\u2060", "")
                if person is alice:
                    assert plain.startswith(f"@our_news: {done}"), command
                else:
                    assert plain == "Only admins of @our_news may do that.", command
        await telegram.until_acknowledged()
    assert channel.bot_messages == []
    chats = await stage.rows("SELECT threshold FROM chat WHERE title = 'News'")
    assert chats == [("prediction",)]


async def test_a_channel_without_an_archive_is_told_how_to_choose_its_own(
    stage: Stage, eve: User
) -> None:
    await load_tweets(stage.database_url, (HEADLINE,), name="luis")
    await stage.rows("UPDATE corpus SET role = 'archive' RETURNING id")
    chat = stage.telegram.private_chat(eve)
    stage.telegram.channel("News", username="our_news", admins=[eve])
    async with stage.serving():
        asked = await (await eve.says(chat, "/subscribe @our_news daily 9:00")).answer()
        assert asked.text.replace("\u2060", "") == (
            "There are several archives. Choose that of @our_news first:"
            " /corpus @our_news demo, /corpus @our_news luis"
        )
        assert asked.buttons == []
        await (await eve.says(chat, "/corpus @our_news luis")).answer()
        await (await eve.says(chat, "/subscribe @our_news daily 9:00")).answer()
        refused = await (await eve.says(chat, "/corpus @our_news all")).answer()
        assert refused.text.replace("\u2060", "") == (
            "@our_news: Posts come from one archive: /unsubscribe @our_news first, or choose one."
        )
        shown = await (await eve.says(chat, "/subscribe @our_news best 5")).answer()
        assert "/settings @our_news timezone Madrid" in shown.text.replace("\u2060", "")
    rows = await stage.rows("SELECT title, corpus FROM chat ORDER BY title NULLS LAST")
    assert [row[1] for row in rows if row[0] == "News"] == ["luis"]
    assert await stage.rows("SELECT mode FROM subscription") == [("daily",)]
