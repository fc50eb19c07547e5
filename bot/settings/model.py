"""All settings as one value: the sections of config.toml with defaults and descriptions, and the
secrets. Sections that the engine reads are in engine/settings."""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from engine.budget import Budget, BudgetSource
from engine.embed.native import SHIPPED
from engine.llm.endpoint import Endpoint, endpoint_of
from engine.settings import UNLIMITED, HttpUrl, Rate, Section
from engine.settings.fetching import (
    FetchSettings,
    IngestSettings,
    PollingSettings,
    WebSearchSettings,
)
from engine.settings.models import (
    ComposeSettings,
    EmbeddingSettings,
    GlossarySettings,
    LlmSettings,
    RerankSettings,
)
from engine.settings.searching import (
    AnswerSettings,
    FindSettings,
    PersonalSettings,
    ProphecySettings,
    PublishedSettings,
    ScoreSettings,
    SearchSettings,
    list_profiles,
)

_OF_THE_MACHINE = r"(?:OMP|KMP|GOMP|MKL|OPENBLAS|NUMEXPR)_\w+|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH"
_OF_DOWNLOADS = (
    r"(?:HF|HUGGINGFACE|TRANSFORMERS|SENTENCE_TRANSFORMERS|TOKENIZERS|TORCH|PYTORCH|CUDA|NVIDIA"
    r"|HIP|HSA|ROCR|SSL|REQUESTS|CURL)_\w+|(?:https?|all|no)_proxy|XDG_CACHE_HOME|HOME|TMPDIR|PATH"
)
_USER_PASSWORD = re.compile(r"^(\w+://[^:/?@]*:).*@", re.DOTALL)
_QUERY_PASSWORD = re.compile(r"([?&]\w*password=)[^&]*", re.IGNORECASE)
_DATABASE_SCHEME = re.compile(r"postgres(ql)?://")
_VISITORS = frozenset({BudgetSource.WEB})


def masked_url(url: str) -> str:
    """Return a database URL that is safe to show: passwords become ****.

    The password is taken to end at the last @, so one with an unescaped @ is hidden entirely.
    """
    if not _DATABASE_SCHEME.match(url):
        return "****" if url else ""
    return _QUERY_PASSWORD.sub(r"\1****", _USER_PASSWORD.sub(r"\1****@", url))


def _database_url(url: SecretStr) -> SecretStr:
    text = url.get_secret_value()
    if text and not _DATABASE_SCHEME.match(text):
        raise ValueError('must begin with "postgresql://", or be empty for the embedded server')
    return url


DatabaseUrl = Annotated[SecretStr, AfterValidator(_database_url)]


class DatabaseSettings(Section):
    """Where the documents are kept."""

    url: DatabaseUrl = Field(
        SecretStr(""),
        description="postgresql://user:password@host:port/name; empty starts the embedded server."
        " Of several hosts, with commas between them and ?target_session_attrs=read-write behind"
        " the name, the one that takes writes is used. The environment variable DATABASE_URL goes"
        " before it.",
    )
    pool_size: int = Field(4, ge=1, le=100, description="Connections that one process may open.")
    command_timeout: float = Field(
        30, gt=0, description="Seconds after which a statement is given up, here and by the server."
    )


class WebSettings(Section):
    """The web page and the HTTP API. Keys that they ask for are WEB_API_KEYS and WEB_ADMIN_KEYS,
    several with commas between them."""

    enabled: bool = Field(
        False, description="Whether presagio serve opens them; presagio serve --web does anyway."
    )
    host: str = Field(
        "127.0.0.1",
        description="Address to listen on. Whoever reaches it can read what the corpora hold.",
    )
    port: int = Field(
        8080,
        ge=0,
        le=65535,
        description="Port to listen on, for the webhooks of Telegram and Slack too; 0 takes a free"
        " one.",
    )
    public_url: str = Field(
        "",
        pattern=r"^(https?://[^\s?#]+)?$",
        description="Address at which people reach the page, such as https://omen.example.org."
        " Links to the page begin with it.",
    )
    hosts: tuple[str, ...] = Field(
        (),
        description="Other names and addresses at which programs or people reach the port, such as"
        ' "presagio.lan". All but these, that of public_url and this machine\'s own are refused.',
    )
    page: bool = Field(
        True, description="Whether there is a page; it asks for no key. Without it, the API alone."
    )
    mcp: bool = Field(
        False,
        description="Whether agents find the questions of the API as tools at /mcp (Model Context"
        " Protocol), with its keys and limits. Needs the extra mcp.",
    )
    judge: bool = Field(
        False,
        description="Whether a model judges and answers for those who give no key: anybody on the"
        " page, and in the API unless there are WEB_API_KEYS. llm.web_share bounds what it costs.",
    )
    corpora: tuple[str, ...] = Field(
        (), description="The only corpora that are shown; empty = all but those of kind personal."
    )
    examples: tuple[str, ...] = Field(
        (), description="Headlines for visitors to try; empty = those lately posted, or a stock."
    )
    allow_origins: tuple[str, ...] = Field(
        (), description='Pages that may use the API from a browser, such as "https://example.org".'
    )
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Addresses of proxies that are believed when they say who asks."
    )
    requests_per_minute: Rate = Field(
        120, description="Requests of one address a minute; -1 = no limit."
    )
    answers_per_minute: Rate = Field(
        20, description="The same of what may ask a model; -1 = no limit."
    )

    @property
    def is_open(self) -> bool:
        """Whether others than this machine may reach the port."""
        try:
            return not ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"


class FeedSettings(Section):
    """A feed that everybody who subscribed gets. Chats may add their own."""

    url: HttpUrl = Field(description="Address of an RSS, Atom or JSON feed.")
    category: str = Field("", description="Any word, such as news, tech or podcasts.")


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

    def admits(self, name: str) -> bool:
        """Return whether `allow` and `block` let in a chat or, inline, a person.

        Unless access is open, `allow` keeps nobody out: the doorkeeper decides about the others.
        """
        listed = self.access != "open" or not self.allow or name in self.allow
        return listed and name not in self.block


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


class PostingSettings(Section):
    """What is posted without being asked for. Each chat chooses the rest with /subscribe."""

    minimum_age_days: int = Field(
        30, ge=0, le=36_500, description="Only tweets so many days older than the news count."
    )
    repeat_after_days: int = Field(
        180, ge=0, le=36_500, description="Days for which a chat is not told of the same tweet."
    )


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


class Sections(Section):
    """The whole of config.toml."""

    database: DatabaseSettings = DatabaseSettings()
    search: SearchSettings = SearchSettings()
    score: ScoreSettings = ScoreSettings()
    personal: PersonalSettings = PersonalSettings()
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
    web_api_keys: SecretStr | None = None
    web_admin_keys: SecretStr | None = None


def reveal_secret(secret: SecretStr | None) -> str | None:
    """Return the text of a secret, or None if it is not set."""
    return secret.get_secret_value() if secret else None


def model_environment(model: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the process of a model gets: how to use this machine, no secrets.

    Libraries that download weights also get where to keep them, how to reach their server, and
    their own token for it.
    """
    loads_nothing = model.partition(":")[0] in {"", SHIPPED}
    variables = (
        _OF_THE_MACHINE if loads_nothing else re.compile(f"{_OF_THE_MACHINE}|{_OF_DOWNLOADS}", re.I)
    )
    return {name: value for name, value in environ.items() if re.fullmatch(variables, name)}


class Settings(Sections):
    """Everything that can be set, from all sources."""

    secrets: Secrets
    data_dir: Path  # absolute; the embedded server and the caches live here
    config_file: Path | None  # the file that was read

    def chat_endpoint(self) -> Endpoint:
        """Return the endpoint of the language model. Raises SettingsError."""
        return endpoint_of(self.llm, reveal_secret(self.secrets.openrouter_api_key))

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
            profiles=list_profiles(self.personal, self.published),
        )
