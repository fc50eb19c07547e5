"""Somebody starts with nothing, in both languages: each step says what comes next, in words of a
chat, and nothing that is told leads nowhere."""

import pytest

from tests.fakes.slack import App, SlackServer
from tests.fakes.web import feed
from tests.scenarios.seats import SlackSeat, TelegramSeat
from tests.scenarios.slack.stage import slack_staged
from tests.scenarios.stage import HEADLINE, TWEETS, load_tweets, staged

TWEETS_JS = (
    b'window.YTD.tweets.part0 = [{"tweet": {"id_str": "1", "full_text": "Coffee prices will hit a'
    b' record high.", "created_at": "Wed Mar 14 12:00:00 +0000 2012"}}]'
)
WORDS = {
    "en": {
        "no archive": "I have no archive yet: send me the file of one here (tweets.js, .zip, .json",
        "no owner": "This bot has no owner yet",
        "wrong": "This code is wrong or used up",
        "waits": "My owner decides who may use me, and has been asked.",
        "taken": "Files that I take: .zip, .json, .jsonl, .js,",
        "no feed": "No feed is chosen: I post nothing until there is one. /feeds add bbc adds one.",
        "next": "Next post:",
        "added": "The Paper was added.",
        "days": "all days but friday at 10",
        "on days": "Every day except Fridays at 10:00 (London) I post the best 3 of The Paper.",
        "help": "help",
        "Add it": "Add it",
        "Set me up": "Set me up",
        "language": "English",
        "leave": "Leave it as it is",
        "city": "London",
        "refused": "Only admins of this chat may use this button. Ask one of them.",
    },
    "es": {
        "no archive": "Todavía no tengo ningún archivo: mándame aquí uno (tweets.js, .zip, .json",
        "no owner": "Este bot todavía no tiene dueño",
        "wrong": "Este código no es correcto o ya se usó",
        "waits": "Mi dueño decide quién puede usarme; ya le he preguntado.",
        "taken": "Archivos que acepto: .zip, .json, .jsonl, .js,",
        "no feed": "No hay ninguna fuente elegida: no publicaré nada hasta que la haya. /feeds add",
        "next": "Próxima publicación:",
        "added": "Se añadió The Paper.",
        "days": "todos los días menos el viernes a las 10",
        "on days": "Todos los días menos los viernes a las 10:00 (Ciudad de México) publico los 3",
        "help": "ayuda",
        "Add it": "Añadirlo",
        "Set me up": "Configurar",
        "language": "Español",
        "leave": "Dejarlo como está",
        "city": "Ciudad de México",
        "refused": "Solo quienes administran este chat pueden usar este botón. Pídeselo.",
    },
}


@pytest.mark.parametrize("language", ["en", "es"])
async def test_an_owner_comes_from_nothing_to_posts_on_telegram(
    database_url: str, language: str
) -> None:
    words = WORDS[language]
    async with staged(database_url) as stage:
        stage.environment["PRESAGIO_CHAT__ACCESS"] = "owner"
        telegram = stage.telegram
        alice, bob = (telegram.user(name, language=language) for name in ("Alice", "Bob"))
        group = telegram.group("Friends", admins=[alice], members=[bob])
        home, at_bobs, bob_there, alice_there = (
            TelegramSeat(server=telegram, user=user, chat=chat)
            for user, chat in (
                (alice, telegram.private_chat(alice)),
                (bob, telegram.private_chat(bob)),
                (bob, group),
                (alice, group),
            )
        )
        stage.web.pages["/feed.xml"] = feed("Nothing of note has happened today")

        async def sends(name: str, content: bytes) -> str:
            await (await alice.sends_file(home.chat, name, content)).answer()
            await telegram.until_acknowledged()
            return home.said[-1].text

        async with stage.serving():
            code = await stage.code("telegram")
            assert (await home.says("/start")).startswith(words["no owner"])
            wrong = await home.says(f"/start {code[::-1]}")
            assert wrong.startswith(words["wrong"]), "though something was told just before"
            assert await home.says(f"/start {code[::-1]}") == wrong, "once more"
            assert (await at_bobs.says("/start")).startswith(words["no owner"])
            assert words["no archive"] in await home.says(f"/start {code}")
            assert await at_bobs.says(HEADLINE, answers=1) == words["waits"]
            for typed in (HEADLINE, "/corpus", "/subscribe 9:00", "/find coffee", "/corpus name"):
                said = await home.says(typed)
                assert said.startswith(words["no archive"]), typed
            assert words["taken"] in await sends("me.png", b"\x89PNG")
            await sends("tweets.js", TWEETS_JS)
            await home.presses(words["Add it"])
            assert home.buttons[-1] == words["Set me up"]
            await home.presses(words["Set me up"])
            await home.presses(words["language"])
            await home.presses(words["leave"])
            city = next(label for label in home.buttons if label.startswith(words["city"]))
            await home.presses(city)
            assert words["no feed"] in await home.presses("9:00")
            said = await home.says("/subscribe")
            assert words["no feed"] in said
            assert words["next"] not in said
            added = await home.says(f"/feeds add {stage.web.url('/feed.xml')}")
            assert added.startswith(words["added"])
            said = await home.says(f"/subscribe {words['days']}")
            assert said.startswith(words["on days"])
            assert words["next"] in said
            for command in ("settings", "corpus", "feeds", "subscribe"):
                said = await home.says(f"/{command} {words['help']}")
                assert f"/{command} " in said, "what /help says of it"
            await alice_there.says("/start")
            await bob_there.presses(words["Set me up"])
        assert bob_there.passing[-1].words == words["refused"]


@pytest.mark.parametrize("language", ["en", "es"])
async def test_an_owner_comes_from_nothing_to_posts_on_slack(
    database_url: str, installed: App, language: str
) -> None:
    words = WORDS[language]
    async with slack_staged(database_url, SlackServer(installed)) as stage:
        stage.environment["PRESAGIO_CHAT__ACCESS"] = "owner"
        slack, locale = stage.slack, {"en": "en-US", "es": "es-MX"}[language]
        alice = slack.user("ana", locale=locale, admin=True)
        home = SlackSeat(server=slack, user=alice, channel=slack.im(alice))
        async with stage.serving():
            code = await stage.code("slack")
            assert (await home.commands("/start")).startswith(words["no owner"])
            assert (await home.commands(f"/start {code[::-1]}")).startswith(words["wrong"])
            assert words["no archive"] in await home.commands(f"/start {code}")
            for typed in ("/corpus", "/subscribe 9:00"):
                assert (await home.commands(typed)).startswith(words["no archive"]), typed
            assert (await home.says(HEADLINE)).startswith(words["no archive"])
            offers = len(home.said)
            await alice.shares_file(home.channel, "tweets.js", content=TWEETS_JS)
            await slack.until(lambda: len(home.said) > offers)
            await home.presses(words["Add it"])
            assert home.buttons[-1] == words["Set me up"]
            await home.presses(words["Set me up"])
            await home.presses(words["language"])
            said = await home.commands("/subscribe")
            assert f"/presagio subscribe {'help'}" in said


@pytest.mark.parametrize(
    ("language", "foreign"),
    [("en", {"réplicas", "no"}), ("es", {"off", "on", "full", "headlines"})],
)
async def test_buttons_of_settings_are_in_the_language_of_the_chat(
    database_url: str, language: str, foreign: set[str]
) -> None:
    await load_tweets(database_url, TWEETS)
    async with staged(database_url) as stage, stage.serving():
        alice, chat = stage.telegram.alone("Alice", language=language)
        settings = TelegramSeat(server=stage.telegram, user=alice, chat=chat)
        await settings.says("/settings")
        assert len(settings.buttons) > 6
        assert not foreign & {word for label in settings.buttons for word in label.split()}
