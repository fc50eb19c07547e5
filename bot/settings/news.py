"""Settings of feeds and scheduled posts."""

from pydantic import Field

from engine.settings.section import UNLIMITED, HttpUrl, Section


class FeedSettings(Section):
    """A feed that everybody who subscribed gets. Chats may add their own."""

    url: HttpUrl = Field(description="Address of an RSS, Atom or JSON feed.")
    category: str = Field("", description="Any word, such as news, tech or podcasts.")


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


class PostingSettings(Section):
    """What is posted without being asked for. Each chat chooses the rest with /subscribe."""

    minimum_age_days: int = Field(
        30, ge=0, le=36_500, description="Only tweets so many days older than the news count."
    )
    repeat_after_days: int = Field(
        180, ge=0, le=36_500, description="Days for which a chat is not told of the same tweet."
    )
    grace_hours: float = Field(
        6, ge=0, le=23, description="Hours by which a daily post may be late after a standstill."
    )
    promising: float = Field(
        0.33,
        ge=0,
        le=1,
        description="Share of a headline that a tweet must cover where no model judged the story.",
    )
