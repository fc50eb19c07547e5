"""What every adapter must do among several people: in groups, channels, topics and threads."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.ages import read_years
from tests.fakes.model import failure
from tests.fakes.slack import App, SlackServer
from tests.scenarios.seats import Seat, SlackSeat, TelegramSeat
from tests.scenarios.slack.stage import SlackStage, slack_staged
from tests.scenarios.stage import HEADLINE, Stage, Surroundings, load_tweets, staged


@dataclass
class Place:
    """One place, who administers it, who is there, and the admin in a topic or thread of it."""

    stage: Surroundings
    admin: Seat[Any]
    member: Seat[Any]
    aside: Seat[Any]


def on_telegram(stage: Stage) -> Place:
    alice, bob = stage.telegram.user("Alice"), stage.telegram.user("Bob")
    forum = stage.telegram.group(
        "Friends", admins=[alice], members=[bob], forum=True, privacy_mode=False
    )

    def seat(user: Any, topic: Any = None) -> TelegramSeat:
        return TelegramSeat(
            seconds=time.time,
            passing=[],
            server=stage.telegram,
            user=user,
            chat=forum,
            topic=topic,
        )

    return Place(stage, seat(alice), seat(bob), seat(alice, forum.topic("News")))


async def on_slack(stage: SlackStage) -> Place:
    stage.alice.is_admin = True
    stage.bob.locale = "en-US"
    root = await stage.alice.says(stage.general, "about the news")

    def seat(user: Any, thread: Any = None) -> SlackSeat:
        return SlackSeat(
            seconds=time.time,
            passing=[],
            server=stage.slack,
            user=user,
            channel=stage.general,
            thread=thread,
        )

    return Place(stage, seat(stage.alice), seat(stage.bob), seat(stage.alice, root))


@pytest.fixture(params=["telegram", "slack"])
async def place(
    request: pytest.FixtureRequest, coffee_url: str, installed: App
) -> AsyncIterator[Place]:
    """A place on each platform, and a bot that listens."""
    if request.param == "telegram":
        async with staged(coffee_url) as stage, stage.serving():
            yield on_telegram(stage)
    else:
        async with (
            slack_staged(coffee_url, SlackServer(installed)) as workspace,
            workspace.serving(),
        ):
            yield await on_slack(workspace)


async def test_small_talk_is_ignored_but_gets_a_hint_if_addressed_by_name(place: Place) -> None:
    await place.member.says("good morning everybody", answers=0)
    assert "Send me a headline" in await place.member.calls("good morning")
    assert "Send me a headline" in await place.member.calls("")
    assert place.stage.model.calls == 0


async def test_a_listening_bot_answers_only_when_a_tweet_fits(place: Place) -> None:
    await place.member.says(HEADLINE, answers=0)
    assert "headlines: on" in await place.admin.commands("/settings listening all")
    await place.member.says("shall we meet at nine?", answers=0)
    assert "mark my words" in await place.member.says(HEADLINE)


async def test_settings_are_for_admins_and_answers_for_all(place: Place) -> None:
    for command in ("/settings threshold foretold", "/subscribe daily 9", "/corpus demo"):
        assert "Only admins of this " in await place.member.commands(command)
    assert "threshold: foretold" in await place.admin.commands("/settings threshold foretold")
    assert "This chat is told nothing unasked." in await place.admin.commands("/unsubscribe")
    assert read_years(await place.member.commands(f"/prophecy {HEADLINE}"))


async def test_a_member_chooses_an_archive_once_and_an_admin_for_the_chat(
    place: Place,
) -> None:
    await load_tweets(place.stage.database_url, (f"{HEADLINE}, said Luis.",), name="luis")
    await place.stage.rows("UPDATE corpus SET role = 'archive' RETURNING id")
    assert "Whose texts shall I search?" in await place.member.calls(HEADLINE)
    assert place.member.buttons == ["demo", "luis", "All of them"]
    assert "said Luis" in await place.member.presses("luis")
    assert "said Luis" in await place.member.calls(HEADLINE), "kept for the person"
    assert await place.stage.rows("SELECT corpus FROM chat") == [(None,)]
    assert "Whose texts shall I search?" in await place.admin.calls(HEADLINE)
    assert "said Luis" in await place.admin.presses("luis")
    assert await place.stage.rows("SELECT corpus FROM chat") == [("luis",)]


async def test_votes_of_two_people_are_counted_and_withdrawn(place: Place) -> None:
    await place.member.commands(f"/prophecy {HEADLINE}")
    await place.member.presses("👍")
    await place.admin.presses("👍 1")
    assert place.member.buttons[:2] == ["👍 2", "👎"]
    await place.member.presses("👍 2")
    assert place.member.buttons[:2] == ["👍 1", "👎"]


MOON, PRICES = "What did she say about the harvest moon?", "What did she say about prices?"


async def test_a_question_follows_nobody_else_s(place: Place) -> None:
    carla, ben = place.admin, place.member
    model = place.stage.model
    model.script = [failure(503)]
    assert "moon" in await carla.commands(f"/ask {MOON}")
    answer = await ben.commands(f"/ask {PRICES}")
    assert "prices" in answer
    assert "moon" not in answer
    assert "earlier" not in model.requests[-1].prompt
    await ben.commands("/ask And in 2010?")
    assert f'"earlier":["{PRICES}"]' in model.requests[-1].prompt
    await carla.commands("/ask And in 2010?")
    assert f'"earlier":["{MOON}"]' in model.requests[-1].prompt


async def test_a_question_in_reply_to_an_answer_follows_its_question(place: Place) -> None:
    carla, ben = place.admin, place.member
    model = place.stage.model
    model.script = [failure(503)]
    await carla.calls(f"/ask {MOON}")
    about_moon = carla.said[-1]
    await ben.calls(f"/ask {PRICES}")
    assert "moon" in await ben.replies("/ask And in 2010?", about_moon)
    assert f'"earlier":["{MOON}"]' in model.requests[-1].prompt
    await ben.replies("/ask And in 2011?", about_moon)
    assert f'["{MOON}"' in model.requests[-1].prompt
    assert PRICES not in model.requests[-1].prompt


async def test_why_and_more_in_reply_refer_to_the_quoted_answer(place: Place) -> None:
    alice, bob = place.admin, place.member
    assert read_years(await alice.calls(HEADLINE))
    about_coffee = alice.said[-1]
    assert read_years(await bob.calls("A festival of the moon draws thousands to London"))
    about_moon = bob.said[-1]
    for seat, answer, word, other in (
        (bob, about_coffee, "prices", "moon"),
        (alice, about_moon, "moon", "prices"),
    ):
        said = await seat.replies("/why 1", answer)
        assert word in said
        assert other not in said
    assert "4. " in await bob.replies("/more", about_coffee)


async def test_a_topic_or_thread_has_posts_of_its_own(place: Place) -> None:
    assert "write it in one" in await place.admin.commands("/subscribe topic daily 9")
    own = await place.aside.calls("/subscribe topic daily 9:00 silent on")
    assert "In this topic:" in own and "at 9:00" in own
    assert "Posts make no sound." in own
    assert "told nothing unasked" in await place.admin.commands("/subscribe off")
    rows = "SELECT topic <> '', mode FROM subscription ORDER BY topic"
    assert await place.stage.rows(rows) == [(False, "off"), (True, "daily")]
    assert "told nothing unasked" in await place.aside.calls("/unsubscribe")
    assert await place.stage.rows(rows) == [(False, "off"), (True, "off")]


async def test_an_answer_stays_in_its_topic_or_thread(place: Place) -> None:
    assert read_years(await place.aside.calls(HEADLINE))
    answer = place.aside.said[-1]
    asked = place.aside.asked
    assert asked
    if isinstance(place.aside, TelegramSeat):
        assert answer.thread_id == asked.thread_id
    else:
        assert answer.thread_ts == asked.thread_ts
