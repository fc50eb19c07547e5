"""Checks that no two processes hold a lease at once, whatever happens to them.

`python -m bench.leases [--events N] [--groups N] [--seed N] [--careless] [--quick]`

Groups of three processes stand for a lease each, half of the groups through pgbouncer where that
is installed. They are killed and frozen, their clocks and that of their server are stepped (with
libfaketime, where that is installed), their sessions are ended and stopped, and the server crashes.
Each process notes when it relies on the lease, and writes rows that name its fence. Every event
must be followed by a holder. The exit code is 1 if two held a lease at once, a row was stored
behind one of a later holder, or nobody held it. bench/README.md says more.
"""

import argparse
import asyncio
import random
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain
from pathlib import Path

import asyncpg

from bench.disturbing import Group, Member, Trouble, WallClock, standing
from bench.standing import WRITES
from bench.store import folder
from bench.terms import Term, falls, late, overlaps
from bench.timing import Output, progress
from db.lease import elapsed_seconds
from db.pool import Database
from tests.fakes.pooler import pooler
from tests.fakes.standby import LoopbackServer, loopback

_MEMBERS = 3
_WITHIN = 30.0
_BETWEEN_STEPS = 3.0  # seconds between two steps of the server's clock
_BETWEEN_CRASHES = 40  # events
_DAYS = "SELECT coalesce(extract(day FROM max(at) - min(at)), 0)::integer FROM written"


async def disturbed(groups: Sequence[Group], trouble: Trouble, events: int) -> None:
    """Let so many events happen, the server's among them."""

    def count() -> int:
        return sum(group.done.total() for group in groups) + trouble.done.total()

    async def disturb(group: Group) -> None:
        while count() < events:
            await group.disturb()

    over = asyncio.Event()

    async def step() -> None:
        while WallClock.library and not await is_over_within(over, _BETWEEN_STEPS):
            await trouble.step()

    async def crash() -> None:
        reached, between = 0, min(_BETWEEN_CRASHES, events // 2)
        while not await is_over_within(over, 0.5):
            if count() >= reached + between:
                reached = count()
                progress(f"{reached} events")
                await trouble.restart()

    if not all(await asyncio.gather(*(group.led(elapsed_seconds()) for group in groups))):
        raise RuntimeError("the processes do not start")
    aside = asyncio.gather(step(), crash())
    try:
        await asyncio.gather(*map(disturb, groups))
    finally:
        over.set()
        await aside  # a server that has crashed starts again


async def is_over_within(over: asyncio.Event, seconds: float) -> bool:
    """Wait so long at most for an event; return whether it has come."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await over.wait()
    return over.is_set()


def made(
    place: Path, server: LoopbackServer, pooled: str | None, arguments: argparse.Namespace
) -> list[Group]:
    """Return the groups, of which every other one goes through the pooler."""
    sessions = partial(asyncpg.connect, server.url)
    groups = []
    for number in range(arguments.groups):
        url = pooled if pooled and number % 2 else server.url
        name = f"{'pooled' if url == pooled else 'direct'}-{number}"
        more = ["--careless"] if arguments.careless else []
        command = [sys.executable, "-m", "bench.standing", *more, url, name]
        members = [
            Member(f"{name}-{one}", command, WallClock(place / f"{name}-{one}.clock"), place)
            for one in "abc"[:_MEMBERS]
        ]
        chance = random.Random(f"{arguments.seed} {name}")
        groups.append(Group(name, members, sessions, chance))
    return groups


async def found(output: Output, groups: Sequence[Group], url: str) -> bool:
    """Print what the notes and the rows say; return whether all is as it should be."""
    by_group: dict[str, list[Term]] = {
        group.name: [*chain.from_iterable(member.terms() for member in group.members)]
        for group in groups
    }
    twice = sum(len(overlaps(some)) for some in by_group.values())
    fallen = sum(len(falls(some)) for some in by_group.values())
    stored = behind = refused = 0
    connection = await asyncpg.connect(url)
    for group in groups:
        rows = await connection.fetch(
            "SELECT fence, late FROM written WHERE lease = $1 ORDER BY number", group.name
        )
        kept = [row["fence"] for row in rows if not row["late"]]
        stored += len(kept)
        behind += late(kept)
        refused += len(rows) - len(kept)
    days = await connection.fetchval(_DAYS)
    await connection.close()
    seen = sum(member.steps() for group in groups for member in group.members)
    abandoned = [name for group in groups for name in group.abandoned]
    output.row(figure="steps of a process' clock while it held a lease", number=seen)
    output.row(figure="days of the server's clock between the rows", number=days)
    output.row(figure="terms", number=sum(map(len, by_group.values())))
    output.row(figure="terms that overlap another's", number=twice, right=0)
    output.row(figure="terms without a higher fence", number=fallen, right=0)
    output.row(figure="rows stored", number=stored)
    output.row(figure="rows stored behind a later holder's", number=behind, right=0)
    output.row(figure="rows refused for an old fence", number=refused)
    output.row(figure="events that nobody led after", number=len(abandoned), right=0)
    return not (twice or fallen or behind or abandoned)


def happened(output: Output, groups: Sequence[Group], trouble: Trouble) -> bool:
    """Print what happened and how soon a holder followed; return whether always soon enough."""
    done, met, replaced = Counter[str](trouble.done), Counter[str](), Counter[str]()
    for group in groups:
        done, met, replaced = done + group.done, met + group.met, replaced + group.replaced
    for name, times in sorted(done.items()):
        output.row(event=name, times=times, holder=met[name], another_led=replaced[name])
    output.row(event="all", times=done.total())
    freed = [*chain.from_iterable(group.freed for group in groups)]
    alone = [(one, other) for one, other in freed if not _among(trouble.crashes, one, other)]
    longest = 0.0
    for what, spans in (("a kill", alone), ("a kill and a crash", [*set(freed) - set(alone)])):
        if seconds := sorted(end - begun for begun, end in spans):
            output.row(
                figure=f"seconds until a lease is led after {what}",
                number=len(seconds),
                median=round(seconds[len(seconds) // 2], 2),
                longest=round(seconds[-1], 2),
                at_most=_WITHIN,
            )
            longest = max(longest, seconds[-1])
    return longest < _WITHIN


def _among(spans: Sequence[tuple[float, float]], begun: float, end: float) -> bool:
    return any(one < end and begun < other for one, other in spans)


async def run(arguments: argparse.Namespace, place: Path, stack: ExitStack) -> bool:
    """Start the server and the processes, disturb them, and print the outcome."""
    clock = WallClock(place / "server.clock")
    server = stack.enter_context(loopback(place))
    await asyncio.to_thread(server.kill)
    server.environment = clock.environment
    await asyncio.to_thread(server.start)
    database = await Database.open(server.url)
    await database.migrate()
    async with database.connection() as connection:
        await connection.execute(WRITES)
    await database.close()
    pooled = None
    if shutil.which("pgbouncer", path="/usr/sbin:/usr/bin"):
        near = f"postgresql://presagio@/presagio?host={server.folder}&port={server.port}"
        pooled = stack.enter_context(pooler(near, place, "server_login_retry = 1"))
    groups = made(place, server, pooled, arguments)
    trouble = Trouble(server, clock, random.Random(arguments.seed))
    output, begun = Output("leases"), elapsed_seconds()
    with standing(groups):
        await disturbed(groups, trouble, arguments.events)
    output.row(figure="seconds", number=round(elapsed_seconds() - begun))
    output.row(figure="groups", number=len(groups), pooled=sum("pooled" in g.name for g in groups))
    soon = happened(output, groups, trouble)
    right = await found(output, groups, server.url)
    output.table()
    return soon and right


def main(argv: Sequence[str] | None = None) -> int:
    """Read the arguments, run, clean up; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.leases", description=__doc__)
    parser.add_argument("--events", type=int, default=1000, help="in all groups together (1000)")
    parser.add_argument("--groups", type=int, default=6, help="each with a lease of its own (6)")
    parser.add_argument("--seed", type=int, default=0, help="of what is done to whom (0)")
    parser.add_argument("--careless", action="store_true", help="holders that do it wrong")
    parser.add_argument("--quick", action="store_true", help="20 events, 2 groups")
    arguments = parser.parse_args(argv)
    if arguments.quick:
        arguments.events, arguments.groups = 20, 2
    with folder() as place, ExitStack() as stack:
        return 0 if asyncio.run(run(arguments, place, stack)) else 1


if __name__ == "__main__":
    sys.exit(main())
