"""Extracts articles in separate processes, which hostile pages can neither hang nor kill."""

from datetime import datetime

from engine.errors import PageUnreadable
from engine.isolation.pool import WorkerPool
from engine.isolation.process import Ending, WorkerEnded
from engine.messages import Message
from engine.page.article import LONGEST_PAGE, Article
from engine.page.worker import PageOrder, pack_page, unpack_article

_MODULE = "engine.page.worker"


class ArticleReader(WorkerPool):
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
        super().__init__(_MODULE, workers=workers, patience=patience, memory=memory)
        self._seconds = seconds

    async def read(
        self, html: bytes, *, charset: str | None, url: str, now: datetime
    ) -> Article | None:
        """Return the article in a page, as engine.page.article does.

        Raises PageUnreadable, and PresagioError if no process can be started or the libraries for
        articles are not installed.
        """
        order = PageOrder(
            html=html[:LONGEST_PAGE], charset=charset, url=url, now=now, seconds=self._seconds
        )
        try:
            return unpack_article(await self.ask(pack_page(order)))
        except WorkerEnded as exc:
            raise _unreadable(exc.ending) from exc


def _unreadable(ending: Ending) -> PageUnreadable:
    if ending is Ending.SLOW:
        return PageUnreadable(Message("The page takes too long to read."))
    if ending is Ending.GREEDY:
        return PageUnreadable(Message("The page takes too much memory to read."))
    return PageUnreadable(Message("The process that read the page broke down."))
