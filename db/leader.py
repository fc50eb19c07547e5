"""One process of many leads: it alone decides what is due."""

from types import TracebackType
from typing import Self

from db.pool import Database


class Leader:
    """Stands for election as long as it is entered."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def __aenter__(self) -> Self:
        """Stand; returns after the first attempt to lead, whether or not it succeeded."""
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raise NotImplementedError

    @property
    def leads(self) -> bool:
        """True while this process surely holds the lock."""
        raise NotImplementedError

    async def changed(self) -> bool:
        """Wait until `leads` changes and return what it is then."""
        raise NotImplementedError
