"""Settings for reading pages, feeds and files."""

from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field

from engine.settings.section import UNLIMITED, Section


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
    """Limits for one file of an ingest. A file over a limit is reported, and the others are
    stored. On macOS only processor time is limited, on Windows neither."""

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


class PollingSettings(Section):
    """How feeds are read."""

    interval_minutes: float = Field(
        30, gt=0, le=1440, description="Minutes between two polls of one feed, at the least."
    )
    at_once: int = Field(100, ge=1, le=200, description="Feeds that are fetched at the same time.")
    per_host: int = Field(2, ge=1, le=10, description="Of these, feeds of the same host.")
    total_timeout: float = Field(30, gt=0, le=300, description="Seconds for fetching one feed.")
    max_megabytes: int = Field(10, ge=1, le=100, description="Size of a feed, unpacked.")
    tell_failing_hours: float = Field(
        24, gt=0, description="Hours after which the followers of a failing feed are told."
    )
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

    @property
    def tell_after(self) -> float:
        """The seconds after which the followers of a failing feed are told."""
        return self.tell_failing_hours * 3600
