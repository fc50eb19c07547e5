"""Unpacks the body of an answer while it arrives, never beyond a limit.

httpx unpacks a whole piece at once: 64 KB of gzip become 64 MB before anybody can count them, and
gzip inside gzip a thousand times more.
"""

import zlib

from engine.errors import FetchFailed, FetchTooLarge
from engine.messages import Message

# The only encoding offered to servers; all others are refused, nested gzip included.
ACCEPT_ENCODING = "gzip"
_GZIP = frozenset({"gzip", "x-gzip"})
_PLAIN = frozenset({"", "identity"})
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class Body:
    """Collects the bytes of one answer from `host`, at most `limit` both as sent and as unpacked.

    Raises FetchFailed for a Content-Encoding that was not asked for.
    """

    def __init__(self, *, host: str, encoding: str, limit: int) -> None:
        encoding = encoding.strip().lower()
        if encoding not in _GZIP | _PLAIN:
            raise FetchFailed(
                Message("{host} answered in an encoding that was not asked for.", host=host)
            )
        self._host = host
        self._limit = limit
        self._gzip = _unpacker() if encoding in _GZIP else None
        self._arrived = 0
        self._content = bytearray()

    def add(self, piece: bytes) -> None:
        """Add the next bytes from the network. Raises FetchTooLarge, FetchFailed."""
        self._arrived += len(piece)
        self._content += piece if self._gzip is None else self._unpack(piece)
        if max(self._arrived, len(self._content)) > self._limit:
            raise FetchTooLarge(
                Message(
                    "The answer of {host} is longer than {limit:g} MB.",
                    host=self._host,
                    limit=self._limit / 1000000.0,
                ),
                fix=Message("Paste the headline instead."),
            )

    def content(self) -> bytes:
        """Return the whole body. Raises FetchFailed if the compressed data ends too early."""
        if self._gzip is not None and self._arrived and not self._gzip.eof:
            raise self._broken()
        return bytes(self._content)

    def _unpack(self, piece: bytes) -> bytearray:
        most = self._limit + 1 - len(self._content)
        unpacked = bytearray()
        while piece and len(unpacked) < most:
            if self._gzip is None or self._gzip.eof:
                if not piece.startswith(b"\x1f"):
                    break  # padding behind the last member
                self._gzip = _unpacker()
            try:
                unpacked += self._gzip.decompress(piece, most - len(unpacked))
            except zlib.error as exc:
                raise self._broken() from exc
            piece = self._gzip.unused_data
        return unpacked

    def _broken(self) -> FetchFailed:
        return FetchFailed(
            Message("The answer of {host} is damaged.", host=self._host),
            fix=Message("Try again later."),
        )


def _unpacker() -> "zlib._Decompress":
    return zlib.decompressobj(_GZIP_WINDOW)
