"""Sends owed deliveries to chats: each is marked as begun before it is sent and settled after.

docs/decisions/0011-posting.md lists what happens after each crash and each lost answer.
"""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from bot.adapter import (
    ChatGone,
    DeliveryError,
    DeliveryRefused,
    Poster,
    SlowDown,
    Unsure,
    WritingForbidden,
)
from bot.app import App
from bot.jobs.content import Drafter, render_delivery
from bot.jobs.troubles import ignore
from bot.pace import Holds
from bot.reply import Reply
from db.chat.chats import Chats
from db.posting.outbox import Outbox
from engine.errors import (
    ExtraMissing,
    ModelError,
    NotDrawn,
    PresagioError,
    SettingsError,
    StorageError,
    UsageError,
    explain_error,
)
from engine.messages import Message
from engine.posting.delivery import Delivery, LeasedDelivery

logger = logging.getLogger("presagio.deliver")

# A picture, or a draft.
_UNMAKEABLE = (ExtraMissing, NotDrawn, SettingsError, ModelError, UsageError)
DELIVERY_SECONDS = 60.0  # far less than a lease
_LEASE = timedelta(minutes=3)
_SETTLE_AGAIN_SECONDS = 0.5
_LEASE_SECONDS = 60.0  # of one run; deliveries under way are then finished
_LOOK_SECONDS = 1.0  # between two checks for owed deliveries, while some are under way
_CHATS_AT_ONCE = 20  # Telegram accepts thirty messages a second from one bot
_UNSURE = timedelta(seconds=30)  # after this, a message that arrived is surely shown
_GIVE_UP_AFTER = timedelta(days=1)  # nobody wants yesterday's news
_FIRST_DELAY, _LONGEST_DELAY = 5.0, 15 * 60.0  # seconds before another attempt
_JITTER_SHARE = 0.2  # added at random, so that many clients do not retry at once
# A message that may have arrived is looked up from this much before it was owed: clocks differ.
_EARLIER = timedelta(minutes=10)


def compute_backoff(attempts: int, jitter: float) -> timedelta:
    """Return how long to wait after so many attempts (1 and up): each time twice as long.

    `jitter` is a random number in 0..1.
    """
    delay = min(_FIRST_DELAY * 2.0 ** min(attempts - 1, 30), _LONGEST_DELAY)
    return timedelta(seconds=delay * (1 + _JITTER_SHARE * jitter))


class PostSender:
    """The job. `draft` writes tweets, None without a language model; `report` tells the operators.

    `seconds` are those that one delivery may take, lookups included; `jitter` returns a random
    number in 0..1.
    """

    def __init__(
        self,
        app: App,
        posters: Sequence[Poster],
        *,
        draft: Drafter | None = None,
        report: Callable[[PresagioError], None] = ignore,
        seconds: float = DELIVERY_SECONDS,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.outbox = Outbox(app.database)
        self.posters = {poster.platform: poster for poster in posters}
        self._app = app
        self._chats = Chats(app.database)
        self._draft = draft
        self._report = report
        self._seconds = seconds
        self._jitter = jitter
        # By platform. The outbox lets the chat that was refused wait; these tell when all have to.
        self._holds: Mapping[str, Holds] = defaultdict(Holds)

    async def run(self, *, clock: Callable[[], datetime]) -> int:
        """Send what may be sent now, one message per chat; return how many were tried.

        Further deliveries are leased as earlier ones finish, so a chat that does not answer delays
        no other. When the database fails, nothing more is leased and deliveries under way are
        finished. On cancellation, deliveries that were not begun are given back. Raises
        StorageError.
        """
        return await _Run(self, clock).run()

    def free_platforms(self, now: datetime) -> list[str]:
        """Return the platforms that did not refuse two chats within the same time."""
        return [name for name in self.posters if not self._holds[name].wait_all(now.timestamp())]

    async def deliver(self, leased: LeasedDelivery, clock: Callable[[], datetime]) -> None:
        """Advance one delivery by one step. Raises StorageError."""
        begun = False
        try:
            reply = await self._compose_reply(leased, clock())
            if reply is None or not await self.outbox.begin(leased, now=clock()):
                return
            begun = True
            async with asyncio.timeout(self._seconds):
                message_id = await self._send_once(leased.delivery, reply)
            await self._settle_arrival(leased, message_id, clock)
        except asyncio.CancelledError:
            if not begun:
                await asyncio.shield(self.outbox.release(leased))
            raise
        except TimeoutError:
            error = Unsure(
                Message("The platform did not answer within {seconds:g} s.", seconds=self._seconds)
            )
            await self._settle_failure(leased, error, clock())
        except DeliveryError as error:
            await self._settle_failure(leased, error, clock())

    async def _compose_reply(self, leased: LeasedDelivery, now: datetime) -> Reply | None:
        """Return what the delivery says, or None if it was given up. Raises StorageError."""
        delivery = leased.delivery
        if now - delivery.created_at > _GIVE_UP_AFTER:
            await self.outbox.fail(leased, Message("It could not be sent for a day."), now=now)
            return None
        try:
            reply = await render_delivery(self._app, delivery, draft=self._draft)
        except _UNMAKEABLE as error:
            logger.warning("%s cannot be made: %s", delivery.key, error)
            self._report(error)
            await self.outbox.fail(leased, error.full_message, now=now)
            return None
        except (ValueError, OSError) as error:  # content of another version, or a missing font
            logger.error("%s cannot be put into words: %s", delivery.key, explain_error(error))  # noqa: TRY400 - a traceback may quote a message
            reply = None
        if reply is None:
            await self.outbox.fail(leased, Message("There is nothing left to say."), now=now)
        return reply

    async def _send_once(self, delivery: Delivery, reply: Reply) -> str:
        """Return the platform's id of the message, sent now or before. Raises DeliveryError."""
        poster = self.posters[delivery.chat.platform]
        if delivery.begun_before:
            since = delivery.created_at - _EARLIER
            try:
                message = await poster.find_posted(
                    delivery.chat, delivery.thread, delivery.key, since
                )
            except ChatGone:
                raise
            except SlowDown as error:
                raise _NotAsked(error.full_message, seconds=error.seconds) from error
            except DeliveryError as error:
                raise _NotAsked(error.full_message) from error
            if message is not None:
                logger.info("%s had arrived", delivery.key)
                return message
        return await poster.post(delivery.chat, delivery.thread, reply, key=delivery.key)

    async def _settle_arrival(
        self, leased: LeasedDelivery, message_id: str, clock: Callable[[], datetime]
    ) -> None:
        """Record that a message arrived, retrying across a restart of the database.

        Raises StorageError if the lease expires before the database is back.
        """
        while True:
            try:
                await self.outbox.sent(leased, message_id, now=clock())
            except StorageError:
                if clock() > leased.until:
                    raise
                await asyncio.sleep(_SETTLE_AGAIN_SECONDS)
            else:
                delivery, waited = leased.delivery, clock() - leased.delivery.created_at
                fields = {
                    "platform": delivery.chat.platform,
                    "chat": delivery.chat.id,
                    "post": delivery.key,
                    "waited_seconds": round(waited.total_seconds(), 1),
                }
                logger.info("posted", extra={"fields": fields})
                return

    async def _settle_failure(
        self, leased: LeasedDelivery, error: DeliveryError, now: datetime
    ) -> None:
        """Give the delivery up, or give it back for another attempt. Raises StorageError."""
        delivery = leased.delivery
        logger.warning("%s was not delivered: %s", delivery.key, error)
        if isinstance(error, ChatGone):
            chat = delivery.chat
            self._report(error)  # of those who block the bot, nobody is told
            await self._chats.set_active(chat.platform, chat.external_id, active=False)
            await self.outbox.fail(leased, error.full_message, now=now)
        elif isinstance(error, DeliveryRefused):
            await self.outbox.fail(leased, error.full_message, now=now)
        else:
            if isinstance(error, WritingForbidden):
                name = delivery.chat.title or delivery.chat.key
                named = Message("{chat}: {reason}", chat=name, reason=error.message)
                self._report(WritingForbidden(named, fix=error.fix))
            wait = self._choose_wait(error, delivery.attempts)
            if isinstance(error, SlowDown):
                holds = self._holds[delivery.chat.platform]
                holds.hold_chat(delivery.chat.external_id, error.seconds, now.timestamp())
            not_shown = not isinstance(error, Unsure)
            await self.outbox.retry(
                leased, at=now + wait, error=error.full_message, not_shown=not_shown
            )

    def _choose_wait(self, error: DeliveryError, attempts: int) -> timedelta:
        wait = compute_backoff(attempts, self._jitter())
        if isinstance(error, SlowDown | _NotAsked):
            wait = max(wait, timedelta(seconds=error.seconds))
        return max(wait, _UNSURE) if isinstance(error, Unsure) else wait


class _Run:
    """One run, which ends when nothing is under way and nothing more can be leased."""

    def __init__(self, sender: PostSender, clock: Callable[[], datetime]) -> None:
        self._sender = sender
        self._clock = clock
        self._until = asyncio.get_running_loop().time() + _LEASE_SECONDS
        self._sending: set[asyncio.Task[None]] = set()
        self._tried = 0
        self._error: BaseException | None = None

    async def run(self) -> int:
        try:
            while await self._begin_deliveries() or self._sending:
                await self._some_done()
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)
        if self._error:
            raise self._error
        return self._tried

    async def _begin_deliveries(self) -> bool:
        """Lease and begin as many as there is room for; return whether there were any."""
        room = _CHATS_AT_ONCE - len(self._sending)
        late = asyncio.get_running_loop().time() >= self._until
        if late or self._error or not room:
            return False
        sender, now = self._sender, self._clock()
        try:
            leased = await sender.outbox.lease(
                sender.free_platforms(now), now=now, limit=room, lease=_LEASE
            )
        except StorageError as error:
            self._error = error
            return False
        self._sending |= {
            asyncio.create_task(sender.deliver(delivery, self._clock)) for delivery in leased
        }
        self._tried += len(leased)
        return bool(leased)

    async def _some_done(self) -> None:
        done, self._sending = await asyncio.wait(
            self._sending, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        # A message that was sent must not be cut off before it is settled.
        for error in [task.exception() for task in done]:
            self._error = self._error or error


class _NotAsked(Unsure):
    """The platform would not say whether an earlier attempt arrived."""

    def __init__(self, message: str, *, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds
