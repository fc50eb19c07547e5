"""What happened, in the log: a line for each event with its figures, and nobody's words."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from bot.logs import configure_logging
from bot.settings.sections import LoggingSettings
from tests.scenarios.newsroom import newsroom
from tests.scenarios.stage import HEADLINE, TWEETS, Stage, until

_LINES = {"time", "level", "logger", "message"}


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


class Log:
    """The lines on stderr so far, as JSON."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        configure_logging(LoggingSettings(format="json"), verbose=1)
        self._capsys = capsys
        self._text = ""

    @property
    def text(self) -> str:
        self._text += self._capsys.readouterr().err
        return self._text

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    def fields(self, event: str) -> list[dict[str, Any]]:
        """The fields of each line of an event."""
        return [
            {name: value for name, value in line.items() if name not in _LINES}
            for line in self.lines
            if line["message"] == event
        ]


async def test_chat_events_are_logged_without_message_texts(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(capsys)
    alice = stage.telegram.user("Alice")
    chat = stage.telegram.private_chat(alice)
    async with stage.serving():
        for text in (HEADLINE, "/find coffee", "/nonsense of mine"):
            await (await alice.says(chat, text)).answer()
        await until(lambda: len(log.fields("answered")) == 3, 5)
    (started,) = log.fields("started")
    assert (started["faces"], started["database"]) == ("telegram", "own")
    assert log.fields("stopped") == [{}]
    headline, found, unknown = log.fields("answered")
    assert list(headline) == ["platform", "chat", "to", "hits", "ms"]
    assert (headline["to"], found["to"], unknown["to"]) == ("message", "find", "message")
    assert headline["platform"] == "telegram"
    assert headline["hits"] > 0
    assert headline["chat"] == found["chat"] != chat.id
    assert not log.fields("model answered")  # of interest to those who look for a fault
    for private in (HEADLINE, *TWEETS, "coffee", "nonsense", "Alice", stage.telegram.token):
        assert private not in log.text
    assert len(log.lines) <= 8, log.text  # no line for what happens every few seconds


async def test_news_events_are_logged_without_headlines_and_tweets(
    coffee_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(capsys)
    async with newsroom(coffee_url) as room:
        process = await room.process()
        subscription = await room.subscribe(process, "telegram")
        await room.news(process, HEADLINE)
        await process.jobs.digest()
        await room.deliver(process)
    first, second = log.fields("polled")
    assert list(first) == ["feeds", "stories", "failed", "seconds"]
    assert (first["feeds"], first["stories"], first["failed"]) == (1, 0, 0)
    assert (second["feeds"], second["stories"], second["failed"]) == (1, 1, 0)
    assert log.fields("searched") == [{"stories": 1, "judged": 1, "corpora": 1}]
    (posted,) = log.fields("posted")
    assert list(posted) == ["platform", "chat", "post", "waited_seconds"]
    assert (posted["platform"], posted["chat"]) == ("telegram", subscription.chat.id)
    for private in (HEADLINE, *TWEETS, "Friends", room.telegram.token):
        assert private not in log.text


async def test_a_failing_feed_is_counted_in_the_log(
    coffee_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(capsys)
    async with newsroom(coffee_url) as room:
        process = await room.process()
        room.web.pages.clear()
        await process.jobs.poll()
    (polled,) = log.fields("polled")
    assert (polled["feeds"], polled["failed"]) == (1, 1)
