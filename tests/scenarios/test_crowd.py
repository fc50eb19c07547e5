"""Many people at once, and a bot that is killed among them: `python -m bench.chat` measures."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.database import execute
from tests.fakes.model import scoring, slow
from tests.fakes.slack import App
from tests.patience import until
from tests.scenarios.crowd import PLATFORMS, Crowd, crowd_on
from tests.scenarios.stage import (
    HEADLINE,
    TWEETS,
    Surroundings,
    judged_by_words,
    load_tweets,
    surroundings,
)

pytestmark = pytest.mark.slow

PEOPLE = 50
EACH = 4
SECONDS = 60.0  # after which something hangs, on a busy machine too


@pytest.fixture(params=PLATFORMS)
async def crowd(request: pytest.FixtureRequest, installed: App) -> AsyncIterator[Crowd]:
    async with crowd_on(request.param, PEOPLE, installed) as crowd:
        yield crowd


@pytest.fixture
async def around(crowd: Crowd, database_url: str) -> AsyncIterator[Surroundings]:
    """Everything else that a bot of this crowd needs; its model takes its time."""
    await load_tweets(database_url, TWEETS)
    # Short answers do not repeat the headline, by which each is told from the others.
    default = "ALTER TABLE chat ALTER full_answers SET DEFAULT {}"
    await execute(database_url, default.format("true"))
    async with surroundings() as (model, web):
        model.script = [slow(0.3, scoring(judged_by_words))]
        yield Surroundings(
            database_url=database_url, model=model, web=web, environment=dict(crowd.environ)
        )
    await execute(database_url, default.format("false"))  # the database serves other tests too


def headlines(who: int) -> list[str]:
    """What one of them says at once."""
    return [f"{HEADLINE} in {who}.{number}" for number in range(EACH)]


async def test_many_concurrent_headlines_are_answered_once_in_chat_order(
    crowd: Crowd, around: Surroundings
) -> None:
    with around.process():
        await crowd.listening(SECONDS)
        people = range(PEOPLE)
        talks = (crowd.exchange(who, headlines(who), SECONDS) for who in people)
        answers = await asyncio.gather(*talks)
        await crowd.settled()
    assert answers == [headlines(who) for who in people]
    assert [len(crowd.answers(who)) for who in people] == [EACH] * PEOPLE


async def test_a_killed_bot_repeats_no_answer_and_its_successor_answers_the_rest(
    crowd: Crowd, around: Surroundings
) -> None:
    people = range(10)
    with around.process() as first:
        await crowd.listening(SECONDS)
        for who in people:
            for text in headlines(who):
                await crowd.say(who, text)
        await until(lambda: sum(len(crowd.answers(who)) for who in people) >= 15, within=SECONDS)
        first.kill()
    first.wait()
    answered = {text for who in people for text in crowd.answers(who)}
    assert len(answered) < EACH * len(people), "it was killed in the middle"
    # What it was sending may or may not have arrived: that is left alone.
    ((sending,),) = await around.rows("SELECT count(*) FROM turn WHERE state = 'answering'")
    with around.process():
        await crowd.listening(SECONDS)
        await crowd.told_again()
        await until(lambda: _owed(crowd, people) <= sending, within=SECONDS)
        await crowd.settled()
    for who in people:
        said = crowd.answers(who)
        assert len(set(said)) == len(said), "nothing twice"
        assert set(said) <= set(headlines(who))
    assert answered <= {text for who in people for text in crowd.answers(who)}


def _owed(crowd: Crowd, people: range) -> int:
    return sum(EACH - len(crowd.answers(who)) for who in people)
