"""What can be set: one frozen model a section, a default and a description for every key."""

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from bot.settings.database import DatabaseSettings
from bot.settings.faces import ChatSettings, SlackSettings, TelegramSettings
from bot.settings.models import EmbeddingSettings, GlossarySettings, LlmSettings
from bot.settings.news import FeedSettings, PollingSettings, PostingSettings
from bot.settings.searching import (
    AnswerSettings,
    LogSettings,
    PersonalSettings,
    PublishedSettings,
    ScoreSettings,
    SearchSettings,
    SocialSettings,
)
from bot.settings.section import Section
from bot.settings.web import WebSettings


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
    """What one file of an ingest may take. A file that takes more is reported, and the others go
    in."""

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


class LoggingSettings(Section):
    """What the program tells about itself on stderr."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="The least important messages that are written."
    )
    format: Literal["text", "json"] = Field("text", description="One line of text, or JSON.")


class Sections(Section):
    """The whole of config.toml."""

    database: DatabaseSettings = DatabaseSettings()
    search: SearchSettings = SearchSettings()
    score: ScoreSettings = ScoreSettings()
    personal: PersonalSettings = PersonalSettings()
    social: SocialSettings = SocialSettings()
    published: PublishedSettings = PublishedSettings()
    llm: LlmSettings = LlmSettings()
    embeddings: EmbeddingSettings = EmbeddingSettings()
    glossary: GlossarySettings = GlossarySettings()
    answer: AnswerSettings = AnswerSettings()
    log: LogSettings = LogSettings()
    ingest: IngestSettings = IngestSettings()
    fetch: FetchSettings = FetchSettings()
    feeds: tuple[FeedSettings, ...] = ()
    polling: PollingSettings = PollingSettings()
    posting: PostingSettings = PostingSettings()
    chat: ChatSettings = ChatSettings()
    telegram: TelegramSettings = TelegramSettings()
    slack: SlackSettings = SlackSettings()
    web: WebSettings = WebSettings()
    logging: LoggingSettings = LoggingSettings()


class Secrets(Section):
    """Keys and tokens. Each is the environment variable of the same name in capitals."""

    openrouter_api_key: SecretStr | None = None
    embeddings_api_key: SecretStr | None = None
    telegram_bot_token: SecretStr | None = None
    telegram_webhook_secret: SecretStr | None = None
    slack_bot_token: SecretStr | None = None
    slack_app_token: SecretStr | None = None
    slack_signing_secret: SecretStr | None = None
    web_api_keys: SecretStr | None = None
    web_admin_keys: SecretStr | None = None


class Settings(Sections):
    """Everything that can be set, from all sources."""

    secrets: Secrets
    data_dir: Path  # absolute; the embedded server and the caches live here
    config_file: Path | None  # the file that was read
