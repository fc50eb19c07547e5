"""Settings for reading pages, feeds and files, and for searching the web."""

import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from engine.settings import UNLIMITED, HttpUrl, Section

Provider = Literal["exa", "serper", "brave", "tavily", "searxng"]
_PROVIDERS = frozenset({"exa", "serper", "brave", "tavily", "searxng"})


def _network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError as exc:
        raise ValueError('must be a network like "10.1.0.0/16"') from exc
    return text


def _header_text(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("must be printable ASCII")
    return text


def _price(entry: str) -> str:
    name, amount = named_price(entry)
    if name not in _PROVIDERS or not re.fullmatch(r"\d+|\d*\.\d+", amount):
        raise ValueError('must be a provider and US dollars, such as "brave = 0.005"')
    return entry


def named_price(entry: str) -> tuple[str, str]:
    """Return the name and the amount in "brave = 0.005"."""
    name, _, amount = (part.strip() for part in entry.partition("="))
    return name, amount


Price = Annotated[str, AfterValidator(_price)]
Network = Annotated[str, AfterValidator(_network)]
HeaderText = Annotated[str, AfterValidator(_header_text)]


class FetchSettings(Section):
    """How pages and feeds are fetched. Only the public web can be reached."""

    allow_networks: tuple[Network, ...] = Field(
        (),
        description='Other networks that may be fetched from, such as "10.1.0.0/16". Everybody'
        " who may paste a link can then read what is there.",
    )
    user_agent_contact: HeaderText = Field(
        "",
        description="Address of a page or mailbox that servers are told, for questions about"
        " this bot.",
    )


class IngestSettings(Section):
    """Limits for one file of an ingest, and for all files of a command. A file over a limit is
    reported, and the others are stored. On macOS only processor time is limited, on Windows
    neither."""

    seconds: float = Field(
        10.0, gt=0, le=86_400, description="Seconds of processor time for a file of any size."
    )
    seconds_per_megabyte: float = Field(
        5.0,
        ge=0,
        le=3_600,
        description="What each megabyte adds to them; ordinary files take a tenth of a second.",
    )
    memory_mb: int = Field(
        2_000,
        ge=300,
        le=1_000_000,
        description="Megabytes of memory of the process that reads files. Counted on Linux alone.",
    )
    total_minutes: float = Field(
        15.0,
        gt=0,
        le=100_000,
        description="Minutes of processor time that reading all files of a command may take."
        " Then it stops; the same command goes on with what is not stored yet.",
    )
    total_seconds_per_megabyte: float = Field(
        1.0, ge=0, le=3_600, description="What each megabyte that was read adds to them."
    )
    total_megabytes: int = Field(
        20_000,
        gt=0,
        description="Megabytes, unpacked, that all files of a command may bring that are not"
        " stored yet. Then it stops likewise.",
    )


class WebSearchSettings(Section):
    """Searching the web for what no corpus holds. Keys are EXA_API_KEY, SERPER_API_KEY,
    BRAVE_API_KEY and TAVILY_API_KEY."""

    providers: tuple[Provider, ...] = Field(
        (),
        description="Who is asked, in this order, until one answers: exa, serper, brave, tavily,"
        " searxng. Empty searches no web.",
    )
    searxng_url: Literal[""] | HttpUrl = Field(
        "",
        description="searxng: address of your own instance, whose settings must allow the format"
        " json.",
    )
    prices: tuple[Price, ...] = Field(
        ("brave = 0.005", "exa = 0.007", "serper = 0.001", "tavily = 0.008", "searxng = 0"),
        description="What a search costs in US dollars where the provider does not say; it counts"
        " towards llm.daily_usd. Compare with your plan.",
    )
    timeout: float = Field(
        3, gt=0, le=60, description="Seconds to wait for a provider before the next one is asked."
    )
    pages: int = Field(10, ge=1, le=50, description="Pages that are read for one request at most.")

    @property
    def usd(self) -> Mapping[str, float]:
        """The price of a search by provider."""
        return {name: float(amount) for name, amount in map(named_price, self.prices)}


class PollingSettings(Section):
    """How feeds are read."""

    interval_minutes: float = Field(
        30, gt=0, le=1440, description="Minutes between two polls of one feed, at the least."
    )
    at_once: int = Field(100, ge=1, le=200, description="Feeds that are fetched at the same time.")
    feeds_per_chat: int = Field(
        50, ge=UNLIMITED, description="Feeds that one chat may add; -1 = no limit."
    )
    keep_days: int = Field(
        30, ge=2, description="Days for which the items of feeds stay in the corpus news."
    )

    @property
    def interval(self) -> float:
        """The seconds between two polls of one feed, at the least."""
        return self.interval_minutes * 60
