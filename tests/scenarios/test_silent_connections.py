"""Connections that say nothing, on the port of a process that may open few files."""

import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.bot.command_line import PROGRAM, SECONDS
from tests.network import find_free_port
from tests.patience import until
from tests.scenarios.stage import HEADLINE, Stage, Surroundings

pytestmark = pytest.mark.slow

_FILES = 256
_SILENT = 400


@contextmanager
def silent(port: int) -> Iterator[list[socket.socket]]:
    """Hold more connections than the process may open files."""
    held: list[socket.socket] = []
    try:
        for _ in range(_SILENT):
            held.append(socket.create_connection(("127.0.0.1", port), timeout=SECONDS))
        yield held
    finally:
        for one in held:
            one.close()


@asynccontextmanager
async def confined(stage: Surroundings, log: Path, port: int) -> AsyncIterator[None]:
    """`presagio serve` with few files, once its probe on `port` says that all adapters listen."""
    command = ["/bin/sh", "-c", f'ulimit -n {_FILES}; exec "$0" serve', str(PROGRAM)]
    environ = os.environ | stage.environ
    with (
        log.open("wb") as written,
        subprocess.Popen(command, env=environ, stderr=written) as one,  # noqa: ASYNC220 - it starts at once
    ):
        try:
            await until(lambda: _listens(port))
            yield
        finally:
            one.terminate()


async def _listens(port: int) -> bool:
    async with httpx.AsyncClient(timeout=SECONDS) as client:
        try:
            answered = await client.get(f"http://127.0.0.1:{port}/healthz")
        except httpx.ConnectError:
            return False
    return all(adapter["listening"] for adapter in answered.json()["faces"].values())


def assert_nothing_ran_out(log: Path) -> None:
    lines = log.read_text().splitlines()
    assert not [line for line in lines if "out of system resource" in line]
    assert len(lines) < 50, lines[:5]


async def test_page_and_chats_are_served_despite_silent_connections(
    stage: Stage, tmp_path: Path
) -> None:
    port, log = find_free_port(), tmp_path / "log"
    stage.environment |= {"PRESAGIO_WEB__ENABLED": "true", "PRESAGIO_WEB__PORT": str(port)}
    alice, chat = stage.telegram.alone("Alice")
    async with confined(stage, log, port):
        with silent(port):
            async with httpx.AsyncClient(timeout=SECONDS) as client:
                for _ in range(3):
                    answered = await client.get(f"http://127.0.0.1:{port}/healthz")
                    assert answered.status_code == 200
            asked = await alice.says(chat, HEADLINE)
            await asked.answer()
    assert_nothing_ran_out(log)
