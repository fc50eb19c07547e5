"""Extracts articles in separate processes, which hostile ones can neither hang nor kill."""

from datetime import datetime

from engine.errors import PageUnreadable
from engine.isolation.pool import Isolation
from engine.isolation.process import Ending, Limits, WorkerEnded
from engine.messages import Message
from engine.page.article import LONGEST_PAGE, Article, article


class ArticleReader(Isolation):
    """Extracts articles, `workers` at a time. Use `async with`; processes start on first use.

    One page may take `seconds` of processor time, `patience` seconds of wall-clock time, and
    `memory` bytes. Ordinary pages take a tenth of a second.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        seconds: float = 3.0,
        patience: float = 30.0,
        memory: int = 1_000_000_000,
    ) -> None:
        limits = Limits(
            seconds=seconds,
            patience=patience,
            memory=memory,
            modules=["engine.page.article", "trafilatura.core"],
        )
        super().__init__(limits, workers=workers)

    async def read(
        self, html: bytes, *, charset: str | None, url: str, now: datetime
    ) -> Article | None:
        """Return the article in a page, as engine.page.article does.

        Raises PageUnreadable, ProcessUnstarted, and PresagioError if the libraries for articles are
        not installed.
        """
        try:
            return await self.run_isolated(
                article, html[:LONGEST_PAGE], charset=charset, url=url, now=now
            )
        except WorkerEnded as exc:
            raise unreadable_page(exc.ending) from exc


def unreadable_page(ending: Ending) -> PageUnreadable:
    """Return the error for a page whose process ended."""
    if ending is Ending.SLOW:
        return PageUnreadable(Message("The page takes too long to read."))
    if ending is Ending.GREEDY:
        return PageUnreadable(Message("The page takes too much memory to read."))
    return PageUnreadable(Message("The process that read the page broke down."))
