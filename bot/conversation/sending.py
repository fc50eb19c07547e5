"""Delivers answers: shows what a slow one waits for and replaces that, apologises for errors, and
composes tweets beside the conversation, as that takes longer."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from bot.adapter import Adapter, ChatGone, DeliveryError, DeliveryRefused, PlatformFailed, SlowDown
from bot.app import App
from bot.i18n.words import words_for
from bot.query_log import asked_by
from bot.replies.composition import step_reply, variant_reply
from bot.reply import Reply, reply_aside
from bot.request import Person, Place, Request, Trigger
from db.chat.chats import Chats
from db.chat.compositions import Compositions, KeptTask, TaskState
from db.chat.events import EventClaims
from db.logs import Asker, Origin
from engine.budget import BudgetSource
from engine.compose.composition import Composition, StepName
from engine.errors import PresagioError, StorageError, explain_error
from engine.values import Closable

logger = logging.getLogger("presagio.conversation")
SHOWN_FOR = (Trigger.ADDRESSED, Trigger.REPLY, Trigger.COMMAND)
_RESEND_SECONDS = 0.5
_PAUSE = 2.0  # seconds between two edits: platforms allow few in a minute
_TRIES = 3
_AGAIN_SECONDS = 2.0
_LONGEST_WAIT = 30.0
_COMPOSITIONS_AT_ONCE = 4  # the others wait
_MAX_ATTEMPTS = 2
_STALE = timedelta(minutes=15)  # nobody waits for it any more
_LOOK_SECONDS = 60.0


def explain_problem(request: Request, error: PresagioError) -> str:
    """Return what to tell about an expected error. What an operator has to mend is logged."""
    if error.plain:
        logger.warning("%s %s: %s", *request.event, error)
    return request.words.render(error.full_message)


def build_apology(request: Request, error: Exception, *, again: bool = False) -> Reply:
    """Log an error under an incident number, and return the reply that quotes it.

    `again` says that the request will be tried again.
    """
    incident = secrets.token_hex(4)
    logger.error("incident %s: %s %s: %s", incident, *request.event, explain_error(error))
    words = request.words
    if again:
        sentence = words.say(
            "Sorry, I cannot reach my archive just now. I answer as soon as I can."
        )
        return reply_aside(request, sentence)
    if isinstance(error, StorageError):
        sentence = words.say(
            "Sorry, I cannot reach my archive just now. Try again in a few minutes."
        )
    else:
        sentence = words.say("Sorry, something went wrong.")
    number = words.say("Its number in the log is {incident}.", incident=incident)
    return reply_aside(request, f"{sentence} {number}")


class LatestShown(Closable):
    """Shows the latest of what is noted: the first after `delay` seconds, others `pause` apart.

    What stands there already is not shown again: `shown`, or what was shown last.
    """

    def __init__(
        self,
        show: Callable[[str], Awaitable[None]],
        *,
        delay: float = 0.0,
        pause: float = 0.0,
        shown: str = "",
    ) -> None:
        self._show = show
        self._delay, self._pause = delay, pause
        self._shown = shown
        self._latest = ""
        self._changed = asyncio.Event()
        self._showing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def note(self, latest: str) -> None:
        """Note what is to be shown."""
        self._latest = latest
        self._changed.set()
        self._task = self._task or asyncio.create_task(self._run())

    async def aclose(self) -> None:
        """Show nothing further; what is being shown is waited for, as it would come afterwards."""
        if self._task:
            async with self._showing:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        await asyncio.sleep(self._delay)
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._latest == self._shown:
                continue
            async with self._showing:
                self._shown = self._latest
                await self._show(self._latest)
            await asyncio.sleep(self._pause)


class Steps(Closable):
    """The steps of one answer. Nothing is shown in the first `after` seconds.

    Only somebody who waits for the answer is shown steps, and only in a chat. `message` is that of
    a step from before, which is replaced; `keep` is told of a new one. Closing deletes the message
    that no answer has replaced.
    """

    def __init__(
        self,
        adapter: Adapter,
        request: Request,
        *,
        after: float,
        keep: Callable[[str], Awaitable[None]],
        message: str | None = None,
    ) -> None:
        self._adapter = adapter
        self._request = request
        self._message = message
        self._keep = keep
        self._shown = LatestShown(self._show, delay=after)

    def show(self, text: str) -> None:
        """Note the current step; it is shown if it takes long."""
        if self._request.trigger in SHOWN_FOR and self._request.place.kept:
            self._shown.note(text)

    async def end(self) -> None:
        """Show no further steps."""
        await self._shown.aclose()

    def take(self) -> str | None:
        """Return the id of the message of the last step, which the caller then replaces."""
        message, self._message = self._message, None
        return message or None

    async def aclose(self) -> None:
        """Show no further steps, and delete the message of the last one, unless it was taken."""
        await self.end()
        if message := self.take():
            with suppress(DeliveryError):  # the step stays where it is
                await self._adapter.delete(self._request, message)

    async def _show(self, text: str) -> None:
        before = self._message
        self._message = await self._adapter.show_step(self._request, text, before)
        if self._message and self._message != before:
            await self._keep(self._message)


async def _show_step(adapter: Adapter, request: Request, task: KeptTask, step: str) -> None:
    """Show the step of a composition in its announcement, if it has one."""
    words = words_for(task.task.language)
    reply = replace(step_reply(task.id, StepName(step), words), writes=None)
    if task.message is None:
        await adapter.show_step(request, reply.text or "", "")
        return
    try:
        await adapter.change(request, task.message, reply)
    except DeliveryError as error:
        logger.debug("composition %d: no step was shown: %s", task.id, error)


async def show_outcome(
    adapter: Adapter, request: Request, message: str | None, reply: Reply
) -> bool:
    """Edit the announcement, or without one send the reply; a failed edit is tried again.

    Return False if the outcome may still be shown later.
    """
    for _ in range(_TRIES):
        try:
            if message is None:
                await adapter.deliver(request, reply)
            else:
                await adapter.change(request, message, reply)
        except (ChatGone, DeliveryRefused) as error:
            logger.info("%s %s has no message to edit: %s", *request.event, error)
        except DeliveryError as error:
            logger.warning("%s %s was not delivered: %s", *request.event, error)
            if message is not None:  # sent twice would be worse than not at all
                seconds = error.seconds if isinstance(error, SlowDown) else _AGAIN_SECONDS
                await asyncio.sleep(min(seconds, _LONGEST_WAIT))
                continue
        return True
    return False


class CompositionRunner:
    """Composes tweets beside the conversation. What is cut off is resumed at the next start.

    `report` tells the operators of errors that they have to mend. `write_commands` takes a platform
    and a text of the bot, and returns the text with commands as people type them there.
    """

    def __init__(
        self,
        app: App,
        claims: EventClaims,
        *,
        source: BudgetSource,
        report: Callable[[PresagioError], None],
        write_commands: Callable[[str, str], str],
    ) -> None:
        self._app, self._claims, self._source = app, claims, source
        self._tasks = Compositions(app.database)
        self._report, self._write_commands = report, write_commands
        self._running: dict[int, asyncio.Task[None]] = {}
        self._resuming: dict[str, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(_COMPOSITIONS_AT_ONCE)

    async def announce(
        self, request: Request, reply: Reply, adapter: Adapter, step: str | None
    ) -> str | None:
        """Show that `reply.writes` is being written, in place of the message of a `step`, and begin
        with it, unless it was stopped meanwhile. Return the message's id. Raises DeliveryError."""
        message = step
        if step is None:
            message = await adapter.deliver(request, reply)
        else:
            await adapter.change(request, step, reply)
        if reply.writes is not None:
            await self._begin(request, adapter, reply.writes, message)
        return message

    async def _begin(
        self, request: Request, adapter: Adapter, task_id: int, message: str | None
    ) -> None:
        try:
            begun = await self._tasks.begin(task_id, self._claims.process, message)
            task = await self._tasks.get(request.known_chat, task_id) if begun else None
        except StorageError as error:
            await show_outcome(adapter, request, message, build_apology(request, error))
            return
        if task:
            self._start_task(request, adapter, task)

    async def stop(self, task_id: int) -> None:
        """End a task if it is under way here; its message does not change afterwards."""
        if running := self._running.get(task_id):
            running.cancel()
            await asyncio.wait({running})

    async def wait_until_finished(self) -> None:
        """Wait until nothing is under way."""
        while self._running:
            await asyncio.wait(self._running.values())

    def resume(self, adapter: Adapter, now: Callable[[], datetime]) -> None:
        """From now on, take over what dead processes left unfinished on the adapter's platform."""
        if adapter.platform not in self._resuming:
            self._resuming[adapter.platform] = asyncio.create_task(self._resume_left(adapter, now))

    async def close(self) -> None:
        """Cancel what is under way."""
        ending = [*self._resuming.values(), *self._running.values()]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _resume_left(self, adapter: Adapter, now: Callable[[], datetime]) -> None:
        while True:
            try:
                left = await self._tasks.take_left(adapter.platform, self._claims.process)
            except StorageError as error:
                logger.warning("nobody knows what was being written: %s", error)
                left = []
            for task in left:
                self._start_task(_request_of(task, now()), adapter, task)
            await asyncio.sleep(_LOOK_SECONDS)

    def _start_task(self, request: Request, adapter: Adapter, task: KeptTask) -> None:
        running = asyncio.create_task(self._finish(request, adapter, task))
        self._running[task.id] = running
        running.add_done_callback(lambda _: self._running.pop(task.id, None))

    async def _finish(self, request: Request, adapter: Adapter, task: KeptTask) -> None:
        """Write, if that is not done, and show the outcome. Raises nothing but CancelledError."""
        words = words_for(task.task.language)
        is_stale = task.state is TaskState.WAITING and request.now - task.asked_at > _STALE
        given_up = task.attempts > _MAX_ATTEMPTS or (task.attempts > 1 and is_stale)
        try:
            if task.outcome is None and given_up:
                await self._tasks.stop(task.id)
                text = words.say("I was interrupted while I wrote this. Ask me again.")
                await show_outcome(adapter, request, task.message, Reply(words=words, text=text))
                return
            outcome = task.outcome or await self._write(request, adapter, task)
            reply = Reply(words=words, text=words.say("Stopped."))
            if outcome:
                reply = variant_reply(task.id, outcome, words)
            if await show_outcome(adapter, request, task.message, reply):
                await self._tasks.note_shown(task.id, self._claims.process)
                fields = {"platform": task.chat.platform, "chat": task.chat.id}
                logger.info("composed", extra={"fields": fields})
        except Exception as error:
            await self._show_failure(request, adapter, task, error)

    async def _write(
        self, request: Request, adapter: Adapter, task: KeptTask
    ) -> Composition | None:
        """Return what was written, or None if the task was stopped meanwhile."""
        from bot.queries.compose import compose_task  # noqa: PLC0415 - much to load, few write

        name = f"{task.chat.key}:compose-{task.id}"
        asker = Asker(origin=Origin.CHAT, task=name, source=self._source)
        show = partial(_show_step, adapter, request, task)
        # What a dead process has shown last is not known.
        announced = StepName.RETRIEVE if task.attempts <= 1 else ""
        async with (
            self._room,
            LatestShown(show, delay=_PAUSE, pause=_PAUSE, shown=announced) as step,
        ):
            with asked_by(asker):
                app = self._app.shown_to(task.chat)
                outcome = await compose_task(app, task, request.now, step.note)
        stored = await self._tasks.store_written(task.id, self._claims.process, outcome)
        return outcome if stored else None

    async def _show_failure(
        self, request: Request, adapter: Adapter, task: KeptTask, error: Exception
    ) -> None:
        """Say what went wrong in place of the announcement."""
        request = replace(request, words=words_for(task.task.language))
        words = request.words_to_asker(self._app.settings.chat.admins).naming_commands(
            partial(self._write_commands, adapter.platform)
        )
        request = replace(request, words=words)
        if isinstance(error, PresagioError) and not isinstance(error, StorageError):
            self._report(error)
            text = explain_problem(request, error)
        else:
            text = build_apology(request, error).text or ""
        await show_outcome(adapter, request, task.message, Reply(words=request.words, text=text))
        try:
            await self._tasks.stop(task.id)
        except StorageError as unstored:
            logger.warning("composition %d is not settled: %s", task.id, explain_error(unstored))


def _request_of(task: KeptTask, now: datetime) -> Request:
    """Return a request from the place of a task, in which its message can be edited."""
    words = words_for(task.task.language)
    return Request(
        event_id=f"compose-{task.id}",
        place=Place(
            platform=task.chat.platform,
            chat_id=task.chat.external_id,
            private=task.chat.private,
            thread=task.thread,
        ),
        person=Person(id=task.task.person.partition(":")[2], language=words.language),
        trigger=Trigger.COMMAND,
        text=task.task.prompt,
        now=now,
        words=words,
    )


class Sender:
    """Delivers replies, and begins the compositions that they announce."""

    def __init__(self, chats: Chats, compositions: CompositionRunner) -> None:
        self._chats = chats
        self._compositions = compositions

    async def deliver(
        self, request: Request, reply: Reply, adapter: Adapter, step: str | None = None
    ) -> str | None:
        """Send the reply once, in place of the message of a `step`; return its message's id."""
        if reply.stops is not None:
            await self._compositions.stop(reply.stops)
        if reply.writes is not None:
            announce = partial(self._compositions.announce, request, reply, adapter, step)
            return await self.send(request, announce)
        if step is None:
            return await self.send(request, partial(adapter.deliver, request, reply))
        if reply.picture or (reply.ephemeral and not request.place.private):
            await self.send(request, partial(adapter.delete, request, step))
            return await self.send(request, partial(adapter.deliver, request, reply))
        return await self.send(request, partial(_replace_step, request, reply, adapter, step))

    async def send(self, request: Request, send: Callable[[], Awaitable[str | None]]) -> str | None:
        """Return what `send` returns, or None; a failed delivery is logged.

        It is repeated once if the platform answered that it failed: somebody waits, and hardly any
        such message was shown.
        """
        try:
            try:
                return await send()
            except PlatformFailed as error:
                logger.info("%s %s is sent again: %s", *request.event, error)
                await asyncio.sleep(_RESEND_SECONDS)
                return await send()
        except ChatGone as error:
            logger.info("%s %s: the chat is gone: %s", *request.event, error)
            try:
                place = request.place
                await self._chats.set_active(place.platform, place.chat_id, active=False)
            except StorageError as unstored:
                logger.warning("%s %s stays active: %s", *request.event, explain_error(unstored))
        except DeliveryError as error:
            logger.warning("%s %s was not delivered: %s", *request.event, error)
        except Exception as error:
            logger.error("%s %s was not delivered: %s", *request.event, explain_error(error))  # noqa: TRY400 - a traceback may quote a message
        return None


async def _replace_step(request: Request, reply: Reply, adapter: Adapter, step: str) -> str | None:
    """Put a reply in place of a step; send it if somebody has deleted the step's message."""
    try:
        return await adapter.change(request, step, reply)
    except DeliveryRefused as error:
        logger.info("%s %s: the step was not replaced: %s", *request.event, error)
        return await adapter.deliver(request, reply)
