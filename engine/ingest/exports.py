"""Finds the exports at a path: which reader reads which files, and what is there and not read."""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import PurePosixPath

from engine.errors import InputError, PresagioError
from engine.ingest.detect import AUTO, READERS, find_archive_error, get_reader, recognise_file
from engine.ingest.formats.documents import DocumentReader, MarkdownReader, documents_prevail
from engine.ingest.formats.mastodon import MastodonReader, holds_direct
from engine.ingest.private import find_private_error
from engine.ingest.reader import Reader, build_sample, json_objects, sample_ahead
from engine.ingest.records import Contents, Defaults, Reject, SourceRequest, UnreadFile
from engine.ingest.sources import FolderSource, Source, Watch, source_at
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
_JSON, _TABLES = (".json", ".js", ".jsonl", ".ndjson"), (".csv", ".tsv")
_LOOSE = (*_TABLES, ".jsonl", ".ndjson", ".json", ".zip", ".gz", ".xml", ".rss", ".atom")
_LOOSE_TEXTS = (".txt", ".md", ".markdown")
_REPORTED = (
    *_LOOSE, *_LOOSE_TEXTS, ".js", ".html", ".htm", ".pdf", ".docx", ".eml", ".mbox", ".db",
    ".sqlite", ".xlsx", ".ods", ".car",
)  # fmt: skip
_WITH_WORDS = (".json", ".js", ".jsonl", ".csv", ".txt", ".html", ".htm", ".xml")
_MOST_COUNTED, _LARGEST_COUNTED = 200, 20_000_000  # files, bytes of one
_SAMPLED_FILES = 50


def list_exports(request: SourceRequest, watch: Watch | None = None) -> Contents:
    """Return the exports at a path, and what is there and not read. Raises InputError."""
    if request.where != "-" and request.format in (AUTO, MastodonReader.name):
        with closing(source_at(request.where, watch)) as source:
            if source.packed and request.format == AUTO:
                return _list_contents(source, request)
            return Contents(exports=_split_direct(source, request))
    return Contents(exports=(request,))


def _split_direct(source: Source, request: SourceRequest) -> tuple[SourceRequest, ...]:
    """Return the request, or one for the posts and one for the messages among them."""
    names = MastodonReader().members(source.files()) if source.packed else source.files()
    if request.defaults.kind or not any(holds_direct(source, name) for name in names):
        return (request,)
    return replace(request, direct=False), replace(request, direct=True)


def _list_contents(source: Source, request: SourceRequest) -> Contents:
    shares = _share_files(source, request.defaults)
    exports: list[SourceRequest] = []
    unread: list[UnreadFile] = []
    for form, files in shares.files.items():
        part = replace(request, format=form, files=files)
        exports += _split_direct(source, part) if form == MastodonReader.name else (part,)
    for name in shares.loose:
        try:
            source.open_ahead(name).close()  # a link that leaves the folder is refused
            inner = _list_loose(replace(request, where=source.label(name)), source.watch)
        except PresagioError as error:
            unread.append(UnreadFile(name, None, str(error.message)))
        else:
            exports += inner.exports
            unread += (replace(file, name=f"{name}/{file.name}") for file in inner.unread)
    if not exports:
        raise _find_reason(source, request.defaults)
    taken = {*shares.loose, *(name for files in shares.files.values() for name in files)}
    return Contents(exports=tuple(exports), unread=(*unread, *_list_unread(source, taken)))


def _list_loose(request: SourceRequest, watch: Watch) -> Contents:
    """Return what a file beside others holds. Raises UnknownFormat and the like."""
    contents = list_exports(request, watch)
    if contents.exports == (request,):
        with closing(source_at(request.where, watch)) as source:
            choose_reader(source, request)
    return contents


def _find_reason(source: Source, defaults: Defaults) -> InputError:
    """Return the error for a folder or zip of which nothing is read: messages, or no export."""
    if error := find_archive_error(source.name, b""):
        return error
    worded = (name for name in source.names() if name.lower().endswith(_WITH_WORDS))
    for name in islice(worded, _SAMPLED_FILES):
        sample = sample_ahead(source, name, defaults)
        if error := find_private_error(source.label(name), sample, defaults):
            return error
    return _no_export(source.name)


def _list_unread(source: Source, taken: Collection[str]) -> list[UnreadFile]:
    """Return the files with words in a folder or zip that no reader reads, those counted first."""
    left = [
        name
        for name in source.names()
        if name not in taken
        and name.lower().endswith(_REPORTED)
        and not _COMPANIONS.fullmatch(name)
    ]
    counts = [_count_records(source, name) for name in left[:_MOST_COUNTED]]
    unread = [UnreadFile(name, count) for name, count in zip_longest(left, counts) if count != 0]
    return sorted(unread, key=lambda file: file.records is None)


def _count_records(source: Source, name: str) -> int | None:
    """Return how many records a file of JSON or CSV holds; None if that is not known."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in (*_JSON, *_TABLES) or (source.size(name) or 0) > _LARGEST_COUNTED:
        return None
    try:
        with source.open_ahead(name) as stream:
            if suffix in _TABLES:
                return max(sum(1 for line in stream if line.strip()) - 1, 0)
            objects = [item for item in json_objects(name, stream) if not isinstance(item, Reject)]
    except InputError:
        return None
    if len(objects) != 1:
        return len(objects)
    lists = [value for value in objects[0].value.values() if isinstance(value, list)]
    return len(lists[0]) if len(lists) == 1 else 1


@dataclass(frozen=True, slots=True)
class _Shares:
    """The files that each reader reads, by its name, and those that are read by themselves."""

    files: Mapping[str, tuple[str, ...]]
    loose: Sequence[str]


def _share_files(source: Source, defaults: Defaults) -> _Shares:
    """Share the files of a folder or zip among its readers. Raises InputError."""
    names = source.files()
    files = _share_exports(source, names, defaults)
    beside = []  # exports, of which these are none
    if isinstance(source, FolderSource) and not _is_export_itself(files, names):
        beside = [
            name
            for name in names
            if "/" not in name and not name.startswith(".") and not _COMPANIONS.fullmatch(name)
        ]
    taken = {name for share in files.values() for name in share}
    if not files:
        general = DocumentReader() if documents_prevail(names) else MarkdownReader()
        if members := general.members(names):
            files[general.name] = tuple(members)
    elif texts := _list_ending(beside, _LOOSE_TEXTS, taken):
        files[DocumentReader.name] = tuple(texts)
    return _Shares(files, _list_ending(beside, _LOOSE, taken))


def _list_ending(
    names: Sequence[str], endings: tuple[str, ...], taken: Collection[str]
) -> list[str]:
    return [name for name in names if name not in taken and name.lower().endswith(endings)]


def _share_exports(
    source: Source, names: Sequence[str], defaults: Defaults
) -> dict[str, tuple[str, ...]]:
    general = (MarkdownReader.name, DocumentReader.name)
    members = {
        name: reader.members(names) for name, reader in READERS.items() if name not in general
    }
    claims: dict[str, list[Reader]] = {}
    for form, files in members.items():
        for file in files:
            claims.setdefault(file, []).append(READERS[form])
    owners = {
        file: _choose_owner(source, file, claimants, defaults) for file, claimants in claims.items()
    }
    shares = {
        form: tuple(file for file in files if owners[file] is READERS[form])
        for form, files in members.items()
    }
    return {form: share for form, share in shares.items() if share}


def _choose_owner(
    source: Source, name: str, claimants: Sequence[Reader], defaults: Defaults
) -> Reader | None:
    """Return the reader whose file it is: by its content if its name does not tell."""
    by_name = [reader for reader in claimants if reader.name not in _BY_CONTENT]
    usual = by_name[0] if by_name else None
    if source.refusal(name) or (usual and len(claimants) == 1):
        return usual
    sample = sample_ahead(source, name, defaults)
    return next((reader for reader in claimants if reader.recognises(sample)), usual)


def _is_export_itself(files: Mapping[str, Sequence[str]], names: Sequence[str]) -> bool:
    """Return whether a folder is that of one export, not one with exports side by side."""
    if "slack" in files and not _OF_SLACK.isdisjoint(names):
        return True
    if any(_INSIDE.match(name) for form in files.keys() - _OF_ONE_FILE for name in files[form]):
        return True
    at_root = {form for form, share in files.items() for name in share if "/" not in name}
    return bool(at_root) and at_root.isdisjoint(_OF_ONE_FILE)


def choose_reader(source: Source, request: SourceRequest) -> tuple[Reader, Sequence[str]]:
    """Return the reader of a source, prepared for the files that it reads there, and these.

    Of the formats in a folder or zip the first is chosen. Raises UsageError, UnknownFormat,
    InputError.
    """
    names: Sequence[str] = request.files or source.files()
    if request.format != AUTO:
        reader = get_reader(request.format)
        if source.packed and not request.files:
            names = reader.members(names)
    elif source.packed:
        if not (shares := _share_files(source, request.defaults).files):
            raise find_archive_error(source.name, b"") or _no_export(source.name)
        form, names = next(iter(shares.items()))
        reader = get_reader(form)
    else:
        reader = _recognise_only_file(source, names[0], request.defaults)
    if source.packed:
        if not names:
            raise find_archive_error(source.name, b"") or _no_export(source.name)
        names = [name for name in names if not source.is_refused(name)]
    return reader.prepare(source, names, request.defaults), names


def _recognise_only_file(source: Source, name: str, defaults: Defaults) -> Reader:
    head = source.head(name).removeprefix(BOM)
    if not head.strip():
        raise InputError(
            Message("{name} is empty.", name=source.name), fix=Message("Check the path.")
        )
    return recognise_file(source.name, build_sample(name, head, defaults), defaults)


def _no_export(name: str) -> InputError:
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
