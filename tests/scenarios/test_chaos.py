"""Processes are killed, the database restarts, the platforms fail: nothing lost, nothing twice.

`python -m bench.chaos` plays the same at full size.
"""

from pathlib import Path

import pytest

from engine.posting.delivery import PostingMode
from tests.scenarios.chaos.deeds import KILLED
from tests.scenarios.chaos.stage import chaos
from tests.scenarios.chaos.world import Size

pytestmark = pytest.mark.slow

SMALL = Size(
    stories=60,
    chats=6,
    categories=3,
    kills=5,
    restarts=1,
    pause=0.7,
    rate=10,  # faster, and a busy machine takes longer than the time for one delivery
)


async def test_every_post_arrives_and_repeats_only_after_a_death_or_lost_reply(
    server_folder: Path,
) -> None:
    async with chaos(SMALL, server_folder) as stage:
        await stage.play()
        await stage.settled()
        deliveries = await stage.deliveries()
        shown = stage.shown("telegram") + stage.shown("slack")
        assert stage.missing() == set()
        assert set(deliveries.values()) == {"sent"}
        assert deliveries.keys() == shown.keys(), "what was decided was shown, and nothing else"
        assert stage.unexcused() == {}
        assert set(stage.shown("slack").values()) == {1}
        daily = {
            chat.external_id for chat in stage.chats if chat.subscription.mode is PostingMode.DAILY
        }
        assert sorted(post.chat for post in shown if len(post.codes) > 1) == sorted(daily)
        assert await stage.rows("SELECT count(*) FROM story") == [(SMALL.stories,)]
        # What was to be survived did happen.
        assert stage.done["killed at random"] + stage.done["killed on aim"] == SMALL.kills
        assert stage.done["restarted, immediate"] == SMALL.restarts
        assert stage.done[f"telegram: {KILLED}"] >= 1
        assert stage.done[f"slack: {KILLED}"] >= 1
        assert stage.shown("telegram").total() > len(stage.shown("telegram"))
        assert stage.processes.ended == 0
