"""What is done to it: processes are killed and stopped, and the database restarts."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

from db.posting.subscriptions import Subscriptions
from engine.posting.delivery import PostingMode
from tests.patience import PATIENCE
from tests.scenarios.chaos import omens
from tests.scenarios.chaos.server import StopMode, restart
from tests.scenarios.chaos.trouble import Known
from tests.scenarios.chaos.world import World

KILLED = "killed between send and settle"
# Begun and not settled: what a process that dies now may have shown.
_UNDER_WAY = """
SELECT c.external_id, d.content::text FROM delivery d JOIN chat c ON c.id = d.chat_id
 WHERE d.state = 'owed' AND d.begun_at IS NOT NULL AND d.lease IS NOT NULL
"""
_SERVING = """
SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'presagio %'
 GROUP BY 1 HAVING count(*) >= 3
"""
_LEADER = """
SELECT split_part(holder, ':', 2)::integer FROM lease
 WHERE name = 'leader' AND lease_holds(expires_at, seconds)
"""


class Deeds(World):
    """Everything, with what can be done to it."""

    async def open(self) -> None:
        """Start the processes, and let them read the feeds for the first time."""
        for _ in range(self.size.processes):
            await self.processes.start()
        await self.until(self.all_serve, "all processes serve")
        await self.until(self._primed, "the feeds were read")

    async def play(self, said: Callable[[str], None] = lambda _: None) -> None:
        """Bring the stories while processes are killed and the database restarts."""
        await self.open()
        said("the feeds are being read")
        await self._kills(said)
        for trouble in self.trouble.values():
            trouble.cease()
        if self.size.refused_minutes:
            await self._refuse(said)

    async def _refuse(self, said: Callable[[str], None]) -> None:
        """Let the platforms refuse each post for a while, in which the last stories come."""
        for trouble in self.trouble.values():
            trouble.refuses = True
        self.publish(self.size.stories)
        said("the platforms refuse")
        await asyncio.sleep(self.refused_seconds)
        for trouble in self.trouble.values():
            trouble.refuses = False
        said("the platforms take posts again")

    async def _kills(self, said: Callable[[str], None]) -> None:
        """Kill at random, and every other time a process whose post has just been shown.

        Before each kill some stories come, so that there always is something to be sent.
        """
        chance, size = random.Random(self.size.seed), self.size
        every = max(1, size.kills // (size.restarts + 1))
        early = size.stories * 2 // 3 if size.refused_minutes else size.stories
        for number in range(1, size.kills + 1):
            self.publish(early * number // size.kills)
            await asyncio.sleep(size.pause * chance.uniform(0.3, 1.7))
            if number % 2:
                await self._kill(chance.choice(self.processes.running), "killed at random")
            else:
                await self._kill_sender(("telegram", "slack")[number // 2 % 2])
            await self.processes.start()
            if number % every == 0 and self._restarts < size.restarts:
                await self._restart()
            said(f"{number} of {size.kills} kills")
            if number == (size.kills + 1) // 2:
                await self._daily_posts()

    async def _daily_posts(self) -> None:
        """Let the daily posts be due soon, once every story so far was judged.

        However slow the machine is, each has more than one story to tell: they count from the
        first subscription on, not from the new hour.
        """
        await self.until(self._judged, "the stories so far were judged", 3 * PATIENCE)
        soon = (self.clock() + timedelta(minutes=2)).time().replace(second=0, microsecond=0)
        subscriptions = Subscriptions(self.database)
        for known in self.chats:
            if known.subscription.mode is PostingMode.DAILY:
                changed = replace(known.subscription, at=soon)
                await subscriptions.set(changed, now=changed.since or self.clock())

    async def _kill_sender(self, platform: str) -> None:
        async with asyncio.timeout(3 * PATIENCE):
            port = await self.trouble[platform].sender()
        process = self.processes.behind(port)
        assert process, "nobody has sent this"
        await self._kill(process, "killed on aim")

    async def _kill(self, process: "asyncio.subprocess.Process", how: str) -> None:
        """Kill, and note which posts were shown and not settled by that process."""
        await self.processes.freeze(process)
        ports = self.processes.ports(process)
        await self.processes.kill(process)
        self.done[how] += 1
        unsettled = {Known(chat, omens.codes(said)) for chat, said in await self.rows(_UNDER_WAY)}
        for platform, trouble in self.trouble.items():
            self.done[f"{platform}: {KILLED}"] += trouble.killed(ports, unsettled)

    async def _restart(self) -> None:
        """Restart the database, as a crash does and as an administrator does, in turn.

        Nobody starts meanwhile: who finds no database then says so and ends.
        """
        await self.until(self.all_serve, "all processes serve")
        mode: StopMode = "fast" if self._restarts % 2 else "immediate"
        await asyncio.to_thread(restart, self.server, mode)
        self.done[f"restarted, {mode}"] += 1
        self._restarts += 1

    async def leader(self) -> "asyncio.subprocess.Process | None":
        """Return the process that leads; None when nobody does just now."""
        for (number,) in await self.rows(_LEADER):
            return self.processes.numbered(number)
        return None

    async def moved(self, what: Callable[["asyncio.subprocess.Process"], Awaitable[None]]) -> float:
        """Do something to the leader; return the seconds until another process leads."""
        leader = await self.leader()
        assert leader, "nobody leads"
        begun = time.monotonic()
        await what(leader)

        async def another_leads() -> bool:
            return await self.leader() not in (leader, None)

        await self.until(another_leads, "another leads")
        return time.monotonic() - begun

    async def all_serve(self) -> bool:
        """Tell whether every process has started and has its sessions: for the pool, event claims,
        to lead."""
        serving = {name for (name,) in await self.rows(_SERVING)}
        expected = {f"presagio {process.pid}" for process in self.processes.running}
        return expected <= serving and self.processes.have_started()

    async def _primed(self) -> bool:
        rows = await self.rows("SELECT count(*) FROM feed WHERE succeeded_at IS NOT NULL")
        return rows == [(self.size.categories,)]

    async def _judged(self) -> bool:
        judged = await self.rows("SELECT count(*) FROM find WHERE state = 'judged'")
        return judged == [(self._published,)]
