"""Detects the format of a file from its content, or says what keeps it from being read."""

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import PurePosixPath
from pkgutil import iter_modules

from engine.errors import UnknownFormat, UsageError
from engine.ingest import formats
from engine.ingest.csv_rows import first_row
from engine.ingest.formats.documents import PAGE, recognise_content
from engine.ingest.formats.jsonl import TableReader
from engine.ingest.private import find_chat_error, find_private_error
from engine.ingest.reader import Reader, Sample, parse_objects
from engine.ingest.records import Defaults, Reject
from engine.ingest.streams import UTF_16, WINDOWS, find_encoding
from engine.ingest.tables import list_names
from engine.messages import Message

AUTO = "auto"
# Asked last, in this order: other formats hold what they recognise, too.
_FALLBACK_FORMATS = (
    *("trump-archive-json", "api", "jsonl", "trump-archive-csv", "csv"),
    *("feed", "markdown", "documents"),
)
# Formats that anybody may write by hand or with any program, private messages too.
_GENERIC_FORMATS = frozenset(("jsonl", "csv", "feed", "markdown", "documents"))
PUBLIC_FORMATS = frozenset(("markdown", "documents"))  # all may read what is made of them
_ARCHIVES = ((b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07", "RAR"))
_SQLITE = b"SQLite format 3\0"
_CONTROL_CHARACTER = re.compile(rb"[\x00-\x08\x0e-\x1a]")  # no text has these
_SAVE_AS_CSV = Message("Save each sheet as CSV: Save as, CSV UTF-8.")
_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
# Endings of what an export holds; a site that asks to log in answers with a page instead.
_EXPORT_ENDINGS = (".zip", ".js", ".json", ".jsonl", ".csv", ".gz")


def _find_readers() -> Mapping[str, Reader]:
    """Return the READERS of all modules of engine.ingest.formats in the order to ask them."""
    modules = [
        import_module(f"{formats.__name__}.{module.name}")
        for module in iter_modules(formats.__path__)
    ]
    readers = {
        reader.name: reader for module in modules for reader in getattr(module, "READERS", ())
    }
    specific = [name for name in readers if name not in _FALLBACK_FORMATS]
    return {name: readers[name] for name in (*specific, *_FALLBACK_FORMATS)}


READERS = _find_readers()


def get_reader(name: str) -> Reader:
    """Return the reader of a format. Raises UsageError for one that does not exist."""
    if reader := READERS.get(name):
        return reader
    raise UsageError(
        Message("There is no format {format!r}.", format=name),
        fix=Message("Formats: {known}.", known=", ".join(READERS)),
    )


def recognise_file(name: str, sample: Sample, defaults: Defaults) -> Reader:
    """Return the reader of a file, given its beginning. Raises UnknownFormat.

    What may hold anything is searched for private messages before a reader takes it, so that they
    are refused rather than made public.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _EXPORT_ENDINGS and recognise_content(sample.head) == PAGE:
        raise UnknownFormat(
            Message("{name} is a web page, not an export.", name=name),
            fix=Message("Log in where it came from, and download it again."),
        )
    for reader in READERS.values():
        may_read = isinstance(reader, TableReader) or not defaults.columns
        if reader.name in _GENERIC_FORMATS and (
            error := find_private_error(name, sample, defaults)
        ):
            raise error
        if may_read and reader.recognises(sample):
            if reader.name in PUBLIC_FORMATS and (
                error := find_chat_error(name, sample.head, defaults)
            ):
                raise error
            return reader
    raise _build_unknown_error(name, sample)


def _build_unknown_error(name: str, sample: Sample) -> UnknownFormat:
    """Return the error for a file that no reader recognises."""
    head, known = sample.head, ", ".join(READERS)
    if error := _find_encoding_error(name, head) or find_archive_error(name, head):
        return error
    if sample.objects:
        said = Message(
            "The format of {name} is not recognised: its records hold {fields}.",
            name=name,
            fields=list_names(sample.objects[0]),
        )
    elif error := _find_json_error(name, head):
        return error
    elif len(columns := first_row(head)) > 1 or PurePosixPath(name).suffix.lower() == ".csv":
        said = Message(
            "The format of {name} is not recognised: its first line is {columns}.",
            name=name,
            columns=list_names(columns),
        )
    else:
        return UnknownFormat(
            Message("The format of {name} is not recognised.", name=name),
            fix=Message("Known formats, for --format: {known}.", known=known),
        )
    return UnknownFormat(
        said,
        fix=Message(
            "Say which hold texts and dates: --columns text=NAME,created_at=NAME. Known"
            " formats, for --format: {known}.",
            known=known,
        ),
    )


def _find_json_error(name: str, head: bytes) -> UnknownFormat | None:
    """Return the error for objects on lines, none of which can be read."""
    line, _, _ = head.strip().partition(b"\n")
    if not (line.startswith(b"{") and line.rstrip().endswith(b"}")):
        return None
    for item in parse_objects(name, "line", [(1, line, None)]):
        if isinstance(item, Reject):
            return UnknownFormat(
                Message("In {name} no line can be read: {reason}.", name=name, reason=item.reason),
                fix=Message("Each line holds one JSON object."),
            )
    return None


def _find_encoding_error(name: str, head: bytes) -> UnknownFormat | None:
    encoding, fix = find_encoding(head), Message("Save it as UTF-8.")
    if encoding == UTF_16:
        said = Message("{name} is written in UTF-16.", name=name)
    elif encoding == WINDOWS:
        said = Message("{name} is not written in UTF-8.", name=name)
    elif encoding and b"\r" in head and b"\n" not in head:
        said, fix = Message("{name} has the line ends of old Macs.", name=name), _SAVE_AS_CSV
    else:
        return None
    return UnknownFormat(said, fix=fix)


def find_archive_error(name: str, head: bytes) -> UnknownFormat | None:
    """Return the error for an archive, a workbook or another binary file; None for any other."""
    program = next((each for signature, each in _ARCHIVES if head.startswith(signature)), None)
    fix = Message("Unpack it and give the folder.")
    if PurePosixPath(name).suffix.lower() in _WORKBOOKS or b"xl/workbook" in head:
        said, fix = Message("{name} is a workbook of a spreadsheet.", name=name), _SAVE_AS_CSV
    elif head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        said = Message("{name} is a zip.", name=name)
        fix = Message("Give its path instead of piping it.")
    elif head[257:262] == b"ustar":
        said = Message("{name} is a tar archive.", name=name)
    elif program:
        said = Message("{name} is a {program} archive.", name=name, program=program)
    elif head.startswith(_SQLITE):
        said = Message("{name} is a database of SQLite.", name=name)
        fix = Message("Export the table that holds the texts as CSV, and give that.")
    elif _CONTROL_CHARACTER.search(head):
        said = Message("{name} is neither text nor an archive that can be opened.", name=name)
        fix = Message("If it is an export, it is damaged: download it again.")
    else:
        return None
    return UnknownFormat(said, fix=fix)
