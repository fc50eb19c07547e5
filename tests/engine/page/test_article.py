"""Articles come out of pages whole, and without what surrounds them."""

import json
import re
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from engine.errors import ExtraMissing, PageUnreadable
from engine.extras import how_to_install
from engine.page.article import ARTICLE_LIMITS, Article, ArticleBlock, ArticleReader, read_article
from tests.fakes.articles import REPORT

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def read(markup: str | bytes, **more: Any) -> Article:
    found = read_article(markup.encode() if isinstance(markup, str) else markup, now=NOW, **more)
    assert found is not None
    return found


def test_a_report_with_headings_list_and_table_is_extracted() -> None:
    found = read(REPORT, url="https://harbour.example/report")
    assert (found.title, found.author, found.site, found.language) == (
        "Harbour traffic in 2024",
        "Ana Ruiz",
        "The Harbour Gazette",
        "en",
    )
    assert found.date == datetime(2025, 2, 3, 8, 0, tzinfo=UTC)
    headings = {block.text.splitlines()[0]: block.headings for block in found.blocks}
    assert headings[
        "Traffic grew by 12 percent to 4,310 ships, the port authority said on Monday."
    ] == ("Harbour traffic in 2024",)
    assert headings[
        "Most of the ships carried grain, and one in five of them came from the north."
    ] == (
        "Harbour traffic in 2024",
        "What they carried",
    )
    assert (
        ArticleBlock(
            "Year | Ships\n2023 | 3,848\n2024 | 4,310",
            ("Harbour traffic in 2024", "What they carried"),
        )
        in found.blocks
    )
    assert any(block.text == "grain\ntimber" for block in found.blocks)
    assert found.text.count("What they carried") == 1
    for noise in ("Subscribe now", "Read more", "ghost", "first comment"):
        assert noise not in found.text


@pytest.mark.parametrize("charset", [None, "iso-8859-1"])
def test_the_encoding_is_the_one_of_the_page_or_the_declared_one(charset: str | None) -> None:
    sentence = "El año pasado pasó más de un millón de personas por aquí, según el informe anual."
    markup = f"<html><body><article>{f'<p>{sentence}</p>' * 8}</article></body></html>"
    body = markup.encode("iso-8859-1" if charset else "utf-8")
    assert sentence in read(body, charset=charset).text


@pytest.mark.parametrize(
    "markup",
    ["", "   ", "<html></html>", "<html><body><nav><a href=/>Home</a></nav></body></html>"],
)
def test_a_page_without_an_article_gives_none(markup: str) -> None:
    assert read_article(markup.encode(), now=NOW) is None


def test_missing_libraries_are_reported_with_the_install_command() -> None:
    with (
        patch.dict("sys.modules", {"trafilatura.core": None}),
        pytest.raises(ExtraMissing, match=re.escape(how_to_install("documents"))),
    ):
        read_article(REPORT.encode(), now=NOW)


@pytest.mark.slow
def test_real_articles_come_out_whole_and_alone(shared_data: Path) -> None:
    folder = shared_data / "documents" / "html"
    truth = json.loads((folder / "truth.json").read_text())
    found = lost = noise = 0
    for name, one in truth.items():
        body = (folder / name).read_bytes()
        text = " ".join(read(body, url=one["url"]).text.split())
        kept = [" ".join(part.split()) in text for part in one["with"]]
        found, lost = found + sum(kept), lost + len(kept) - sum(kept)
        noise += sum(" ".join(part.split()) in text for part in one["without"])
    assert found / (found + lost) > 0.97
    assert found / (found + noise) > 0.92


@pytest.mark.parametrize(
    ("head", "date", "expected"),
    [
        ('<meta property="article:modified_time" content="2014-05-04">', "2014-05-04", "modified"),
        (
            '<meta property="article:published_time" content="2001-05-04">'
            '<meta property="article:modified_time" content="2014-05-04">',
            "2001-05-04",
            None,
        ),
        ("", "None", None),
    ],
)
def test_a_date_other_than_publication_is_labelled_by_its_kind(
    head: str, date: str, expected: str | None
) -> None:
    sentence = "The harbour was dredged again, as everybody in the town had long foretold."
    body = f"<body><article>{f'<p>{sentence}</p>' * 6}</article></body>"
    found = read(f"<html><head>{head}</head>{body}</html>")
    assert (str(found.date)[:10], found.dated_by) == (date, expected)


# Articles are extracted in processes that may hang and die
REPORT_URL = "https://harbour.example/report"
# Five megabytes take trafilatura 25 seconds, the megabyte that is read_isolated of them a few.
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


async def read_isolated(reader: ArticleReader, html: bytes = REPORT.encode()) -> Article | None:
    return await reader.read(html, charset="utf-8", url=REPORT_URL, now=NOW)


async def test_the_process_returns_articles_and_survives_bad_pages(reader: ArticleReader) -> None:
    assert await read_isolated(reader) == read_article(
        REPORT.encode(), charset="utf-8", url=REPORT_URL, now=NOW
    )
    assert await read_isolated(reader, b"<html></html>") is None
    (process,) = workers()
    process.kill()  # as a system short of memory does
    assert await read_isolated(reader) is not None
    assert workers() != [process]


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of processor time")
async def test_a_hostile_page_is_stopped_and_the_next_is_read(reader: ArticleReader) -> None:
    await read_isolated(reader)
    started = time.process_time()
    with pytest.raises(PageUnreadable, match="too long"):
        await read_isolated(reader, PARAGRAPHS)
    assert time.process_time() - started < 1  # of this process
    assert await read_isolated(reader) is not None


async def test_a_page_nested_too_deeply_harms_no_other(reader: ArticleReader) -> None:
    with suppress(PageUnreadable):
        await read_isolated(reader, b"<div>" * 180_000 + b"text" * 100)
    assert await read_isolated(reader) is not None
