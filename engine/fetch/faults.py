"""What goes wrong with a fetch: errors mapped to the project's own, and answers in too many pieces.

Messages name the host and never the URL: people paste links with tokens in them.

A limit on bytes is not enough: endless `103` heads have no body at all, and a megabyte in chunks of
one byte is a million pieces of work. So reads, heads and chunks are counted as well, and all
fetches of one client together do one small portion of work per turn. Other tasks run in between,
however many servers misbehave.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx
from ssrfguard import SSRFGuardError

from engine.errors import FetchFailed, FetchRefused, FetchStatus, FetchTimeout, FetchWrongType
from engine.messages import Message, for_operators

_MAX_HEADS = 10  # informational answers and the final one
_HEAD_BYTES = 65_536  # all of them together
_HEAD_READ, _BODY_READ = 4_096, 16_384  # bytes read per turn
_FREE_PIECES = 1_000  # this many may be of any size
_BYTES_PER_PIECE = 64  # the mean from there on; servers that write line by line send more
PIECES_PER_TURN = 32

_STATUS_LINE = b"\nHTTP/"
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_HEADER_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LATER = Message("Try again later.")
_PASTE = Message("Paste the headline instead.")
_GONE = frozenset({404, 410})
_NOT_MODIFIED = 304
_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})


class Turns:
    """Lets one task at a time continue, each in its own turn of the event loop."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def wait(self) -> None:
        """Return when it is the caller's turn; first come, first served."""
        async with self._lock:
            await asyncio.sleep(0)


class Pieces:
    """Counts the pieces that `host` sends, and compares their number with their bytes."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._pieces = 0
        self._bytes = 0

    def add(self, size: int) -> int:
        """Count one piece of `size` bytes; return the number so far. Raises FetchFailed."""
        self._pieces += 1
        self._bytes += size
        if self._pieces > _FREE_PIECES + self._bytes // _BYTES_PER_PIECE:
            raise too_many_pieces(self._host)
        return self._pieces


class Heads:
    """Counts the heads that come before a body, and their bytes."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._heads = 0
        self._bytes = 0
        self._end = b"\n"

    def add(self, data: bytes) -> None:
        """Count the next bytes. Raises FetchFailed."""
        self._bytes += len(data)
        seen = self._end + data  # a status line may be cut in two anywhere
        self._heads += seen.count(_STATUS_LINE)
        self._end = seen[1 - len(_STATUS_LINE) :]
        if self._heads > _MAX_HEADS or self._bytes > _HEAD_BYTES:
            raise too_many_pieces(self._host)


def too_many_pieces(host: str) -> FetchFailed:
    """Return the error for an answer that is more work than content."""
    return FetchFailed(
        Message("{host} sends its answer in too many pieces.", host=host),
        fix=Message("Try again later."),
    )


def mend_head(head: bytes) -> bytes:
    """Return the head of an answer without blanks before colons, and without lines that name no
    header: the HTTP client refuses the whole answer for one of them."""
    first, *lines = head.split(b"\n")
    mended = [first]
    for line in lines:
        name, colon, value = line.partition(b":")
        if not line.strip() or line[:1] in (b" ", b"\t"):  # the end, and what goes on from above
            mended.append(line)
        elif colon and _HEADER_NAME.fullmatch(name.strip()):
            mended.append(name.strip() + colon + value)
    return b"\n".join(mended)


class MeteredStream(httpcore.AsyncNetworkStream):
    """A connection that is used for one request. Reading, too, raises FetchFailed."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, host: str, turns: Turns) -> None:
        self._stream = stream
        self._host = host
        self._turns = turns
        self._reads = Pieces(host)
        self._heads: Heads | None = Heads(host)
        self._head: bytearray | None = bytearray()  # of the first answer, until it is whole

    def begin_body(self) -> None:
        """Note that the head of the answer has been read."""
        self._heads = None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        """Return the next small portion of bytes, once it is this connection's turn; the first head
        as a whole, mended."""
        data = await self._read_portion(max_bytes, timeout)
        while self._head is not None:
            self._head += data
            if data and not (end := _HEAD_END.search(self._head)):
                data = await self._read_portion(max_bytes, timeout)
                continue
            head, self._head = bytes(self._head), None
            data = mend_head(head[: end.end()]) + head[end.end() :] if data and end else head
        return data

    async def _read_portion(self, max_bytes: int, timeout: float | None) -> bytes:  # noqa: ASYNC109
        maximum = _BODY_READ if self._heads is None else _HEAD_READ
        data = await self._stream.read(min(max_bytes, maximum), timeout)
        self._reads.add(len(data))
        if self._heads is not None:
            self._heads.add(data)
        await self._turns.wait()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Delegate."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Delegate."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> "MeteredStream":
        """Delegate; httpcore supplies the name that the certificate must have."""
        stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return MeteredStream(stream, self._host, self._turns)

    def get_extra_info(self, info: str) -> Any:
        """Delegate."""
        return self._stream.get_extra_info(info)


class CountingBackend(httpcore.AsyncNetworkBackend):
    """Opens connections through `backend`, and counts what arrives on them."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, turns: Turns) -> None:
        self._backend = backend
        self._turns = turns

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> MeteredStream:
        """Connect as `backend` does."""
        stream = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return MeteredStream(stream, host, self._turns)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Delegate; `backend` refuses it."""
        return await self._backend.connect_unix_socket(path, timeout, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Delegate."""
        await self._backend.sleep(seconds)


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
    message, fix = Message("No connection to {host}.", host=host), _LATER
    if isinstance(reason, socket.gaierror) and reason.errno in _NO_SUCH_NAME:
        message, fix = Message("There is no {host}.", host=host), Message("Check the link.")
    elif isinstance(reason, socket.gaierror):
        message = Message("The name {host} could not be looked up.", host=host)
    elif isinstance(reason, ssl.SSLError):
        message, fix = Message("{host} cannot prove that it is {host}.", host=host), _PASTE
    return FetchFailed(message, fix=fix)


def require_no_password(url: httpx.URL, host: str) -> None:
    """Raise FetchRefused if an address holds a user name or password: they are never sent."""
    if url.userinfo:
        raise FetchRefused(
            Message(
                "{host} was not opened: its address names a user or a password, which are not"
                " sent.",
                host=host,
            ),
            fix=Message("Give the address without them."),
        )


def require_usable(response: httpx.Response, host: str) -> None:
    """Raise FetchStatus for 4xx and 5xx, FetchFailed for other answers without content."""
    status = response.status_code
    if response.is_error:
        raise FetchStatus(
            Message(
                "{host} {answer} ({status}).",
                host=host,
                answer=_describe_status(status),
                status=status,
            ),
            fix=_LATER if status == 429 or status >= 500 else _PASTE,
            status=status,
            retry_after=response.headers.get("Retry-After"),
        )
    if not response.is_success and status != _NOT_MODIFIED:
        raise FetchFailed(
            Message("{host} answered {status}, which leads nowhere.", host=host, status=status),
            fix=_PASTE,
        )


def _describe_status(status: int) -> Message:
    if status in _GONE:
        return Message("has no such page")
    if status == 429:
        return Message("asks to slow down")
    return Message("failed") if status >= 500 else Message("does not show this page")


def require_type(response: httpx.Response, host: str, accept: tuple[str, ...]) -> None:
    """Raise FetchWrongType if the answer declares a media type that is not in `accept`."""
    content_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if accept and content_type and content_type not in accept and response.is_success:
        shown = "".join(
            character
            for character in content_type
            if character.isascii() and character.isprintable()
        )[:60]
        raise FetchWrongType(
            Message("{host} sent {sent}, not {wanted}.", host=host, sent=shown, wanted=accept[0]),
            fix=_PASTE,
        )
