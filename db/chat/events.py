"""Claims events so that one process at a time answers them, and stores those that wait."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self

from db.connection import load_statements
from db.lease import Lease, LeaseTimes
from db.pool import Database, Store
from engine.chat import Answer
from engine.errors import StorageError
from engine.values import Closable

logger = logging.getLogger("presagio.event_claims")

_KEPT = timedelta(days=7)  # longer than any platform redelivers
_RELEASE_SECONDS = 2.0
_PATIENCE = 60.0  # seconds for another process to answer an event or to be taken for dead
_LOOK_SECONDS = 0.5


class EventClaim:
    """An event that only this process answers.

    `step` is the message in which a process that has died showed a step of the answer.
    """

    def __init__(
        self,
        mark: Callable[[], Awaitable[bool]],
        keep_step: Callable[[str], Awaitable[bool]],
        step: str | None = None,
    ) -> None:
        self._mark = mark
        self._keep_step = keep_step
        self.step = step
        self.sending = False  # True once the answer may have reached somebody
        # The message that answers the event; of a split answer all, separated by spaces.
        self.message: str | None = None
        self.shows: Answer | None = None  # the page in that message

    async def begin_answer(self) -> bool:
        """Note that the answer is about to be sent; return False if another process took it.

        Raises StorageError, in which case nothing may be sent.
        """
        marked = await self._mark()
        self.sending = self.sending or marked
        return marked

    async def shows_step(self, message: str) -> None:
        """Note the message of a step, which another process replaces if this one dies.

        If that fails, the message may stay behind.
        """
        try:
            await self._keep_step(message)
        except StorageError as error:
            logger.warning("the step %s was not noted: %s", message, error)


class EventClaims(Store, Closable, sql="conversation"):
    """Claims events for this process, which a lease proves alive."""

    def __init__(
        self, database: Database, *, times: LeaseTimes | None = None, patience: float = _PATIENCE
    ) -> None:
        super().__init__(database)
        self._patience = patience
        self._times = times
        self._process: int | None = None
        self._presence: Lease | None = None

    async def __aenter__(self) -> Self:
        """Announce this process. Raises StorageError."""
        self._process = await self._fetch_value("process_number")
        self._presence = Lease(self._database, f"process {self.process}", times=self._times)
        await self._presence.__aenter__()
        return self

    async def aclose(self) -> None:
        """Leave what this process has taken and not answered to others."""
        if self._presence:
            await self._presence.aclose()

    @asynccontextmanager
    async def claim(
        self, platform: str, event_id: str, *, now: datetime
    ) -> AsyncIterator["EventClaim | None"]:
        """Claim an event for the block; yield None if it was answered, or is by another process.

        While a process that may be dead has it, this waits: a platform delivers an event again
        soon after a kill, and not a third time.
        When the block ends, the event is done. A block that is cancelled before `answering`
        releases it, so that a repeated delivery can be claimed again. After an error it stays with
        this process. Raises StorageError if it cannot be claimed.
        """
        step = await self._take_event(platform, event_id, now)
        if step is None:
            yield None
            return
        claim = EventClaim(
            partial(self._has_changed, "answering", platform, event_id),
            partial(self._has_changed, "step_shown", platform, event_id),
            step or None,
        )
        try:
            yield claim
        except asyncio.CancelledError:
            if not claim.sending:
                await self._give_back(platform, event_id)
            raise
        await self._settle(platform, event_id, claim)

    async def _take_event(self, platform: str, event_id: str, now: datetime) -> str | None:
        """Take an event once nobody else can answer it; return None if somebody does.

        Else return the message of a step that was shown before, or "".
        """
        clock = asyncio.get_running_loop().time
        end = clock() + self._patience
        while (step := await self._decide("take", platform, event_id, now)) is None:
            if clock() >= end or not await self._has_changed("undecided", platform, event_id):
                return None
            await asyncio.sleep(_LOOK_SECONDS)
        return str(step)

    @property
    def process(self) -> int:
        """The number of this process. Raises LookupError before it is announced."""
        if self._process is None:
            raise LookupError("this process is not announced")
        return self._process

    async def answer_to(self, platform: str, event_id: str, *, since: datetime) -> str | None:
        """Return the id of the message that answered an event since then, or None."""
        message: str | None = await self._fetch_value("answer_to", platform, event_id, since)
        return message

    async def _has_changed(
        self, statement: str, platform: str, event_id: str, *more: object
    ) -> bool:
        return bool(await self._decide(statement, platform, event_id, *more))

    async def _decide(self, statement: str, platform: str, event_id: str, *more: object) -> object:
        return await self._fetch_value(statement, platform, event_id, self._process, *more)

    async def give_back(self, platform: str, event_id: str) -> None:
        """Let an event be claimed again that this process took and did not answer.

        Raises StorageError.
        """
        await self._has_changed("release", platform, event_id)

    async def _settle(self, platform: str, event_id: str, claim: EventClaim) -> None:
        page = claim.shows
        place = (page.id, page.first, page.last) if page and page.id else (None, None, None)
        try:
            await self._has_changed("done", platform, event_id, claim.message, *place)
        except StorageError as error:
            logger.warning("%s %s was not settled: %s", platform, event_id, error)

    async def _give_back(self, platform: str, event_id: str) -> None:
        try:
            await asyncio.shield(self._release(platform, event_id))
        except (StorageError, TimeoutError) as error:
            # Another process can take it once this one has ended.
            logger.warning("%s %s was not given back: %s", platform, event_id, error)

    async def _release(self, platform: str, event_id: str) -> None:
        async with asyncio.timeout(_RELEASE_SECONDS):
            await self._has_changed("release", platform, event_id)

    async def forget(self, *, now: datetime) -> None:
        """Remove events that are too old to be redelivered."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_turns"], now - _KEPT)
            await connection.execute(load_statements("lease")["forget"])


class Inbox(Store, sql="conversation"):
    """Stores the events of one platform that wait to be answered."""

    def __init__(self, database: Database, platform: str) -> None:
        super().__init__(database)
        self._platform = platform

    async def keep(self, events: Mapping[int, Mapping[str, Any]]) -> None:
        """Store events by number. One that is stored already is not changed."""
        contents = [json.dumps(event) for event in events.values()]
        await self._execute("keep_events", self._platform, list(events), contents)

    async def left(self) -> dict[int, dict[str, Any]]:
        """Return the stored events by number, oldest first."""
        rows = await self._fetch_rows("left_events", self._platform)
        return {row["number"]: json.loads(row["content"]) for row in rows}

    async def drop(self, numbers: Collection[int]) -> None:
        """Remove events that have been dealt with."""
        await self._execute("drop_events", self._platform, list(numbers))
