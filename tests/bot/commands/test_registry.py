"""From a text to its command; mistakes are answered kindly."""

import pytest

from bot.commands import Registry, standard_commands
from bot.commands.prophecy import PROPHECY, answer_plain_message
from bot.i18n.words import LANGUAGES, words_for
from tests.bot.conversing import Bot


@pytest.mark.parametrize(
    ("text", "expected"),
    [
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
