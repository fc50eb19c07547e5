"""A headline, a link, or both: what is asked, and whether a page is fetched for it."""

import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

import pytest

from bot.app import App
from bot.commands import pasted
from bot.i18n.words import words_for
from engine.errors import FetchFailed, FetchRefused, FetchStatus
from engine.fetch.client import Fetcher
from engine.search import Headline
from engine.settings.fetching import FetchSettings
from tests.fakes.web import WebServer, page
from tests.isolation import InThisProcess

NOW = datetime(2024, 6, 1, tzinfo=UTC)
PAGE = page(
    "<meta property='og:title' content='Coffee prices soar'>"
    "<meta property='article:published_time' content='2024-05-01T10:00:00Z'>"
)


@dataclass(frozen=True)
class Fetching:
    """The part of an App that reads pages."""

    opened: Fetcher
    isolation: InThisProcess = field(default_factory=InThisProcess)

    def fetcher(self) -> Fetcher:
        return self.opened


async def read_pasted(fetcher: Fetcher, text: str, *, now: datetime) -> Headline:
    return await pasted.read_pasted(cast("App", Fetching(fetcher)), text, now=now)


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with WebServer() as server:
        server.pages["/a"] = PAGE
        yield server


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    settings = FetchSettings(allow_networks=("127.0.0.0/8",))
    async with Fetcher(settings) as ready:
        yield ready


@pytest.mark.parametrize(
    "around", ["{}", "  {}\n", "look: {}", "look at this! {} lol", "mirá esto {}", "<{}>", "({})."]
)
async def test_a_link_almost_alone_is_fetched(
    web: WebServer, fetcher: Fetcher, around: str
) -> None:
    headline = await read_pasted(fetcher, around.format(web.url("/a")), now=NOW)
    assert headline.text == "Coffee prices soar"
    assert headline.date == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert web.asked == ["/a"]


@pytest.mark.parametrize(
    "text", ["Tea prices soar", "Tea prices soar {}", "{} Tea prices soar", "Tea {} prices soar"]
)
async def test_headline_beside_a_link_takes_only_the_date_of_the_page(
    web: WebServer, fetcher: Fetcher, text: str
) -> None:
    headline = await read_pasted(fetcher, text.format(web.url("/a")), now=NOW)
    assert headline.text == "Tea prices soar"
    linked = "{}" in text
    assert headline.date == (datetime(2024, 5, 1, 10, tzinfo=UTC) if linked else None)
    assert web.asked == (["/a"] if linked else [])


async def test_headline_beside_an_unreadable_link_is_used(web: WebServer, fetcher: Fetcher) -> None:
    headline = await read_pasted(fetcher, f"Tea prices soar {web.url('/gone')}", now=NOW)
    assert (headline.text, headline.date) == ("Tea prices soar", None)


@pytest.mark.parametrize("text", ["Coffee", "", "😀", "http://"])
async def test_few_words_without_a_link_are_a_headline_too(fetcher: Fetcher, text: str) -> None:
    assert (await read_pasted(fetcher, text, now=NOW)).original == text


async def test_missing_page_without_a_headline_raises_fetch_status(
    web: WebServer, fetcher: Fetcher
) -> None:
    with pytest.raises(FetchStatus):
        await read_pasted(fetcher, f"look lol {web.url('/gone')}", now=NOW)


async def test_a_page_that_cannot_be_opened_is_said_in_plain_words(fetcher: Fetcher) -> None:
    with socket.socket() as deaf:  # bound but not listening
        deaf.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/a"
        with pytest.raises(FetchFailed) as failed:
            await read_pasted(fetcher, address, now=NOW)
    said = words_for("es").render(failed.value.full_message)
    assert said == "No pude abrir 127.0.0.1. Mejor pegar el titular."


async def test_words_beside_a_link_that_cannot_be_opened_are_used(
    web: WebServer, fetcher: Fetcher
) -> None:
    read = await read_pasted(fetcher, f"lol Musk fined {web.url('/gone')}", now=NOW)
    assert read.text == "lol Musk fined"


async def test_a_private_address_is_refused() -> None:
    async with Fetcher(FetchSettings()) as fetcher:
        with pytest.raises(FetchRefused):
            await read_pasted(fetcher, "http://127.0.0.1:1/a", now=NOW)
