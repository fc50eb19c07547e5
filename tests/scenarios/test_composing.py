"""A tweet is written in a chat: the same walk on every platform, in one message."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from tests.fakes.model import scoring
from tests.fakes.writer import JudgeAndWriter
from tests.patience import until
from tests.scenarios.adapters import ConsoleTalk, Talk
from tests.scenarios.stage import HEADLINE, judged_by_words

_STATE = "SELECT state, attempts FROM composition"


async def until_shown_twice(talk: Talk) -> None:
    async def is_shown() -> bool:
        return await talk.stage.rows(_STATE) == [("shown", 2)]

    await until(is_shown)


@pytest.fixture
def model() -> JudgeAndWriter:
    return JudgeAndWriter(scoring(judged_by_words))


@pytest.fixture
def talk(talk: Talk, model: JudgeAndWriter) -> Talk:
    """The same, whose model writes too."""
    talk.stage.model.script = [model]
    return talk


@pytest.fixture
async def adapter(talk: Talk) -> AsyncIterator[Talk]:
    """The same with a bot that listens."""
    async with talk.serving():
        yield talk


@pytest.mark.each_platform
async def test_the_announcement_is_edited_into_the_tweet(adapter: Talk) -> None:
    _, shown = await adapter.composes("/compose coffee prices")
    assert "[1]" in shown.text
    assert "of 280 characters" in shown.text
    assert list(shown.buttons) == ["Next variant", "Thread", "Sources", "Why?"]
    assert "\u2060" not in shown.text


@pytest.mark.each_platform
async def test_buttons_of_a_composed_tweet_work(adapter: Talk) -> None:
    await adapter.composes("/tweet coffee prices")
    assert "Variant 2 of 3" in (await adapter.presses("Next variant")).text
    sources = (await adapter.presses("Sources")).text
    assert re.search(r"\[1\] @\W?ana · ", sources)  # Telegram would link a bare name
    assert "demo" in sources
    assert (
        "A model compared each sentence with what it cites." in (await adapter.presses("Why?")).text
    )


async def test_a_thread_is_written_on_request(adapter: Talk) -> None:
    await adapter.composes("/compose coffee prices")
    _, shown = await adapter.composes(button="Thread")
    assert "Sources:" in shown.text
    assert "Thread" not in shown.buttons


async def test_an_answered_headline_is_written_about(adapter: Talk, model: JudgeAndWriter) -> None:
    answer = await adapter.says(HEADLINE)
    assert answer.buttons[-3:] == ["More", "Why?", "Share"]
    assert (await adapter.presses("Share")).buttons == ["Picture", "Write about it", "Back"]
    _, shown = await adapter.composes(button="Write about it")
    assert "[1]" in shown.text
    given = model.writer.asked["evidence"][0].prompt
    assert "They raise the prices of coffee again." in given


@pytest.mark.each_platform
async def test_the_stop_button_ends_composing(adapter: Talk, model: JudgeAndWriter) -> None:
    if isinstance(adapter, ConsoleTalk):
        pytest.skip("ConsoleTalk: Ctrl-C stops it there")
    model.waits = asyncio.Event()
    announced = await adapter.commands("/compose coffee prices")
    assert list(announced.buttons) == ["Stop"]
    await until(lambda: adapter.stage.model.calls >= 2)
    adapter.lets_pass()
    _, shown = await adapter.composes(button="Stop")
    assert shown.text == "Stopped."
    assert not shown.buttons
    model.waits.set()
    assert await adapter.stage.rows("SELECT state FROM composition") == [("stopped",)]


@pytest.mark.each_platform
async def test_a_restart_in_the_middle_posts_nothing_twice(
    talk: Talk, model: JudgeAndWriter
) -> None:
    if isinstance(talk, ConsoleTalk):
        pytest.skip("ConsoleTalk: what it asks for ends with the process")
    model.waits = asyncio.Event()
    async with talk.serving():
        await talk.commands("/compose coffee prices")
        await until(lambda: talk.stage.model.calls >= 2)
        talk.lets_pass()
    assert await talk.stage.rows("SELECT state FROM composition") == [("waiting",)]
    model.waits.set()
    async with talk.serving():
        shown = await talk.composed_meanwhile()
        assert "[1]" in shown.text
        await until_shown_twice(talk)
