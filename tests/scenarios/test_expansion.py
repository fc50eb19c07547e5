"""Phrases that a model names, as people meet them: finds that share no word with the headline, and
no word about it when the model does not play along."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web

from tests.ages import read_years
from tests.fakes.model import Asked, Step, answer, dropped, failure, naming, scoring, slow
from tests.patience import PATIENCE
from tests.scenarios.adapters import ConsoleTalk, Talk, TelegramTalk
from tests.scenarios.stage import HEADLINE, TWEETS, Surroundings, load_tweets, staged, surroundings

FAR = "Brent climbs past a hundred dollars"
NEAR = "Some day the pump will eat your wages, friends."
PHRASE = "pump eats your wages"

# What an account wrote, what became of it in another language's news, and the phrase between.
SPANISH = (
    ("El ferri se hundirá un día.", "A boat goes down off the coast", "ferri hundido"),
    ("El alcalde acabará en la cárcel.", "Court sentences town leader", "alcalde a la cárcel"),
)


def fitting(headline: str, shown: Mapping[str, Any]) -> int:
    """A judge who knows what foretold the headline, and counts words for another one."""
    if headline == FAR:
        return 6 if shown["text"] == NEAR else 0
    return 5 if "coffee" in str(shown["text"]).lower() else 0


@pytest.fixture(params=["telegram", "console"])
async def talk(
    request: pytest.FixtureRequest, coffee_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Talk]:
    """A person on each platform, a bot that does not run yet, and a tweet more."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        if request.param == "telegram":
            found: Talk = TelegramTalk(await enter(staged(coffee_url)))
        else:
            model, internet = await enter(surroundings())
            around = Surroundings(database_url=coffee_url, model=model, web=internet)
            found = ConsoleTalk(around, monkeypatch)
        await load_tweets(coffee_url, (*TWEETS, NEAR))
        found.stage.model.script = [scoring(fitting)]
        yield found


async def test_a_find_sharing_no_word_with_the_headline_is_explained(talk: Talk) -> None:
    talk.stage.model.phrases = naming(PHRASE)
    async with talk.serving():
        assert NEAR in (await talk.says(FAR)).text
        reason = "It says what one would expect of this author about such news."
        assert reason in (await talk.commands("/why")).text
        await talk.commands("/settings answers full")
        assert f"asked for: '{PHRASE}'" in (await talk.commands("/why")).text
    model = talk.stage.model
    assert (model.calls, len(model.expansions)) == (1, 1)
    assert await talk.stage.rows("SELECT DISTINCT phrases FROM expansion") == [([PHRASE],)]


@pytest.mark.parametrize(
    "trouble",
    [
        slow(PATIENCE, naming(PHRASE)),
        dropped,
        failure(429, headers={"Retry-After": "60"}),
        answer("I think that the account would not have written about this."),
    ],
    ids=["slow", "dead", "429", "garbage"],
)
async def test_failing_phrases_leave_the_rest_of_the_answer_intact(
    talk: Talk, trouble: Step
) -> None:
    model = talk.stage.model
    model.phrases = trouble
    talk.stage.environment["PRESAGIO_SEARCH__EXPANSION_TIMEOUT"] = "0.2"
    async with talk.serving():
        await talk.commands("/settings answers full")
        found = (await talk.says(HEADLINE)).text
        receipt = (await talk.commands("/why")).text
        nothing = (await talk.says(FAR)).text
    assert len(read_years(found)) == 3
    assert "judged by stand-in/model" in receipt
    assert "Also searched for" not in receipt
    for said in (found, nothing):
        assert "phrase" not in said
    for said in (found, receipt, nothing):
        assert "Not judged" not in said
        assert "0.2 s" not in said
    assert NEAR not in nothing
    assert model.calls == 1  # nothing was found of the second headline


async def test_headlines_of_another_language_find_their_texts(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {headline: (text, phrase) for text, headline, phrase in SPANISH}

    async def named(asked: Asked, request: web.Request) -> web.StreamResponse:
        assert json.loads(asked.prompt)["archive"]["languages"] == ["spanish"]
        return await naming(said[asked.headline][1])(asked, request)

    def right(headline: str, shown: Mapping[str, Any]) -> int:
        return 6 if shown["text"] == said[headline][0] else 0

    async with surroundings() as (model, internet):
        around = Surroundings(database_url=database_url, model=model, web=internet)
        await load_tweets(database_url, tuple(text for text, _, _ in SPANISH), "spanish")
        model.script, model.phrases = [scoring(right)], named
        for switch, expected in (("off", 0), ("auto", len(SPANISH))):
            around.environment["PRESAGIO_SEARCH__EXPANSION"] = switch
            talk = ConsoleTalk(around, monkeypatch)
            async with talk.serving():
                answers = {one: (await talk.says(one)).text for one in said}
            assert sum(said[one][0] in answers[one] for one in said) == expected
