"""Three processes on one database: one of them schedules, all deliver, nothing is done twice.

`python -m bench.leader` measures how soon a leader is replaced, a frozen one too.
"""

import asyncio
import time
from pathlib import Path

import pytest

from tests.scenarios.chaos.stage import Chaos, chaos
from tests.scenarios.chaos.world import Size

pytestmark = pytest.mark.slow

SIZE = Size(
    stories=30,
    chats=2,
    categories=2,
    kills=0,
    restarts=0,
    pause=0.0,
    rate=10,
)
TICK = 15 / SIZE.rate  # of the jobs that the leader alone does
WINDOW = 6.0


async def ticks(stage: Chaos) -> dict[str, int]:
    """How often each job of the leader was run, or was not because the run before had not ended."""
    rows = await stage.rows(
        "SELECT job, sum(times)::integer FROM job_outcome WHERE job <> 'deliver' GROUP BY job"
    )
    return dict(rows)


async def test_ticks_and_posts_happen_once_while_leadership_moves(server_folder: Path) -> None:
    async with chaos(SIZE, server_folder) as stage:
        for trouble in stage.trouble.values():
            trouble.cease()
        await stage.open()

        begun, before = time.monotonic(), await ticks(stage)
        stage.publish(10)
        await stage.settled()
        await asyncio.sleep(max(0.0, WINDOW - (time.monotonic() - begun)))
        after, seconds = await ticks(stage), time.monotonic() - begun
        for job in ("poll", "search", "digest"):
            assert 1 <= after[job] - before[job] <= seconds / TICK + 2

        await stage.moved(stage.processes.kill)
        stage.publish(20)
        await stage.settled()
        await stage.moved(stage.processes.end)
        stage.publish(30)
        await stage.settled()
        posts = stage.shown("telegram") + stage.shown("slack")
        assert set(posts.values()) == {1}
        assert len(posts) == SIZE.stories * 2, "each story in each of both chats"
        assert stage.processes.ended == 0
