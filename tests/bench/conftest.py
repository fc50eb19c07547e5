"""A corpus, a model, and the benches as programs."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.bot.command_line import ROOT, SECONDS, Done
from tests.bot.conftest import _demo_url, demo  # noqa: F401 - fixtures
from tests.fakes.model import ModelServer
from tests.fakes.writer import Writer


def _run(command: list[str]) -> Done:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


RunBench = Callable[..., Awaitable[Done]]


@pytest.fixture
def run_bench() -> RunBench:
    """Run a module of bench in this test's environment; called with its name and arguments."""

    async def run(name: str, *arguments: str) -> Done:
        command = [sys.executable, "-m", f"bench.{name}", *arguments]
        return await asyncio.to_thread(_run, command)

    return run


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Writer]:
    async with ModelServer() as server:
        writer = Writer()
        server.script = [writer]
        monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", server.base_url)
        yield writer
