"""Messages owed to chats: decided once, leased by one process at a time, settled once.

A delivery is stored in the transaction that decides it. A process leases it, notes that it
begins, sends, and settles. What was begun and never settled may have arrived: the next holder
is told so (`Delivery.begun_before`).

Each lease has a number. A lease that ran out is given to another process under a new number,
and the old holder can then neither begin nor settle.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from db.pool import Database
from engine.posting.types import Chosen, Leased, OutboxHealth, PastDelivery, Subscription

_REPEATED_AFTER = timedelta(days=180)


class Outbox:
    """Reads and writes the delivery, digest and posted tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def decide_daily(
        self,
        subscription: Subscription,
        local_date: date,
        *,
        content: str | None,
        chosen: Sequence[Chosen] = (),
        now: datetime,
        repeated_after: timedelta = _REPEATED_AFTER,
    ) -> bool:
        """Decide the daily post of a chat: in one transaction the date, the delivery, its answers.

        `content` None decides that nothing is posted that day. False, and nothing is stored,
        when the date was decided elsewhere, or when a story or tweet among `chosen` was posted
        in the chat meanwhile: then choose again at the next tick.
        """
        raise NotImplementedError

    async def decide_instant(
        self,
        subscription: Subscription,
        chosen: Chosen,
        *,
        content: str,
        now: datetime,
        repeated_after: timedelta = _REPEATED_AFTER,
    ) -> bool:
        """Decide the post of one story, in one transaction; False as with `decide_daily`."""
        raise NotImplementedError

    async def owe_notice(
        self, subscription: Subscription, key: str, *, content: str, now: datetime
    ) -> bool:
        """Owe a chat a notice; False when one of that key was owed before."""
        raise NotImplementedError

    async def lease(
        self, platforms: Sequence[str], *, now: datetime, limit: int, lease: timedelta
    ) -> list[Leased]:
        """Lease what may be sent now, at most one a chat and the oldest of it.

        A chat waits a second after each message that was begun, and for as long as its oldest
        delivery waits. Chats that are gone are left out.
        """
        raise NotImplementedError

    async def begin(self, leased: Leased, *, now: datetime) -> bool:
        """Note that sending begins; False when the lease is over: then do not send."""
        raise NotImplementedError

    async def sent(self, leased: Leased, message_id: str, *, now: datetime) -> bool:
        """Note that it arrived; False when the lease was taken over."""
        raise NotImplementedError

    async def retry(
        self, leased: Leased, *, at: datetime, error: str, may_have_arrived: bool = False
    ) -> bool:
        """Give it back to be sent at `at`; False when the lease was taken over."""
        raise NotImplementedError

    async def release(self, leased: Leased) -> bool:
        """Give back what was leased and not begun; False when the lease was taken over."""
        raise NotImplementedError

    async def fail(self, leased: Leased, error: str, *, now: datetime) -> bool:
        """Give it up; False when the lease was taken over."""
        raise NotImplementedError

    async def history(self, chat_id: int, limit: int) -> list[PastDelivery]:
        """Return the last deliveries of a chat, newest first."""
        raise NotImplementedError

    async def health(self, since: datetime) -> OutboxHealth:
        """Return what is owed, and what was given up since then."""
        raise NotImplementedError

    async def forget(self, *, now: datetime) -> None:
        """Remove what was settled or posted long ago, and give up what gone chats are owed."""
        raise NotImplementedError
