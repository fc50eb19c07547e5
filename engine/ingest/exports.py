"""Finds the exports in a folder or zip: which reader reads which files, and what is not read."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from itertools import islice
from pathlib import PurePosixPath

from engine.errors import InputError
from engine.ingest.formats.documents import DocumentReader, documents_prevail
from engine.ingest.formats.markdown import MarkdownReader
from engine.ingest.reader import JsonObject, Reader, Sample, json_objects
from engine.ingest.records import Defaults, UnreadFile
from engine.ingest.sources import FolderSource, Source
from engine.ingest.streams import BOM
from engine.messages import Message

# Formats whose files are told by what is in them: any text may be a chat.
_BY_CONTENT = frozenset(("whatsapp", "x-circle", "messenger"))
# Formats of which one file is the whole export, so that others may lie beside it.
_OF_ONE_FILE = frozenset(("whatsapp", "bluesky"))
# Files that tell a reader about its records, and those that name a folder an export of Slack.
_COMPANIONS = re.compile(
    r"(?:.*/)?(?:manifest|account|note-tweet(?:-part\d+)?|(?:org_)?users|channels|groups|dms|mpims"
    r"|actor|profile_information|personal_information)\.js(?:on)?"
)
# Folders that only the folder of an export has.
_INSIDE = re.compile(
    r"(?:data|your_\w+_activity|posts|messages|content|threads|personal_information)/"
)
_OF_SLACK = frozenset(("users.json", "org_users.json", "channels.json"))
_LOOSE = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".zip", ".gz", ".xml", ".rss", ".atom")
_LOOSE_TEXTS = (".txt", ".md", ".markdown")
_JSON = (".json", ".js", ".jsonl", ".ndjson")
_TOLD = (
    *_LOOSE, *_LOOSE_TEXTS, ".js", ".html", ".htm", ".pdf", ".docx", ".eml", ".mbox", ".db",
    ".sqlite", ".xlsx", ".ods", ".car",
)  # fmt: skip
_SAMPLED, _SAMPLE_SIZE = 20, 1 << 18  # objects, bytes
_MOST_COUNTED, _LARGEST_COUNTED = 200, 20_000_000  # files, bytes of one


@dataclass(frozen=True, slots=True)
class Shares:
    """The files that each reader reads, by its name, and those that are read by themselves."""

    files: Mapping[str, tuple[str, ...]]
    loose: Sequence[str]


def share_files(source: Source, readers: Iterable[Reader], defaults: Defaults) -> Shares:
    """Share the files of a folder or zip among its readers. Raises InputError."""
    names = source.files()
    general = (MarkdownReader, DocumentReader)
    specific = [reader for reader in readers if not isinstance(reader, general)]
    files = _share_exports(source, specific, names, defaults)
    taken = {name for share in files.values() for name in share}
    rest = [name for name in names if name not in taken]
    is_export = _is_export_itself(files, names)
    if not files:
        reader = DocumentReader() if documents_prevail(names) else MarkdownReader()
        if members := reader.members(rest):
            files[reader.name] = tuple(members)
    elif texts := _list_loose(source, rest, _LOOSE_TEXTS, is_export=is_export):
        files[DocumentReader.name] = tuple(texts)
    taken = {name for share in files.values() for name in share}
    loose = _list_loose(source, rest, _LOOSE, is_export=is_export)
    return Shares(files, [name for name in loose if name not in taken])


def _share_exports(
    source: Source, readers: Sequence[Reader], names: Sequence[str], defaults: Defaults
) -> dict[str, tuple[str, ...]]:
    claims: dict[str, list[Reader]] = {}
    order = {reader.name: reader.members(names) for reader in readers}
    for reader in readers:
        for name in order[reader.name]:
            claims.setdefault(name, []).append(reader)
    owners = {
        name: _choose_owner(source, name, claimants, defaults) for name, claimants in claims.items()
    }
    shares = {
        reader.name: tuple(name for name in order[reader.name] if owners[name] is reader)
        for reader in readers
    }
    return {name: share for name, share in shares.items() if share}


def _choose_owner(
    source: Source, name: str, claimants: Sequence[Reader], defaults: Defaults
) -> Reader | None:
    """Return the reader whose file it is: by its content if its name does not tell."""
    by_name = [reader for reader in claimants if reader.name not in _BY_CONTENT]
    if len(claimants) == 1 and by_name:
        return by_name[0]
    if source.refusal(name):
        return by_name[0] if by_name else None
    sample = sample_ahead(source, name, defaults)
    fitting = (reader for reader in claimants if reader.recognises(sample))
    return next(fitting, by_name[0] if by_name else None)


def sample_ahead(source: Source, name: str, defaults: Defaults) -> Sample:
    """Return the beginning of one of many files, which is closed again. Raises InputError."""
    with source.open_ahead(name) as stream:
        return build_sample(name, stream.read(_SAMPLE_SIZE), defaults)


def build_sample(name: str, head: bytes, defaults: Defaults) -> Sample:
    """Return what readers recognise a file by."""
    head = head.removeprefix(BOM)
    # The last line or object of the head may be cut: it is a reject here and is read in full later.
    items = json_objects(name, BufferedReader(BytesIO(head)))
    objects = (item.value for item in items if isinstance(item, JsonObject))
    first = tuple(islice(objects, _SAMPLED))
    return Sample(name=name, head=head, objects=first, columns=defaults.columns)


def _is_export_itself(files: Mapping[str, Sequence[str]], names: Sequence[str]) -> bool:
    """Tell the folder of one export from a folder in which exports lie side by side."""
    if "slack" in files and not _OF_SLACK.isdisjoint(names):
        return True
    if any(_INSIDE.match(name) for form in files.keys() - _OF_ONE_FILE for name in files[form]):
        return True
    at_root = {form for form, share in files.items() for name in share if "/" not in name}
    return bool(at_root) and at_root.isdisjoint(_OF_ONE_FILE)


def _list_loose(
    source: Source, names: Sequence[str], endings: tuple[str, ...], *, is_export: bool
) -> list[str]:
    """Return the files that lie beside exports and belong to none."""
    if is_export or not (isinstance(source, FolderSource) and source.packed):
        return []
    return [
        name
        for name in names
        if "/" not in name
        and not name.startswith(".")
        and name.lower().endswith(endings)
        and not _COMPANIONS.fullmatch(name)
    ]


def list_unread(source: Source, names: Sequence[str], taken: Collection[str]) -> list[UnreadFile]:
    """Return the files with words in a folder or zip that no reader reads, those counted first."""
    left = [
        name
        for name in names
        if name not in taken and name.lower().endswith(_TOLD) and not _COMPANIONS.fullmatch(name)
    ]
    counted = [UnreadFile(name, _count_records(source, name)) for name in left[:_MOST_COUNTED]]
    more = [UnreadFile(name, None) for name in left[_MOST_COUNTED:]]
    unread = [file for file in (*counted, *more) if file.records != 0]
    return sorted(unread, key=lambda file: file.records is None)


def _count_records(source: Source, name: str) -> int | None:
    """Return how many records a file of JSON or CSV holds; None if that is not known."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in (*_JSON, ".csv", ".tsv") or (source.size(name) or 0) > _LARGEST_COUNTED:
        return None
    try:
        with source.open_ahead(name) as stream:
            if suffix not in _JSON:
                return max(sum(1 for line in stream if line.strip()) - 1, 0)
            objects = [item for item in json_objects(name, stream) if isinstance(item, JsonObject)]
    except InputError:
        return None
    if len(objects) != 1:
        return len(objects)
    lists = [value for value in objects[0].value.values() if isinstance(value, list)]
    return len(lists[0]) if len(lists) == 1 else 1


def no_export(name: str) -> InputError:
    """Return the error for a folder or zip without anything to read."""
    return InputError(
        Message(
            "{name} holds no export that is known: no data/tweets.js, data/tweet.js or"
            " data/js/tweets/ of X, and no other.",
            name=name,
        ),
        fix=Message(
            "Give the folder or zip of an export as it was downloaded. Tables and JSON are given"
            " file by file."
        ),
    )
