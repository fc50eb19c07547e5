"""Maps the failures of a fetch to the project's own errors.

Messages name the host and never the URL: people paste links with tokens in them.
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpcore
import httpx
from ssrfguard import SSRFGuardError

from engine.errors import (
    FetchFailed,
    FetchRefused,
    FetchStatus,
    FetchTimeout,
    FetchWrongType,
)
from engine.messages import Message, for_operators

_LATER = Message("Try again later.")
_PASTE = Message("Paste the headline instead.")
_GONE = frozenset({404, 410})
_NOT_MODIFIED = 304
_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})


def shown_host(url: str) -> str:
    """Return the host of `url` in ASCII, safe to show: no look-alike letters, no credentials."""
    try:
        return httpx.URL(url).raw_host.decode("ascii")[:100] or "the link"
    except (httpx.InvalidURL, ValueError):
        return "the link"


@contextmanager
def mapped_fetch_errors(host: str) -> Iterator[None]:
    """Map what httpx, the address guard and the resolver raise. Nothing else maps them."""
    try:
        yield
    except (SSRFGuardError, httpx.InvalidURL, UnicodeError) as exc:
        # idna and the resolver's codec raise UnicodeError for names that no server can have.
        raise FetchRefused(
            Message("{host} was not opened: it is no address of the public web.", host=host),
            fix=for_operators(
                Message(
                    "Links must begin with http:// or https://; for an intranet see"
                    " fetch.allow_networks."
                ),
                Message("Links must begin with http:// or https://."),
            ),
        ) from exc
    except httpx.TimeoutException as exc:
        raise FetchTimeout(Message("{host} does not answer.", host=host), fix=_LATER) from exc
    except httpx.ConnectError as exc:
        raise _no_connection(host, exc) from exc
    except httpx.HTTPError as exc:
        raise FetchFailed(
            Message("The connection to {host} broke.", host=host), fix=_LATER
        ) from exc
    except OSError as exc:
        raise FetchFailed(Message("No connection to {host}.", host=host), fix=_LATER) from exc


def _no_connection(host: str, error: httpx.ConnectError) -> FetchFailed:
    reason: BaseException | None = error
    while isinstance(reason, (httpx.ConnectError, httpcore.ConnectError)):
        # httpcore re-raises "from None", so only the context is left.
        reason = reason.__cause__ or reason.__context__
    if isinstance(reason, socket.gaierror):
        return _unknown_name(host, reason)
    if isinstance(reason, ssl.SSLError):
        return FetchFailed(Message("{host} cannot prove that it is {host}.", host=host), fix=_PASTE)
    return FetchFailed(Message("No connection to {host}.", host=host), fix=_LATER)


def _unknown_name(host: str, error: socket.gaierror) -> FetchFailed:
    if error.errno in _NO_SUCH_NAME:
        return FetchFailed(
            Message("There is no {host}.", host=host), fix=Message("Check the link.")
        )
    return FetchFailed(Message("The name {host} could not be looked up.", host=host), fix=_LATER)


def require_usable(response: httpx.Response, host: str) -> None:
    """Raise FetchStatus for 4xx and 5xx, FetchFailed for other answers without content."""
    status = response.status_code
    if response.is_error:
        raise FetchStatus(
            Message("{host} {said} ({status}).", host=host, said=_said(status), status=status),
            fix=_LATER if status == 429 or status >= 500 else _PASTE,
            status=status,
            retry_after=response.headers.get("Retry-After"),
        )
    if not response.is_success and status != _NOT_MODIFIED:
        raise FetchFailed(
            Message("{host} answered {status}, which leads nowhere.", host=host, status=status),
            fix=_PASTE,
        )


def _said(status: int) -> Message:
    if status in _GONE:
        return Message("has no such page")
    if status == 429:
        return Message("asks to slow down")
    return Message("failed") if status >= 500 else Message("does not show this page")


def require_type(response: httpx.Response, host: str, accept: tuple[str, ...]) -> None:
    """Raise FetchWrongType if the answer declares a media type that is not in `accept`."""
    said = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if accept and said and said not in accept and response.is_success:
        shown = "".join(
            character for character in said if character.isascii() and character.isprintable()
        )[:60]
        raise FetchWrongType(
            Message("{host} sent {sent}, not {wanted}.", host=host, sent=shown, wanted=accept[0]),
            fix=_PASTE,
        )
