"""Signals: what runs is cancelled, what is held is released, the exit code tells which it was."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from bot.signals import run_until_signal
from tests.patience import PATIENCE

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _as_from_a_terminal() -> Iterator[None]:
    """No signal is ignored, whoever started the tests: nohup and some CI ignore SIGHUP."""
    before = {each: signal.getsignal(each) for each in ENDING}
    for number in ENDING:
        python = signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL
        signal.signal(number, python)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def interrupted(number: int, *, finally_: Callable[[], None]) -> str:
    os.kill(os.getpid(), number)
    try:
        await asyncio.sleep(600)
    finally:
        finally_()
    return "done"


@pytest.mark.parametrize("number", ENDING)
def test_work_is_cancelled_and_ends_in_order(number: int) -> None:
    handlers = [signal.getsignal(each) for each in ENDING]
    released: list[bool] = []
    with pytest.raises(SystemExit) as ended:
        run_until_signal(interrupted(number, finally_=lambda: released.append(True)))
    assert ended.value.code == 128 + number
    assert released == [True]
    assert [signal.getsignal(each) for each in ENDING] == handlers


def test_error_during_cancellation_exits_with_the_signal_code() -> None:
    def fail() -> None:
        raise RuntimeError("the connection was lost")

    with pytest.raises(SystemExit) as ended:
        run_until_signal(interrupted(signal.SIGTERM, finally_=fail))
    assert ended.value.code == 143


def test_work_without_a_signal_returns_or_raises() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    async def failing() -> None:
        raise ValueError("its own")

    assert run_until_signal(work()) == 7
    with pytest.raises(ValueError, match="its own"):
        run_until_signal(failing())


@contextmanager
def script(body: str) -> "Iterator[subprocess.Popen[str]]":
    """A program that handles signals as the command does, and says when it is ready.

    It does not survive the block.
    """
    lines = [
        "import asyncio, sys, time",
        "from bot.signals import exit_on_signals, run_until_signal",
        "exit_on_signals()",
        "def ready(): print('ready', flush=True)",
        body,
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", ENDING)
def test_outside_of_any_work_the_process_ends_at_once(number: int) -> None:
    with script("ready()\ntime.sleep(600)") as process:
        process.send_signal(number)
        assert process.communicate(timeout=PATIENCE) == ("", "")
        assert process.returncode == 128 + number


def test_a_second_signal_does_not_wait_for_what_hangs() -> None:
    body = (
        "async def work():\n"
        "    ready()\n"
        "    try:\n        await asyncio.sleep(600)\n"
        "    finally:\n        ready()\n        await asyncio.sleep(600)\n"
        "run_until_signal(work())"
    )
    with script(body) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE) == ("", "")
        assert process.returncode == -signal.SIGTERM


def test_ignored_sighup_stays_ignored() -> None:
    body = (
        "import signal\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "exit_on_signals()\n"
        "async def work():\n    ready()\n    await asyncio.sleep(0.3)\n"
        "run_until_signal(work())"
    )
    with script(body) as process:
        process.send_signal(signal.SIGHUP)
        assert process.communicate(timeout=PATIENCE) == ("", "")
        assert process.returncode == 0
