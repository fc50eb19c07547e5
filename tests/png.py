"""PNG pictures without a library: their size, their pixels, and plain ones to give to others."""

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UP, _PAETH = 2, 4


def read_size(png: bytes) -> tuple[int, int]:
    """Return the width and the height."""
    assert png.startswith(_SIGNATURE)
    width, height = struct.unpack_from(">II", png, 16)
    return width, height


def make_png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """Return a picture of one colour."""
    rows = (b"\0" + bytes(colour) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def read_pixels(png: bytes) -> NDArray[np.int16]:
    """Return rows of pixels of red, green and blue. The picture has opacity too, 8 bits each."""
    width, height = read_size(png)
    assert struct.unpack_from(">BBBBB", png, 24) == (8, 6, 0, 0, 0)
    packed = b"".join(content for kind, content in _list_chunks(png) if kind == b"IDAT")
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 4 * width)
    lines = np.zeros((height + 1, 4 * width), np.uint8)  # with one above the first
    for number, kind in enumerate(rows[:, 0]):
        given, above = rows[number, 1:], lines[number]
        lines[number + 1] = given + above if kind == _UP else _unfilter(kind, given, above)
    return lines[1:].reshape(height, width, 4)[:, :, :3].astype(np.int16)


def _list_chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        yield kind, png[at + 8 : at + 8 + length]
        at += 12 + length


def _unfilter(kind: int, given: NDArray[np.uint8], above: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a line by its filter: none, left, above, their mean, or the nearest by Paeth."""
    line, before = bytearray(4) + given.tobytes(), bytes(4) + above.tobytes()
    for at in range(4, len(line)) if kind else ():
        left, up = line[at - 4], before[at]
        predicted = (left, up, (left + up) // 2, 0)[kind - 1]
        if kind == _PAETH:
            corner = before[at - 4]
            apart = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            predicted = (left, up, corner)[apart.index(min(apart))]
        line[at] = (line[at] + predicted) % 256
    return np.frombuffer(line[4:], np.uint8)
