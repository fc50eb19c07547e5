"""Settings of chats and chat platforms."""

from typing import Literal

from pydantic import Field

from engine.settings.section import UNLIMITED, HttpUrl, Rate, Section


class ChatSettings(Section):
    """Who may ask the bot, and how often. Chats and people are named "platform:id"."""

    access: Literal["owner", "open"] = Field(
        "owner",
        description="Who is answered: owner means whoever has used the code that presagio serve"
        " shows, and whom that person lets in; open means everybody, unless allow names some.",
    )
    allow: tuple[str, ...] = Field(
        (),
        description="Chats that are answered without asking the owner; where access is open, the"
        " only ones. A person's covers what that person asks inline.",
    )
    block: tuple[str, ...] = Field(
        (), description="Chats that are never answered, and people who are not inline."
    )
    admins: tuple[str, ...] = Field(
        (),
        description='People who may change what every chat is told, such as "telegram:42", and'
        " steer each chat.",
    )
    private: tuple[str, ...] = Field(
        (),
        description="Chats that may also search corpora of kind personal: whoever is in such a"
        " chat can read what is there.",
    )
    user_daily: int = Field(
        100,
        ge=UNLIMITED,
        description="Searches and questions of one person a day (UTC); -1 = no limit.",
    )
    chat_daily: int = Field(
        500,
        ge=UNLIMITED,
        description="Searches and questions in one chat a day (UTC); -1 = no limit.",
    )
    buttons_per_minute: Rate = Field(
        60, description="Buttons that one person may press a minute; -1 = no limit."
    )
    unjudged_coverage: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of a headline that an unjudged tweet must cover to be said unasked.",
    )


class PictureSettings(Section):
    """Share pictures: what is written at their foot."""

    name: str = Field("Presagio", description="Name of the bot; empty leaves it out.")
    link: str = Field(
        "", description="Where to find the bot, such as t.me/presagio_bot; empty leaves it out."
    )

    @property
    def footer(self) -> str:
        """The line at the foot of a picture."""
        return " · ".join(part.strip() for part in (self.name, self.link) if part.strip())


class TelegramSettings(Section):
    """The Telegram adapter. Its token is TELEGRAM_BOT_TOKEN."""

    api_base: HttpUrl = Field(
        "https://api.telegram.org", description="Address of the Bot API server."
    )
    webhook_url: str = Field(
        "",
        description="Public address that Telegram pushes updates to; empty polls for them. Its path"
        " is served at web.port.",
    )


class SlackSettings(Section):
    """The Slack adapter. Its tokens are SLACK_BOT_TOKEN and, for Socket Mode, SLACK_APP_TOKEN.
    Without the latter, events come to /slack/events at web.port."""

    api_base: HttpUrl = Field("https://slack.com/api/", description="Address of the Web API.")
