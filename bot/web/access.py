"""Decides whom the server answers: its keys, its own names, and the pages that may ask it."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Self
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.settings import Settings
from bot.settings.model import WebSettings
from bot.web.failures import Refusal
from engine.messages import Message
from engine.settings import UNLIMITED

_PORT = re.compile(r":\d+$")
_LONGEST_HOST = 300  # characters, with its port
_OWN_SITE = (None, "same-origin", "none")  # no browser, this site, what somebody typed


class Right(IntEnum):
    """What a key permits; each right includes the lower ones."""

    NONE = 0
    ASK = 1
    STEER = 2


class Keys:
    """The keys that are accepted. Only their hashes are kept."""

    def __init__(self, ask: SecretStr | None = None, steer: SecretStr | None = None) -> None:
        self._known = [
            *((_hash_key(key), Right.ASK) for key in _split_keys(ask)),
            *((_hash_key(key), Right.STEER) for key in _split_keys(steer)),
        ]

    def asks_for_keys(self) -> bool:
        """Return whether the API requires a key at all."""
        return any(right is Right.ASK for _, right in self._known)

    def right_of(self, key: str | None) -> Right:
        """Return the right of a key, or without one, the right that everybody has."""
        if key is None:
            return Right.NONE if self.asks_for_keys() else Right.ASK
        given, found = _hash_key(key), Right.NONE
        for known, right in self._known:  # all are compared, whichever matches
            if hmac.compare_digest(known, given):
                found = max(found, right)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNames:
    """By which names this server is meant, and which pages are its own or are let in."""

    hosts: frozenset[str]  # beside those of this machine
    address: str  # of the page, as people reach it; "" if it is not set
    origin: str  # of the same
    origins: frozenset[str]  # of other pages that may ask

    @classmethod
    def of(cls, web: WebSettings) -> Self:
        """Return what the settings name."""
        address = web.public_url.rstrip("/")
        named = {_host_name(urlsplit(address).netloc), *map(_host_name, web.hosts)}
        return cls(
            hosts=frozenset(named - {""}),
            address=address,
            origin=_origin_of(address),
            origins=frozenset(web.allow_origins),
        )

    def answers_to(self, host: str, *, arrived_at: str) -> bool:
        """Return whether a request for this host, with or without a port, is meant for this server.

        The names and addresses of this machine are, among them the one that the request reached.
        """
        name = _host_name(host)
        if not name or name in self.hosts or name == "localhost":
            return bool(name)
        address = _read_address(name)
        return address is not None and (address.is_loopback or address == _read_address(arrived_at))

    def sends(self, page: str, *, host: str, named_may: bool) -> bool:
        """Return whether a request for this host may come from the page of this origin: one of this
        server or, where `named_may` is true, one that the settings name."""
        own = page.partition("://")[2] == host or page == self.origin
        return own or (named_may and not self.origins.isdisjoint((page, "*")))


def _host_name(host: str) -> str:
    """Return the name in HOST or HOST:PORT as browsers write it, or "" if there is none."""
    try:
        host = host[:_LONGEST_HOST]
        bare = host if _read_address(host) else urlsplit(f"//{host}").hostname or ""
        name = bare if bare.isascii() else bare.encode("idna").decode()
    except ValueError:
        return ""
    return str(_read_address(name) or name.removesuffix("."))


def _origin_of(address: str) -> str:
    """Return the origin of a page as browsers write it: without the port that is meant anyway."""
    scheme, _, rest = address.partition("://")
    name, port = _host_name(rest.partition("/")[0]), _PORT.search(rest.partition("/")[0])
    name = f"[{name}]" if ":" in name else name
    meant = {"http": ":80", "https": ":443"}.get(scheme)
    return f"{scheme}://{name}{port.group() if port and port.group() != meant else ''}"


def _read_address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(name)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _split_keys(keys: SecretStr | None) -> Iterable[str]:
    written = keys.get_secret_value() if keys else ""
    return filter(None, (key.strip() for key in written.split(",")))


def _hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def require_own_name(headers: Mapping[str, str], own: OwnNames, *, arrived_at: str) -> None:
    """Refuse a request for another host. `arrived_at` is the address of this machine it reached.

    Raises Refusal.
    """
    if not own.answers_to(headers.get("host", ""), arrived_at=arrived_at):
        raise Refusal(
            HTTPStatus.BAD_REQUEST,
            Message("This name does not lead here."),
            fix=Message("Use localhost, or name it in web.public_url or web.hosts."),
        )


def require_own_page(
    headers: Mapping[str, str], method: str, own: OwnNames, *, named_may: bool
) -> None:
    """Refuse what a page of another site makes a visitor's browser send, except that somebody
    follows a link. Pages that the settings name may ask it where `named_may` is true.

    Clients that are no browsers tell of no page. Raises Refusal.
    """
    page = headers.get("origin")
    if page is None:
        others = headers.get("sec-fetch-site") not in _OWN_SITE and not _follows_link(
            headers, method
        )
    else:
        others = not own.sends(page, host=headers.get("host", ""), named_may=named_may)
    if others:
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            Message("Pages of other sites may link here, and nothing else."),
            fix=Message("Name the page in web.allow_origins.") if named_may else None,
        )


def _follows_link(headers: Mapping[str, str], method: str) -> bool:
    """Return whether a browser opens the address as a page, and not as a part of one or ahead."""
    return (
        method == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and "prefetch" not in headers.get("sec-purpose", headers.get("purpose", ""))
    )


def describe_open_access(settings: Settings) -> Iterator[str]:
    """Yield what may surprise the operator: by which names it is asked, and what needs no key."""
    web, secrets = settings.web, settings.secrets
    if web.is_open and not (web.public_url or web.hosts):
        yield (
            "It answers to localhost and this machine's addresses alone. Set web.public_url to the"
            " address at which people reach it, or name others in web.hosts."
        )
    if web.page and secrets.web_api_keys:
        yield (
            "The API asks for a key of WEB_API_KEYS; the page asks for none, so whoever reaches it"
            " can read the corpora. Set web.page = false to close it, or put it behind a proxy that"
            " asks."
        )
    ways_in = [*(["the page"] if web.page else []), *([] if secrets.web_api_keys else ["the API"])]
    if ways_in and settings.has_model():
        yield _describe_model_use(
            settings, " and ".join(ways_in), "answer" if len(ways_in) > 1 else "answers"
        )


def _describe_model_use(settings: Settings, ways_in: str, answers: str) -> str:
    llm = settings.llm
    if not settings.web.judge:
        return (
            f"Without a key {ways_in} {answers} unjudged, to spare the model. Set web.judge = true"
            f" to have it asked, for up to {llm.web_share:.0%} of the daily budget (llm.web_share)."
        )
    free = llm.daily_tokens == llm.daily_usd == UNLIMITED
    bound = (
        "without limit, for llm.daily_tokens and llm.daily_usd have none"
        if free
        else f"for up to {llm.web_share:.0%} of the daily budget (llm.web_share)"
    )
    return (
        f"Whoever reaches {ways_in} has the model asked without a key, {bound}. Set web.judge ="
        " false to stop that."
    )
