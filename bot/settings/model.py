"""All settings as one value: the sections, the secrets and where they come from."""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from bot.settings.sections import (
    ChatSettings,
    DatabaseSettings,
    FeedSettings,
    LoggingSettings,
    LogSettings,
    PictureSettings,
    PostingSettings,
    SlackSettings,
    TelegramSettings,
    WebSettings,
)
from engine.budget import Budget, BudgetSource
from engine.embed.native import SHIPPED
from engine.llm.endpoint import Endpoint, chat_endpoint
from engine.settings import Section
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
_VISITORS = frozenset({BudgetSource.WEB})


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
        return chat_endpoint(self.llm, reveal_secret(self.secrets.openrouter_api_key))

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
