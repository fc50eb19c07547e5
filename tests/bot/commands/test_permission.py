"""Each cell of the table of rights, through the whole conversation; whom people are told to ask."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import product

import pytest

from bot.commands import standard_commands
from bot.commands.rights import Act, Effect
from bot.glossary_service import GlossaryService
from bot.reply import Reply
from bot.request import Person, Place, Trigger
from db.chat.chats import Access
from db.corpus.glossary import Groups
from db.pool import Database
from engine.search import HitKind
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on, corpus
from tests.database import Clones
from tests.db.loading import load_texts

CHANNEL = Place(platform="test", chat_id="c", private=False, title="A channel")
INLINE = Place(platform="test", chat_id="inline", private=True, kept=False)
OWN = Place(platform="test", chat_id="own", private=False, title="The stranger's own group")
SLACK = Place(platform="slack", chat_id="C1", private=False)
PLACES = {
    "private": PRIVATE,
    "group": GROUP,
    "channel": CHANNEL,
    "foreign group": OWN,  # to all but the stranger
    "inline": INLINE,
}
PEOPLE = ("owner", "operator", "admin", "member", "stranger")
# What the platform says of the chats; the stranger is an admin elsewhere.
ADMINS = {("g", "admin"), ("c", "admin"), ("own", "stranger"), ("C1", "admin")}
ALL, OWNER, OPERATORS = set(PEOPLE), {"owner"}, {"owner", "operator"}
CHAT_ADMINS = OPERATORS | {"admin"}
NOBODY: set[str] = set()
# Who may have an effect in each of PLACES.
AGREED = {
    Effect.ANSWERS: (ALL, ALL, ALL, ALL, ALL),
    Effect.POSTS: (ALL, ALL, ALL, ALL, NOBODY),
    Effect.STEERS_CHAT: (ALL, CHAT_ADMINS, CHAT_ADMINS, OPERATORS | {"stranger"}, NOBODY),
    Effect.STEERS_ALL: (OPERATORS, OPERATORS, OPERATORS, OPERATORS, NOBODY),
    Effect.OWNS: (OWNER, NOBODY, NOBODY, NOBODY, NOBODY),
}
REFUSALS = (
    "Only admins of this chat",
    "changes what every chat is told",
    "needs a chat",
    "Only the owner of this bot",
    "works in a private chat with me alone",
)


def on_platform(who: str, place: Place) -> Callable[[], Awaitable[bool]]:
    async def is_admin() -> bool:
        return (place.chat_id, who) in ADMINS

    return is_admin


async def say(bot: Bot, text: str, who: str, place: Place, **changes: object) -> Reply:
    is_admin = on_platform(who, place)
    return await bot.say(text, person=Person(id=who), place=place, is_admin=is_admin, **changes)


def may(who: str, effect: Effect, where: str) -> bool:
    return who in dict(zip(PLACES, AGREED[effect], strict=True))[where]


def refused(reply: Reply) -> bool:
    said = reply.text or reply.toast or ""
    return any(phrase in said for phrase in REFUSALS)


@pytest.fixture(scope="module")
def _rights_url(_clones: Clones) -> Iterator[str]:
    with _clones.clone() as url:
        yield url


@pytest.fixture
async def storage(_rights_url: str) -> AsyncIterator[Database]:
    """An open pool on a database with one corpus, no chats and no glossary."""
    opened = await Database.open(_rights_url)
    async with opened.connection() as connection:
        for table in ("turn", "chat", "quota", "admission", "alias_group"):
            await connection.execute(f"DELETE FROM {table}")
        await connection.execute(
            "INSERT INTO owner SELECT platform, 'owner', 'own', 'en', now()"
            " FROM unnest(ARRAY['test', 'slack']) AS platform ON CONFLICT DO NOTHING"
        )
    await load_texts(opened, "demo", ["Cars are fast"], "english")
    yield opened
    await opened.close()


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    operators = frozenset({"test:operator", "slack:operator"})
    async with bot_on(storage, corpora=[corpus("demo")], admins=operators) as ready:
        yield ready


async def answered(bot: Bot, who: str, place: Place) -> bool:
    return not refused(await say(bot, "/prophecy Coffee prices soar", who, place))


async def posted(bot: Bot, who: str, place: Place) -> bool:
    """Vote on an answer; where there is no chat, none can be voted on, and a post is asked for."""
    if not place.kept:
        return not refused(await say(bot, "/today", who, place))
    answer = await bot.say("/prophecy Coffee prices soar", place=place)
    vote = next(str(b.action) for row in answer.buttons for b in row if b.action.name == "up")
    return (await say(bot, vote, who, place, trigger=Trigger.BUTTON)).replaces


async def steered(bot: Bot, who: str, place: Place) -> bool:
    """Set the threshold by a command, and then by a button."""
    await say(bot, "/settings threshold foretold", who, place)
    typed = (await bot.chat(place)).threshold is HitKind.PREDICTION
    await say(bot, "set::threshold=earlier", who, place, trigger=Trigger.BUTTON)
    pressed = (await bot.chat(place)).threshold is HitKind.EARLIER_CASE
    assert typed == pressed
    return typed


async def steered_all(bot: Bot, who: str, place: Place) -> bool:
    await say(bot, "/glossary add car = automobile", who, place)
    return bool(await GlossaryService(bot.app).groups.groups())


async def owned(bot: Bot, who: str, place: Place) -> bool:
    """Let somebody in, and look at the costs."""
    await say(bot, "/access allow test:carol", who, place)
    let_in = bool(await Access(bot.app.database).admissions("test"))
    assert let_in != refused(await say(bot, "/usage", who, place))
    return let_in


PROBES = {
    Effect.ANSWERS: answered,
    Effect.POSTS: posted,
    Effect.STEERS_CHAT: steered,
    Effect.STEERS_ALL: steered_all,
    Effect.OWNS: owned,
}


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("where", PLACES)
async def test_every_effect_is_allowed_exactly_to_the_agreed_roles(
    bot: Bot, where: str, who: str
) -> None:
    done = {effect: await PROBES[effect](bot, who, PLACES[where]) for effect in Effect}
    assert done == {effect: may(who, effect, where) for effect in Effect}


def uses() -> list[tuple[str, Trigger, Act]]:
    """Return every command with each of its words, and every button."""
    found = []
    for command in standard_commands().commands:
        for word in {"", "x", *command.acts}:
            typed = f"/{command.name} {word}".strip()
            found.append((typed, Trigger.COMMAND, command.act_on(word)))
        for action in command.actions:
            found.append((f"{action}::1", Trigger.BUTTON, command.act_of(action)))
    return found


# Each role in each kind of place: the cells above hold for everybody everywhere.
ROLES = [
    *product(("owner", "operator", "member"), ("private", "group", "inline")),
    ("admin", "group"),
    ("admin", "foreign group"),
    ("stranger", "foreign group"),
]


@pytest.mark.parametrize(("who", "where"), ROLES)
async def test_every_command_and_button_is_held_to_it(bot: Bot, who: str, where: str) -> None:
    for text, trigger, act in uses():
        reply = await say(bot, text, who, PLACES[where], trigger=trigger)
        assert refused(reply) == (not may(who, act.effect, where)), text


async def test_stranger_can_configure_only_their_own_group(bot: Bot, storage: Database) -> None:
    assert await steered(bot, "stranger", OWN)
    for text in (
        "add president = clown",
        "remove 1",
        "approve 1",
        "reject 1",
        "pending",
        "ADD x = y",
    ):
        assert refused(await say(bot, f"/glossary {text}", "stranger", OWN)), text
    assert refused(await say(bot, "alias::yes=1", "stranger", OWN, trigger=Trigger.BUTTON))
    assert await Groups(storage).groups() == []
    assert not refused(await say(bot, "/glossary list", "stranger", OWN))


async def test_the_platform_is_asked_only_where_its_answer_decides(bot: Bot) -> None:
    asked = []

    async def note() -> bool:
        asked.append(text)
        return False

    for place in (PRIVATE, INLINE):
        for text, trigger, _ in uses():
            await bot.say(text, place=place, trigger=trigger, is_admin=note)
    for text in ("/glossary add a = b", "/why", "/today", "/corpus", "/feeds"):
        await bot.say(text, place=GROUP, is_admin=note)
    root = Person(id="operator")
    text = "/settings"
    await bot.say(text, place=GROUP, person=root, is_admin=note)
    assert asked == []
    await bot.say(text, place=GROUP, is_admin=note)
    assert asked == [text]


@pytest.mark.parametrize(
    ("text", "place", "english", "spanish"),
    [
        (
            "/settings threshold foretold",
            GROUP,
            "Only admins of this chat may use /settings. Ask one of them.",
            "Solo quienes administran este chat pueden usar /settings. Pídeselo.",
        ),
        (
            "/feeds remove 1",
            GROUP,
            "Only admins of this chat may use /feeds remove. Ask one of them.",
            "Solo quienes administran este chat pueden usar /feeds remove. Pídeselo.",
        ),
        (
            "/settings threshold foretold",
            SLACK,
            "Only admins of this workspace may use /presagio settings. Ask one of them.",
            "Solo quienes administran este espacio de trabajo pueden usar /presagio settings."
            " Pídeselo.",
        ),
        (
            "/glossary add car = automobile",
            PRIVATE,
            "Only my operators may use /glossary, which changes what every chat is told. Ask"
            " whoever runs me; you are test:member.",
            "Solo mis operadores pueden usar /glossary, que cambia lo que se dice en todos los"
            " chats. Pídeselo a quien me administra; tu nombre es test:member.",
        ),
        (
            "/usage",
            PRIVATE,
            "Only the owner of this bot may use /usage.",
            "Solo el dueño de este bot puede usar /usage.",
        ),
        (
            "/access",
            GROUP,
            "/access works in a private chat with me alone.",
            "/access solo funciona en un chat privado conmigo.",
        ),
        (
            "/subscribe daily 9:00",
            INLINE,
            "/subscribe needs a chat. Use it in one with me.",
            "/subscribe necesita un chat. Úsalo en uno conmigo.",
        ),
    ],
)
async def test_whom_to_ask_is_said_in_the_reader_s_language(
    bot: Bot, text: str, place: Place, english: str, spanish: str
) -> None:
    for language, said in (("en", english), ("es", spanish)):
        person = Person(id="member", language=language)
        reply = await bot.say(text, place=place, person=person)
        assert (reply.text, reply.ephemeral) == (said, True)
