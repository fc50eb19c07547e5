"""Says why no reader recognises a file, and what to do with it."""

from codecs import getincrementaldecoder
from collections.abc import Iterable
from pathlib import PurePosixPath

from engine.errors import UnknownFormat
from engine.ingest.formats.csv_rows import first_row
from engine.ingest.formats.document_forms import PAGE, recognised
from engine.ingest.reader import Sample
from engine.messages import Message

_PACKED = ((b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07", "RAR"))
_UNPACK = Message("Unpack it and give the folder.")
# Endings of what an export holds; a site that asks to log in answers with a page instead.
_DATA = (".zip", ".js", ".json", ".jsonl", ".csv", ".gz")
_MOST_NAMES, _LONGEST_NAME = 8, 40
_BLANK = 0x20  # below it are controls, which only blanks among text are
_decoder = getincrementaldecoder("utf-8")


def page_instead_of_export(name: str, head: bytes) -> UnknownFormat | None:
    """Return the error for a web page that was saved under the name of an export, or None."""
    if PurePosixPath(name).suffix.lower() not in _DATA or recognised(head) != PAGE:
        return None
    return UnknownFormat(
        Message("{name} is a web page, not an export.", name=name),
        fix=Message("Log in where it came from, and download it again."),
    )


def unrecognised(name: str, sample: Sample, known: str) -> UnknownFormat:
    """Return the error for a file that no reader recognises. `known` lists the formats."""
    head = sample.head
    if found := _encoded(name, head) or _packed(name, head):
        return found
    fix = Message("Known formats, for --format: {known}.", known=known)
    if sample.objects:
        return UnknownFormat(
            Message(
                "The format of {name} is not recognised: its records hold {fields}.",
                name=name,
                fields=_listed(sample.objects[0]),
            ),
            fix=Message(
                "Name the fields id, text and created_at. Known formats, for --format: {known}.",
                known=known,
            ),
        )
    columns = first_row(head)
    if len(columns) > 1 or PurePosixPath(name).suffix.lower() == ".csv":
        return UnknownFormat(
            Message(
                "The format of {name} is not recognised: its first line is {columns}.",
                name=name,
                columns=_listed(columns),
            ),
            fix=Message(
                "A CSV has commas between its columns, and the first line names id, text and"
                " created_at. Known formats, for --format: {known}.",
                known=known,
            ),
        )
    return UnknownFormat(Message("The format of {name} is not recognised.", name=name), fix=fix)


def _encoded(name: str, head: bytes) -> UnknownFormat | None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        said = Message("{name} is written in UTF-16.", name=name)
    elif _is_legacy_text(head):
        said = Message("{name} is not written in UTF-8.", name=name)
    else:
        return None
    return UnknownFormat(said, fix=Message("Save it as UTF-8."))


def _is_legacy_text(head: bytes) -> bool:
    """Tell whether this is text whose letters beyond ASCII take one byte each."""
    if any(byte < _BLANK and byte not in b"\t\n\r" for byte in head):
        return False
    try:
        _decoder().decode(head)  # which lets a letter be cut at the end
    except UnicodeDecodeError:
        return True
    return False


def _packed(name: str, head: bytes) -> UnknownFormat | None:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return UnknownFormat(
            Message("{name} is a zip.", name=name),
            fix=Message("Give its path instead of piping it."),
        )
    if head[257:262] == b"ustar":
        return UnknownFormat(Message("{name} is a tar archive.", name=name), fix=_UNPACK)
    for sign, program in _PACKED:
        if head.startswith(sign):
            return UnknownFormat(
                Message("{name} is a {program} archive.", name=name, program=program), fix=_UNPACK
            )
    return None


def _listed(names: Iterable[str]) -> str:
    shown = [name.strip()[:_LONGEST_NAME] for name in names]
    more = ["…"] if len(shown) > _MOST_NAMES else []
    return ", ".join([*shown[:_MOST_NAMES], *more])
