"""The terminal as an adapter: everything is written, buttons are numbered and pressed by number."""

import io
import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.console.adapter import ConsoleAdapter, Terminal, run_terminal
from bot.console.screen import Screen
from bot.i18n.words import words_for
from bot.reply import Action, Button, Reply
from bot.request import Trigger
from db.pool import Database
from engine.errors import CorpusNotFound
from tests.ages import say_years
from tests.bot.conversing import Bot, bot_on, event
from tests.bot.prophecies import NOW
from tests.patience import PATIENCE

WORDS = words_for("en")
BUTTONS = (
    (
        Button(label="👍 0", action=Action(name="up", answer_id=7, value="1")),
        Button(label="👎 0", action=Action(name="down", answer_id=7, value="1")),
    ),
    (Button(label="Why?", action=Action(name="why", answer_id=7, value="0")),),
)


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def adapter(stream: io.StringIO) -> ConsoleAdapter:
    return ConsoleAdapter(Screen(stream, width=80))


async def test_buttons_are_numbered(adapter: ConsoleAdapter, stream: io.StringIO) -> None:
    await adapter.deliver(event("x"), Reply(words=WORDS, text="Text", buttons=BUTTONS))
    assert stream.getvalue() == "Text\n\n:1 👍 0   :2 👎 0   :3 Why?\n\n"


async def test_a_number_presses_a_button_of_the_newest_message_alone(
    adapter: ConsoleAdapter,
) -> None:
    await adapter.deliver(event("x"), Reply(words=WORDS, text="Text", buttons=BUTTONS))
    assert adapter.find_pressed_action(":1") == "up:7:1"
    pressed = event("why:7:0", trigger=Trigger.BUTTON)
    await adapter.deliver(pressed, Reply(words=WORDS, text="Because"))
    assert adapter.find_pressed_action(" :3 ") == "why:7:0"
    await adapter.deliver(event("/help"), Reply(words=WORDS, text="No buttons"))
    assert adapter.find_pressed_action(":1") == ":1"


@pytest.mark.parametrize("line", [":0", ":4", ":999"])
async def test_number_out_of_range_gives_no_action(adapter: ConsoleAdapter, line: str) -> None:
    await adapter.deliver(event("x"), Reply(words=WORDS, text="Text", buttons=BUTTONS))
    pressed = adapter.find_pressed_action(line)
    assert pressed
    assert Action.parse(pressed) is None


@pytest.mark.parametrize("line", ["", "1", ":", ":x", ": 1", "Coffee :1", ":1 or :2", ":١"])
def test_lines_that_are_no_number_press_no_button(adapter: ConsoleAdapter, line: str) -> None:
    assert adapter.find_pressed_action(line) is None


async def test_toast_is_written_as_a_line(adapter: ConsoleAdapter, stream: io.StringIO) -> None:
    await adapter.deliver(event("x"), Reply(words=WORDS, toast="Noted."))
    assert stream.getvalue() == "Noted.\n\n"


async def test_a_picture_is_kept_in_a_file_that_is_named(
    adapter: ConsoleAdapter, stream: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await adapter.deliver(event("x"), Reply(words=WORDS, text="https://x.com/1", picture=b"PNG"))
    link, place, *_ = stream.getvalue().splitlines()
    assert link == "https://x.com/1"
    assert Path(place).read_bytes() == b"PNG"
    assert Path(place).parent.parent == tmp_path


ROOT = Path(__file__).resolve().parents[3]
SCRIPT = textwrap.dedent(
    """
    import asyncio, fcntl, os, sys, termios
    from bot.console.adapter import Terminal, run_terminal
    from bot.console.adapter import read_lines
    from bot.console.screen import Screen
    from db.pool import Database
    from tests.bot.conversing import bot_on
    from tests.bot.prophecies import NOW

    async def main():
        database = await Database.open(os.environ["DATABASE_URL"])
        async with bot_on(database) as bot:
            terminal = Terminal(session="s", language="en", interactive=sys.stdin.isatty())
            await run_terminal(bot.conversation, terminal, lines=read_lines(0),
                       screen=Screen(sys.stdout), now=lambda: NOW)

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


async def talk(
    bot: Bot, *lines: str, session: str = "s", language: str = "en", interactive: bool = False
) -> str:
    stream = io.StringIO()
    await run_terminal(
        bot.conversation,
        Terminal(session=session, language=language, interactive=interactive),
        lines=typed(*lines),
        screen=Screen(stream, width=80),
        now=lambda: NOW,
    )
    return stream.getvalue()


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    async with bot_on(storage) as ready:
        yield ready


async def test_every_line_gets_its_answer_and_blank_ones_none(bot: Bot) -> None:
    text = await talk(bot, "Coffee prices soar", "", "  ", "Tea prices soar")
    assert [call[0] for call in bot.engine.calls] == ["Coffee prices soar", "Tea prices soar"]
    assert text.count(f"1. {say_years(10, 3)}") == 2


async def test_the_same_line_twice_is_asked_twice(bot: Bot) -> None:
    await talk(bot, "Coffee prices soar", "Coffee prices soar")
    await talk(bot, "Coffee prices soar", session="another")
    assert len(bot.engine.calls) == 3


async def test_buttons_are_pressed_by_their_number(bot: Bot) -> None:
    text = await talk(bot, "Coffee prices soar", ":1", ":8", ":7", ":9")
    votes = ":1 👍{}   :2 👎   :3 2 👍   :4 2 👎   :5 3 👍   :6 3 👎"
    assert votes.format("") in text
    assert f"Noted.\n\n{votes.format(' 1')}" in text
    assert f"1. {say_years(10, 3)}: The model read it" in text  # :8 is why
    assert f"4. {say_years(10, 3)} · March" in text  # :7 is more
    assert text.endswith("This button is too old.\n\n")  # the second page has no ninth


async def test_an_error_does_not_end_the_conversation(bot: Bot) -> None:
    bot.engine.errors = {"Coffee": CorpusNotFound("No corpus."), "Tea": ZeroDivisionError()}
    text = await talk(bot, "Coffee", "Tea", "/help")
    assert text.index("No corpus.") < text.index("Sorry") < text.index("The last answer: /why")


async def test_prompt_is_shown_only_in_interactive_mode(bot: Bot) -> None:
    assert (await talk(bot, "/more")).splitlines()[0] == "Send me a headline first."
    text = await talk(bot, "/more", session="another", interactive=True)
    assert text.startswith("Type a headline.")
    assert text.count("> ") == 2
    assert (await talk(bot, language="es", interactive=True)).startswith("Un titular por línea.")


@pytest.mark.parametrize("word", ["/quit", "/exit", " Exit ", "quit", "salir"])
async def test_quit_word_ends_only_an_interactive_session(bot: Bot, word: str) -> None:
    said = await talk(bot, word, "/help", interactive=True)
    assert "/prophecy" not in said
    assert "/prophecy" in await talk(bot, "exit", "/help")
    assert await talk(bot, "/quit", "/help") == ""


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return [sys.executable, str(path)]


@pytest.fixture
def environment(database: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}


def test_piped_lines_are_answered_until_their_end(
    script: list[str], environment: dict[str, str]
) -> None:
    done = subprocess.run(
        script,
        input="Coffee prices soar\n/more",
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Tweet number 5 about coffee" in " ".join(done.stdout.split())
    assert "> " not in done.stdout


def read_until(descriptor: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        ready, _, _ = select.select([descriptor], [], [], PATIENCE)
        assert ready, seen
        seen += os.read(descriptor, 1024)
    return seen


@pytest.mark.parametrize(("key", "last"), [(b"\x04", b"\r\n"), (b"\x03", b"interrupted\r\n")])
def test_control_d_and_control_c_end_it_at_once(
    script: list[str], environment: dict[str, str], key: bytes, last: bytes
) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        script, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment
    ) as process:
        os.close(theirs)
        try:
            read_until(ours, b"> ")
            os.write(ours, key)
            rest = read_until(ours, last)
            assert process.wait(PATIENCE) == 0
            assert b"Traceback" not in rest
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            os.close(ours)
