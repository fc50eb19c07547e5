"""From a message to its answer: plain text, commands, mistakes."""

from datetime import datetime, timedelta

import pytest

from bot.commands import LocalMemory, Registry, Request, Services, standard_commands
from bot.commands.prophecy import PROPHECY
from bot.reply import Reply
from engine.errors import CorpusNotFound
from tests.bot.prophecies import NOW, StandInEngine


class Conversation:
    """One person who writes to a bot with the standard commands."""

    def __init__(self, engine: StandInEngine, limit: int = 3) -> None:
        self.engine = engine
        self.services = Services(prophesy=engine, memory=LocalMemory(), corpus="demo", limit=limit)

    async def say(self, text: str, *, where: str = "here", now: datetime = NOW) -> Reply:
        request = Request(text=text, conversation_id=where, user_id="me", language="en", now=now)
        return await standard_commands().answer(request, self.services)


@pytest.fixture
def talk() -> Conversation:
    return Conversation(StandInEngine())


def ranks(reply: Reply) -> list[int]:
    return [hit.rank for hit in reply.hits]


@pytest.mark.parametrize(
    "text",
    [
        "Coffee prices soar",
        "  Coffee prices soar\n",
        "/prophecy Coffee prices soar",
        "/p Coffee prices soar",
        "/P   Coffee prices soar ",
        "/prophecy\nCoffee prices soar",
    ],
)
async def test_a_headline_is_prophesied(talk: Conversation, text: str) -> None:
    reply = await talk.say(text)
    assert [call[:2] for call in talk.engine.calls] == [("Coffee prices soar", "demo")]
    assert talk.engine.calls[0][3] == NOW
    assert reply.headline == "Coffee prices soar"
    assert ranks(reply) == [1, 2, 3]


@pytest.mark.parametrize("text", ["/r/politics bans bots", "/", "/ 5", "/2024/06/01", "50/50 vote"])
async def test_a_slash_alone_makes_no_command(talk: Conversation, text: str) -> None:
    await talk.say(text)
    assert [call[0] for call in talk.engine.calls] == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/whi", "I know no command /whi. Did you mean /why? /help lists all of them."),
        ("/xyzzy now", "I know no command /xyzzy. /help lists all of them."),
    ],
)
async def test_an_unknown_command_is_answered_kindly(
    talk: Conversation, text: str, expected: str
) -> None:
    assert await talk.say(text) == Reply(text=expected, ephemeral=True)
    assert talk.engine.calls == []


@pytest.mark.parametrize("text", ["/p", "/prophecy  ", "", " \n"])
async def test_no_headline_asks_for_one(talk: Conversation, text: str) -> None:
    reply = await talk.say(text)
    assert reply.text is not None
    assert reply.text.startswith("Send me a headline, such as: ")
    assert talk.engine.calls == []


async def test_more_shows_the_next_ones_without_another_search(talk: Conversation) -> None:
    await talk.say("Coffee prices soar")
    assert ranks(await talk.say("/more")) == [4, 5]
    assert (await talk.say("/more")).text == "That is all I found."
    assert (await talk.say("/more")).text == "That is all I found."
    assert len(talk.engine.calls) == 1


async def test_more_counts_ages_up_to_the_moment_of_the_question(talk: Conversation) -> None:
    first = await talk.say("Coffee prices soar")
    later = await talk.say("/more", now=NOW + timedelta(days=800))
    assert later.hits[0].age == first.hits[0].age == "10 years before"


@pytest.mark.parametrize("command", ["/more", "/why", "/why 1"])
async def test_there_must_be_an_answer_to_ask_about(talk: Conversation, command: str) -> None:
    assert (await talk.say(command)).text == "Send me a headline first."


async def test_conversations_do_not_see_each_other(talk: Conversation) -> None:
    await talk.say("Coffee prices soar", where="here")
    assert (await talk.say("/more", where="there")).text == "Send me a headline first."
    assert ranks(await talk.say("/more", where="here")) == [4, 5]


async def test_why_explains_what_was_shown_last(talk: Conversation) -> None:
    await talk.say("Coffee prices soar")
    first = (await talk.say("/why")).text or ""
    assert [f"{n}. score" in first for n in range(1, 6)] == [True, True, True, False, False]
    await talk.say("/more")
    second = (await talk.say("/why")).text or ""
    assert [f"{n}. score" in second for n in range(1, 6)] == [False, False, False, True, True]


async def test_why_explains_one_of_those_shown_so_far(talk: Conversation) -> None:
    await talk.say("Coffee prices soar")
    text = (await talk.say("/why 2")).text or ""
    assert [f"{n}. score" in text for n in (1, 2, 3)] == [False, True, False]
    await talk.say("/more")
    assert "1. score" in ((await talk.say("/why 1")).text or "")


@pytest.mark.parametrize("wanted", ["4", "0", "-1", "two", "99"])
async def test_why_knows_only_what_was_shown(talk: Conversation, wanted: str) -> None:
    await talk.say("Coffee prices soar")
    reply = await talk.say(f"/why {wanted}")
    assert reply == Reply(text="I showed 1, 2, 3. Ask /why or /why NUMBER.", ephemeral=True)


async def test_after_an_empty_answer_there_is_no_more_and_why_still_works() -> None:
    talk = Conversation(StandInEngine(found=0))
    await talk.say("Coffee prices soar")
    assert (await talk.say("/more")).text == "That is all I found."
    assert "4 candidates from demo" in ((await talk.say("/why")).text or "")
    assert (await talk.say("/why 1")).text == "I showed no tweet. Ask /why or /why NUMBER."


@pytest.mark.parametrize("text", ["/help", "/start", "/help nonsense", "/HELP"])
async def test_help_lists_every_command(talk: Conversation, text: str) -> None:
    listed = (await talk.say(text)).text or ""
    for command in standard_commands().commands:
        assert f"{command.usage}: {command.summary}" in listed


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("why", "Example: /why 2"),
        ("/why", "Example: /why 2"),
        ("P", "Also: /p\nExample: /prophecy "),
        ("start", "Also: /start\nExample: /help why"),
    ],
)
async def test_help_shows_one_command_with_its_example(
    talk: Conversation, asked: str, expected: str
) -> None:
    text = (await talk.say(f"/help {asked}")).text or ""
    assert expected in text
    assert len(text.splitlines()) <= 3


async def test_every_example_is_understood(talk: Conversation) -> None:
    await talk.say("Coffee prices soar")
    for command in standard_commands().commands:
        reply = await talk.say(command.example)
        assert "I know no command" not in (reply.text or "")
        assert "Ask /why" not in (reply.text or "")


async def test_an_error_meant_for_people_becomes_one_line() -> None:
    error = CorpusNotFound('There is no corpus "demo".', fix="Load one with presagio ingest.")
    talk = Conversation(StandInEngine(error=error))
    expected = 'There is no corpus "demo". Load one with presagio ingest.'
    assert await talk.say("Coffee prices soar") == Reply(text=expected, ephemeral=True)


async def test_a_failed_question_leaves_the_last_answer(talk: Conversation) -> None:
    await talk.say("Coffee prices soar")
    talk.engine.error = CorpusNotFound("gone")
    await talk.say("Tea prices soar")
    assert ranks(await talk.say("/more")) == [4, 5]


async def test_a_bug_is_not_taken_for_an_answer() -> None:
    class Broken(StandInEngine):
        async def __call__(self, *_args: object, **_kwargs: object) -> None:  # type: ignore[override]  # a bug
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Conversation(Broken()).say("Coffee prices soar")


def test_two_commands_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        Registry([PROPHECY, PROPHECY])


def test_a_request_needs_a_moment_with_a_zone() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        Request(
            text="x",
            conversation_id="c",
            user_id="u",
            language="en",
            now=datetime(2024, 1, 1),  # noqa: DTZ001 - the point of the test
        )
