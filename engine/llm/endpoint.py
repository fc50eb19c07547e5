"""Addresses of model servers, checked before anything is sent."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from engine.errors import CorpusWithheld, ModelRefused, SettingsError
from engine.messages import Message
from engine.settings.models import EmbeddingSettings, LlmSettings, RerankSettings
from engine.values import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """The private corpora that one endpoint may read."""

    base_url: str
    setting: str  # that lists the corpora: "[llm] private_corpora"
    private_corpora: Collection[str] = ()  # names in that setting

    def require(self, corpora: Iterable[Corpus]) -> None:
        """Raise CorpusWithheld if one of `corpora` may not be sent to the endpoint."""
        if stays_here(self.base_url):
            return
        withheld = [
            one.name for one in corpora if one.private and one.name not in self.private_corpora
        ]
        if withheld:
            names, host = " and ".join(withheld), urlsplit(self.base_url).hostname or ""
            raise CorpusWithheld(
                Message("Private text is not sent to {host}: {names}.", host=host, names=names),
                fix=Message("To allow it, add the corpus to {setting}.", setting=self.setting),
            )


def stays_here(url: str) -> bool:
    """Return whether a server at `url` runs on this machine: localhost, 127.0.0.0/8 or ::1.

    Other names are not resolved, because their address may change.
    """
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


_KEYS = {
    "llm": "OPENROUTER_API_KEY",
    "embeddings": "EMBEDDINGS_API_KEY",
    "rerank": "RERANK_API_KEY",
}
_DEFAULTS = {
    "llm": LlmSettings().base_url,
    "embeddings": EmbeddingSettings().base_url,
    "rerank": RerankSettings().base_url,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server that speaks OpenAI's protocol, and the settings section that configures it.

    Raises SettingsError for an unusable address or key.
    """

    section: Literal["llm", "embeddings", "rerank"]
    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # The message never quotes the URL: people put passwords into URLs.
        if not _is_web_address(self.base_url):
            raise SettingsError(
                Message("{section}.base_url is not an http(s) address.", section=self.section),
                fix=Message("Example: {url}", url=_DEFAULTS[self.section]),
            )
        if self.api_key is not None and not _fits_a_header(self.api_key):
            raise SettingsError(
                Message("The API key holds spaces, line breaks or non-ASCII characters."),
                fix=Message("Set {variable} to the key alone.", variable=self.key_variable),
            )

    @property
    def host(self) -> str:
        """Host name of the endpoint, without user name, password or port."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key."""
        return _KEYS[self.section]

    @property
    def is_openrouter(self) -> bool:
        """Whether it is one of OpenRouter's own hosts, which need a key and accept more fields."""
        return self.host == "openrouter.ai" or self.host.endswith(".openrouter.ai")

    @property
    def can_be_asked(self) -> bool:
        """Whether there is a key if one is needed; self-hosted servers need none."""
        return self.api_key is not None or not self.is_openrouter

    def require_key(self) -> None:
        """Raise ModelRefused if a key is needed and there is none."""
        if not self.can_be_asked:
            raise ModelRefused(
                Message("{host} needs an API key.", host=self.host),
                fix=Message("Set OPENROUTER_API_KEY, or llm.base_url to a server of your own."),
            )

    def url(self, path: str) -> str:
        """Return the URL of a resource."""
        return f"{self.base_url.rstrip('/')}/{path}"

    def headers(self) -> dict[str, str]:
        """Return the headers that authenticate the client."""
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}


def chat_endpoint(settings: LlmSettings, api_key: str | None) -> Endpoint:
    """Return the endpoint for completions. Raises SettingsError."""
    return Endpoint(
        section="llm", base_url=settings.base_url, model=settings.model, api_key=api_key
    )


def embeddings_endpoint(settings: EmbeddingSettings, api_key: str | None) -> Endpoint:
    """Return the endpoint for embeddings. Raises SettingsError, also if no model is named."""
    if not settings.model:
        raise SettingsError(
            Message("[embeddings] model is empty."),
            fix=Message("Name the model that the endpoint should use."),
        )
    return Endpoint(
        section="embeddings", base_url=settings.base_url, model=settings.model, api_key=api_key
    )


def rerank_endpoint(settings: RerankSettings, api_key: str | None) -> Endpoint:
    """Return the endpoint for re-ranking, which may have only one model. Raises SettingsError."""
    return Endpoint(
        section="rerank", base_url=settings.base_url, model=settings.model, api_key=api_key
    )


def _fits_a_header(key: str) -> bool:
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


def _is_web_address(url: str) -> bool:
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        return parts.scheme in {"http", "https"} and bool(host) and parts.port != 0
    except ValueError:  # includes UnicodeError, which a misspelt host raises
        return False
