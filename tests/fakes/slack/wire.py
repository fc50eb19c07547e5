"""What all parts of the stand-in share: JSON objects, refusals, and waiting for a change."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

Json = dict[str, Any]
Found = TypeVar("Found")

TEAM = "T0PRESAGIO"
DOMAIN = "presagio-test"
APP = "A0PRESAGIO"


class Refusal(Exception):
    """Slack says no: becomes {"ok": false, "error": code, ...}."""

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code = code
        self.details = details

    @property
    def body(self) -> Json:
        return {"ok": False, "error": self.code, **self.details}


class Changes:
    """Wakes everybody who waits for a condition whenever anything has happened."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    async def until(self, condition: Callable[[], Found], within: float) -> Found:
        """The first true value of the condition; TimeoutError after `within` seconds."""
        async with asyncio.timeout(within):
            while not (value := condition()):
                await self._next.wait()
        return value
