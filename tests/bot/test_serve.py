"""What `presagio serve` tells of its faces, what it makes of the settings, and what it keeps."""

import asyncio
import gc
import logging
from contextlib import suppress
from dataclasses import dataclass

import pytest

from bot.face.face import FaceStatus
from bot.face.reply import MOST_HITS
from bot.serve import leave_out_what_stays, tell_status
from tests.fakes.slack import SlackServer
from tests.patience import PATIENCE
from tests.scenarios.slack.stage import slack_staged


@dataclass
class Switch:
    """A face that listens when it is told to."""

    listening: bool = False
    webhook: None = None

    async def run(self) -> None:
        """Nothing is heard here."""

    async def stop(self, seconds: float) -> None:
        """Nothing to close."""

    def status(self) -> FaceStatus:
        return FaceStatus(listening=self.listening, way="HTTP")


async def test_what_a_face_begins_and_ceases_to_hear_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("bot.serve._LOOK_SECONDS", 0.001)
    caplog.set_level(logging.INFO, "presagio.serve")
    faces = {"slack": Switch(), "telegram": Switch()}
    telling = asyncio.create_task(tell_status(faces))

    async def logged(lines: int) -> list[tuple[str, str]]:
        async with asyncio.timeout(PATIENCE):
            while len(caplog.records) < lines:  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        return [(one.levelname, one.getMessage()) for one in caplog.records]

    assert await logged(0) == []
    faces["slack"].listening = True
    assert await logged(1) == [("INFO", "slack: listening (HTTP)")]
    faces["slack"].listening = False
    assert (await logged(2))[1:] == [("WARNING", "slack: not listening (HTTP)")]
    telling.cancel()
    with suppress(asyncio.CancelledError):
        await telling


async def test_a_message_shows_no_more_than_it_has_room_for_and_more_shows_the_rest(
    database_url: str,
) -> None:
    words = "alps bank cats dogs eggs fish gold hats iron jazz kiwi lamb mice nuts oaks pigs quiz"
    tweets = tuple(f"Coffee {word} {word[::-1]} {word * 2}" for word in words.split())
    async with slack_staged(database_url, SlackServer(), tweets) as stage:
        stage.environment["PRESAGIO_SEARCH__LIMIT"] = "50"
        async with stage.serving():
            direct = stage.slack.im(stage.alice)
            await stage.alice.says(direct, "Coffee")
            (answer,) = await stage.replies(1)
            await stage.alice.clicks(answer, "More")
            _, rest = await stage.replies(2)
    shown = [sum(tweet in one.visible for tweet in tweets) for one in (answer, rest)]
    assert shown == [MOST_HITS, len(tweets) - MOST_HITS]


async def test_what_was_loaded_is_left_out_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.serve._SETTLED_SECONDS", 0)
    loaded = [object()]
    frozen = gc.get_freeze_count()
    await leave_out_what_stays()
    assert gc.get_freeze_count() > frozen
    assert not any(one is loaded for one in gc.get_objects())
