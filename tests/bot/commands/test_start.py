"""/start greets shortly in the chat's language; its buttons set a chat up without a typed word."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product

import pytest

from bot.commands.start import LONGEST_GREETING
from bot.i18n.words import LANGUAGES
from bot.reply import Reply
from bot.request import Person, Place, Trigger
from db.pool import Database
from db.posting.feeds import Feeds
from engine.feeds.feed import ParsedFeed
from engine.feeds.lookup import WELL_KNOWN, ReadableFeed, well_known
from engine.posting.delivery import PostingMode
from engine.values import Corpus
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on, corpus, labels

ANA = replace(corpus("ana"), author="ana_ruiz", display_name="Ana Ruiz")
LUIS = replace(corpus("luis"), author="luis")
MANY = [replace(corpus(f"c{n}"), display_name="An Archive With A Very Long Name") for n in range(9)]


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    class Readable:
        async def look_up(self, address: str) -> ReadableFeed:
            return ReadableFeed(url=address, parsed=ParsedFeed(title="News", entries=()))

    async with bot_on(storage, corpora=[ANA, LUIS], usual="", feed_lookup=Readable()) as ready:
        yield ready


async def press(bot: Bot, reply: Reply, label: str) -> Reply:
    found = next(b for row in reply.buttons for b in row if b.label == label)
    return await bot.say(str(found.action), trigger=Trigger.BUTTON)


async def test_greeting_names_the_archives_and_what_to_do(bot: Bot) -> None:
    greeting = await bot.say("/start")
    assert greeting.text == (
        "There is always a tweet. I look in the old tweets of Ana Ruiz and @luis for one that"
        " foretold today's news. Paste a headline or a link."
    )
    assert labels(greeting) == ["Set me up"]


@pytest.mark.parametrize(
    ("language", "place", "corpora"), list(product(LANGUAGES, (PRIVATE, GROUP), ([], [ANA], MANY)))
)
async def test_greeting_is_short(
    storage: Database, language: str, place: Place, corpora: list[Corpus]
) -> None:
    async with bot_on(storage, corpora=corpora) as bot:
        reply = await bot.say("/start", place=place, person=Person(id="x", language=language))
    assert len(reply.text or "") <= LONGEST_GREETING
    assert (reply.text or "").startswith({"en": "There is", "es": "Siempre"}[language])


async def test_setup_is_completed_with_buttons_alone(bot: Bot) -> None:
    archive = await press(bot, await bot.say("/start"), "Set me up")
    assert labels(archive) == ["Ana Ruiz", "@luis", "All of them", "Leave it as it is"]
    language = await press(bot, archive, "@luis")
    assert labels(language) == ["English", "Español", "Back", "Leave it as it is"]
    news = await press(bot, language, "Español")
    assert "¿Qué noticias leo?" in (news.text or "")
    assert "El País" in labels(news)
    more = await press(bot, news, "El País")
    assert "✓ El País" in labels(more)
    zone = await press(bot, more, "Siguiente")
    assert labels(zone)[:2] == ["Madrid 14:00", "Ciudad de México 06:00"]
    hour = await press(bot, zone, "Madrid 14:00")
    assert "Las horas son las de Madrid." in (hour.text or "")
    done = await press(bot, hour, "8:00")
    assert (done.text or "").splitlines() == [
        "Todo listo. Pega un titular o un enlace.",
        "Busco en los textos de @luis.",
        "Todos los días a las 8:00 (Madrid) publico los 3 mejores de El País.",
        "Publico lo anunciado, lo pedido o lo reprochado a otros.",
        "Si nada estaba anunciado, no digo nada.",
        "/settings y /subscribe cambian lo demás.",
    ]
    assert labels(await press(bot, done, "Cambiar"))[:2] == ["Ana Ruiz", "@luis"]
    assert all(reply.replaces for reply in (archive, language, news, more, zone, hour, done))
    chat = await bot.chat()
    assert (chat.corpus, chat.language) == ("luis", "es")
    assert [feed.url for feed in await Feeds(bot.app.database).of_chat(chat)] == [
        well_known("elpais").url  # type: ignore[union-attr]  # it is there
    ]
    assert (await bot.subscription()).mode is PostingMode.DAILY


@pytest.mark.parametrize("choice", ["All of them", "Leave it as it is"])
async def test_where_several_archives_are_searched_the_set_up_asks_which_one_posts(
    bot: Bot, choice: str
) -> None:
    archive = await press(bot, await bot.say("/start"), "Set me up")
    language = await press(bot, archive, choice)
    news = await press(bot, language, "Español")
    zone = await press(bot, news, "Dejarlo como está")
    hour = await press(bot, zone, "Madrid 14:00")
    source = await press(bot, hour, "9:00")
    assert source.replaces
    assert (source.text or "").startswith("Publico de un solo archivo")
    assert labels(source) == ["Ana Ruiz", "@luis", "Nunca", "Volver"]
    assert "¿A qué hora publico" in ((await press(bot, source, "Volver")).text or "")
    done = await press(bot, source, "@luis")
    assert "Busco en los textos de @luis." in (done.text or "")
    assert "No hay ninguna fuente elegida" in (done.text or "")
    assert (await bot.chat()).corpus == "luis"
    subscription = await bot.subscription()
    assert (subscription.mode, subscription.at.hour) == (PostingMode.DAILY, 9)
    again = await press(bot, done, "Cambiar")
    assert (again.text or "").endswith("Lo que publico sale de un solo archivo.")
    assert labels(again) == ["Ana Ruiz", "@luis", "Dejarlo como está"], "all cannot be posted from"
    never = await press(bot, source, "Nunca")
    assert "Aquí no publico nada" in (never.text or "")


async def test_each_step_of_the_set_up_leads_back(bot: Bot) -> None:
    step = await press(bot, await bot.say("/start"), "Set me up")
    first = step
    for label in ("@luis", "English", "Leave it as it is", "London 13:00"):
        step = await press(bot, step, label)
    for said in ("What time is it", "Whose news", "Which language"):
        step = await press(bot, step, "Back")
        assert (step.text or "").startswith(said)
    assert (await press(bot, step, "Back")).text == first.text


@pytest.mark.parametrize(
    ("language", "first"),
    [("es-MX", "Ciudad de México"), ("es", "Madrid"), ("en-US", "New York"), ("en", "London")],
)
async def test_the_time_zone_is_guessed_from_the_language(
    bot: Bot, language: str, first: str
) -> None:
    asker = Person(id="x", language=language)
    zone = await bot.say("setup::zone", trigger=Trigger.BUTTON, person=asker)
    assert labels(zone)[0].startswith(first)
    await bot.set_up(PRIVATE, time_zone="America/Lima")
    known = await bot.say("setup::zone", trigger=Trigger.BUTTON)
    assert "Times are those of Lima." in (known.text or ""), "it is asked for once"


@pytest.mark.parametrize(
    "value",
    [
        "corpus=7",
        "language=tlh",
        "hour=25:00",
        "from=7=9:00",
        "from=9:00",
        "hour=7=9:00",
        "",
        "nothing",
    ],
)
async def test_a_button_that_was_tampered_with_does_nothing(bot: Bot, value: str) -> None:
    reply = await bot.say(f"setup::{value}", trigger=Trigger.BUTTON)
    assert (await bot.chat()).corpus is None
    assert reply.toast


def test_well_known_feeds_have_names_of_their_own_and_safe_addresses() -> None:
    assert len({feed.name for feed in WELL_KNOWN}) == len(WELL_KNOWN)
    assert all(feed.url.startswith("https://") and feed.name.isalnum() for feed in WELL_KNOWN)
    assert {feed.language for feed in WELL_KNOWN} == set(LANGUAGES)
