"""Checks what is posted while processes die, the database restarts and platforms fail.

`python -m bench.chaos [--stories N] [--chats N] [--kills N] [--restarts N] [--rate N] [--seed N]
[--refuse MINUTES] [--log FILE] [--quick]`

Three processes of `presagio serve` read feeds, search, ask a stand-in model and post to stand-ins
for Telegram and Slack, on a separate database. Their clocks run fast, so that leases and pauses
end sooner. The exit code is 1 when a post is missing, or came twice without an excuse.
bench/README.md says more.
"""

import argparse
import asyncio
import logging
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.store import folder
from bench.timing import Output, progress
from tests.scenarios.chaos.stage import Chaos, chaos
from tests.scenarios.chaos.world import Size


async def figures(stage: Chaos, output: Output) -> bool:
    """Print what was done and its results; return whether everything is as it should be."""
    size = stage.size
    for what, times in sorted(stage.done.items()):
        output.row(figure=what, number=times)
    for platform, trouble in stage.trouble.items():
        for what, times in sorted(trouble.happened.items()):
            output.row(figure=f"{platform}: {what}", number=times)
    deliveries = await stage.deliveries()
    states = {name: [*deliveries.values()].count(name) for name in ("owed", "sent", "failed")}
    stories = (await stage.rows("SELECT count(*) FROM story"))[0][0]
    output.row(figure="stories", number=stories, right=size.stories)
    output.row(figure="calls of the model", number=stage.model.calls)
    output.row(figure="posts decided", number=len(deliveries))
    output.row(figure="posts settled as sent", number=states["sent"], right=len(deliveries))
    shown = {platform: stage.shown(platform) for platform in stage.trouble}
    seen = shown["telegram"].keys() | shown["slack"].keys()
    never, missing = len(deliveries.keys() - seen), len(stage.missing())
    output.row(figure="decided and never shown", number=never, right=0)
    output.row(figure="owed to a chat and never shown", number=missing, right=0)
    excuses = stage.trouble["telegram"].unknown
    twice = {name: posts.total() - len(posts) for name, posts in shown.items()}
    excused = excuses.total()
    output.row(figure="telegram: shown once more", number=twice["telegram"], at_most=excused)
    output.row(figure="slack: shown once more", number=twice["slack"], right=0)
    unexcused = len(stage.unexcused())
    output.row(figure="shown once more without an excuse", number=unexcused, right=0)
    dead = stage.processes.ended
    output.row(figure="processes that ended by themselves", number=dead, right=0)
    rows = await stage.rows(
        "SELECT job, outcome, sum(times)::integer FROM job_outcome GROUP BY 1, 2 ORDER BY 1, 2"
    )
    for job, outcome, times in rows:
        output.row(figure=f"job {job}: {outcome}", number=times)
    lost = states["owed"] + states["failed"] + never + missing
    return not (lost or unexcused or twice["slack"] or dead or stories != size.stories)


async def measure(size: Size, place: Path) -> bool:
    """Run the bench, and return whether everything is as it should be."""
    output, begun = Output("chaos"), time.monotonic()
    async with chaos(size, place) as stage:
        await stage.play(lambda said: progress(f"{time.monotonic() - begun:6.1f} s  {said}"))
        try:
            await stage.settled()
        except AssertionError as error:  # the figures show how much is missing
            progress(str(error))
        progress(f"{time.monotonic() - begun:6.1f} s  settled")
        right = await figures(stage, output)
    output.row(figure="seconds", number=round(time.monotonic() - begun))
    output.table()
    return right


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments, run, clean up; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("--stories", type=int, default=1000, help="that the feeds bring (1000)")
    parser.add_argument("--chats", type=int, default=20, help="half of each platform (20)")
    parser.add_argument("--kills", type=int, default=50, help="of processes (50)")
    parser.add_argument("--restarts", type=int, default=5, help="of the database (5)")
    parser.add_argument("--pause", type=float, default=4.0, help="seconds between two kills (4)")
    parser.add_argument("--rate", type=float, default=6.0, help="of the clock (6)")
    parser.add_argument("--seed", type=int, default=4, help="of what happens at random (4)")
    parser.add_argument(
        "--refuse",
        type=float,
        default=0,
        metavar="MINUTES",
        help="of the clock, for which the platforms take no post at the end (0)",
    )
    parser.add_argument("--log", type=Path, help="where to keep what the processes say")
    parser.add_argument("--quick", action="store_true", help="60 stories, 5 kills: half a minute")
    arguments = parser.parse_args(argv)
    if arguments.quick:
        vars(arguments).update(stories=60, chats=10, kills=5, restarts=1, pause=1.0, rate=15.0)
    size = Size(
        stories=arguments.stories,
        chats=arguments.chats,
        categories=arguments.chats // 2,
        kills=arguments.kills,
        restarts=arguments.restarts,
        pause=arguments.pause,
        rate=arguments.rate,
        seed=arguments.seed,
        refused_minutes=arguments.refuse,
    )
    # It logs at length that the server is away.
    logging.getLogger("asyncpg").setLevel(logging.CRITICAL)
    with folder() as place:
        try:
            right = asyncio.run(measure(size, place))
        finally:
            if arguments.log:
                shutil.copy(place / "processes.log", arguments.log)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
