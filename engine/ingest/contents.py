"""Lists the exports at a path, public posts and private messages apart, and what is not read."""

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import PurePosixPath

from engine.errors import InputError, PresagioError, UnknownFormat
from engine.ingest.detect import AUTO, find_archive_error
from engine.ingest.exports import COMPANIONS, LOOSE_ENDINGS, LOOSE_TEXTS, no_export, share_files
from engine.ingest.formats.mastodon import MastodonReader, holds_direct
from engine.ingest.private import find_private_error
from engine.ingest.reader import json_objects, sample_ahead
from engine.ingest.record_stream import open_source
from engine.ingest.records import Contents, Defaults, Reject, SourceRequest, UnreadFile
from engine.ingest.sources import Source, Watch, source_at

_JSON = (".json", ".js", ".jsonl", ".ndjson")
_REPORTED_ENDINGS = (
    *LOOSE_ENDINGS, *LOOSE_TEXTS, ".js", ".html", ".htm", ".pdf", ".docx", ".eml", ".mbox", ".db",
    ".sqlite", ".xlsx", ".ods", ".car",
)  # fmt: skip
_MOST_COUNTED, _LARGEST_COUNTED = 200, 20_000_000  # files, bytes of one
_SAMPLED_FILES = 50
_WITH_WORDS = (".json", ".js", ".jsonl", ".csv", ".txt", ".html", ".htm", ".xml")


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
    names = source.names()
    shares = share_files(source, request.defaults)
    exports: list[SourceRequest] = []
    for form, files in shares.files.items():
        part = replace(request, format=form, files=files)
        exports += _split_direct(source, part) if form == MastodonReader.name else (part,)
    taken = {name for share in shares.files.values() for name in share}
    unread: list[UnreadFile] = []
    for name in shares.loose:
        try:
            source.open_ahead(name).close()  # a link that leaves the folder is refused
            inner = _open_loose(replace(request, where=source.label(name)), source.watch)
        except PresagioError as error:
            unread.append(UnreadFile(name, None, str(error.message)))
        else:
            exports += inner.exports
            unread += (replace(file, name=f"{name}/{file.name}") for file in inner.unread)
        taken.add(name)
    if not exports:
        raise (
            find_archive_error(source.name, b"")
            or _find_private_error(source, names, request.defaults)
            or no_export(source.name)
        )
    return Contents(exports=tuple(exports), unread=(*unread, *list_unread(source, names, taken)))


def _open_loose(request: SourceRequest, watch: Watch) -> Contents:
    """Return what a file beside others holds. Raises UnknownFormat and the like."""
    contents = list_exports(request, watch)
    if contents.exports == (request,):
        open_source(request, watch=watch).close()
    return contents


def _find_private_error(
    source: Source, names: Sequence[str], defaults: Defaults
) -> UnknownFormat | None:
    """Return the error for a folder of messages that are not read."""
    for name in [name for name in names if name.lower().endswith(_WITH_WORDS)][:_SAMPLED_FILES]:
        sample = sample_ahead(source, name, defaults)
        label = source.label(name)
        if error := find_private_error(label, sample.head, sample.objects, defaults):
            return error
    return None


def list_unread(source: Source, names: Sequence[str], taken: Collection[str]) -> list[UnreadFile]:
    """Return the files with words in a folder or zip that no reader reads, those counted first."""
    left = [
        name
        for name in names
        if name not in taken
        and name.lower().endswith(_REPORTED_ENDINGS)
        and not COMPANIONS.fullmatch(name)
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
            objects = [item for item in json_objects(name, stream) if not isinstance(item, Reject)]
    except InputError:
        return None
    if len(objects) != 1:
        return len(objects)
    lists = [value for value in objects[0].value.values() if isinstance(value, list)]
    return len(lists[0]) if len(lists) == 1 else 1
