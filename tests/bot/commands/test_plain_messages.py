"""A plain message is searched for only if it is a headline; the rest gets a hint."""

import re

import pytest

from bot.commands import standard_commands
from bot.commands.dialogue_acts import interpret_text
from bot.commands.headline_detection import (
    MessageKind,
    classify_message,
    is_plain_news,
    is_remark,
    may_wait,
    talks_to_somebody,
)
from bot.commands.plain_messages import interpret_message
from bot.request import Place, RepliedMessage, Trigger, split_around
from bot.settings.model import ChatSettings
from db.pool import Database
from tests.bot.commands.test_find import engine_of
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on, event

ABOUT = (
    "I am a program that looks in old tweets for one that foretold the news. Send me a headline or"
    " a link, here or in a group that you add me to."
)
NAMES = frozenset(name for command in standard_commands().commands for name in command.names)
TALK = """
    hi|Hello!|hey there|good morning everyone|ok|okay thanks|thanks|Thank you so much!|lol|hahaha|
    how are you|hola|Hola, buen día|buenas tardes|muchas gracias|gracias!|jaja|
    qué tal|¿cómo estás?|chau|hellooo|HOLAAA??|graciasss!!|lol what|jaja qué|noooo
"""
TALK += """|
    nice one|that is wrong|haha so true|Great bot|not funny|Really?! Wow
"""
TALKING = (MessageKind.SMALL_TALK, MessageKind.THANKS, MessageKind.REMARK)
HELP = """
    ¿puedes ayudarme?|me podés ayudar con esto|can you help me?|what can you do?|who are you|
    ¿Qué haces?|cómo funciona esto|help me please|che, vos cómo funcionás|
    sorry if its dumb, how do you find the right ones?|are you a bot?|¿sos un bot?
"""
# What people write in reply to the bot, and expect nobody to look up.
REMARKS = """
    😂😂😂|wow|that's wrong|That's wrong, he wrote it in 2019|jajaja qué genio|
    Jajaja Qué Genio Este Tipo|lol nailed it|this is scary|No, that was in London last year|
    you are so dumb|Sos un genio|te equivocaste|eso es mentira|Eso lo dijo Messi en 2014|
    Not the same thing at all, 2012 was different|But that was about Trump|
    Pero eso era sobre Macri|who asked|The bot is drunk again|Este bot está borracho|buenísimo|
    Ese tuit es de 2012, no de 2014|I don't think so|¿Es en serio?|
    Who asked?|Ben look at this|He deleted it in 2020|
    LMAO Dave that is you|Told you so, Carla|Te lo dije, Carla|👏👏|hahahaha no way|
    2015!! that's more than 10 years before|madre mía, y con una escalera|
    en el Mercadona de abajo está a 9,80|
    Classic Ana|Típico de Ana|10/10|Best bot ever|El mejor bot|thanks a lot|gracias genio
"""
QUESTIONS = """
    what did he say about wind?|What did he say about wind|Did she ever tweet about coffee?|
    ¿qué dijo sobre el viento?|que opina de la inflación|¿Qué dijo?
"""
COMMANDS = """
    why|Why?|why 2|picture 3|help|more|settings language es|subscribe daily 9|Subscribe daily 9|
    find coffee -tea|ask what did he say|feeds add bbc|unsubscribe
"""
# Each begins like one of those above.
HEADLINES = """
    Hello Kitty turns fifty|Thanks to coffee, prices soar|Good morning Vietnam|Top ten films of all|
    What did Merkel know about the wiretaps?|Find of the century in Egypt|More than 100 die in fire|
    Ask the doctor: is coffee good for you?|Today in history|Why coffee is dear|Hola festival opens|
    Storm in Peru 😱
"""


def listed(texts: str) -> list[str]:
    return [" ".join(text.split()) for text in texts.split("|")]


@pytest.mark.parametrize("text", listed(TALK))
def test_small_talk_is_recognised(text: str) -> None:
    assert classify_message(text, NAMES).kind in TALKING


@pytest.mark.parametrize("text", listed(QUESTIONS))
@pytest.mark.parametrize("trigger", [Trigger.ADDRESSED, Trigger.REPLY])
def test_questions_about_the_account_are_asked(text: str, trigger: Trigger) -> None:
    assert interpret_message(event(text, trigger=trigger), NAMES).text == f"/ask {text}"


@pytest.mark.parametrize("text", listed(COMMANDS))
def test_commands_without_their_slash_are_recognised(text: str) -> None:
    name, _, argument = text.rstrip("?").partition(" ")
    read = classify_message(text, NAMES)
    assert (read.kind, read.command) == (MessageKind.COMMAND, f"/{name.lower()} {argument}".strip())


@pytest.mark.parametrize("text", listed(HEADLINES))
def test_headline_starting_like_talk_or_a_command_is_a_headline(text: str) -> None:
    assert classify_message(text, NAMES).kind is MessageKind.HEADLINE


def test_no_real_headline_is_taken_for_anything_else(titles: list[str]) -> None:
    taken = [
        title
        for title in titles
        if any(
            classify_message(text, NAMES).kind is not MessageKind.HEADLINE
            for text in (title, title.lower())
        )
    ]
    assert taken == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("look at this! lol", True),
        ("", True),
        ("omg can you believe this guy", True),
        ("miren esto jajaja", True),
        ("Coffee prices soar", False),
        ("look: coffee prices hit a record", False),
    ],
)
def test_a_remark_beside_a_link_is_no_headline(text: str, expected: bool) -> None:
    assert is_remark(text) is expected


@pytest.mark.parametrize("text", listed(REMARKS))
async def test_remarks_on_an_answer_are_not_searched_for(storage: Database, text: str) -> None:
    async with bot_on(storage, limits=ChatSettings(user_daily=0)) as bot:
        said = await bot.hear(event(text, place=GROUP, trigger=Trigger.REPLY))
        assert said is None or (said.reaction, said.text) == ("👍", None)
        assert (bot.engine.calls, bot.adapter.signs) == ([], 0)


def test_real_headlines_in_reply_are_searched_for(titles: list[str]) -> None:
    taken = [is_plain_news(title) for title in titles]
    assert sum(taken) / len(taken) >= 0.93


@pytest.mark.parametrize("text", ["Coffee prices hit a record high", "jaja https://news.example/a"])
async def test_a_headline_or_a_link_in_reply_is_searched_for(bot: Bot, text: str) -> None:
    assert (await bot.say(text, place=GROUP, trigger=Trigger.REPLY)).hits


@pytest.mark.parametrize("text", listed(HELP))
@pytest.mark.parametrize("trigger", [Trigger.ADDRESSED, Trigger.REPLY])
async def test_plain_request_for_help_is_answered_with_help(
    bot: Bot, text: str, trigger: Trigger
) -> None:
    said = await bot.say(text, place=GROUP, trigger=trigger)
    assert (said.text or "").endswith("/help lists what else I understand.")
    assert bot.engine.calls == []


@pytest.mark.parametrize(
    "text",
    [
        "anything?",
        "any tweets about that?",
        "tell me a joke",
        "i asked you already",
    ],
)
async def test_what_a_group_says_to_the_bot_that_is_no_headline_gets_a_hint(
    bot: Bot, text: str
) -> None:
    said = await bot.say(text, place=GROUP)
    assert (said.text or "").endswith("/help lists what else I understand.")
    assert bot.engine.calls == []


@pytest.mark.parametrize(
    "text",
    [
        "we missed you, come tell us about the papers again",
        "ok so this is the thing I wanted you guys to see, it finds the weirdest stuff ever",
        "dale che, que acá estamos todos esperando que nos digas algo de la carrera",
    ],
)
@pytest.mark.parametrize("place", [GROUP, PRIVATE])
async def test_talk_by_name_is_told_how_it_is_searched_for(
    bot: Bot, text: str, place: Place
) -> None:
    said = await bot.say(text, place=place)
    assert (said.text or "").endswith("/prophecy before it searches for it all the same.")
    assert bot.engine.calls == []


NEWS = "Senate votes to repeal Obamacare"


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("I already asked @bot about that yesterday", None),
        ("hey Luz, did you see what @bot said?", None),
        ("did you see this @bot answer about the border wall?", None),
        ("who added this @bot thing to our group", None),
        ("Luz, @bot is the one I told you about", None),
        ("Trump fans will hate @bot for this", None),
        ("qué dijo @bot sobre Irán?", None),
        ("any tweets @bot about that?", None),
        ("those tweets @bot about the border wall are fake", None),
        ("any tweets @bot about the border wall?", "border wall"),
        ("¿hay algún tuit @bot sobre Irán?", "Irán"),
        (
            "Look, Luz: Senate votes to repeal @bot Obamacare",
            "Look, Luz: Senate votes to repeal Obamacare",
        ),
        (f"this headline @bot {NEWS}", NEWS),
        (f"what about this one, @bot: {NEWS.lower()}", NEWS.lower()),
        (f"mirá esta noticia @bot {NEWS.lower()}", NEWS.lower()),
        (f"{NEWS} @bot what do you think?", NEWS),
        (f"hey @bot {NEWS.lower()}", NEWS.lower()),
    ],
)
async def test_only_the_part_addressed_to_the_bot_is_answered(
    bot: Bot, text: str, searched: str | None
) -> None:
    around = split_around(text, re.compile("@bot"))
    plain = text.replace(" @bot", "").replace(",:", ":")
    said = await bot.hear(event(plain, place=GROUP, around_name=around))
    assert (said is not None) is (searched is not None)
    calls = [*bot.engine.calls, *engine_of(bot).calls]
    assert [call[0] for call in calls] == [searched] * (searched is not None)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("any tweets about coffee?", "coffee"),
        ("do you have any about the weather?", "weather"),
        ("Is there a tweet about the border wall?", "border wall"),
        ("show me his tweets about coffee", "coffee"),
        ("find me a tweet on windmills.", "windmills"),
        ("¿hay algún tuit sobre el café?", "café"),
        ("mostrame tuits sobre Irán", "Irán"),
    ],
)
async def test_plain_request_for_tweets_finds_those_about_a_subject(
    bot: Bot, text: str, subject: str
) -> None:
    await bot.say(text)
    await bot.say(text, place=GROUP)
    await bot.hear(event(text, place=GROUP, trigger=Trigger.OVERHEARD))
    assert [call[0] for call in engine_of(bot).calls] == [subject, subject], "others are asked"
    assert bot.engine.calls == []


async def test_a_headline_about_tweets_is_no_request_for_them(bot: Bot) -> None:
    headline = "Tweets about coffee cost a minister her job"
    await bot.say(headline)
    assert [call[0] for call in bot.engine.calls] == [headline]


def test_hardly_a_real_headline_is_taken_for_a_request(titles: list[str]) -> None:
    asking = [title for title in titles if interpret_text(title)]
    assert len(asking) / len(titles) < 0.005


def test_no_real_headline_is_taken_for_talk(titles: list[str]) -> None:
    assert sum(map(talks_to_somebody, titles)) / len(titles) < 0.01


@pytest.mark.parametrize("trigger", [Trigger.ADDRESSED, Trigger.REPLY])
async def test_plain_word_in_reply_to_an_answer_is_read_as_its_command(
    bot: Bot, trigger: Trigger
) -> None:
    await bot.say("Coffee prices soar", place=GROUP)
    quoted = RepliedMessage(message="m1")
    for text, shown in (("why 2?", "2. "), ("¿Por qué?", "1. ")):
        said = await bot.say(text, place=GROUP, trigger=trigger, quoted=quoted)
        assert (said.text or "").startswith(shown)
    more = await bot.say("otra, por favor", place=GROUP, trigger=trigger, quoted=quoted)
    assert [hit.rank for hit in more.hits] == [4, 5]


@pytest.mark.parametrize("text", ["why?", "more", "picture"])
async def test_plain_word_in_reply_to_another_message_is_ignored(bot: Bot, text: str) -> None:
    await bot.say("Coffee prices soar", place=GROUP)
    remark = event(text, place=GROUP, trigger=Trigger.REPLY, quoted=RepliedMessage(message="gone"))
    assert await bot.hear(remark) is None


@pytest.mark.parametrize(
    "text", ["that's wrong", "sos un genio", "you are so dumb", "haha nailed it", "😂"]
)
async def test_a_remark_by_name_is_not_searched_for(bot: Bot, text: str) -> None:
    assert await bot.hear(event(text, place=GROUP)) is None
    assert bot.engine.calls == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hi", "Hello! Send me a headline or a link; I look for old tweets that foretold it."),
        ("thanks!", "You are welcome. Send me another headline whenever you like."),
        ("creepy", "Send me another headline whenever you like."),
        ("that is wrong", "Send me another headline whenever you like."),
        ("how do you work?", f"{ABOUT} /help lists what else I understand."),
        ("¿me oís?", f"{ABOUT} /help lists what else I understand."),
        ("feeds list", "Commands begin with a slash: /feeds list"),
        ("stop posting here", "This does it: /unsubscribe"),
    ],
)
async def test_hint_costs_no_search_quota(storage: Database, text: str, said: str) -> None:
    async with bot_on(storage, limits=ChatSettings(user_daily=0)) as bot:
        reply = await bot.say(text)
        assert (reply.text, reply.ephemeral) == (said, True)
        assert bot.engine.calls == []


async def test_a_bare_mention_is_answered_with_a_hint(bot: Bot) -> None:
    for place in (PRIVATE, GROUP):
        assert (await bot.told("", place=place)).startswith("Send me a headline, such as: ")
    assert await bot.hear(event("", place=GROUP, trigger=Trigger.OVERHEARD)) is None


@pytest.mark.parametrize("command", ["/prophecy", "/p", "/find", "/ask"])
async def test_command_without_argument_uses_the_quoted_message(bot: Bot, command: str) -> None:
    reply = await bot.say(command, quoted=RepliedMessage(text="Coffee prices soar"))
    assert "such as" not in (reply.text or "")
    given = await bot.say(f"{command} tea", quoted=RepliedMessage(text="Coffee prices soar"))
    assert "such as" not in (given.text or "")
    if command in ("/p", "/prophecy"):
        assert [call[0] for call in bot.engine.calls] == ["Coffee prices soar", "tea"]


async def test_why_ignores_the_text_of_the_quoted_message(bot: Bot) -> None:
    assert (
        await bot.say("/why", quoted=RepliedMessage(text="2"))
    ).text == "Send me a headline first."


@pytest.mark.parametrize(
    ("text", "waits"),
    [("hola", False), ("thanks", False), ("", False), ("Coffee prices soar again", True)],
)
def test_may_wait_is_false_for_greetings(text: str, waits: bool) -> None:
    assert may_wait(text) == waits


@pytest.mark.parametrize("text", ["good bot", "bad bot", "k", "y", "very good!"])
def test_praise_and_blame_of_a_bot_are_remarks(text: str) -> None:
    assert classify_message(text, NAMES).kind is MessageKind.REMARK
