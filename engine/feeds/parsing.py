"""Reads feeds in separate processes.

A hostile feed takes seconds of processor time and hundreds of megabytes, and a crash of the XML
parser kills its process: neither may happen in the process that answers chats.
"""

from engine.errors import FeedUnreadable
from engine.feeds.feed import ParsedFeed
from engine.feeds.read import read_feed
from engine.isolation.pool import Isolation
from engine.isolation.process import Ending, Limits, WorkerEnded
from engine.messages import Message

_PER_MEGABYTE = 1.0  # seconds of processor time; ordinary feeds take a third of it


class FeedParser(Isolation):
    """Reads feeds, `workers` at a time. Use `async with`; processes start on first use.

    One feed may take `seconds` of processor time plus one second per megabyte, `patience` seconds
    of wall-clock time, and `memory` bytes.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        seconds: float = 2.0,
        patience: float = 30.0,
        memory: int = 512_000_000,
    ) -> None:
        limits = Limits(
            seconds=seconds,
            seconds_per_megabyte=_PER_MEGABYTE,
            patience=patience,
            memory=memory,
            modules=["engine.feeds.read"],
        )
        super().__init__(limits, workers=workers)

    async def parse(self, body: bytes, content_type: str | None, url: str) -> ParsedFeed:
        """Read the feed that came from `url`, as engine.feeds.read does.

        Raises FeedUnreadable, also if reading takes too long or kills the worker, and
        ProcessUnstarted.
        """
        try:
            return await self.run_isolated(read_feed, body, content_type, url)
        except WorkerEnded as exc:
            raise _unreadable(exc.ending) from exc


def _unreadable(ending: Ending) -> FeedUnreadable:
    if ending is Ending.SLOW:
        return FeedUnreadable(Message("The feed takes too long to read."))
    if ending is Ending.GREEDY:
        return FeedUnreadable(Message("The feed takes too much memory to read."))
    return FeedUnreadable(Message("The process that read the feed broke down."))
