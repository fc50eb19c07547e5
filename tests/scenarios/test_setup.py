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
from tests.fakes.model import ModelServer, raw, scoring
from tests.fakes.telegram import Message, TelegramServer, User
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


async def set_up(
    archive: Path, model: ModelServer, telegram: TelegramServer, environ: dict[str, str]
) -> str:
    return await run(
        *("setup", "--archive", str(archive), "--author", "ana", "--name", "Ana Ruiz"),
        *("--model-url", model.base_url, "--model", "stand-in/model"),
        *("--telegram-token", telegram.token),
        environ=environ,
    )


@pytest.mark.slow
async def test_setup_and_serve_lead_to_the_first_answer(
    telegram: TelegramServer,
    model: ModelServer,
    environ: dict[str, str],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    archive = write_tweets(tmp_path / "archive.jsonl", range(40))
    begun = time.monotonic()
    said = await set_up(archive, model, telegram, environ)
    folder = tmp_path / "settings" / "presagio"
    assert (folder / "presagio.env").stat().st_mode & 0o777 == 0o600
    assert telegram.token not in (folder / "config.toml").read_text()
    assert f"telegram: @{telegram.bot.username}, polling" in said
    assert "model: stand-in/model at 127.0.0.1 answered" in said
    found = re.search(rf"Write to @{telegram.bot.username} in private .*/start (\w+)", said)
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
    assert "Telegram refuses the token. Copy it whole from the message of @BotFather." in refused
    assert telegram.token in (folder / "presagio.env").read_text()


async def press_through(
    telegram: TelegramServer, person: User, message: Message, *labels: str
) -> Message:
    """Press buttons of a message that each press edits; return the message."""
    for label in labels:
        edited = len(telegram.called("editMessageText"))
        await person.presses(message, label)
        await telegram.until_called("editMessageText", edited + 1)
    return message


async def test_serve_says_what_is_missing_and_the_owner_sends_it(
    telegram: TelegramServer, environ: dict[str, str]
) -> None:
    environ |= {"TELEGRAM_BOT_TOKEN": telegram.token}
    alice, chat = telegram.alone("Alice")
    async with running("serve", environ=environ) as process:
        assert process.stdout
        said = ""
        while "/start" not in said:
            said += (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode()
        code = said.split()[-1]
        assert "There is no archive to search yet." in said
        greeting = await (await alice.says(chat, f"/start {code}")).answer(PATIENCE)
        assert "I have no archive yet: send me the file of one here" in greeting.text
        export = b'{"id": "1", "created_at": "2012-05-01T12:00:00Z", "text": "Trains will fly."}'
        offer = await (await alice.sends_file(chat, "mine.json", export)).answer(PATIENCE)
        added = await press_through(telegram, alice, offer, "Add it")
        assert added.text.startswith("Added. tweets holds 1 text now.")
        await alice.says(chat, "Trains fly over the city")
        await chat.until(lambda shown: "Trains will fly." in shown.text, PATIENCE)
        listed = await (await alice.says(chat, "/corpus")).answer(PATIENCE)
        assert listed.text.startswith("I can search:\ntweets: 1 text")


def typed(environ: dict[str, str], answers: list[str]) -> tuple[str, int]:
    """Run `presagio setup` on a terminal of its own, answer its questions, and return what stands
    there, and the exit code."""
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
        if left and said.endswith((b": ", b"[y/N] ")):
            os.write(terminal, left.pop(0).encode() + b"\n")
    os.close(terminal)
    return said.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.slow
async def test_interactive_setup_asks_again_after_an_invalid_answer(
    telegram: TelegramServer, environ: dict[str, str], tmp_path: Path
) -> None:
    archive = str(write_tweets(tmp_path / "a.jsonl", range(5)))
    answers = [
        str(tmp_path / "gone"),
        f"'{archive}'",
        "@ana",
        "Ana Ruiz",
        "",
        "9:wrong",
        telegram.token,
    ]
    said, _ = await asyncio.to_thread(typed, environ, [*answers, "", ""])
    assert "Telegram refuses the token. Copy it whole from the message of @BotFather." in said
    assert f"Write to @{telegram.bot.username} in private within 12 hours: /start " in said
    assert telegram.token not in said, "secrets are not shown"
    folder = tmp_path / "settings" / "presagio"
    assert telegram.token in (folder / "presagio.env").read_text()
    assert 'access = "owner"' in (folder / "config.toml").read_text()
    assert "Ana Ruiz" in await run("corpora", "show", "tweets", environ=environ)


@pytest.mark.slow
async def test_a_table_is_stored_in_the_time_zone_that_was_asked_for(
    environ: dict[str, str], tmp_path: Path
) -> None:
    open_order = tmp_path / "open.csv"
    open_order.write_text("Tweet,When\nTrains will fly,03/04/2015\n")
    table = tmp_path / "table.csv"
    table.write_text("Tweet,When\nTrains will fly,23/05/2019 14:54\n")
    answers = [str(open_order), str(table), "Madrid", "y", "ana", "", "", "", ""]
    said, code = await asyncio.to_thread(typed, environ, answers)
    assert code == 0, said
    assert "--month-first. These are options of presagio ingest" in said
    assert "Who may use it" not in said, "there is no bot"
    exported = await run("corpora", "export", "tweets", environ=environ)
    assert '"created_at":"2019-05-23T12:54:00+00:00"' in exported


@pytest.mark.slow
async def test_what_was_typed_is_named_and_not_the_settings_that_it_becomes(
    telegram: TelegramServer, environ: dict[str, str]
) -> None:
    async with ModelServer([raw("{}", status=401)]) as refusing:
        asked_there = environ | {"PRESAGIO_LLM__BASE_URL": refusing.base_url}
        refused = await run("setup", "--model-key", "sk-wrong", environ=asked_there, code=1)
    assert "refuses the key. Copy the key whole from the pages of 127.0.0.1" in refused
    answers = ["", "127.0.0.1:9/v1", "qwen", "", telegram.token, "", "everyone", "open"]
    said, code = await asyncio.to_thread(typed, environ, answers)
    assert code == 0, said
    assert "does not answer (ConnectError). Check the address, the name of the model" in said
    assert "Write owner or open." in said
    settings = Path(environ["XDG_CONFIG_HOME"]) / "presagio" / "config.toml"
    assert 'access = "open"' in settings.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("answers", [["\x03"], ["", "\x03"]])
async def test_ctrl_c_ends_setup_at_any_question(
    environ: dict[str, str], tmp_path: Path, answers: list[str]
) -> None:
    _, code = await asyncio.to_thread(typed, environ, answers)
    assert code == 130
    assert not (tmp_path / "settings").exists()
