"""Processes one event, from the gates to the delivered reply, on every platform: each in its turn,
and as many at once as there is room for."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from weakref import WeakValueDictionary

from bot.adapter import Adapter
from bot.app import App
from bot.commands.intents import IntentJudge
from bot.commands.plain_messages import name_question
from bot.commands.registry import Registry
from bot.conversation.gates import (
    Backpressure,
    Doorkeeper,
    Gates,
    Room,
    Stop,
    find_reason_to_ignore,
)
from bot.conversation.sending import (
    SHOWN_FOR,
    CompositionRunner,
    Sender,
    Steps,
    build_apology,
    explain_problem,
)
from bot.i18n.words import words_for
from bot.jobs.troubles import ignore
from bot.pace import Recent
from bot.query_log import asked_by
from bot.reply import Reply, reply_aside
from bot.request import Request, Trigger
from db.chat.answers import Questions
from db.chat.events import EventClaim, EventClaims
from db.logs import Asker, Origin
from engine.budget import BudgetSource
from engine.errors import PresagioError, StorageError, explain_error

logger = logging.getLogger("presagio.conversation")

_MAX_APOLOGISED = 1000  # events whose asker was told of an error
_SLOW_IN_GROUP = 2  # slow answers under way at once
_SOON_SECONDS = 0.7  # before a step is shown that was asked for: most commands are answered faster
# An answer is changed or deleted with its message if that is no older. The database remembers
# events for as long as messages are deletable.
_EDITABLE, _DELETABLE = timedelta(minutes=10), timedelta(days=7)
_SEVERAL_WITHIN = timedelta(minutes=1)  # messages this close together count as sent at once
_CHATS_REMEMBERED = 1000  # chats in which something was written lately


class TurnQueue:
    """Events that wait for each other: `width` of them have their turn, in the order of arrival."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._turns: list[asyncio.Event] = []

    @contextmanager
    def line_up(self) -> Iterator[asyncio.Event]:
        """Yield an event that is set when the turn of the block comes; it ends with the block."""
        turn = asyncio.Event()
        self._turns.append(turn)
        self._call_next()
        try:
            yield turn
        finally:
            self._turns.remove(turn)
            self._call_next()

    def _call_next(self) -> None:
        for turn in self._turns[: self._width]:
            turn.set()


class RecentMessages:
    """Remembers when people wrote in private lately.

    Answers to several messages that came close together each name what they answer.
    """

    def __init__(self) -> None:
        self._written: Recent[str, dict[str, datetime]] = Recent(_CHATS_REMEMBERED)

    def note(self, request: Request) -> None:
        """Note when a message was addressed to the bot in private."""
        if not request.place.private or request.trigger is not Trigger.ADDRESSED:
            return
        written = self._written.get(request.place.key, {})
        self._written[request.place.key] = {
            event: moment
            for event, moment in (*written.items(), (request.answered_event, request.now))
            if request.now - moment < _SEVERAL_WITHIN
        }

    def is_one_of_several(self, request: Request) -> bool:
        """Return whether something else was written within a minute before or after."""
        written = self._written.get(request.place.key, {})
        return request.answered_event in written and len(written) > 1


@dataclass(frozen=True, slots=True)
class _Claimed:
    """An event that this process has claimed, and what is needed to answer it."""

    adapter: Adapter
    claim: EventClaim
    turn: asyncio.Event  # set once it is the event's turn
    crowded: bool = False  # too many others are under way
    started: float = field(default_factory=time.perf_counter)


class Conversation:
    """Answers events in order within each chat, and many chats concurrently.

    Quick answers do not wait for slow ones. In a group two slow answers may be under way at once.
    `maximum` events may be under way or waiting, `max_in_chat` of them in one chat. As many again
    are claimed but not answered, and events beyond that are not even claimed; people are told that
    the bot is busy, each once a minute.

    `claims` lets one process alone answer an event. `judge` tells what is wanted by a message whose
    words do not show it. Model calls are charged to `source`. `report` tells the operators of
    errors that they have to mend. An answer that takes longer than `step_after` seconds shows what
    it waits for. With `patience`, an answer is sent after so many seconds even if something is
    still missing that can be added later. After an error of the database, a search is tried again
    after each of `retry_pauses`, in seconds.
    """

    def __init__(
        self,
        app: App,
        *,
        claims: EventClaims,
        registry: Registry,
        doorkeeper: Doorkeeper | None,
        judge: IntentJudge | None = None,
        maximum: int = 500,
        max_in_chat: int = 50,
        source: BudgetSource = BudgetSource.CHATS,
        step_after: float = 2.0,
        report: Callable[[PresagioError], None] = ignore,
        retry_pauses: Sequence[float] = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0),
        patience: float | None = None,
    ) -> None:
        self._gates = Gates(app, registry.count_searches, doorkeeper)
        self._claims = claims
        self._app = app
        self.registry = registry
        self._backpressure = Backpressure(maximum=maximum, max_in_chat=max_in_chat)
        self._source = source
        self._step_after = step_after
        self._compositions = CompositionRunner(
            app, claims, source=source, report=report, write_commands=registry.write_as_typed
        )
        self._sender = Sender(app.chats, self._compositions)
        self._judge = judge
        self._report = report
        self._retry_pauses = retry_pauses
        self._patience = patience
        self._unfinished: set[tuple[str, str]] = set()  # events whose answers are being completed
        self._expected = 0  # events that `drain` waits for
        self._idle = asyncio.Event()  # set while there are none
        self._idle.set()
        self._recent = RecentMessages()
        self._background: set[asyncio.Task[None]] = set()  # what goes on after an answer was sent
        # The queues of each chat, for slow answers and for quick ones, and the locks of messages.
        self._queues: WeakValueDictionary[tuple[str, bool], TurnQueue] = WeakValueDictionary()
        self._messages: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._apologised: Recent[tuple[str, str], None] = Recent(_MAX_APOLOGISED)

    async def answer(self, request: Request, adapter: Adapter) -> None:
        """Answer an event or ignore it. Raises nothing but CancelledError."""
        request = self.registry.read(request.strip_unstorable(), has_judge=self._judge is not None)
        self._recent.note(request)
        if reason := find_reason_to_ignore(request):
            logger.debug("%s %s: %s", *request.event, reason)
            return
        with self.expect_event():
            await self._answer_if_room(request, adapter)

    @contextmanager
    def expect_event(self) -> Iterator[None]:
        """Make `drain` wait for the block, in which an event is still being read."""
        self._expected += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._expected -= 1
            if not self._expected:
                self._idle.set()

    async def drain(self, seconds: float) -> bool:
        """Wait until nothing is expected or under way. Return False after `seconds`.

        Compositions are cut off, and resumed at the next start.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        finally:
            for task in tuple(self._background):
                task.cancel()
            await self._compositions.close()
        return True

    def resume_compositions(self, adapter: Adapter, now: Callable[[], datetime]) -> None:
        """Finish the compositions that processes left when they died, on the adapter's platform."""
        if self._app.client:
            self._compositions.resume(adapter, now)

    async def wait_for_compositions(self) -> None:
        """Wait until no tweets are being composed; cut that off if this is cancelled."""
        try:
            await self._compositions.wait_until_finished()
        except asyncio.CancelledError:
            await self._compositions.close()
            raise

    async def _answer_if_room(self, request: Request, adapter: Adapter) -> None:
        """Answer an event, or tell that the bot is busy if too many are under way or waiting."""
        chat = request.place.key
        room = self._backpressure.room(chat)
        if room is Room.FULL:
            logger.warning("%s %s: left alone, there is too much to do", *request.event)
            if reply := self._gates.turn_away(request):
                await self._sender.deliver(request, reply, adapter)
            return
        with self._backpressure.count_event(chat):
            async with self._lock_message(request):
                if request.event in self._apologised:  # once, even if it is delivered again
                    return
                try:
                    await self._claim_and_answer(request, adapter, crowded=room is Room.CROWDED)
                except Exception as error:
                    await self._apologise(request, adapter, error)

    def _lock_message(self, request: Request) -> asyncio.Lock:
        """Return the lock of a message, so that an edit is handled after the answer to what it
        replaces."""
        message = request.place.platform, request.answered_event
        return self._messages.setdefault(message, asyncio.Lock())

    def _line_up(self, request: Request) -> AbstractContextManager[asyncio.Event]:
        """Join the line of the chat for slow or for quick answers; yield an event that is set once
        it is the request's turn."""
        slow = self.registry.is_slow(request)
        width = _SLOW_IN_GROUP if slow and not request.place.private else 1
        queue = self._queues.setdefault((request.place.key, slow), TurnQueue(width))
        return queue.line_up()

    async def _claim_and_answer(self, request: Request, adapter: Adapter, *, crowded: bool) -> None:
        """Claim an event and answer it in line; skip it if it was claimed before."""
        request = await name_question(request, Questions(self._app.database))
        with self._line_up(request) as turn:
            async with self._claims.claim(*request.event, now=request.now) as claim:
                if claim is None:
                    logger.debug("%s %s: duplicate", *request.event)
                    return
                claimed = _Claimed(adapter, claim, turn, crowded)
                if request.revision:
                    await self._revise_answer(request, claimed)
                    return
                with self._gates.keep_pace(request) as paced:
                    await self._answer_claimed(paced, claimed)

    async def _answer_claimed(self, request: Request, claimed: _Claimed) -> None:
        """Answer an event, and show its asker what a slow answer waits for."""
        async with Steps(
            claimed.adapter,
            request,
            after=_SOON_SECONDS if request.needs_step else self._step_after,
            message=claimed.claim.step,
            keep=claimed.claim.shows_step,
        ) as steps:
            somebody_waits = request.trigger in SHOWN_FOR and request.place.kept
            patience = self._patience if somebody_waits else None
            request = replace(request, step=steps.show, patience=patience)
            admitted, reply = await self._consider_request(request, claimed)
            self._gates.finish(request)
            await steps.end()
            if reply is not None:
                await self._deliver_claimed(admitted, reply, claimed, steps.take)

    async def _deliver_claimed(
        self,
        request: Request,
        reply: Reply,
        claimed: _Claimed,
        take_message: Callable[[], str | None],
    ) -> None:
        """Send the answer to a claimed event in place of a message, if there is one, unless
        another process has done so. Then start what goes on after it."""
        adapter, claim = claimed.adapter, claimed.claim
        if not await claim.begin_answer():
            return
        request = replace(request, one_of_several=self._recent.is_one_of_several(request))
        claim.message = await self._sender.deliver(request, reply, adapter, take_message())
        claim.shows = reply.shows
        if reply.finish:
            finishing = self._complete_answer(request, adapter, claim.message, reply.finish)
            self._run_in_background(finishing)
        if reply.follow_ups:
            self._run_in_background(self._answer_each(reply.follow_ups, adapter))
        fields = {  # figures, and nothing of what anybody wrote
            "platform": request.place.platform,
            "chat": request.chat.id if request.chat else None,
            "to": self.registry.name_of(request),
            "hits": len(reply.hits),
            "ms": round((time.perf_counter() - claimed.started) * 1000),
        }
        logger.info("answered", extra={"fields": fields})

    async def _answer_each(self, requests: Sequence[Request], adapter: Adapter) -> None:
        """Answer requests one after the other, as one person may have asked them all."""
        for request in requests:
            await self.answer(request, adapter)

    async def _revise_answer(self, request: Request, claimed: _Claimed) -> None:
        """Change the answer to a message that was edited, or delete it with its message."""
        adapter, claim, deleted = claimed.adapter, claimed.claim, request.is_deletion
        since = request.now - (_DELETABLE if deleted else _EDITABLE)
        original = request.place.platform, request.answered_event
        self._unfinished.discard(original)
        message = await self._claims.answer_to(*original, since=since)
        # Only searches are made again: other commands have had their effect.
        changeable = deleted or self.registry.count_searches(request)
        if message is None or not changeable or not self._gates.allows(request):
            logger.debug("%s %s: nothing to change", *request.event)
            return
        if deleted:
            if await claim.begin_answer():
                await self._sender.send(request, partial(adapter.delete, request, message))
            return
        admitted, reply = await self._consider_request(request, claimed)
        # A notice, such as of a quota or an error, takes no answer's place. And where the answer
        # is gone, no new one is sent: nobody waits for it, so nothing is finished later either.
        if reply and not (reply.picture or reply.ephemeral) and await claim.begin_answer():
            change = partial(adapter.change, admitted, message, reply)
            claim.message = await self._sender.send(admitted, change)
            claim.shows = reply.shows

    async def _consider_request(
        self, request: Request, claimed: _Claimed
    ) -> tuple[Request, Reply | None]:
        """Return the request as the gates admit it, and the reply, or None for no reply."""
        turn = claimed.turn
        admitted = await self._gates.admit(request, crowded=claimed.crowded)
        if isinstance(admitted, Stop):
            logger.debug("%s %s: %s", *request.event, admitted.why)
            return request, admitted.reply
        if admitted.trigger is not Trigger.OVERHEARD and self.registry.needs_sign(admitted):
            await claimed.adapter.show_busy(admitted)
            # In private chats people see that the bot is typing, and answers keep their order. A
            # message with the bot's name in its middle may only speak of it: it is promised none.
            waits = admitted.needs_step or not (turn.is_set() or admitted.place.private)
            if waits and not (admitted.unclear and admitted.around_name):
                admitted.step(admitted.words.say("One moment …"))
        await turn.wait()
        return admitted, await self._answer_in_turn(admitted)

    async def _answer_in_turn(self, request: Request) -> Reply | None:
        """Return the reply to an admitted request, or None for no reply, which is usual for
        overheard messages."""
        if request.unclear and self._judge:
            corpora = await self._app.shown_to(request.known_chat).corpora.list()
            with asked_by(self._name_asker(request)):
                intent = await self._judge.judge_intent(request, corpora)
            request = self.registry.apply_judgment(request, intent)
        if stop := await self._gates.charge(request):
            logger.debug("%s %s: %s", *request.event, stop.why)
            return stop.reply
        is_request = request.trigger is not Trigger.OVERHEARD
        app = self._app.shown_to(request.known_chat)
        words = request.words_to_asker(app.settings.chat.admins)
        request = replace(request, words=self.registry.words_on(request.place.platform, words))
        try:
            with asked_by(self._name_asker(request)):
                return await self.registry.answer(request, app)
        except StorageError:
            raise
        except PresagioError as error:
            self._report(error)
            sentence = explain_problem(request, error)
            return reply_aside(request, sentence) if is_request else None
        except Exception as error:
            apology = build_apology(request, error)  # logs the error in any case
            return apology if is_request else None

    def _name_asker(self, request: Request) -> Asker:
        return Asker(origin=Origin.CHAT, task=":".join(request.event), source=self._source)

    async def _complete_answer(
        self,
        request: Request,
        adapter: Adapter,
        message: str | None,
        finish: Callable[[], Awaitable[Reply | None]],
    ) -> None:
        """Change an answer that was sent before it was complete, unless its question is edited or
        deleted meanwhile. If there is no `message` to change, the complete one is sent."""
        self._unfinished.add(request.event)
        try:
            with self.expect_event(), asked_by(self._name_asker(request)):
                reply = await finish()
                async with self._lock_message(request):
                    if reply and request.event in self._unfinished:
                        await self._sender.send(
                            request,
                            partial(adapter.change, request, message, reply)
                            if message
                            else partial(adapter.deliver, request, reply),
                        )
        except Exception as error:
            logger.warning("%s %s stays unfinished: %s", *request.event, explain_error(error))
        finally:
            self._unfinished.discard(request.event)

    def _run_in_background(self, work: Coroutine[None, None, None]) -> None:
        """Start what goes on after an answer was sent; `drain` cancels it."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _apologise(self, request: Request, adapter: Adapter, error: Exception) -> None:
        """Report the error to the asker once, even if the database is unavailable."""
        self._apologised[request.event] = None
        request = replace(request, words=words_for(request.person.language))
        again = (
            isinstance(error, StorageError)
            and request.revision is None
            and request.trigger in SHOWN_FOR
            # A search changes nothing, so it may be tried twice.
            and self.registry.count_searches(request) > 0
        )
        apology = build_apology(request, error, again=again)
        if request.trigger is not Trigger.OVERHEARD and self._gates.allows(request):
            message = await self._sender.deliver(request, apology, adapter)
            if again:
                self._run_in_background(self._answer_again(request, adapter, message))

    async def _answer_again(self, request: Request, adapter: Adapter, message: str | None) -> None:
        """Replace an apology by the answer once the database is back; give up after minutes.

        No steps are shown, as the apology says that the answer comes, and it comes complete.
        """
        for pause in self._retry_pauses:
            await asyncio.sleep(pause)
            try:
                await self._claims.give_back(*request.event)
                with self._line_up(request) as turn:
                    async with self._claims.claim(*request.event, now=request.now) as claim:
                        if claim is None:
                            return
                        claimed = _Claimed(adapter, claim, turn)
                        admitted, reply = await self._consider_request(request, claimed)
                        if reply:
                            await self._deliver_claimed(admitted, reply, claimed, lambda: message)
            except StorageError as error:
                logger.debug("%s %s still waits: %s", *request.event, error)
            except Exception as error:
                logger.error("%s %s failed again: %s", *request.event, explain_error(error))  # noqa: TRY400 - a traceback may quote a message
                return
            else:
                return
