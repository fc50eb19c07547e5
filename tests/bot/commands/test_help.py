"""/help tells what the bot does here, in the chat's language, with an example that works."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import open_app
from bot.cli.demo import load_demo
from bot.commands import standard_commands
from bot.commands.settings import SETTING_NAMES
from bot.console.screen import Output
from bot.i18n.words import LANGUAGES, words_for
from bot.replies.prophecy import EXAMPLE
from bot.request import Person
from bot.settings import load_settings
from engine.chat import Listening
from engine.corpora import DEMO_CORPUS
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest
from tests.bot.conversing import GROUP, Bot
from tests.bot.prophecies import NOW

SPANISH = Person(id="ana", language="es")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("why", "For example: /why 2"),
        ("/why", "For example: /why 2"),
        ("P", "Also: /p\nFor example: /prophecy "),
        ("start", "For example: /start"),
    ],
)
async def test_one_command_is_shown_with_its_example(bot: Bot, asked: str, expected: str) -> None:
    text = await bot.told(f"/help {asked}")
    assert expected in text
    assert len(text.splitlines()) <= 4


async def test_help_on_slack_uses_the_prefixed_command_names(bot: Bot) -> None:
    place = replace(GROUP, platform="slack")
    listed = await bot.told("/help", place=place)
    assert "/presagio corpus, /presagio glossary, /presagio start, /presagio forget" in listed
    assert ", /presagio help" in listed
    assert all(command.name in listed for command in standard_commands().commands)
    assert "/presagio help NAME explains one of them." in listed
    one = await bot.told("/help help", place=place)
    assert one.splitlines()[1:] == ["For example: /presagio help why"]
    unknown = (await bot.say("/hepl", place=place)).text
    assert unknown == (
        "I know no command /hepl. Did you mean /presagio help? /presagio help lists all of them."
    )


@pytest.mark.parametrize(
    ("listening", "expected"),
    [
        (Listening.parse("all"), "Here I read along, and speak only when a tweet fits well."),
        (
            Listening.parse("mentions"),
            "Here I answer when I am mentioned, and headlines in reply to me.",
        ),
        (Listening.parse("commands"), "Here I answer commands only."),
    ],
)
async def test_help_explains_what_the_bot_answers_in_this_chat(
    bot: Bot, listening: Listening, expected: str
) -> None:
    await bot.set_up(listening=listening)
    assert expected in (await bot.told("/help", place=GROUP)).splitlines()
    private = await bot.told("/help")
    assert "Here you need no command: a headline or a link is enough." in private.splitlines()


@pytest.mark.parametrize("mentions", [True, False])
async def test_replies_are_promised_only_where_the_platform_tells_of_them(
    bot: Bot, mentions: bool
) -> None:
    await bot.set_up(listening=Listening(mentions=mentions, replies=True, headlines=False))
    for platform, promised in (("telegram", True), ("slack", False)):
        place = replace(GROUP, platform=platform)
        assert ("in reply to me" in await bot.told("/help", place=place)) is promised


@pytest.mark.parametrize(
    ("listening", "expected"),
    [
        (Listening.parse("all"), "Telegram shows me every message only where I am an admin"),
        (
            Listening.parse("mentions"),
            "Here I answer commands and headlines in reply to me. Mentions",
        ),
    ],
)
async def test_help_and_start_explain_messages_the_platform_hides(
    bot: Bot, listening: Listening, expected: str
) -> None:
    await bot.set_up(listening=listening)

    async def hears_little() -> bool:
        return False

    for command in ("/help", "/start"):
        said = await bot.say(command, place=GROUP, hears_all=hears_little)
        assert expected in (said.text or "")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_example_works_on_the_bundled_corpus(database_url: str, language: str) -> None:
    environ = {"DATABASE_URL": database_url}
    async with open_app(load_settings(environ=environ), progress=print) as app:
        await load_demo(app, output=Output(io.StringIO(), io.StringIO()))
        example = words_for(language).say(EXAMPLE)
        request = SearchRequest(headline=read_headline(example), limit=3, now=NOW)
        prophecy = await app.prophesy(request, corpus=DEMO_CORPUS)
    assert prophecy.hits


ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("page", ["README.md", "docs/telegram.md", "docs/slack.md"])
def test_readme_and_platform_docs_link_to_the_page_of_rights(page: str) -> None:
    assert "rights.md)" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("word", ["close", "foretold", "cercano", "quizá"])
async def test_help_explains_the_words_beside_a_text_in_both_languages(bot: Bot, word: str) -> None:
    said = await bot.told(f"/help {word}", person=SPANISH)
    assert said.startswith("/why [NÚMERO]\nanunciado: un tuit lo dijo antes")
    assert (await bot.say(f"what does {word} mean?", person=SPANISH)).text == said


async def test_help_explains_every_option_and_setting(bot: Bot) -> None:
    listed = (await bot.say("/help")).text
    refused = await bot.told("/subscribe nonsense")
    options = refused.partition("There are: ")[2].rstrip(".").split(", ")
    assert len(options) > 15
    for word in (*options, *SETTING_NAMES, "listening", "corpus", "topic", "any"):
        said = await bot.told(f"/help {word}")
        assert said != listed, word
        assert word in said
