"""How the language model is reached, checked before anything is sent."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from engine.errors import SettingsError
from engine.messages import Message

OPENROUTER_URL = "https://openrouter.ai/api/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSettings:
    """One OpenAI-compatible endpoint and the patience to have with it; times in seconds.

    `fallback_models`, `reasoning_effort` and strict parameter routing are OpenRouter's own
    fields. They are sent when the host is OpenRouter's, or as `openrouter_fields` says.
    Raises SettingsError on values that cannot work.
    """

    api_key: str | None = field(default=None, repr=False)
    base_url: str = OPENROUTER_URL
    model: str = "openai/gpt-5-mini"
    fallback_models: tuple[str, ...] = ()
    reasoning_effort: str | None = "minimal"
    openrouter_fields: bool | None = None  # None = decided by the host
    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    total_timeout: float = 45.0  # everything: retries, waits, the whole answer
    max_completion_tokens: int = 4000  # reasoning tokens count against it
    retries: int = 2
    breaker_failures: int = 5  # failed calls in a row before the endpoint is left alone
    breaker_pause: float = 60.0
    private_corpora: frozenset[str] = frozenset()  # that it may read from another machine
    app_title: str = "Presagio"
    app_url: str | None = None

    def __post_init__(self) -> None:
        # The message never quotes the URL: people put passwords into URLs.
        if not _is_web_address(self.base_url):
            raise SettingsError(
                Message("llm.base_url is not an http(s) address."),
                fix=Message("Example: {url}", url=OPENROUTER_URL),
            )
        if self.api_key is not None and not _fits_a_header(self.api_key):
            raise SettingsError(
                Message("The API key holds spaces, line breaks or non-ASCII characters."),
                fix=Message("Set OPENROUTER_API_KEY to the key alone."),
            )
        self._require_positive()

    def _require_positive(self) -> None:
        least = {
            "connect_timeout": self.connect_timeout,
            "read_timeout": self.read_timeout,
            "total_timeout": self.total_timeout,
            "max_completion_tokens": self.max_completion_tokens,
            "breaker_failures": self.breaker_failures,
        }
        for name, value in least.items():
            if not value > 0:
                raise SettingsError(
                    Message("llm.{name} must be above 0.", name=name),
                    fix=Message("It is {value}.", value=value),
                )
        if self.retries < 0 or self.breaker_pause < 0:
            raise SettingsError(Message("llm.retries and llm.breaker_pause must not be negative."))

    @property
    def host(self) -> str:
        """Host name of the endpoint, without user name, password or port."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_openrouter(self) -> bool:
        """Whether the key is required: True for OpenRouter's own hosts."""
        return self.host == "openrouter.ai" or self.host.endswith(".openrouter.ai")

    @property
    def sends_openrouter_fields(self) -> bool:
        """Whether requests carry the fields that only OpenRouter knows."""
        if self.openrouter_fields is None:
            return self.is_openrouter
        return self.openrouter_fields


def _fits_a_header(key: str) -> bool:
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


def _is_web_address(url: str) -> bool:
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        return parts.scheme in {"http", "https"} and bool(host) and parts.port != 0
    except ValueError:  # UnicodeError, which a misspelt host gives, is one too
        return False
