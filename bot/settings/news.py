"""Settings of feeds and scheduled posts."""

from pydantic import Field

from engine.settings.reading import Network
from engine.settings.section import HttpUrl, Section


class FeedSettings(Section):
    """A feed that everybody who subscribed gets. Chats may add their own."""

    url: HttpUrl = Field(description="Address of an RSS, Atom or JSON feed.")
    category: str = Field("", description="Any word, such as news, tech or podcasts.")


class WebhookSettings(Section):
    """A program that is told of each prophecy found. Its secret is named in WEBHOOK_SECRETS."""

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$",
        description="Name of the webhook, in a-z, 0-9, _ and -; unique and kept.",
    )
    url: HttpUrl = Field(description="Address that events are posted to.")
    corpus: str = Field(
        "",
        description="Corpus whose prophecies are sent; empty for the usual one. One of kind"
        ' personal needs "webhook:NAME" in chat.private.',
    )
    threshold: int = Field(5, ge=0, le=6, description="Judgment that a prophecy must reach.")
    unjudged: bool = Field(
        False,
        description="Whether prophecies that no model judged are sent as well, if they cover most"
        " of the headline.",
    )
    allow_networks: tuple[Network, ...] = Field(
        (),
        description="Networks besides the public web that the address may be in, such as"
        ' "10.1.0.0/16".',
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
