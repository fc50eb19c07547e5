"""A server under a process that lives long: started again, but not for ever."""

import asyncio
import logging
from dataclasses import dataclass, field

import pytest

from db.embedded import server as watch
from db.embedded.server import keep_running
from engine.errors import StorageError, StorageFull, StorageUnreachable
from tests.patience import until

FULL = StorageFull("The disk is full.", fix="Free some disk space.")


@dataclass
class Server:
    """Stands in the place of the embedded server: what comes of each look at it."""

    looks: list[bool | StorageError]
    seen: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def revive(self) -> bool:
        look = self.looks[self.seen] if self.seen < len(self.looks) else False
        self.seen += 1
        if isinstance(look, StorageError):
            raise look
        return look


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(watch, "_PAUSE_SECONDS", 0.0)


async def watched(server: Server) -> None:
    """Watch until all looks were taken, or the watching ends."""
    watching = asyncio.create_task(keep_running(server))  # type: ignore[arg-type]  # all it uses
    await until(lambda: server.seen >= len(server.looks) + 2 or watching.done())
    if watching.done():
        watching.result()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.parametrize("look", [FULL, True], ids=["fails", "dies"])
async def test_the_server_is_restarted_at_most_five_times(look: bool | StorageError) -> None:
    await watched(Server([look] * 4))
    with pytest.raises(StorageUnreachable, match="has ended 5 times, or could not") as raised:
        await watched(Server([look] * 5))
    if look is FULL:
        assert str(raised.value).endswith(": The disk is full. Free some disk space.")


async def test_a_long_healthy_run_resets_the_restart_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_STEADY_SECONDS", -1.0)
    server = Server([True] * 20)
    await watched(server)
    assert server.seen > 20


async def test_each_death_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "db.embedded.server")
    await watched(Server([False, FULL, False, True]))
    assert [record.getMessage().split(" after ")[0] for record in caplog.records] == [
        "The database did not come back: The disk is full. Free some disk space.",
        "The database is back",
    ]
