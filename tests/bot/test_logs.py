"""Log lines on stderr: one each, harmless, and no noise beside the error that ends a command."""

import asyncio
import gc
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from bot.console.logs import configure_logging
from bot.settings.model import LoggingSettings


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)  # loggers remember what they were asked about until it is set so


def fail_in(logger: logging.Logger) -> None:
    error = ValueError("it\nbroke")
    logger.error("the job %s", "failed", exc_info=error)


def test_a_record_is_one_line_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LoggingSettings())
    fail_in(logging.getLogger("presagio.x"))
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("ERROR presagio.x: the job failed (ValueError: it broke)")


def test_debugging_shows_the_traceback_too(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LoggingSettings(level="debug"))
    fail_in(logging.getLogger("presagio.x"))
    assert capsys.readouterr().err.endswith("(ValueError: it broke)\nValueError: it\nbroke\n")


def test_foreign_text_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LoggingSettings())
    logging.getLogger("presagio.x").warning("the model said %s", "\x1b[2J\nfake line \u202e")
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("the model said \ufffd[2J fake line \ufffd")


def test_records_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LoggingSettings(level="error"))
    logging.getLogger("presagio.x").warning("not so bad")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("logger", "level", "message"),
    [
        ("httpx", logging.INFO, "HTTP Request: GET https://host/bot123:TOKEN/getMe"),
        ("asyncpg.pool", logging.WARNING, "Failed to restore the pool connection floor"),
        ("asyncio", logging.WARNING, "socket.send() raised exception."),
        (
            "slack_bolt.AsyncApp",
            logging.WARNING,
            "As `installation_store` or `authorize` has been used, `token` will be ignored.",
        ),
        ("asyncio", logging.ERROR, "Resetting connection with an active transaction <x>"),
    ],
)
def test_noisy_library_records_are_dropped_even_at_debug(
    capsys: pytest.CaptureFixture[str], logger: str, level: int, message: str
) -> None:
    configure_logging(LoggingSettings(level="debug"))
    logging.getLogger(logger).log(level, message)
    assert capsys.readouterr().err == ""
    logging.getLogger(logger).error("something else")
    assert "something else" in capsys.readouterr().err


async def test_unretrieved_connection_lost_errors_are_not_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging(LoggingSettings())
    lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    lost.set_exception(ConnectionError("unexpected connection_lost() call"))
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    broken.set_exception(ConnectionError("of another kind"))
    del lost, broken
    gc.collect()
    [line] = capsys.readouterr().err.splitlines()
    assert "(ConnectionError: of another kind)" in line


@pytest.mark.parametrize(
    "logger", ["telegram.Bot", "httpcore.http11", "apscheduler.scheduler", "x"]
)
def test_libraries_log_only_warnings_and_above(
    capsys: pytest.CaptureFixture[str], logger: str
) -> None:
    configure_logging(LoggingSettings(level="debug"))
    talkative = logging.getLogger(logger)
    talkative.setLevel(logging.DEBUG)
    talkative.info("I was asked for this")
    logging.getLogger("presagio.x").debug("own")
    talkative.warning("beware")
    talkative.setLevel(logging.NOTSET)
    own, warning = capsys.readouterr().err.splitlines()
    assert own.endswith("presagio.x: own")
    assert warning.endswith(f"{logger}: beware")


FIELDS = {"feeds": 3, "to": "a b", "title": "", "chat": None, "corpus": 'say "x"'}


def test_an_event_is_followed_by_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LoggingSettings(level="info"))
    logging.getLogger("presagio.x").info("polled", extra={"fields": FIELDS})
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith('INFO presagio.x: polled feeds=3 to="a b" title="" corpus="say \\"x\\""')


def test_events_with_other_fields_are_no_repetition(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LoggingSettings(level="info"))
    for number in range(20):
        logging.getLogger("presagio.x").info("answered", extra={"fields": {"ms": number}})
    assert len(capsys.readouterr().err.splitlines()) == 20


@pytest.mark.parametrize(
    ("level", "verbose", "shown"),
    [("warning", 0, 1), ("warning", 1, 2), ("warning", 2, 3), ("debug", 1, 3), ("error", 1, 2)],
)
def test_verbose_shows_more_and_never_less(
    capsys: pytest.CaptureFixture[str], level: Any, verbose: int, shown: int
) -> None:
    configure_logging(LoggingSettings(level=level), verbose=verbose)
    own = logging.getLogger("presagio.x")
    own.debug("a detail")
    own.info("an event")
    own.warning("a trouble")
    assert len(capsys.readouterr().err.splitlines()) == shown
