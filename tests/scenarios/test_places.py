"""What every adapter must do among several people: in groups, channels, topics and threads."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

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
        return TelegramSeat(server=stage.telegram, user=user, chat=forum, topic=topic)

    return Place(stage, seat(alice), seat(bob), seat(alice, forum.topic("News")))


async def on_slack(stage: SlackStage) -> Place:
    stage.alice.is_admin = True
    stage.bob.locale = "en-US"
    root = await stage.alice.says(stage.general, "about the news")

    def seat(user: Any, thread: Any = None) -> SlackSeat:
        return SlackSeat(server=stage.slack, user=user, channel=stage.general, thread=thread)

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


async def test_a_member_chooses_an_archive_once_and_an_admin_for_the_chat(place: Place) -> None:
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
