"""What can be set: one frozen model a section, a default and a description for every key."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from bot.settings.answer import AnswerSettings
from bot.settings.kinds import (
    LogSettings,
    PersonalSettings,
    PublishedSettings,
    SocialSettings,
)
from bot.settings.news import FeedSettings, PollingSettings, PostingSettings
from bot.settings.section import UNLIMITED, HttpUrl, Section
from bot.settings.web import WebSettings

_USER_PASSWORD = re.compile(r"^(\w+://[^:/?@]*:).*@", re.DOTALL)
_QUERY_PASSWORD = re.compile(r"([?&]\w*password=)[^&]*", re.IGNORECASE)
_DATABASE_SCHEME = re.compile(r"postgres(ql)?://")


def masked_url(url: str) -> str:
    """Return a database URL that may be shown: passwords become ****.

    The password is taken to reach to the last @, so one that holds an unescaped @ is hidden whole.
    """
    if not _DATABASE_SCHEME.match(url):
        return "****" if url else ""
    return _QUERY_PASSWORD.sub(r"\1****", _USER_PASSWORD.sub(r"\1****@", url))


def _database_url(url: SecretStr) -> SecretStr:
    text = url.get_secret_value()
    if text and not _DATABASE_SCHEME.match(text):
        raise ValueError('must begin with "postgresql://", or be empty for the embedded server')
    return url


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


def _unlimited_or_not_negative(amount: float) -> float:
    if amount < 0 and amount != UNLIMITED:
        raise ValueError("must be 0 or more, or -1 for no limit")
    return amount


Network = Annotated[str, AfterValidator(_network)]
HeaderText = Annotated[str, AfterValidator(_header_text)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_database_url)]
Money = Annotated[float, AfterValidator(_unlimited_or_not_negative)]


class DatabaseSettings(Section):
    """Where the documents are kept."""

    url: DatabaseUrl = Field(
        SecretStr(""),
        description="postgresql://user:password@host:port/name; empty starts the embedded server."
        " The environment variable DATABASE_URL goes before it.",
    )
    pool_size: int = Field(4, ge=1, le=100, description="Connections that one process may open.")
    connect_timeout: float = Field(10, gt=0, description="Seconds to wait for a connection.")
    command_timeout: float = Field(
        30, gt=0, description="Seconds after which this program gives a statement up."
    )
    statement_timeout: float = Field(
        30, gt=0, description="Seconds after which the server stops a statement."
    )


class SearchSettings(Section):
    """How tweets are proposed for a headline."""

    corpus: str = Field("", description="Corpus to search; empty means the only one there is.")
    mode: Literal["auto", "lexical", "rerank", "hybrid"] = Field(
        "auto",
        description="lexical finds by words; rerank does and lets meaning change the order; hybrid"
        " finds by words and by meaning; auto is hybrid where presagio embed has made vectors.",
    )
    limit: int = Field(
        3, ge=1, le=50, description="Tweets in one answer; a message in a chat has room for 15."
    )
    candidates: int = Field(
        150, ge=1, le=1000, description="Tweets that words propose to the judge, and meaning."
    )
    candidates_of_both: int = Field(
        240, ge=1, le=2000, description="Tweets that both propose together, copies counted once."
    )
    k1: float = Field(1.2, ge=0, le=10, description="BM25: how fast repeating a word stops paying.")
    b: float = Field(0.75, ge=0, le=1, description="BM25: how much long texts are held back.")
    exclude_recent_months: int = Field(
        0,
        ge=0,
        le=1200,
        description="Tweets of the last so many months before the headline do not count.",
    )
    minimum_judgment: int = Field(
        1, ge=0, le=6, description="Judged tweets below this (0 to 6) are no hits."
    )
    minimum_lexical: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Unjudged tweets that cover less of the headline (0 to 1) are no hits,",
    )
    minimum_semantic: float = Field(
        0.5, ge=0, le=1, description="unless their meaning is as close to it as this (0 to 1)."
    )


class ScoreSettings(Section):
    """How a hit is scored. Weights are renormalised over the parts that exist; a multiplier of 1
    changes nothing."""

    judgment: float = Field(0.65, ge=0, description="Weight of the model's judgment.")
    lexical: float = Field(0.25, ge=0, description="Weight of the words in common.")
    age: float = Field(0.10, ge=0, description="Weight of the age: older is higher.")
    semantic: float = Field(
        0.10, ge=0, description="Weight of the similarity of meaning, where there are vectors."
    )
    age_full_years: float = Field(10, gt=0, description="Age in years that counts in full.")
    repost: float = Field(0.97, ge=0, le=1, description="Multiplier for reposts.")
    quote: float = Field(0.97, ge=0, le=1, description="Multiplier for quotes.")
    truncated: float = Field(0.98, ge=0, le=1, description="Multiplier for texts that are cut off.")
    short: float = Field(
        0.8, ge=0, le=1, description="Multiplier for texts of fewer than four telling words."
    )
    duplicate_similarity: float = Field(
        90, ge=0, le=100, description="Texts that are alike by so many percent count as one."
    )

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if self.judgment + self.lexical + self.age == 0:
            raise ValueError("needs a weight above 0 in judgment, lexical or age")
        return self


class LlmSettings(Section):
    """The language model that judges: OpenRouter or any server that speaks the same protocol."""

    base_url: HttpUrl = Field(
        "https://openrouter.ai/api/v1",
        description="Address of the endpoint, without /chat/completions.",
    )
    model: str = Field("openai/gpt-5-mini", min_length=1, description="Model that is asked first.")
    fallback_models: tuple[str, ...] = Field(
        (), description="Models that answer in its place when it cannot, in this order."
    )
    reasoning_effort: Literal["", "minimal", "low", "medium", "high"] = Field(
        "minimal", description="How long the model may think; empty leaves it to the model."
    )
    connect_timeout: float = Field(5, gt=0, description="Seconds to wait for a connection.")
    read_timeout: float = Field(
        30, gt=0, description="Seconds to wait for the next part of an answer."
    )
    total_timeout: float = Field(
        45, gt=0, description="Seconds for one question, its retries included."
    )
    max_completion_tokens: int = Field(
        4000, ge=1, description="Longest answer; tokens spent on thinking count."
    )
    retries: int = Field(2, ge=0, le=10, description="Times that a failed call is repeated.")
    breaker_failures: int = Field(
        5, ge=1, description="Failures in a row after which the endpoint is left alone."
    )
    breaker_pause: float = Field(60, gt=0, description="Seconds for which it is left alone.")
    daily_tokens: int = Field(
        2_000_000,
        ge=UNLIMITED,
        description="Tokens a day (UTC) that may be used; 0 makes no calls, -1 has no limit.",
    )
    daily_usd: Money = Field(
        1.0, description="US dollars a day (UTC) that may be spent; 0 makes no calls, -1 no limit."
    )


class EmbeddingSettings(Section):
    """Where vectors come from, by which texts of like meaning are found. presagio embed makes
    them; those of several models may be kept side by side."""

    backend: Literal["auto", "null", "tfidf", "local", "remote"] = Field(
        "auto",
        description="null makes none; tfidf counts words; local runs a model on this machine;"
        " remote asks an endpoint like OpenAI's. auto is local where presagio[local] is"
        " installed, else null.",
    )
    model: str = Field(
        "",
        description="local: empty for the model of presagio[local], model2vec:NAME or"
        " sentence-transformers:NAME. remote: the endpoint's name for it.",
    )
    base_url: HttpUrl = Field(
        "https://api.openai.com/v1",
        description="remote: address of the endpoint, without /embeddings.",
    )
    dimensions: int = Field(
        0, ge=0, le=4000, description="remote: length of a vector; 0 leaves it to the model."
    )
    query_prefix: str = Field("", description='What the model wants before a question ("query: ").')
    document_prefix: str = Field("", description='The same before a document ("passage: ").')
    batch: int = Field(128, ge=1, le=2048, description="remote: texts in one request.")
    timeout: float = Field(30, gt=0, description="remote: seconds for one request.")
    retries: int = Field(4, ge=0, le=10, description="remote: times that a request is repeated.")
    usd_per_million_tokens: float = Field(
        0, ge=0, description="remote: what it costs, where the endpoint does not say."
    )
    exact_up_to: int = Field(
        100_000,
        ge=0,
        description="Vectors of a corpus that are all compared; beyond, an index is built.",
    )
    at_ingest: bool = Field(False, description="Whether presagio ingest makes vectors at its end.")


class GlossarySettings(Section):
    """Groups of words that mean the same; presagio glossary manages them."""

    weight: float = Field(
        0.7, ge=0, le=1, description="find: what an alias weighs beside a word as typed."
    )
    headline_weight: float = Field(
        0.4, ge=0, le=1, description="Headlines: the same; 0 looks for no aliases."
    )
    suggest_terms: int = Field(
        200, ge=2, le=1000, description="Terms that the model is asked about at a time."
    )
    approve_sure: bool = Field(
        False, description="Whether pairs that the model is sure of hold without a person's word."
    )
    approve_unsure: bool = Field(False, description="The same for pairs it is not sure of.")


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


class ChatSettings(Section):
    """Who may ask the bot, and how often. Chats and people are named "platform:id"."""

    allow: tuple[str, ...] = Field((), description="The only chats that are answered; empty = all.")
    block: tuple[str, ...] = Field((), description="Chats that are never answered.")
    admins: tuple[str, ...] = Field(
        (), description='People who may steer every chat, such as "telegram:42".'
    )
    private: tuple[str, ...] = Field(
        (),
        description="Chats that may also search corpora of kind personal: whoever is in such a"
        " chat can read what is there.",
    )
    user_daily: int = Field(
        100, ge=UNLIMITED, description="Requests of one person a day (UTC); -1 = no limit."
    )
    chat_daily: int = Field(
        500, ge=UNLIMITED, description="Requests in one chat a day (UTC); -1 = no limit."
    )
    queue: int = Field(
        500,
        ge=1,
        description="Requests that may be under way or wait; more are told to come later.",
    )
    queue_per_chat: int = Field(
        50,
        ge=1,
        description="The same for one chat, so that no chat fills the queue for all others.",
    )
    unjudged_coverage: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of a headline that an unjudged tweet must cover to be said unasked.",
    )


class TelegramSettings(Section):
    """The Telegram face. Its token is TELEGRAM_BOT_TOKEN."""

    api_base: HttpUrl = Field(
        "https://api.telegram.org", description="Address of the Bot API server."
    )
    webhook_url: str = Field(
        "", description="Public address that Telegram pushes updates to; empty polls for them."
    )
    webhook_host: str = Field("127.0.0.1", description="Address to listen on for the webhook.")
    webhook_port: int = Field(
        8443, ge=0, le=65535, description="Port to listen on for the webhook."
    )


class SlackSettings(Section):
    """The Slack face. Its tokens are SLACK_BOT_TOKEN and, for Socket Mode, SLACK_APP_TOKEN."""

    api_base: HttpUrl = Field("https://slack.com/api/", description="Address of the Web API.")
    http_host: str = Field(
        "127.0.0.1", description="Address to listen on for events when there is no app token."
    )
    http_port: int = Field(
        3000, ge=0, le=65535, description="Port to listen on for events when there is no app token."
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
