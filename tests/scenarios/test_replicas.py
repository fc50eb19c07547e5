"""Fifty chats ask while a standby, or the primary, dies."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from db.pool import Database
from tests.database import execute
from tests.fakes.model import scoring, slow
from tests.fakes.standby import Pair, pair
from tests.scenarios.crowd import Crowd, crowd_on
from tests.scenarios.stage import (
    HEADLINE,
    TWEETS,
    Surroundings,
    judged_by_words,
    load_tweets,
    surroundings,
    until,
)

pytestmark = pytest.mark.slow

PEOPLE = 50
SECONDS = 60.0


@pytest.fixture
def both(run_folder: Path) -> Iterator[Pair]:
    with pair(run_folder, _filled) as both:
        yield both


async def _filled(url: str) -> None:
    database = await Database.open(url)
    await database.migrate()
    await database.close()
    await load_tweets(url, TWEETS)
    # Short answers do not repeat the headline, by which each is told from the others.
    await execute(url, "ALTER TABLE chat ALTER full_answers SET DEFAULT true")


@pytest.fixture
async def crowd() -> AsyncIterator[Crowd]:
    async with crowd_on("telegram", PEOPLE) as crowd:
        yield crowd


@pytest.fixture
async def around(crowd: Crowd, both: Pair) -> AsyncIterator[Surroundings]:
    """Everything else that a bot of this crowd needs; its model takes its time."""
    environment = {
        **crowd.environ,
        "PRESAGIO_DATABASE__REPLICAS": f'["{both.standby.url}"]',
    }
    async with surroundings() as (model, web):
        model.script = [slow(0.3, scoring(judged_by_words))]
        yield Surroundings(
            database_url=both.primary.url, model=model, web=web, environment=environment
        )


def headline(who: int) -> str:
    """What one of them says; ten say the same."""
    return f"{HEADLINE} in {who % 5}"


def answers(crowd: Crowd, who: int) -> list[str]:
    """What one was answered, without the step that a slow answer waits for."""
    return [line for line in crowd.answers(who) if not line.endswith("…")]


async def asked_while(crowd: Crowd, around: Surroundings, *, dies: str, both: Pair) -> None:
    """Let everybody ask, and a server die as soon as some are answered."""
    people = range(PEOPLE)
    with around.process():
        await crowd.listening(SECONDS)
        await asyncio.gather(*(crowd.say(who, headline(who)) for who in people))
        await until(lambda: sum(len(answers(crowd, who)) for who in people) >= 5, SECONDS)
        assert not all(answers(crowd, who) for who in people), "it dies in the middle"
        server = both.standby if dies == "standby" else both.primary
        await asyncio.to_thread(server.kill)
        if dies == "primary":
            await asyncio.to_thread(server.start)
        await until(lambda: all(answers(crowd, who) for who in people), SECONDS)
        await crowd.settled()


async def test_a_dead_standby_costs_no_answer_and_no_judgment(
    crowd: Crowd, around: Surroundings, both: Pair
) -> None:
    await asked_while(crowd, around, dies="standby", both=both)
    assert [answers(crowd, who) for who in range(PEOPLE)] == [[headline(n)] for n in range(PEOPLE)]
    assert around.model.calls == len({headline(who) for who in range(PEOPLE)})


async def test_every_question_gets_an_answer_or_an_apology_when_the_primary_dies(
    crowd: Crowd, around: Surroundings, both: Pair
) -> None:
    """What would have to be stored fails, and whoever asked is told so."""
    await asked_while(crowd, around, dies="primary", both=both)
    for who in range(PEOPLE):
        [said] = answers(crowd, who)
        assert said == headline(who) or said.startswith("Sorry, I cannot")
