"""Logging to stderr, where repeated messages are limited to a few per minute."""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping

from bot.console.screen import make_printable
from bot.settings.model import LoggingSettings

_MAXIMUM = 5  # times per window that the same message is written
_WINDOW = 60.0  # seconds
_KINDS = 1000  # distinct messages counted per window

_Key = tuple[str, int, str, str]
# At low levels telegram, httpx, httpcore and Slack's libraries log whole requests and responses,
# which hold tokens and private messages. So the configured level applies to the project's own
# loggers only; from all others nothing below a warning is written.
_OWN = ("presagio", "db")
# These are limited further: stamina repeats presagio.llm; a lost connection is reported
# by the error that ends the command; warnings of Slack's libraries quote messages; uvicorn and
# aiohttp repeat presagio.web and presagio.port, with tracebacks.
_QUIET = {
    "aiohttp": logging.CRITICAL,
    "asyncio": logging.ERROR,
    "asyncpg": logging.ERROR,
    "slack_bolt": logging.ERROR,
    "slack_sdk": logging.ERROR,
    "stamina": logging.ERROR,
    "uvicorn": logging.CRITICAL,
}


class LimitedHandler(logging.StreamHandler):  # type: ignore[type-arg]  # whatever stderr is
    """Writes the same message a few times a minute, then the number of repetitions."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` returns monotonic seconds."""
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._seen: Counter[_Key] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record unless the same message has reached its limit."""
        now = self._clock()
        if now - self._since >= _WINDOW or len(self._seen) >= _KINDS:
            self._sum_up()
            self._since = now
        error = repr(record.exc_info[1]) if record.exc_info and record.exc_info[1] else ""
        key = record.name, record.levelno, _format_record(record), error
        self._seen[key] += 1
        if self._seen[key] <= _MAXIMUM:
            super().emit(record)

    def close(self) -> None:
        """Write the pending counts of repetitions, and close."""
        self.acquire()
        try:
            self._sum_up()
        finally:
            self.release()
        super().close()

    def _sum_up(self) -> None:
        for (name, level, message, _), times in self._seen.items():
            if times > _MAXIMUM:
                fields = {
                    "name": name,
                    "levelno": level,
                    "levelname": logging.getLevelName(level),
                    "msg": f"{message} (repeated {times - _MAXIMUM} times)",
                }
                super().emit(logging.makeLogRecord(fields))
        self._seen.clear()


def _format_record(record: logging.LogRecord) -> str:
    """Return the message and the figures of an event, "polled feeds=3":
    logger.info("polled", extra={"fields": {"feeds": 3}})."""
    words = [record.getMessage()]
    figures: Mapping[str, object] = getattr(record, "fields", {})
    for name, value in figures.items():
        if value is not None:
            text = str(value)
            is_plain = text and not set(text) & set(' "=')
            words.append(f"{name}={text if is_plain else json.dumps(text, ensure_ascii=False)}")
    return " ".join(words)


class TextFormatter(logging.Formatter):
    """Formats each record as one line, followed by the exception's frames if `traceback`."""

    def __init__(self, *, traceback: bool) -> None:
        super().__init__()
        self._traceback = traceback

    def format(self, record: logging.LogRecord) -> str:
        line = (
            f"{self.formatTime(record)} {record.levelname} {record.name}: {_format_record(record)}"
        )
        if record.exc_info:
            line += f" ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
        line = " ".join(make_printable(line).split("\n"))
        if record.exc_info and self._traceback:
            line += f"\n{make_printable(self.formatException(record.exc_info))}"
        return line


def configure_logging(settings: LoggingSettings, *, verbose: int = 0, serves: bool = True) -> None:
    """Send records of the chosen level and above to stderr.

    `verbose` is how often -v was given: once asks for "info" at least, twice for "debug". A command
    that answers one person and does not serve tells in its answer what went wrong: its warnings are
    written only if the settings name a level.
    """
    level = min(
        logging.ERROR
        if not serves and "level" not in settings.model_fields_set
        else getattr(logging, settings.level.upper()),
        {0: logging.CRITICAL, 1: logging.INFO}.get(verbose, logging.DEBUG),
    )
    handler = LimitedHandler(time.monotonic)
    handler.setFormatter(TextFormatter(traceback=level == logging.DEBUG))
    handler.addFilter(_may_be_written)
    handler.addFilter(_is_news)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name, minimum in _QUIET.items():
        logging.getLogger(name).setLevel(minimum)


def _may_be_written(record: logging.LogRecord) -> bool:
    """Return False for records that must not be logged.

    Checked for each record because some libraries set their own levels.
    """
    name = record.name.partition(".")[0]
    return name in _OWN or record.levelno >= _QUIET.get(name, logging.WARNING)


def _is_news(record: logging.LogRecord) -> bool:
    """Return False for asyncio's reports of a broken asyncpg connection (see _QUIET), and for a
    warning of Bolt that a token in the environment is ignored: bot/slack authorizes by itself.

    A command that asyncpg sends just as the connection breaks fails at once, and leaves a future
    that cannot be awaited.
    """
    message = record.getMessage()
    if record.name == "slack_bolt.AsyncApp":
        return not message.startswith(
            "As `installation_store` or `authorize` has been used, `token`"
        )
    if record.name != "asyncio":
        return True
    error = record.exc_info[1] if record.exc_info else None
    left_behind = message.startswith("Future exception was never retrieved") and (
        str(error) == "unexpected connection_lost() call"
        or type(error).__module__.startswith("asyncpg.")
    )
    return not (left_behind or message.startswith("Resetting connection"))
