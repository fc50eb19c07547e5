"""Articles are extracted in processes that may hang and die."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from engine.errors import PageUnreadable, PresagioError
from engine.page.article import ARTICLE_LIMITS, Article, ArticleReader, read_article
from tests.fakes.articles import REPORT

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
URL = "https://harbour.example/report"
# Five megabytes take trafilatura 25 seconds, the megabyte that is read of them a few.
PARAGRAPHS = b"<html><body>" + b"<p>" * 1_600_000


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if _is_worker(child)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "engine.page" in " ".join(process.cmdline())
    except psutil.Error:  # it is ending
        return False


@pytest.fixture
async def reader() -> AsyncIterator[ArticleReader]:
    async with ArticleReader(replace(ARTICLE_LIMITS, seconds=0.7), workers=1) as reader:
        yield reader


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert workers() == []


async def read(reader: ArticleReader, html: bytes = REPORT.encode()) -> Article | None:
    return await reader.read(html, charset="utf-8", url=URL, now=NOW)


async def test_the_process_returns_the_extraction_and_survives_bad_pages(
    reader: ArticleReader,
) -> None:
    assert await read(reader) == read_article(REPORT.encode(), charset="utf-8", url=URL, now=NOW)
    assert await read(reader, b"<html></html>") is None
    (process,) = workers()
    process.kill()  # as a system short of memory does
    assert await read(reader) is not None
    assert workers() != [process]


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of processor time")
async def test_a_hostile_page_is_stopped_and_the_next_is_read(reader: ArticleReader) -> None:
    await read(reader)
    started = time.process_time()
    with pytest.raises(PageUnreadable, match="too long"):
        await read(reader, PARAGRAPHS)
    assert time.process_time() - started < 1  # of this process
    assert await read(reader) is not None


async def test_a_page_nested_too_deeply_harms_no_other(reader: ArticleReader) -> None:
    with suppress(PageUnreadable):
        await read(reader, b"<div>" * 180_000 + b"text" * 100)
    assert await read(reader) is not None


async def test_cancelling_ends_the_process_and_mixes_up_no_answers(reader: ArticleReader) -> None:
    task = asyncio.create_task(read(reader, PARAGRAPHS))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    found = await read(reader)
    assert found is not None
    assert found.title == "Harbour traffic in 2024"


async def test_a_process_that_cannot_start_is_not_the_pages_fault(
    reader: ArticleReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(PresagioError, match="cannot be started") as caught:
        await read(reader)
    assert not isinstance(caught.value, PageUnreadable)
