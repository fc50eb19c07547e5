"""What is told of the adapters that run."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Never

import pytest

from bot.adapter import AdapterStatus
from bot.serve import log_status_changes, wait_until_stopped
from tests.patience import PATIENCE, until


@dataclass
class Switch:
    """An adapter that listens when it is told to."""

    listening: bool = False
    webhook: None = None

    async def run(self) -> None:
        """Nothing is heard here."""

    async def stop(self, seconds: float) -> None:
        """Nothing to close."""

    def status(self) -> AdapterStatus:
        return AdapterStatus(listening=self.listening, way="HTTP")


async def test_adapter_status_changes_are_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("bot.serve._LOOK_SECONDS", 0.001)
    caplog.set_level(logging.INFO, "presagio.serve")
    adapters = {"slack": Switch(), "telegram": Switch()}
    telling = asyncio.create_task(log_status_changes(adapters))

    async def logged(lines: int) -> list[tuple[str, str]]:
        await until(lambda: len(caplog.records) >= lines)
        await asyncio.sleep(0.01)
        return [(record.levelname, record.getMessage()) for record in caplog.records]

    assert await logged(0) == []
    adapters["slack"].listening = True
    assert await logged(1) == [("INFO", "slack: listening (HTTP)")]
    adapters["slack"].listening = False
    assert (await logged(2))[1:] == [("WARNING", "slack: not listening (HTTP)")]
    telling.cancel()
    with suppress(asyncio.CancelledError):
        await telling


async def test_failing_background_task_ends_the_process() -> None:
    """Nothing is posted, or nobody is told of troubles, while adapters listen on."""

    async def work() -> Never:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    async def listen() -> None:
        await asyncio.Event().wait()

    listening = asyncio.create_task(listen())
    with pytest.raises(ZeroDivisionError):
        async with asyncio.timeout(PATIENCE):
            await wait_until_stopped([listening], [asyncio.create_task(work())])
    listening.cancel()
