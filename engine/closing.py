"""A base for what holds connections or processes until it is closed."""

from abc import ABC, abstractmethod
from typing import Self


class Closable(ABC):
    """Closed by `aclose`, or at the end of `async with`."""

    @abstractmethod
    async def aclose(self) -> None:
        """Release what it holds."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
