"""What happened, in the log: a line for each event with its figures, and nobody's words."""

import logging
import shlex
from collections.abc import Iterator

import pytest

from bot.console.logs import configure_logging
from bot.settings.model import LoggingSettings
from tests.patience import until
from tests.scenarios.newsroom import newsroom
from tests.scenarios.stage import HEADLINE, TWEETS, Stage


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)  # loggers remember what they were asked about until it is set so


class Log:
    """The lines on stderr so far."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        configure_logging(LoggingSettings(), verbose=1)
        self._capsys = capsys
        self._text = ""

    @property
    def text(self) -> str:
        self._text += self._capsys.readouterr().err
        return self._text

    def fields(self, event: str) -> list[dict[str, str]]:
        """The fields of each line of an event."""
        return [
            fields
            for message, fields in map(read_event, self.text.splitlines())
            if message == event
        ]


def read_event(line: str) -> tuple[str, dict[str, str]]:
    """The message of a line and its fields."""
    words = shlex.split(line.partition(": ")[2])
    fields = dict(word.split("=", 1) for word in words if "=" in word)
    return " ".join(word for word in words if "=" not in word), fields


async def test_chat_events_are_logged_without_message_texts(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(capsys)
    alice, chat = stage.telegram.alone("Alice")
    async with stage.serving():
        for text in (HEADLINE, "/find coffee", "/nonsense of mine"):
            await (await alice.says(chat, text)).answer()
        await until(lambda: len(log.fields("answered")) == 3)
    (started,) = log.fields("started")
    assert (started["faces"], started["database"]) == ("telegram", "own")
    assert log.fields("stopped") == [{}]
    headline, found, unknown = log.fields("answered")
    assert list(headline) == ["platform", "chat", "to", "hits", "ms"]
    assert (headline["to"], found["to"], unknown["to"]) == ("message", "find", "message")
    assert headline["platform"] == "telegram"
    assert int(headline["hits"]) > 0
    assert headline["chat"] == found["chat"] != str(chat.id)
    assert not log.fields("model answered")  # of interest to those who look for a fault
    for private in (HEADLINE, *TWEETS, "coffee", "nonsense", "Alice", stage.telegram.token):
        assert private not in log.text
    assert len(log.text.splitlines()) <= 8, log.text  # no line for what happens every few seconds


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
    assert (first["feeds"], first["stories"], first["failed"]) == ("1", "0", "0")
    assert (second["feeds"], second["stories"], second["failed"]) == ("1", "1", "0")
    assert log.fields("searched") == [{"stories": "1", "judged": "1", "corpora": "1"}]
    (posted,) = log.fields("posted")
    assert list(posted) == ["platform", "chat", "post", "waited_seconds"]
    assert (posted["platform"], posted["chat"]) == ("telegram", str(subscription.chat.id))
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
    assert (polled["feeds"], polled["failed"]) == ("1", "1")
