"""Files that the stand-in keeps: uploaded by the bot or sent by people."""

import struct
from dataclasses import dataclass, field

from tests.fakes.telegram.errors import bad_request
from tests.png import make_png

PHOTO_BYTES = 10 << 20
DOWNLOAD_BYTES = 20 << 20
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Bytes under a file_id, a file_unique_id and a path for download."""

    id: str
    unique_id: str
    path: str
    content: bytes

    def payload(self) -> dict[str, object]:
        return {
            "file_id": self.id,
            "file_unique_id": self.unique_id,
            "file_size": len(self.content),
        }


@dataclass(frozen=True, slots=True)
class Photo:
    """A picture and its size in pixels."""

    file: StoredFile
    width: int
    height: int

    @property
    def content(self) -> bytes:
        return self.file.content

    def payload(self) -> list[dict[str, object]]:
        return [self.file.payload() | {"width": self.width, "height": self.height}]


@dataclass
class Files:
    """Everything stored, by file_id and by path."""

    by_id: dict[str, Photo] = field(default_factory=dict)
    documents: dict[str, StoredFile] = field(default_factory=dict)

    def add_photo(self, content: bytes) -> Photo:
        """Store a picture; Refusal 400 where Telegram would not take it."""
        if len(content) > PHOTO_BYTES:
            raise bad_request(f"file of size {len(content)} bytes is too big for a photo")
        width, height = dimensions(content)
        if width + height > 10_000 or max(width, height) > 20 * min(width, height):
            raise bad_request("PHOTO_INVALID_DIMENSIONS")
        number = len(self.by_id) + 1
        unique = f"AQAD{number:06d}"
        path = f"photos/file_{number}.{'png' if content.startswith(_PNG) else 'jpg'}"
        photo = Photo(StoredFile(f"AgACAgIAAx-{unique}", unique, path, content), width, height)
        self.by_id[photo.file.id] = photo
        return photo

    def add_document(self, content: bytes) -> StoredFile:
        """Store a file that a person sends."""
        number = len(self.documents) + 1
        path = f"documents/file_{number}"
        file = StoredFile(f"BQACAgIAAx-{number:06d}", f"AgAD{number:06d}", path, content)
        self.documents[file.id] = file
        return file

    def find(self, file_id: str) -> StoredFile | None:
        photo = self.by_id.get(file_id)
        return photo.file if photo else self.documents.get(file_id)

    def at(self, path: str) -> StoredFile | None:
        everything = (*(one.file for one in self.by_id.values()), *self.documents.values())
        return next((file for file in everything if file.path == path), None)


def dimensions(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG or JPEG; Refusal 400 for anything else."""
    if content.startswith(_PNG) and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        return width, height
    at = 2
    while content.startswith(b"\xff\xd8") and len(content) >= at + 9 and content[at] == 0xFF:
        marker, length = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + length
    raise bad_request("IMAGE_PROCESS_FAILED")


def png(width: int = 2, height: int = 2) -> bytes:
    """A white picture of that size."""
    return make_png(width, height, (255, 255, 255))
