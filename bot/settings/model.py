"""The settings models: one per section, with a default and a description for every key."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from bot.settings.database import DatabaseSettings
from bot.settings.faces import ChatSettings, PictureSettings, SlackSettings, TelegramSettings
from bot.settings.news import FeedSettings, PostingSettings, WebhookSettings
from bot.settings.web import WebSettings
from engine.budget import Budget, BudgetSource
from engine.llm.endpoint import Endpoint, chat_endpoint
from engine.settings.composing import ComposeSettings
from engine.settings.finding import (
    FindSettings,
    PersonalSettings,
    PublishedSettings,
    SocialSettings,
)
from engine.settings.models import (
    EmbeddingSettings,
    GlossarySettings,
    LlmSettings,
    RerankSettings,
)
from engine.settings.reading import (
    FetchSettings,
    IngestSettings,
    PollingSettings,
    WebSearchSettings,
)
from engine.settings.searching import (
    AnswerSettings,
    ProphecySettings,
    ScoreSettings,
    SearchSettings,
)
from engine.settings.section import Section

_VISITORS = frozenset({BudgetSource.WEB})


class LogSettings(Section):
    """What is remembered of searches; presagio log shows it."""

    keep_days: int = Field(
        30, ge=0, le=36_500, description="Days for which searches are remembered; 0 for none."
    )
    chat_queries: bool = Field(
        False,
        description="Whether the words of /find are remembered too. Of headlines and other messages"
        " of a chat only a hash is, in any case.",
    )


class LoggingSettings(Section):
    """What the program tells about itself on stderr."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        "warning",
        description="The least important messages that are written; info has a line for each event,"
        " as presagio -v does.",
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
    compose: ComposeSettings = ComposeSettings()
    log: LogSettings = LogSettings()
    ingest: IngestSettings = IngestSettings()
    fetch: FetchSettings = FetchSettings()
    web_search: WebSearchSettings = WebSearchSettings()
    rerank: RerankSettings = RerankSettings()
    feeds: tuple[FeedSettings, ...] = ()
    polling: PollingSettings = PollingSettings()
    posting: PostingSettings = PostingSettings()
    webhooks: tuple[WebhookSettings, ...] = ()
    chat: ChatSettings = ChatSettings()
    pictures: PictureSettings = PictureSettings()
    telegram: TelegramSettings = TelegramSettings()
    slack: SlackSettings = SlackSettings()
    web: WebSettings = WebSettings()
    logging: LoggingSettings = LoggingSettings()


class Secrets(Section):
    """Keys and tokens. Each is the environment variable of the same name in capitals."""

    openrouter_api_key: SecretStr | None = None
    embeddings_api_key: SecretStr | None = None
    rerank_api_key: SecretStr | None = None
    exa_api_key: SecretStr | None = None
    serper_api_key: SecretStr | None = None
    brave_api_key: SecretStr | None = None
    tavily_api_key: SecretStr | None = None
    telegram_bot_token: SecretStr | None = None
    telegram_webhook_secret: SecretStr | None = None
    slack_bot_token: SecretStr | None = None
    slack_app_token: SecretStr | None = None
    slack_signing_secret: SecretStr | None = None
    webhook_secrets: SecretStr | None = None
    web_api_keys: SecretStr | None = None
    web_admin_keys: SecretStr | None = None


def revealed(secret: SecretStr | None) -> str | None:
    """Return the text of a secret, or None if it is not set."""
    return secret.get_secret_value() if secret else None


class Settings(Sections):
    """Everything that can be set, from all sources."""

    secrets: Secrets
    data_dir: Path  # absolute; the embedded server and the caches live here
    config_file: Path | None  # the file that was read

    def chat_endpoint(self) -> Endpoint:
        """Return the endpoint of the language model. Raises SettingsError."""
        return chat_endpoint(self.llm, revealed(self.secrets.openrouter_api_key))

    def has_model(self) -> bool:
        """Return whether a language model is configured. Raises SettingsError."""
        return self.chat_endpoint().can_be_asked

    @property
    def budget(self) -> Budget:
        """The daily budget for calls that judge and write.

        It is closed to visitors of the page unless [web] allows them such calls.
        """
        return Budget.of(self.llm, closed=frozenset() if self.web.judge else _VISITORS)

    @property
    def prophecy(self) -> ProphecySettings:
        """How headlines are searched and hits are scored."""
        return ProphecySettings(search=self.search, score=self.score)

    @property
    def find(self) -> FindSettings:
        """How queries of the dialect are answered."""
        return FindSettings(
            search=self.search,
            score=self.score,
            personal=self.personal,
            social=self.social,
            published=self.published,
        )
