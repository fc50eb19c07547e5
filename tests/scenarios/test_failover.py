"""The primary is killed while posts are under way, and its standby promoted: none lost or twice."""

import asyncio
from pathlib import Path

import pytest

from tests.database import execute
from tests.fakes.standby import Pair, pair
from tests.patience import until
from tests.scenarios.chaos.stage import Chaos, chaos
from tests.scenarios.chaos.world import Size

pytestmark = pytest.mark.slow

SIZE = Size(stories=18, chats=2, categories=2, kills=0, restarts=0, pause=0.0, rate=10)
_ROUND_TRIP = 0.3  # seconds that a platform has shown a post before it says so
_OUTAGE = 1.0  # seconds between the loss and the promotion
_UNDER_WAY = "SELECT count(*) FROM delivery WHERE state = 'owed' AND begun_at IS NOT NULL"


async def wait_for_standby(both: Pair) -> None:
    """Have each write wait for the standby: what it has not received is lost with the primary."""
    await execute(
        both.primary.url,
        "ALTER SYSTEM SET synchronous_standby_names = '*'",
        "SELECT pg_reload_conf()",
    )


async def lose_primary(stage: Chaos, both: Pair) -> int:
    """Kill the primary as soon as posts are under way, and promote; return how many were."""
    for trouble in stage.trouble.values():
        trouble.cease()
        trouble.seconds = _ROUND_TRIP
    stage.publish(SIZE.stories // 2)

    async def count() -> int:
        return int((await stage.rows(_UNDER_WAY))[0][0])

    under_way: int = await until(count)
    await asyncio.to_thread(both.primary.kill)
    await asyncio.sleep(_OUTAGE)
    await asyncio.to_thread(both.standby.promote)
    return under_way


async def test_no_post_is_lost_or_sent_twice_when_a_standby_is_promoted(
    server_folder: Path,
) -> None:
    with pair(server_folder) as both:
        await wait_for_standby(both)
        async with chaos(SIZE, server_folder, url=both.url) as stage:
            await stage.open()
            assert await lose_primary(stage, both)
            stage.publish(SIZE.stories)
            await stage.settled()
            deliveries = await stage.deliveries()
            shown = stage.shown("telegram") + stage.shown("slack")
            assert stage.missing() == set()
            assert deliveries.keys() == shown.keys(), "what was decided was shown"
            assert set(deliveries.values()) == {"sent"}
            assert set(shown.values()) == {1}, "and once"
            assert stage.processes.ended == 0
