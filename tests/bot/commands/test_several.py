"""Several headlines in one message are answered one by one, in one message."""

import pytest

from bot.commands import standard_commands
from bot.commands.headline_detection import split_headlines
from bot.request import RepliedMessage, Trigger
from db.pool import Database
from engine.errors import FetchFailed
from engine.messages import Message
from engine.search import Headline
from tests.bot.conversing import GROUP, Bot, bot_on, event, labels
from tests.bot.conversing import read as read_written
from tests.bot.prophecies import NOW

COFFEE, WIND = "Coffee prices hit a record high", "Storm closes the port of Rotterdam"
TRAINS, CANAL = "Trains stop in the north of Spain", "Ship blocks the canal for a third day"
A, B = "https://news.example/a", "https://news.example/b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{COFFEE}\n{WIND}", (COFFEE, WIND)),
        (f"what about these:\n{COFFEE}\n\n{WIND}\n", (COFFEE, WIND)),
        (
            f"1. {COFFEE}\n2) {WIND.lower()}\n3. storm hits town",
            (COFFEE, WIND.lower(), "storm hits town"),
        ),
        (f"- {COFFEE}\n- {A}", (COFFEE, A)),
        (f"{COFFEE}\n{A}", ()),
        (f"{COFFEE}\n{A}\n{WIND}\n{B}", (f"{COFFEE} {A}", f"{WIND} {B}")),
        (f"{A} {B}", (A, B)),
        (f"look at these lol {A}\n{B}", (A, B)),
        (f"{COFFEE} {A} {B}", ()),
        (f"{A} {A}", ()),
        (COFFEE, ()),
        (f"{COFFEE}\n\nPrices rose by a third in Brazil, growers in Minas say.", ()),
        (f"{COFFEE}\nlol", ()),
    ],
)
def test_split_headlines_on_known_messages(text: str, expected: tuple[str, ...]) -> None:
    assert split_headlines(text) == expected


def test_forwarded_message_is_split_only_if_numbered() -> None:
    assert split_headlines(f"{COFFEE}\n{WIND}", forwarded=True) == ()
    assert split_headlines(f"1. {COFFEE}\n2. {WIND}", forwarded=True) == (COFFEE, WIND)


def test_each_headline_costs_a_search_unless_it_was_overheard() -> None:
    count, text = standard_commands().count_searches, f"{COFFEE}\n{WIND}"
    assert count(event(text)) == count(event(f"/p {text}", trigger=Trigger.COMMAND)) == 2
    assert count(event(text, trigger=Trigger.OVERHEARD)) == 1


async def test_each_headline_gets_one_line_and_a_more_button(bot: Bot) -> None:
    reply = await bot.say(f"{COFFEE}\n{WIND}\n{TRAINS}\n{CANAL}", place=GROUP)
    assert [(item.headline, item.hit.rank, item.hit.small) for item in reply.items] == [
        (COFFEE, 1, True),
        (WIND, 2, True),
        (TRAINS, 3, True),
    ]
    assert [call[0] for call in bot.engine.calls] == [COFFEE, WIND, TRAINS]
    assert reply.notice == f"I answer three at a time. Left out: {CANAL}"
    assert labels(reply) == ["1. More", "2. More", "3. More"]
    second = str(reply.buttons[0][1].action)
    whole = await bot.say(second, place=GROUP, trigger=Trigger.BUTTON)
    assert (whole.headline, len(whole.hits), whole.replaces) == (WIND, 3, False)


async def test_those_without_an_answer_are_named(storage: Database) -> None:
    async def read(text: str, *, now: object) -> Headline:
        if text == B:
            raise FetchFailed(Message("I could not open it."))
        return await read_written(text.replace(A, COFFEE), now=NOW)

    async with bot_on(storage, read_headline=read) as bot:
        reply = await bot.say(f"{A} {B}")
        assert [item.headline for item in reply.items] == [COFFEE]
        assert (reply.text, reply.notice) == (None, f"{B}: I could not open it.")
        bot.engine.found = 0
        nothing = await bot.say(f"{COFFEE}\n{WIND}")
        assert (nothing.items, nothing.buttons) == ((), ())
        assert nothing.text == (
            f"1. {COFFEE}: No old tweet foretold this.\n2. {WIND}: No old tweet foretold this."
        )


async def test_why_number_means_the_headline_until_an_answer_is_expanded(bot: Bot) -> None:
    shown = await bot.say(f"{COFFEE}\n{WIND}", place=GROUP)
    below = tuple(str(button.action) for row in shown.buttons for button in row)
    in_reply = {"place": GROUP, "quoted": RepliedMessage(message="m1", buttons=below)}
    assert (await bot.say("/why 2", **in_reply)).text == (await bot.say("/why 2", place=GROUP)).text
    assert (await bot.told("/why 2", **in_reply)).startswith(f"{WIND}\n2. ")
    assert (await bot.say("/why 3", **in_reply)).text == "I showed 1, 2. Ask /why or /why NUMBER."
    whole = await bot.say("more", trigger=Trigger.REPLY, **in_reply)
    assert (whole.headline, [hit.rank for hit in whole.hits]) == (COFFEE, [1, 2, 3])
    below = tuple(str(button.action) for row in whole.buttons for button in row)
    rank = await bot.say("/why 2", place=GROUP, quoted=RepliedMessage(message="m6", buttons=below))
    assert not (rank.text or "").startswith(COFFEE)
