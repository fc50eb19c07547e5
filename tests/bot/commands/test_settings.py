"""Every setting can be read, changed and mistyped; in groups only admins change them."""

from datetime import time

import pytest

from bot.request import Person, Trigger
from db.pool import Database
from engine.chat import Listening, PostPicture
from engine.search import HitKind
from tests.bot.conversing import GROUP, Bot, bot_on, corpus, yes


@pytest.mark.parametrize(
    ("typed", "field", "expected", "shown"),
    [
        ("LANGUAGE EN", "language", "en", "en"),
        ("language auto", "language", None, "auto"),
        ("mentions off", "listening", Listening(replies=True), "off"),
        ("Replies OFF", "listening", Listening(mentions=True), "off"),
        ("headlines on", "listening", Listening.parse("all"), "on"),
        ("threshold earlier", "threshold", HitKind.EARLIER_CASE, "earlier"),
        ("threshold   Anunciado", "threshold", HitKind.PREDICTION, "foretold"),
        ("timezone europe/madrid", "time_zone", "Europe/Madrid", "Europe/Madrid"),
        ("timezone Madrid", "time_zone", "Europe/Madrid", "Europe/Madrid"),
        ("timezone nueva york", "time_zone", "America/New_York", "America/New_York"),
        ("timezone Bogotá", "time_zone", "America/Bogota", "America/Bogota"),
        ("quiet 23:00-08:00", "quiet_from", time(23), "23:00-08:00"),
        ("quiet 9:30 – 0:00", "quiet_to", time(0), "09:30-00:00"),
        ("quiet 22-8", "quiet_to", time(8), "22:00-08:00"),
        ("quiet 10pm - 8:30 AM", "quiet_from", time(22), "22:00-08:30"),
        ("quiet 12am-12pm", "quiet_to", time(12), "00:00-12:00"),
        ("quiet off", "quiet_from", None, "off"),
        ("picture on", "picture", PostPicture.ON, "on"),
        ("picture post", "picture", PostPicture.POST, "post"),
        ("picture OFF", "picture", PostPicture.OFF, "off"),
        ("corpus larga", "corpus", "larga", "larga"),
    ],
)
async def test_a_setting_is_changed_and_shown(
    bot: Bot, typed: str, field: str, expected: object, shown: str
) -> None:
    reply = await bot.say(f"/settings {typed}")
    chat = await bot.chat()
    assert getattr(chat, field) == expected
    name = typed.split(maxsplit=1)[0].lower()
    lines = [line.partition(" · ")[0] for line in (reply.text or "").splitlines()]
    assert f"{name}: {shown}" in lines
    assert reply.ephemeral


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize(
    ("typed", "english", "spanish"),
    [
        ("idioma español", "idioma: es", "idioma: es"),
        ("idioma: inglés", "language: en", "language: en"),
        ("language spanish", "idioma: es", "idioma: es"),
        ("silencio de 23 a 7", "quiet: 23:00-07:00", "silencio: 23:00-07:00"),
        (
            "silencio de 11 de la noche a 7 y media de la mañana",
            "quiet: 23:00-07:30",
            "silencio: 23:00-07:30",
        ),
        ("quiet hours from 11pm to 7am", "quiet: 23:00-07:00", "silencio: 23:00-07:00"),
        ("quiet between 10 pm and noon", "quiet: 22:00-12:00", "silencio: 22:00-12:00"),
        (
            "horas de silencio entre las 22hs y las 8hs",
            "quiet: 22:00-08:00",
            "silencio: 22:00-08:00",
        ),
        ("silencio no", "quiet: off", "silencio: no"),
        ("umbral espejos", "threshold: mirrors", "umbral: espejos"),
        ("umbral a anunciado", "threshold: foretold", "umbral: anunciado"),
        ("Umbral = anteriores", "threshold: earlier", "umbral: anteriores"),
        (
            "zona horaria Buenos Aires",
            "timezone: America/Argentina/Buenos_Aires",
            "zona: America/Argentina/Buenos_Aires",
        ),
        ("time zone New York", "timezone: America/New_York", "zona: America/New_York"),
        ("menciones no", "mentions: off", "menciones: no"),
        ("réplicas no", "replies: off", "réplicas: no"),
        ("respuestas no", "replies: off", "réplicas: no"),
        ("respuestas completas", "answers: full", "respuestas: completas"),
        ("titulares sí", "headlines: on", "titulares: sí"),
        ("archivo demo", "corpus: demo", "archivo: demo"),
    ],
)
async def test_settings_are_understood_in_both_languages(
    bot: Bot, language: str, typed: str, english: str, spanish: str
) -> None:
    reply = await bot.say(f"/settings {typed}", person=Person(id="x", language=language))
    assert (reply.text or "").startswith(spanish if language == "es" else english)


async def test_shown_settings_are_spanish_and_can_be_typed_back(bot: Bot) -> None:
    await bot.say("/settings idioma español")
    before, shown = await bot.chat(), await bot.told("/settings")
    _, *lines, archive = [line.partition(" · ")[0] for line in shown.splitlines()]
    assert (lines[4], archive) == ("umbral: espejos", "archivo: demo")
    for line in lines:
        assert (await bot.told(f"/settings {line}")).startswith(line)
    assert await bot.chat() == before


async def test_setting_errors_name_words_of_the_language(bot: Bot) -> None:
    person = Person(id="x", language="es")
    unknown = await bot.say("/settings color rojo", person=person)
    assert (unknown.text or "").startswith(
        "No existe el ajuste color. Hay: idioma, menciones, réplicas, titulares, umbral, zona,"
    )
    wrong = await bot.say("/settings respuestas largas", person=person)
    assert (wrong.text or "").endswith(
        "largas no sirve para respuestas. Sirven: breves, completas."
    )


async def test_listening_to_all_warns_of_messages_telegram_hides(bot: Bot) -> None:
    async def hears_little() -> bool:
        return False

    asked = {"place": GROUP, "is_admin": yes, "hears_all": hears_little}
    for hears_all, typed in ((True, "listening all"), (False, "listening mentions")):
        reply = await bot.say(f"/settings {typed}", **asked)
        assert ("Telegram shows me every message only where" in (reply.text or "")) is hears_all
        shown = await bot.say("/settings", **asked)
        assert ("Telegram shows me every message only where" in (shown.text or "")) is hears_all


@pytest.mark.parametrize(
    ("word", "heard"),
    [
        ("all", Listening(mentions=True, replies=True, headlines=True)),
        ("Mentions", Listening(mentions=True, replies=True)),
        ("commands", Listening()),
    ],
)
async def test_listening_word_sets_mentions_replies_and_headlines(
    bot: Bot, word: str, heard: Listening
) -> None:
    for before in ("headlines on", "replies off", "mentions off"):
        await bot.say(f"/settings {before}")
    said = await bot.told(f"/settings listening {word}")
    values = ["on" if kind else "off" for kind in (heard.mentions, heard.replies, heard.headlines)]
    names = ("mentions", "replies", "headlines")
    shown = [line.partition(" · ")[0] for line in said.splitlines()[:3]]
    assert shown == [f"{name}: {value}" for name, value in zip(names, values, strict=True)]
    assert (await bot.chat()).listening == heard


async def test_without_a_model_the_rule_for_overheard_headlines_is_told(storage: Database) -> None:
    async with bot_on(storage, has_model=False) as bot:
        said = await bot.say("/settings headlines on", place=GROUP, is_admin=yes)
        assert "shares four words with a headline" in (said.text or "")
    async with bot_on(storage) as bot:
        said = await bot.say("/settings headlines on", place=GROUP, is_admin=yes)
        alongside = "in a group I read along, and speak when a tweet fits well"
        assert said.text == f"headlines: on · {alongside}"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("language fr", "fr does not fit language. Use one of: en, es, auto."),
        ("language", "- does not fit language. Use one of: en, es, auto."),
        ("listening some", "some does not fit listening. Use one of: all, mentions, commands."),
        (
            "threshold 5",
            "5 does not fit threshold. Use one of: foretold, demands, mirrors, earlier.",
        ),
        ("timezone Mars/Base", "I know no city or time zone Mars/Base. An example: Madrid."),
        ("timezone ../../x", "I know no city or time zone ../../x. An example: Madrid."),
        ("timezone", "I know no city or time zone -. An example: Madrid."),
        ("quiet", "Write quiet hours as 23:00-08:00, or off."),
        ("quiet 13pm-8am", "Write quiet hours as 23:00-08:00, or off."),
        ("quiet 25:00-08:00", "Write quiet hours as 23:00-08:00, or off."),
        ("quiet 08:00-08:00", "Write quiet hours as 23:00-08:00, or off."),
        ("picture maybe", "maybe does not fit picture. Use one of: off, on, post."),
        ("corpus nowhere", "There is no archive nowhere. There are: demo, larga, all, default."),
        (
            "colour red",
            "There is no setting colour. There are: language, mentions, replies, headlines,"
            " threshold, timezone, quiet, picture, answers, corpus.",
        ),
    ],
)
async def test_a_wrong_value_is_told_and_changes_nothing(
    bot: Bot, typed: str, expected: str
) -> None:
    before = await bot.chat()
    reply = await bot.say(f"/settings {typed}")
    assert (reply.text, reply.ephemeral) == (expected, True)
    assert await bot.chat() == before


async def test_every_button_changes_what_it_says(bot: Bot) -> None:
    shown = await bot.say("/settings")
    for row in reversed(shown.buttons):  # Spanish last
        for button in row:
            reply = await bot.say(str(button.action), trigger=Trigger.BUTTON)
            assert reply.replaces
            assert reply.toast in ("Noted.", "Anotado.")
            name, _, value = button.action.value.partition("=")
            lines = [line.partition(" · ")[0] for line in (reply.text or "").splitlines()]
            assert ("idioma: es" if value == "es" else f"{name}: {value}") in lines
            assert str(button.action) not in [str(b.action) for r in reply.buttons for b in r]


class TestCorpus:
    async def test_the_list_marks_the_current_one(self, bot: Bot) -> None:
        reply = await bot.say("/corpus")
        assert reply.text == "I can search:\ndemo: 3 texts ✓\nlarga: 56,573 texts"
        await bot.press(reply, "corpus")
        await bot.say("/corpus larga")
        assert (await bot.told("/corpus")).endswith("larga: 56,573 texts ✓")

    async def test_corpus_of_one_text_is_counted_in_the_singular(self, storage: Database) -> None:
        async with bot_on(storage, corpora=[corpus("one", 1)]) as bot:
            assert (await bot.told("/corpus")).endswith("one: 1 text")

    async def test_corpus_list_works_without_any_corpus(self, storage: Database) -> None:
        async with bot_on(storage, corpora=()) as bot:
            reply = await bot.say("/corpus")
            assert reply.text == "I have no archive yet: whoever runs me loads one."
            said = "There is no archive x. There are: all, default."
            assert (await bot.say("/corpus x")).text == said

    async def test_a_button_of_a_corpus_that_is_gone_is_told(self, bot: Bot) -> None:
        reply = await bot.say("/corpus")
        bot.corpora.clear()
        assert (await bot.press(reply, "corpus")).toast == "This button is too old."
