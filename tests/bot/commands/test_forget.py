"""/forget tells what it deletes, and deletes it once its button is pressed by who may."""

from bot.request import Person
from db.chat.answers import Answers
from engine.chat import Listening
from engine.search import HitKind
from tests.bot.conversing import GROUP, Bot, yes

BOB = Person(id="bob")


async def test_forget_deletes_the_chat_and_votes_of_a_person_in_groups(bot: Bot) -> None:
    await bot.say("/settings threshold foretold")
    answer = await bot.say("/prophecy Coffee prices soar", place=GROUP)
    for person in (BOB, Person(id="ana")):
        await bot.press(answer, "up", place=GROUP, person=person)
    old = await bot.chat()
    gone = await bot.press(await bot.say("/forget"), "forget")
    assert gone.replaces
    assert gone.text == "Deleted. What you write to me from now on is stored again."
    new = await bot.chat()
    assert (new.id == old.id, new.threshold) == (False, HitKind.MIRROR)
    group = await bot.chat(GROUP)
    latest = await Answers(bot.app.database).last(group, None)
    assert latest
    [tally] = (await Answers(bot.app.database).tallies(latest)).values()
    assert (tally.up, tally.down) == (1, 0)


async def test_a_group_is_forgotten_by_its_admins_alone(bot: Bot) -> None:
    await bot.set_up(GROUP, listening=Listening.parse("all"))
    asked = await bot.say("/forget", place=GROUP, person=BOB)
    assert (asked.text or "").startswith("This deletes what I have stored about this chat:")
    assert "write to me in private" in (asked.text or "")
    refused = await bot.press(asked, "forget", place=GROUP, person=BOB)
    assert "Only admins of this chat" in (refused.toast or "")
    assert (await bot.chat(GROUP)).listening == Listening.parse("all")
    done = await bot.press(asked, "forget", place=GROUP, is_admin=yes)
    assert (done.text or "").startswith("Deleted.")
    assert (await bot.chat(GROUP)).listening == Listening.parse("mentions")
