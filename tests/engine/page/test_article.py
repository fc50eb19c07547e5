"""Articles come out of pages whole, and without what surrounds them."""

import json
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ExtraMissing, FetchStatus, FetchTimeout, FetchUntitled, PageUnreadable
from engine.extras import how_to_install
from engine.fetch import FetchLimits
from engine.fetch.client import Fetcher
from engine.page import article
from engine.page.article import (
    ARTICLE_LIMITS,
    Article,
    ArticleBlock,
    ArticleReader,
    first_link,
    headline_from_link,
    read_article,
)
from engine.page.metadata import Page
from engine.process_pool import ProcessPool
from tests.engine.conftest import workers
from tests.fakes.articles import ARGENTINE, BRITISH, REPORT
from tests.fakes.web import WebServer, dripping, gzipped, packed, page, redirect, reply
from tests.isolation import InThisProcess

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
    ] == ("Harbour traffic in 2024", "What they carried")
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


@pytest.fixture
async def reader() -> AsyncIterator[ArticleReader]:
    async with ArticleReader(replace(ARTICLE_LIMITS, seconds=0.7), workers=1) as reader:
        yield reader


async def read_isolated(reader: ArticleReader, html: bytes = REPORT.encode()) -> Article | None:
    return await reader.read(html, charset="utf-8", url=REPORT_URL, now=NOW)


@pytest.mark.usefixtures("no_process_is_left")
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
@pytest.mark.usefixtures("no_process_is_left")
async def test_a_hostile_page_is_stopped_and_the_next_is_read(reader: ArticleReader) -> None:
    await read_isolated(reader)
    started = time.process_time()
    with pytest.raises(PageUnreadable, match="too long"):
        await read_isolated(reader, PARAGRAPHS)
    assert time.process_time() - started < 1  # of this process
    assert await read_isolated(reader) is not None


# A link in a message is found, and its page becomes a headline
HERE = InThisProcess()


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("https://news.example/a", "https://news.example/a"),
        ("look: http://news.example/a?b=c&d=e#f now", "http://news.example/a?b=c&d=e#f"),
        ("www.news.example/a", "https://www.news.example/a"),
        ("first http://a.example then http://b.example", "http://a.example"),
        ("http://nación.example/ñ", "http://nación.example/ñ"),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
        ("http://[::1]/a", "http://[::1]/a"),
        ("really http://a.example/b?!…", "http://a.example/b"),
        ("“http://a.example/b”, he said", "http://a.example/b"),
        ("(see http://a.example/b)", "http://a.example/b"),
        ("(see http://a.example/b_(c)).", "http://a.example/b_(c)"),
        ("[label](http://a.example/b)", "http://a.example/b"),
        ('<a href="http://a.example/b">', "http://a.example/b"),
        ("http:// and https://... then http://a.example", "http://a.example"),
        ("http://a.example/b\0c", "http://a.example/b"),
        ("", None),
        ("no link here, e.g. news.example", None),
        ("file:///etc/passwd ftp://a.example javascript:alert(1)", None),
        ("xhttp://a.example awww.b.example me@www.c.example", None),
    ],
)
def test_the_first_link_of_a_message_is_found(text: str, link: str | None) -> None:
    assert first_link(text) == link


@given(st.text(), st.sampled_from(["https://a.example/b(c)d", "http://a.example"]), st.text())
def test_a_link_between_blanks_is_found_in_any_text(before: str, link: str, after: str) -> None:
    if first_link(before) is None:
        assert first_link(f"{before} {link} {after}") == link


async def test_an_article_behind_redirects_is_decoded(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/short"] = redirect("/nota", 301)
    web.pages["/nota"] = page(ARGENTINE.encode("cp1252"), "text/html; charset=ISO-8859-1")
    headline = await headline_from_link(fetcher, HERE, web.url("/short"), now=NOW)
    assert headline.text == 'Murió el "padre" del semáforo: tenía 98 años'
    assert headline.original == web.url("/short")
    assert headline.date == datetime(2016, 3, 14, 21, 5, tzinfo=UTC)


async def test_a_link_to_the_first_page_has_no_headline(fetcher: Fetcher, web: WebServer) -> None:
    web.pages["/"] = page("<title>The Lighthouse: news of the coast today</title>")
    web.pages["/ships-wait-off-the-coast"] = redirect("/", 302)
    with pytest.raises(FetchUntitled, match="ships wait off the coast"):
        await headline_from_link(fetcher, HERE, web.url("/ships-wait-off-the-coast"), now=NOW)


@pytest.mark.parametrize("title", ["Log in", "Suscríbete para leer", "404 - Page not found"])
async def test_a_login_or_robot_check_page_is_not_taken_for_the_article(
    web: WebServer, fetcher: Fetcher, title: str
) -> None:
    web.pages["/"] = page(f"<title>{title}</title>")
    with pytest.raises(FetchUntitled, match="does not show the article to me"):
        await headline_from_link(fetcher, HERE, web.url(), now=NOW)


@pytest.mark.parametrize("packing", ["", "gzip"])
async def test_of_a_page_over_two_megabytes_the_beginning_is_read(
    packing: str, web: WebServer, fetcher: Fetcher
) -> None:
    body = "<title>It is long, señor</title>".encode() + "ñ".encode() * 2_000_000
    web.pages["/"] = packed(gzipped(body)) if packing else page(body)
    headline = await headline_from_link(fetcher, HERE, web.url(), now=NOW)
    assert headline.text == "It is long, señor"


@pytest.mark.parametrize("title", ["", "http://127.0.0.1/a", "Redirecting you to the article"])
@pytest.mark.parametrize("around", ["{}", "<noscript>{}</noscript>"])
async def test_a_page_that_leads_on_by_itself_is_followed(
    title: str, around: str, web: WebServer, fetcher: Fetcher
) -> None:
    refresh = '<META http-equiv="refresh" content="0; URL=&#39;/a?x=1&amp;y=2&#39;">'
    web.pages["/"] = page(around.format(refresh) + f"<title>{title}</title>")
    web.pages["/a?x=1&y=2"] = page("<title>The bridge will fall</title>")
    headline = await headline_from_link(fetcher, HERE, web.url(), now=NOW)
    assert headline.text == "The bridge will fall"
    assert headline.original == web.url()


async def test_pages_that_lead_on_to_each_other_are_left_and_a_headline_stays(
    web: WebServer, fetcher: Fetcher
) -> None:
    web.pages["/"] = page('<meta http-equiv=refresh content="1;url=/">')
    with pytest.raises(FetchUntitled):
        await headline_from_link(fetcher, HERE, web.url(), now=NOW)
    assert len(web.asked) == 3
    reloading = '<meta http-equiv=refresh content="60;url=/b"><title>The bridge will fall</title>'
    web.pages["/live"] = page(reloading)
    assert (await headline_from_link(fetcher, HERE, web.url("/live"), now=NOW)).text


async def test_the_words_of_an_address_are_proposed(web: WebServer, fetcher: Fetcher) -> None:
    path = "/2026/11/28/dow-falls-500-points-tariffs-1234567.html"
    web.pages[path] = page("<title>Just a moment...</title>")
    proposal = (
        'Paste the headline instead. By its address it may be: "dow falls 500 points tariffs".'
    )
    with pytest.raises(FetchUntitled) as wall:
        await headline_from_link(fetcher, HERE, web.url(path), now=NOW)
    assert wall.value.fix == proposal
    web.pages[path] = reply(403, b"")
    with pytest.raises(FetchStatus) as forbidden:
        await headline_from_link(fetcher, HERE, web.url(path), now=NOW)
    assert forbidden.value.fix == proposal


async def test_the_time_for_fetching_and_reading_is_limited(
    web: WebServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert article.PAGE_LIMITS.seconds == 10
    monkeypatch.setattr(article, "PAGE_LIMITS", FetchLimits(seconds=0.2, bytes=1000))
    web.pages["/slow"] = dripping(0.01)
    with pytest.raises(FetchTimeout, match=r"0\.2 s"):
        await headline_from_link(fetcher, HERE, web.url("/slow"), now=NOW)

    web.pages["/fast"] = page("<title>It happened</title>")
    async with ProcessPool() as isolation:  # the process takes longer to start
        monkeypatch.setattr(article, "PAGE_LIMITS", FetchLimits(seconds=0.02, bytes=1000))
        with pytest.raises(FetchTimeout, match=r"0\.02 s"):
            await headline_from_link(fetcher, isolation, web.url("/fast"), now=NOW)


async def test_a_crash_while_reading_a_page_is_isolated(
    web: WebServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.pages["/a"] = page(BRITISH)
    async with ProcessPool() as isolation:
        assert (
            "tunnel" in (await headline_from_link(fetcher, isolation, web.url("/a"), now=NOW)).text
        )
        monkeypatch.setattr(article, "read_page", die)
        with pytest.raises(PageUnreadable, match="broke down"):
            await headline_from_link(fetcher, isolation, web.url("/a"), now=NOW)
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(PageUnreadable, match="cannot be started"):
            await headline_from_link(fetcher, isolation, web.url("/a"), now=NOW)


def die(body: bytes, content_type: str | None, *, now: datetime) -> Page:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError("it lives")
