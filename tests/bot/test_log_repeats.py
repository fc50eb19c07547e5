"""A message that repeats is written a few times, and then counted."""

import io
import logging
from collections.abc import Iterator

import pytest

from bot.console.logs import LimitedHandler


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def written(clock: Clock) -> Iterator[io.StringIO]:
    stream, handler = io.StringIO(), LimitedHandler(clock)
    handler.setStream(stream)
    logger = logging.getLogger("repeating")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)
    handler.close()


def say(message: str, times: int = 1, error: Exception | None = None) -> None:
    for _ in range(times):
        logging.getLogger("repeating").error("it %s", message, exc_info=error)


def lines(written: io.StringIO) -> list[str]:
    return written.getvalue().splitlines()


def test_few_repetitions_are_all_written(written: io.StringIO) -> None:
    say("broke", 5)
    say("works", 5)
    assert lines(written) == ["it broke"] * 5 + ["it works"] * 5


def test_flood_is_reduced_to_five_lines_and_a_count_per_minute(
    written: io.StringIO, clock: Clock
) -> None:
    for minute in range(3):
        clock.now = minute * 60.0
        say("broke", 10_000)
    flood = ["it broke"] * 5
    assert lines(written) == [*flood, *["it broke (repeated 9995 times)", *flood] * 2]


def test_another_message_flushes_the_repeat_count(written: io.StringIO, clock: Clock) -> None:
    say("broke", 8)
    clock.now = 61.0
    say("works")
    assert lines(written)[5:] == ["it broke (repeated 3 times)", "it works"]


def test_closing_the_handler_flushes_the_repeat_count(written: io.StringIO) -> None:
    say("broke", 6)
    [handler] = logging.getLogger("repeating").handlers
    handler.close()
    assert lines(written)[5:] == ["it broke (repeated 1 times)"]


def test_messages_with_different_errors_are_not_repetitions(written: io.StringIO) -> None:
    for number in range(3):
        say("broke", 4, ValueError(number))
    assert written.getvalue().count("it broke") == 12


def test_ever_new_messages_take_no_memory(written: io.StringIO) -> None:
    for number in range(5000):
        say(str(number))
    assert len(lines(written)) == 5000
    [handler] = logging.getLogger("repeating").handlers
    assert isinstance(handler, LimitedHandler)
    assert len(handler._seen) <= 1000
