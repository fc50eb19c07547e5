"""Envelopes on their way to the app: sent, acknowledged in time, or sent again."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.fakes.slack.wire import Json
from tests.fakes.stand_in import Changes
from tests.patience import PATIENCE

Kind = Literal["events_api", "slash_commands", "interactive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds. Slack waits 3 for an answer and sends an event again at once, after 60 and 300."""

    ack_within: float = 3.0
    retries: tuple[float, ...] = (0.0, 60.0, 300.0)


@dataclass(frozen=True, slots=True)
class Ack:
    """One answer of the app: `latency` in seconds since the attempt, `payload` if it had one."""

    at: float
    latency: float
    payload: Json | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One time of sending: counted from 0, and the reason why the one before had failed."""

    number: int
    reason: str
    at: float


@dataclass(eq=False)
class Envelope:
    """Something to tell the app. `failure` is what Slack shows to whoever waits for an answer."""

    kind: Kind
    payload: Json
    changes: Changes
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    attempts: list[Attempt] = field(default_factory=list)
    acks: list[Ack] = field(default_factory=list)
    failure: str = ""
    settled: bool = False
    _answers: Changes = field(default_factory=Changes)

    @property
    def acked(self) -> bool:
        return bool(self.acks)

    @property
    def event_type(self) -> str:
        """The type of the event inside; empty for commands and interactions."""
        return str(self.payload.get("event", {}).get("type", ""))

    async def until_settled(self, within: float = PATIENCE) -> None:
        """Return when it was acknowledged or given up."""
        await self.changes.until(lambda: self.settled, within)

    async def acked_within(self, seconds: float, *, answers: int = 1) -> bool:
        """Wait for that many answers in all, but no longer than that."""
        try:
            await self._answers.until(lambda: len(self.acks) >= answers, seconds)
        except TimeoutError:
            return False
        return True

    def acknowledge(self, payload: Json | None) -> None:
        now = asyncio.get_running_loop().time()
        self.acks.append(Ack(now, now - self.attempts[-1].at, payload))
        self._answers.notify()
        self.changes.notify()


# Sends one attempt; returns why it failed, or nothing if it was received and may be acknowledged.
Send = Callable[[Envelope, Attempt], Awaitable[str]]


@dataclass
class Deliveries:
    """Every envelope there was, each in the care of a task of its own."""

    send: Send
    timing: Timing
    changes: Changes
    on_ack: Callable[[Envelope, Json], None]
    broken: list[Exception]
    envelopes: list[Envelope] = field(default_factory=list)
    begun: int = 0
    _by_id: dict[str, Envelope] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def start(self, kind: Kind, payload: Mapping[str, object]) -> Envelope:
        """Send it in the background, as often as it takes."""
        envelope = Envelope(kind, dict(payload), self.changes)
        self.envelopes.append(envelope)
        self._by_id[envelope.id] = envelope
        task = asyncio.create_task(self._deliver(envelope))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return envelope

    def acknowledge(self, envelope_id: str, payload: Json | None) -> None:
        """Note an answer; KeyError if no such envelope was sent."""
        envelope = self._by_id[envelope_id]
        envelope.acknowledge(payload)
        if payload and len(envelope.acks) == 1:
            self.on_ack(envelope, payload)

    async def attempt(self, envelope: Envelope, reason: str, send: Send | None = None) -> str:
        """Send once more, now; returns why it failed, or nothing once this is acknowledged."""
        now = asyncio.get_running_loop().time()
        attempt = Attempt(len(envelope.attempts), reason, now)
        envelope.attempts.append(attempt)
        self.changes.notify()
        answers = len(envelope.acks) + 1
        if failure := await (send or self.send)(envelope, attempt):
            return failure
        in_time = await envelope.acked_within(self.timing.ack_within, answers=answers)
        return "" if in_time else "timeout"

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.broken.append(error)

    async def _deliver(self, envelope: Envelope) -> None:
        """Only events are sent again; a person who waits is told that it failed."""
        self.begun += 1
        failure = await self.attempt(envelope, "")
        for pause in self.timing.retries if envelope.kind == "events_api" else ():
            if not failure or await envelope.acked_within(pause):
                break
            failure = await self.attempt(envelope, failure)
        if not envelope.acked:
            late = failure in ("timeout", "http_timeout")
            envelope.failure = "operation_timeout" if late else "dispatch_failed"
        envelope.settled = True
        self.changes.notify()
