"""Which platforms there are, and what `presagio serve` says when something is missing."""

from collections.abc import Collection
from datetime import UTC, datetime
from functools import partial

from bot.commands.rights import CODE_VALID, Ownership
from bot.platforms import find_platforms, list_platforms
from bot.serve import tell_what_is_missing
from bot.settings import load_settings
from db.chat.chats import Access
from db.pool import Database
from engine.chat import BotOwner
from tests.bot.apps import app_on
from tests.bot.conversing import corpus

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def said(
    storage: Database,
    *,
    archive: bool,
    everybody: bool = False,
    platforms: Collection[str] = ("telegram", "slack"),
    wants_chat: bool = True,
) -> list[str]:
    lines: list[str] = []
    ownership = Ownership(app_on(storage))
    corpora = [corpus("ana")] if archive else []
    await tell_what_is_missing(
        corpora, platforms, ownership, lines.append, open=everybody, wants_chat=wants_chat, now=NOW
    )
    return lines


def test_the_platforms_are_those_of_the_packages_and_run_where_their_first_token_is_set() -> None:
    assert list(find_platforms())[:2] == ["telegram", "slack"]
    assert list_platforms(load_settings(environ={})) == []
    assert list_platforms(load_settings(environ={"SLACK_APP_TOKEN": "xapp-1"})) == []
    assert list_platforms(load_settings(environ={"SLACK_BOT_TOKEN": "xoxb-1"})) == ["slack"]


async def test_each_platform_without_an_owner_has_a_code(storage: Database) -> None:
    telegram, slack = await said(storage, archive=True)
    assert (
        "telegram: nobody owns this bot yet. Write to it in private within 12 hours: /start "
        in telegram
    )
    assert "/presagio start " in slack
    assert [telegram, slack] == await said(storage, archive=True), "until it is used"
    code = telegram.split()[-1]
    owner = BotOwner(platform="telegram", person="1", chat="1")
    claim = partial(Access(storage).claim, owner, now=NOW, made_since=NOW - CODE_VALID)
    assert not await claim(slack.split()[-1])
    assert await claim(code)
    assert not await claim(code)
    assert await said(storage, archive=True) == [slack]


async def test_a_bot_that_answers_everybody_asks_for_no_owner(storage: Database) -> None:
    assert await said(storage, archive=True, everybody=True) == []


async def test_missing_chat_platform_is_reported_unless_only_the_page_is_wanted(
    storage: Database,
) -> None:
    (line,) = await said(storage, archive=True, platforms=())
    tokens = "TELEGRAM_BOT_TOKEN, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN"
    assert line.startswith(f"No chat is set up. Set {tokens}, or ")
    assert line.endswith(" or run: presagio setup")
    assert await said(storage, archive=True, platforms=(), wants_chat=False) == []


async def test_missing_archive_is_reported(storage: Database) -> None:
    assert "There is no archive to search yet." in (await said(storage, archive=False))[0]
