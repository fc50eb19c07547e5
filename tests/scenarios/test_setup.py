"""From nothing to the first answer: a command to set up, one to serve, and two messages."""

import asyncio
import os
import pty
import re
import select
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.ages import read_years
from tests.bot.command_line import PROGRAM, write_tweets
from tests.fakes.model import ModelServer, scoring
from tests.fakes.telegram import TelegramServer
from tests.patience import PATIENCE
from tests.scenarios.stage import judged_by_words

HEADLINE = "Thought of rust and rain"


@asynccontextmanager
async def running(
    *arguments: str, environ: dict[str, str], stdin: int = asyncio.subprocess.DEVNULL
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the command as a process, which is killed if it has not ended."""
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM),
        *arguments,
        env=environ,
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def run(*arguments: str, environ: dict[str, str], code: int = 0) -> str:
    """Run the command to its end and return all that it wrote."""
    async with running(*arguments, environ=environ) as process:
        out, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == code, out.decode()
    return out.decode()


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer([scoring(judged_by_words)]) as server:
        yield server


@pytest.fixture
def environ(telegram: TelegramServer, database_url: str, tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "settings"),
        "PRESAGIO_DATA_DIR": str(tmp_path / "data"),
        "DATABASE_URL": database_url,
        "PRESAGIO_TELEGRAM__API_BASE": telegram.root,
    }


@pytest.mark.slow
async def test_two_commands_and_two_messages_lead_to_the_first_answer(
    telegram: TelegramServer,
    model: ModelServer,
    environ: dict[str, str],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    archive = write_tweets(tmp_path / "archive.jsonl", range(40))
    begun = time.monotonic()
    said = await run(
        *("setup", "--archive", str(archive), "--author", "ana", "--name", "Ana Ruiz"),
        *("--model-url", model.base_url, "--model", "stand-in/model"),
        *("--telegram-token", telegram.token),
        environ=environ,
    )
    folder = tmp_path / "settings" / "presagio"
    assert (folder / "presagio.env").stat().st_mode & 0o777 == 0o600
    assert telegram.token not in (folder / "config.toml").read_text()
    assert f"telegram: @{telegram.bot.username}, polling" in said
    assert "model: stand-in/model at 127.0.0.1 answered" in said
    found = re.search(rf"Then write to @{telegram.bot.username}\. .*/start (\w+)", said)
    assert found, said
    alice, bob = telegram.user("Alice"), telegram.user("Bob")
    home, elsewhere = telegram.private_chat(alice), telegram.private_chat(bob)
    async with running("serve", environ=environ):
        greeting = await (await alice.says(home, f"/start {found[1]}")).answer(PATIENCE)
        assert greeting.text.startswith("You own this bot now. There is always a tweet.")
        assert "Ana Ruiz" in greeting.text
        answer = await (await alice.says(home, HEADLINE)).answer(PATIENCE)
        took = time.monotonic() - begun
        assert "Ana Ruiz" in answer.text
        assert read_years(answer.text)
        calls = model.calls
        waiting = await (await bob.says(elsewhere, HEADLINE)).answer(PATIENCE)
        assert waiting.text == "My owner decides who may use me, and has been asked."
        assert model.calls == calls, "a stranger spends nothing"
        question = home.bot_messages[-1]
        assert "asks to use this bot" in question.text
        await alice.presses(question, "Allow")
        await telegram.until_called("editMessageText", 1)
        allowed = await (await bob.says(elsewhere, HEADLINE)).answer(PATIENCE)
        assert read_years(allowed.text)
    record_property("seconds_to_the_first_answer", round(took, 1))
    again = await run("setup", environ=environ)
    assert "Wrote" not in again, "a second run changes nothing"
    refused = await run("setup", "--telegram-token", "9:other", environ=environ, code=1)
    assert "Telegram refuses the token." in refused
    assert telegram.token in (folder / "presagio.env").read_text()


async def test_serve_says_what_is_missing_and_makes_no_empty_corpus(
    telegram: TelegramServer, environ: dict[str, str]
) -> None:
    environ |= {"TELEGRAM_BOT_TOKEN": telegram.token}
    alice = telegram.user("Alice")
    chat = telegram.private_chat(alice)
    async with running("serve", environ=environ) as process:
        assert process.stdout
        said = ""
        while "/start" not in said:
            said += (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode()
        code = said.split()[-1]
        assert "There is no archive to search yet." in said
        greeting = await (await alice.says(chat, f"/start {code}")).answer(PATIENCE)
        assert "I have no archive yet" in greeting.text
        listed = await (await alice.says(chat, "/corpus")).answer(PATIENCE)
        assert listed.text == "There is no corpus yet."


def typed(environ: dict[str, str], answers: list[str]) -> str:
    """Run `presagio setup` on a terminal of its own, answer its questions, and return it all."""
    process, terminal = pty.fork()
    if process == 0:
        os.execve(PROGRAM, [str(PROGRAM), "setup"], environ)
    said, left = b"", list(answers)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            said += os.read(terminal, 4096)
        except OSError:  # it has ended
            break
        if left and said.endswith(b": "):
            os.write(terminal, left.pop(0).encode() + b"\n")
    os.close(terminal)
    os.waitpid(process, 0)
    return said.decode()


@pytest.mark.slow
async def test_on_a_terminal_it_asks_and_asks_again_what_is_refused(
    telegram: TelegramServer, environ: dict[str, str], tmp_path: Path
) -> None:
    archive = str(write_tweets(tmp_path / "a.jsonl", range(5)))
    answers = [str(tmp_path / "gone"), archive, "@ana", "Ana Ruiz", "", "9:wrong", telegram.token]
    said = await asyncio.to_thread(typed, environ, [*answers, "", ""])
    assert "Telegram refuses the token." in said
    assert (
        f"Then write to @{telegram.bot.username}. Write to it in private within 12 hours: /start "
        in said
    )
    assert telegram.token not in said, "secrets are not shown"
    folder = tmp_path / "settings" / "presagio"
    assert telegram.token in (folder / "presagio.env").read_text()
    assert 'access = "owner"' in (folder / "config.toml").read_text()
    assert "Ana Ruiz" in await run("corpora", "show", "tweets", environ=environ)
