"""The conversation in a terminal: one answer a line, a polite end."""

import io
import os
import pty
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.commands import LocalMemory, Services, standard_commands
from bot.console.chat import chat
from bot.console.screen import Screen
from engine.errors import CorpusNotFound
from tests.bot.prophecies import NOW, StandInEngine

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = textwrap.dedent(
    """
    import asyncio, fcntl, sys, termios
    from bot.commands import LocalMemory, Services, standard_commands
    from bot.console.chat import chat
    from bot.console.lines import read_lines
    from bot.console.screen import Screen
    from tests.bot.prophecies import NOW, StandInEngine

    async def main():
        services = Services(prophesy=StandInEngine(), memory=LocalMemory(), corpus="", limit=3)
        await chat(standard_commands(), services, lines=read_lines(0), screen=Screen(sys.stdout),
                   now=lambda: NOW, interactive=sys.stdin.isatty())

    if sys.stdin.isatty():  # become its owner, so that Ctrl-C reaches this process
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print("interrupted")
    """
)


async def typed(*lines: str) -> AsyncIterator[str]:
    for line in lines:
        yield line


async def talk(engine: StandInEngine, *lines: str, interactive: bool = False) -> str:
    stream = io.StringIO()
    services = Services(prophesy=engine, memory=LocalMemory(), corpus="demo", limit=3)
    await chat(
        standard_commands(),
        services,
        lines=typed(*lines),
        screen=Screen(stream, width=80),
        now=lambda: NOW,
        interactive=interactive,
    )
    return stream.getvalue()


async def test_every_line_gets_its_answer_and_blank_ones_none() -> None:
    engine = StandInEngine()
    text = await talk(engine, "Coffee prices soar", "", "  ", "Tea prices soar")
    assert [call[0] for call in engine.calls] == ["Coffee prices soar", "Tea prices soar"]
    assert text.index("Coffee prices soar") < text.index("Tea prices soar")


async def test_the_conversation_is_remembered() -> None:
    text = await talk(StandInEngine(), "Coffee prices soar", "/more", "/why 4")
    assert "Tweet number 5 about coffee" in text
    assert "4. score 0.83" in text


async def test_an_error_does_not_end_the_conversation() -> None:
    text = await talk(StandInEngine(error=CorpusNotFound("No corpus.")), "Coffee", "/help")
    assert text.index("No corpus.") < text.index("/why [NUMBER]")


async def test_a_prompt_only_where_somebody_types() -> None:
    assert (await talk(StandInEngine(), "/more")).splitlines()[0] == "Send me a headline first."
    text = await talk(StandInEngine(), "/more", interactive=True)
    assert text.startswith("Type a headline.")
    assert text.count("> ") == 2


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return [sys.executable, str(path)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}


def test_piped_lines_are_answered_until_their_end(script: list[str]) -> None:
    done = subprocess.run(
        script,
        input="Coffee prices soar\n/more",
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Tweet number 5 about coffee" in done.stdout
    assert "> " not in done.stdout


def read_until(descriptor: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        seen += os.read(descriptor, 1024)
    return seen


@pytest.mark.parametrize(("key", "last"), [(b"\x04", b"\r\n"), (b"\x03", b"interrupted\r\n")])
def test_control_d_and_control_c_end_it_at_once(script: list[str], key: bytes, last: bytes) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        script,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=environment(),
    ) as process:
        os.close(theirs)
        try:
            read_until(ours, b"> ")
            os.write(ours, key)
            rest = read_until(ours, last)
            assert process.wait(timeout=10) == 0
            assert b"Traceback" not in rest
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            os.close(ours)
