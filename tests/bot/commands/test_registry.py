"""From a text to its command; mistakes are answered kindly."""

from dataclasses import replace

import pytest

from bot.commands import Registry, standard_commands
from bot.commands.prophecy import PROPHECY, answer_plain_message
from bot.i18n.words import LANGUAGES, words_for
from bot.request import Trigger
from tests.bot.conversing import Bot, event


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/foo", "I know no command /foo. /help lists all of them."),
        ("/whi", "I know no command /whi. Did you mean /why? /help lists all of them."),
        ("/pic 2", "I know no command /pic. Did you mean /picture? /help lists all of them."),
        ("/ayuda", "I know no command /ayuda. Did you mean /help? /help lists all of them."),
        ("/más", "I know no command /más. Did you mean /more? /help lists all of them."),
        ("/xyzzy now", "I know no command /xyzzy. /help lists all of them."),
        (
            "/PROPHESY x",
            "I know no command /prophesy. Did you mean /prophecy? /help lists all of them.",
        ),
    ],
)
async def test_an_unknown_command_is_answered_kindly(bot: Bot, text: str, expected: str) -> None:
    reply = await bot.say(text)
    assert (reply.text, reply.ephemeral) == (expected, True)
    assert bot.engine.calls == []


async def test_a_long_nonsense_is_cut(bot: Bot) -> None:
    assert len(await bot.told("/" + "x" * 9000)) < 120


@pytest.mark.parametrize(
    ("pressed", "name"), [("up:1:1.en", "up"), ("nonsense:1:1", "button"), ("", "button")]
)
def test_a_button_is_logged_by_its_name_if_that_is_one(pressed: str, name: str) -> None:
    assert standard_commands().name_of(event(pressed, trigger=Trigger.BUTTON)) == name


@pytest.mark.parametrize(
    ("text", "trigger", "unclear", "sign"),
    [
        ("thanks!", Trigger.ADDRESSED, False, False),
        ("Coffee prices hit a record high", Trigger.REPLY, False, True),
        ("coffee again", Trigger.ADDRESSED, True, True),
        ("coffee again", Trigger.REPLY, True, False),
        ("up:1:1.en", Trigger.BUTTON, True, True),
    ],
)
def test_a_sign_is_given_of_what_is_searched_for(
    text: str, trigger: Trigger, unclear: bool, sign: bool
) -> None:
    registry = standard_commands()
    request = registry.read(event(text, trigger=trigger))
    assert registry.needs_sign(replace(request, unclear=unclear)) is sign


def test_two_commands_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        Registry([PROPHECY, PROPHECY], plain=answer_plain_message)


async def test_every_example_is_understood(bot: Bot) -> None:
    await bot.say("Coffee prices soar")
    for code in LANGUAGES:
        for command in standard_commands().commands:
            reply = await bot.say(words_for(code).say(command.example))
            said = reply.text or ""
            assert not any(
                word in said for word in ("I know no", "Ask /why", "There is no", "first")
            )
