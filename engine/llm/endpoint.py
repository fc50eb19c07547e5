"""Addresses of model servers, checked before anything is sent, and the errors of a call."""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from engine.errors import (
    CorpusWithheld,
    ModelAnswerInvalid,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelUnpaid,
    ModelUnreachable,
    SettingsError,
)
from engine.fetch import requested_pause
from engine.messages import Message
from engine.settings.models import EmbeddingSettings, LlmSettings, RerankSettings
from engine.text.address import read_host
from engine.values import Corpus

Section = Literal["llm", "embeddings", "rerank"]
_KEYS = {
    "llm": "OPENROUTER_API_KEY",
    "embeddings": "EMBEDDINGS_API_KEY",
    "rerank": "RERANK_API_KEY",
}
_SECTIONS: Mapping[Section, type[LlmSettings | EmbeddingSettings | RerankSettings]] = {
    "llm": LlmSettings,
    "embeddings": EmbeddingSettings,
    "rerank": RerankSettings,
}
QUOTE_LENGTH = 160
# Also matches keys that the server has already masked: "sk-ab***yz".
_KEY_SHAPED = re.compile(r"\b(sk-|Bearer\s+)[\w*.…-]{4,}", re.IGNORECASE)
# Fields that not every server knows, and the words by which servers refuse them.
_OPTIONAL_FIELDS = {
    "max_completion_tokens": re.compile(r"max_completion_tokens", re.IGNORECASE),
    "max_tokens": re.compile(r"max_tokens", re.IGNORECASE),
    "reasoning_effort": re.compile(r"reasoning_effort|reasoning effort", re.IGNORECASE),
    "response_format": re.compile(
        r"response_format|json_schema|schema|structured|parameters|grammar|guided", re.IGNORECASE
    ),
}
_UNSUPPORTED = re.compile(r"support|grammar|unknown|unrecogni[sz]ed|permitted", re.IGNORECASE)
_FIELD_STATUSES = frozenset({400, 404, 422, 500, 501})
_OF_THE_REQUEST = frozenset({400, 422})  # statuses that may say which fields are expected


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
            corpus.name
            for corpus in corpora
            if corpus.private and corpus.name not in self.private_corpora
        ]
        if withheld:
            names, host = " and ".join(withheld), read_host(self.base_url)
            raise CorpusWithheld(
                Message("Private text is not sent to {host}: {names}.", host=host, names=names),
                fix=Message("To allow it, add the corpus to {setting}.", setting=self.setting),
            )


def stays_here(url: str) -> bool:
    """Return whether a server at `url` runs on this machine: localhost, 127.0.0.0/8 or ::1.

    Other names are not resolved, because their address may change.
    """
    host = read_host(url)
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server that speaks OpenAI's protocol, and the settings section that configures it.

    Raises SettingsError for an unusable address or key.
    """

    section: Section
    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # The message never quotes the URL: people put passwords into URLs.
        if not _is_web_address(self.base_url):
            raise SettingsError(
                Message("{section}.base_url is not an http(s) address.", section=self.section),
                fix=Message("Example: {url}", url=_SECTIONS[self.section]().base_url),
            )
        key = self.api_key
        if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
            raise SettingsError(
                Message("The API key holds spaces, line breaks or non-ASCII characters."),
                fix=Message("Set {variable} to the key alone.", variable=self.key_variable),
            )

    @property
    def host(self) -> str:
        """Host name of the endpoint, without user name, password or port."""
        return read_host(self.base_url)

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


def endpoint_of(
    settings: LlmSettings | EmbeddingSettings | RerankSettings, api_key: str | None
) -> Endpoint:
    """Return the endpoint of a section of the settings; one for re-ranking may have only one model.

    Raises SettingsError, also if no model for embeddings is named.
    """
    if isinstance(settings, EmbeddingSettings) and not settings.model:
        raise SettingsError(
            Message("[embeddings] model is empty."),
            fix=Message("Name the model that the endpoint should use."),
        )
    section = next(name for name, kind in _SECTIONS.items() if isinstance(settings, kind))
    return Endpoint(
        section=section, base_url=settings.base_url, model=settings.model, api_key=api_key
    )


def _is_web_address(url: str) -> bool:
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        return parts.scheme in {"http", "https"} and bool(host) and parts.port != 0
    except ValueError:  # includes UnicodeError, which a misspelt host raises
        return False


class Fault(Exception):
    """One failed attempt: the error to show, and what the next attempt needs to know.

    `retry_after` is in seconds; `refused_fields` are those that the answer seems to refuse, and
    `answer` is its own text.
    """

    def __init__(
        self,
        error: ModelError,
        *,
        retry_after: float | None = None,
        refused_fields: tuple[str, ...] = (),
        answer: str = "",
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after
        self.refused_fields, self.answer = refused_fields, answer


def _find_refused_fields(status: int, answer: str) -> tuple[str, ...]:
    if status not in _FIELD_STATUSES or (status >= 500 and not _UNSUPPORTED.search(answer)):
        return ()
    return tuple(name for name, words in _OPTIONAL_FIELDS.items() if words.search(answer))


def status_fault(
    status: int, answer: str, endpoint: Endpoint, *, headers: Mapping[str, str], now: datetime
) -> Fault:
    """Map an HTTP status, or the code of an error inside a 200, to a fault.

    `answer` is the server's own text; it is masked and cut before it is quoted.
    """
    quoted = quote_answer(answer, endpoint.api_key)
    if quoted and not quoted.endswith((".", "!", "?", "…")):
        quoted += "."  # like a sentence, as what to do follows it
    head = Message(
        "{host} {did} ({status})", host=endpoint.host, did=what_happened(status), status=status
    )
    message = Message("{head}.", head=head)
    if quoted:
        message = Message("{head}: {quoted}", head=head, quoted=quoted)
    refused = _find_refused_fields(status, answer)
    if status == 429:
        wait = _read_pause(headers, now)
        fix = Message("Wait a little.")
        if wait is not None:
            fix = Message("Wait {seconds} s.", seconds=math.ceil(wait))
        return Fault(ModelRateLimited(message, fix=fix), retry_after=wait)
    if status == 408 or status >= 500:
        error = ModelUnreachable(message, fix=Message("Try again later."))
        return Fault(error, retry_after=_read_pause(headers, now), refused_fields=refused)
    refusal = ModelUnpaid if status == 402 else ModelRefused
    fix = _describe_fix(status, endpoint)
    said = answer if status in _OF_THE_REQUEST else ""
    return Fault(refusal(message, fix=fix), refused_fields=refused, answer=said)


def _read_pause(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that a server asks to wait."""
    milliseconds = headers.get("retry-after-ms") or ""
    if milliseconds.isascii() and milliseconds.isdigit() and len(milliseconds) < 10:
        return int(milliseconds) / 1000
    return requested_pause(headers.get("retry-after"), now)


def too_slow(endpoint: Endpoint, seconds: float, setting: str) -> ModelUnreachable:
    """Return the error for a timeout; `setting` is the key that allows a longer one."""
    return ModelUnreachable(
        Message("The model answered nothing within {seconds:g} s.", seconds=seconds),
        fix=Message("Raise {section}.{setting}.", section=endpoint.section, setting=setting),
    )


def model_unreachable(endpoint: Endpoint, message: Message) -> ModelUnreachable:
    """Return the error for a connection that failed or was lost."""
    return ModelUnreachable(
        message, fix=Message("Check the network and {section}.base_url.", section=endpoint.section)
    )


def unreadable_answer(what: Message, endpoint: Endpoint) -> ModelAnswerInvalid:
    """Return the error for an answer that is no chat completion; `what` completes "it ..."."""
    return ModelAnswerInvalid(
        Message(
            "The answer of {host} is no chat completion: it {what}.", host=endpoint.host, what=what
        ),
        fix=advise_address(endpoint),
    )


def no_vectors(endpoint: Endpoint) -> ModelAnswerInvalid:
    """Return the error for an answer that does not hold a vector for each text."""
    return ModelAnswerInvalid(
        Message("The answer of {host} holds no usable vectors.", host=endpoint.host),
        fix=_check_both(endpoint),
    )


def no_scores(endpoint: Endpoint) -> ModelAnswerInvalid:
    """Return the error for an answer that does not hold a score for each text."""
    return ModelAnswerInvalid(
        Message("The answer of {host} holds no usable scores.", host=endpoint.host),
        fix=_check_both(endpoint),
    )


def quote_answer(answer: str, api_key: str | None) -> str:
    """Return the server's text as one masked line of at most QUOTE_LENGTH characters."""
    line = " ".join(answer.split())
    if api_key:
        line = line.replace(api_key, "***")
    line = _KEY_SHAPED.sub("***", line)
    return line if len(line) <= QUOTE_LENGTH else line[: QUOTE_LENGTH - 1] + "…"


def what_happened(status: int) -> Message:
    """Return what a server did that answered with this status: "asks to slow down"."""
    if status == 429:
        return Message("asks to slow down")
    if status == 408 or status >= 500:
        return Message("failed")
    if 300 <= status < 400:
        return Message("redirects")
    return {
        401: Message("rejects the API key"),
        402: Message("says that the credit is spent"),
        403: Message("forbids the request"),
    }.get(status, Message("refuses the request"))


def _describe_fix(status: int, endpoint: Endpoint) -> Message:
    section, model, variable = endpoint.section, endpoint.model, endpoint.key_variable
    if 300 <= status < 400:
        return Message("Set {section}.base_url to the final address.", section=section)
    return {
        401: Message("Check {variable}.", variable=variable),
        402: Message("Add credit to the account."),
        403: Message("Check the rights of {variable}.", variable=variable),
        404: _check_both(endpoint),
    }.get(status, Message("Check {section}.model ({model}).", section=section, model=model))


def advise_address(endpoint: Endpoint) -> Message:
    """Return what to do about an address that leads to no such server."""
    return Message("Check {section}.base_url.", section=endpoint.section)


def _check_both(endpoint: Endpoint) -> Message:
    return Message(
        "Check {section}.base_url and {section}.model ({model}).",
        section=endpoint.section,
        model=endpoint.model,
    )
