"""Writes what chats ask for beside the conversation, and edits the message that announced it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.conversation.failures import apology, explanation, words_to
from bot.conversation.progress import Progress, show_outcome
from bot.face.face import Face
from bot.face.reply import Reply
from bot.face.request import Person, Place, Request, Trigger
from bot.i18n.words import Words, words_for
from bot.incident import reason
from bot.jobs.troubles import ignore
from bot.query_log import asked_by
from bot.replies.composition import variant_reply
from db.chat.compositions import Compositions, KeptTask, TaskState
from engine.budget import BudgetSource
from engine.compose.types import Composition, StepName
from engine.errors import PresagioError, StorageError
from engine.search_log import Asker, Origin

logger = logging.getLogger("presagio.conversation")

_AT_ONCE = 4  # tasks that ask a model; the others wait
_MOST_ATTEMPTS = 2
_STALE = timedelta(minutes=15)  # nobody waits for it any more
_LOOK_SECONDS = 60.0

Compose = Callable[[KeptTask, datetime, Callable[[StepName], None]], Awaitable[Composition]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingParts:
    """What writing needs. `process` returns the number under which this process is known, `compose`
    writes for every chat but the `trusted` ones ("platform:id"), which may read more corpora."""

    tasks: Compositions
    process: Callable[[], int]
    compose: Compose
    trusted: Mapping[str, Compose]
    operators: frozenset[str]
    source: BudgetSource = BudgetSource.CHATS
    report: Callable[[PresagioError], None] = ignore  # tells the operators


class Writing:
    """The tasks under way in this process. One that is cut off is taken up at the next start."""

    def __init__(self, parts: WritingParts) -> None:
        self._parts = parts
        self._running: dict[int, asyncio.Task[None]] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def announce(
        self, request: Request, reply: Reply, face: Face, step: str | None
    ) -> str | None:
        """Show that `reply.writes` is being written, in place of the message of a `step`, and begin
        with it, unless it was stopped meanwhile. Return the message's id. Raises DeliveryError."""
        message = step
        if step is None:
            message = await face.deliver(request, reply)
        else:
            await face.change(request, step, reply)
        if reply.writes is not None:
            await self._begin(request, face, reply.writes, message)
        return message

    async def stop(self, task_id: int) -> None:
        """End a task if it is under way here; its message does not change afterwards."""
        if running := self._running.get(task_id):
            running.cancel()
            await asyncio.wait({running})

    async def finished(self) -> None:
        """Wait until nothing is under way."""
        while self._running:
            await asyncio.wait(self._running.values())

    def take_up(self, face: Face, now: Callable[[], datetime]) -> None:
        """From now on, take over what dead processes left unfinished on the face's platform."""
        if face.platform not in self._looking:
            self._looking[face.platform] = asyncio.create_task(self._look(face, now))

    async def close(self) -> None:
        """Cancel what is under way."""
        ending = [*self._looking.values(), *self._running.values()]
        for one in ending:
            one.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _look(self, face: Face, now: Callable[[], datetime]) -> None:
        while True:
            try:
                left = await self._parts.tasks.take_left(face.platform, self._parts.process())
            except StorageError as error:
                logger.warning("nobody knows what was being written: %s", error)
                left = []
            for kept in left:
                self._start(_request_of(kept, now()), face, kept)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _begin(self, request: Request, face: Face, task_id: int, message: str | None) -> None:
        tasks = self._parts.tasks
        try:
            begun = await tasks.begin(task_id, self._parts.process(), message)
            kept = await tasks.get(request.known_chat, task_id) if begun else None
        except StorageError as error:
            await show_outcome(face, request, message, apology(request, error))
            return
        if kept:
            self._start(request, face, kept)

    def _start(self, request: Request, face: Face, kept: KeptTask) -> None:
        running = asyncio.create_task(self._finish(request, face, kept))
        self._running[kept.id] = running
        running.add_done_callback(lambda _: self._running.pop(kept.id, None))

    async def _finish(self, request: Request, face: Face, kept: KeptTask) -> None:
        """Write, if that is not done, and show the outcome. Raises nothing but CancelledError."""
        words = words_for(kept.task.language)
        try:
            if kept.outcome is None and _given_up(kept, request.now):
                await self._parts.tasks.stop(kept.id)
                text = words.say("I was interrupted while I wrote this. Ask me again.")
                await show_outcome(face, request, kept.message, Reply(words=words, text=text))
                return
            outcome = kept.outcome or await self._write(request, face, kept, words)
            reply = Reply(words=words, text=words.say("Stopped."))
            if outcome:
                reply = variant_reply(kept.id, outcome, words)
            if await show_outcome(face, request, kept.message, reply):
                await self._parts.tasks.shown(kept.id, self._parts.process())
                fields = {"platform": kept.chat.platform, "chat": kept.chat.id}
                logger.info("composed", extra={"fields": fields})
        except Exception as error:
            await self._fail(request, face, kept, error)

    async def _write(
        self, request: Request, face: Face, kept: KeptTask, words: Words
    ) -> Composition | None:
        """Return what was written, or None if the task was stopped meanwhile."""
        parts = self._parts
        chat = f"{kept.chat.platform}:{kept.chat.external_id}"
        compose = parts.trusted.get(chat, parts.compose)
        asker = Asker(origin=Origin.CHAT, task=f"{chat}:compose-{kept.id}", source=parts.source)
        async with self._room, Progress(face, request, kept, words) as progress:
            with asked_by(asker):
                outcome = await compose(kept, request.now, progress.show)
        stored = await parts.tasks.written(kept.id, parts.process(), outcome)
        return outcome if stored else None

    async def _fail(self, request: Request, face: Face, kept: KeptTask, error: Exception) -> None:
        """Say what went wrong in place of the announcement."""
        request = replace(request, words=words_for(kept.task.language))
        request = replace(request, words=words_to(request, self._parts.operators))
        if isinstance(error, PresagioError) and not isinstance(error, StorageError):
            self._parts.report(error)
            text = explanation(request, error)
        else:
            text = apology(request, error).text or ""
        await show_outcome(face, request, kept.message, Reply(words=request.words, text=text))
        try:
            await self._parts.tasks.stop(kept.id)
        except StorageError as unstored:
            logger.warning("composition %d is not settled: %s", kept.id, reason(unstored))


def _given_up(kept: KeptTask, now: datetime) -> bool:
    return kept.attempts > _MOST_ATTEMPTS or (
        kept.attempts > 1 and now - kept.asked_at > _STALE and kept.state is TaskState.WAITING
    )


def _request_of(kept: KeptTask, now: datetime) -> Request:
    """Return a request from the place of a task, in which its message can be edited."""
    words = words_for(kept.task.language)
    return Request(
        event_id=f"compose-{kept.id}",
        place=Place(
            platform=kept.chat.platform,
            chat_id=kept.chat.external_id,
            private=kept.chat.private,
            thread=kept.thread,
        ),
        person=Person(id=kept.task.person.partition(":")[2], language=words.language),
        trigger=Trigger.COMMAND,
        text=kept.task.prompt,
        now=now,
        words=words,
    )
