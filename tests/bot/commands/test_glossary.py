"""/glossary: who may decide what words mean the same, and what they see."""

import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.reply import Reply
from bot.request import Person
from db.corpus.glossary import Groups
from db.pool import Database
from engine.extras import how_to_install
from engine.glossary import suggest as dictionary
from engine.glossary.groups import GroupStatus
from engine.values import Corpus
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on
from tests.bot.prophecies import NOW
from tests.db.loading import load_texts

OPERATORS = frozenset({"test:root"})
ROOT = Person(id="root")


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    async with bot_on(storage, admins=OPERATORS) as ready:
        yield ready


@pytest.fixture
async def corpus(storage: Database) -> Corpus:
    return await load_texts(storage, "demo", ["The Federal Reserve met", "cars"], "english")


@pytest.fixture
def groups(storage: Database) -> Groups:
    return Groups(storage)


async def ask(bot: Bot, text: str, **changes: object) -> Reply:
    """Say something in a group, as one who runs the bot."""
    return await bot.say(text, **{"place": GROUP, "person": ROOT, **changes})


async def test_an_operator_adds_a_group_for_the_corpus_of_the_chat(
    bot: Bot, corpus: Corpus, groups: Groups
) -> None:
    reply = await ask(bot, "/glossary add Fed = Federal  Reserve")
    assert reply.text == "Added for demo. Fed = Federal Reserve"
    (group,) = await groups.groups()
    assert (group.terms, group.corpus, group.status) == (
        ("Fed", "Federal Reserve"), "demo", GroupStatus.APPROVED,
    )  # fmt: skip
    assert (await ask(bot, "/glossary add fed = Federal Reserve")).text == (
        "Known already. fed = Federal Reserve"
    )


async def test_pending_groups_are_shown_with_approve_and_reject_buttons(
    bot: Bot, corpus: Corpus, groups: Groups
) -> None:
    await groups.propose(corpus, ("car", "automobile"), sure=True, now=NOW)
    await groups.propose(corpus, ("car", "train"), sure=False, now=NOW)
    shown = await ask(bot, "/glossary")
    assert shown.text == "0 groups hold in demo.\n2 wait.\n1. car = automobile\n2. car = train"
    assert [[b.label for b in row] for row in shown.buttons] == [
        ["Approve 1", "Reject 1"], ["Approve 2", "Reject 2"],
    ]  # fmt: skip
    after = await bot.press(shown, "alias", place=GROUP, person=ROOT)
    assert (after.replaces, after.toast) == (True, "Approved. car = automobile")
    assert after.text == "1 group holds in demo.\n1 waits.\n2. car = train"
    no = replace(after, buttons=(after.buttons[0][1:],))
    last = await bot.press(no, "alias", place=GROUP, person=ROOT)
    assert last.toast == "Gone, and never suggested again. car = train"
    assert not await groups.propose(corpus, ("Train", "CAR"), sure=True, now=NOW)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/glossary dance", "/glossary knows: pending, list, add, approve, reject, remove."),
        ("/glossary approve", "Give the numbers of groups, as listed."),
        ("/glossary approve x", "Give the numbers of groups, as listed."),
        ("/glossary add car", "A group has 2 to 20 different terms."),
        ("/glossary add FBI = bureau", '"FBI" is protected. An acronym in capitals matches'),
        ("/glossary approve 7", "There is no group 7."),
    ],
)
async def test_invalid_glossary_commands_are_explained(
    bot: Bot, corpus: Corpus, text: str, said: str
) -> None:
    assert ((await ask(bot, text)).text or "").startswith(said)


async def test_missing_word_lists_are_explained_to_operators_in_private(
    bot: Bot, corpus: Corpus, groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spellchecker", None)
    dictionary._load_word_list.cache_clear()
    plain = await ask(bot, "/glossary add Fed = Federal Reserve")
    assert plain.text == "A part of me that this needs is not installed."
    said = (await ask(bot, "/glossary add Fed = Federal Reserve", place=PRIVATE)).text or ""
    assert said.startswith("The word lists of the glossary are not installed.")
    assert said.endswith(how_to_install("glossary"))
    assert await groups.groups() == []
