"""Finds the exports in a folder or zip: which reader reads which files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.errors import InputError
from engine.ingest.detect import READERS
from engine.ingest.formats.documents import DocumentReader, MarkdownReader, documents_prevail
from engine.ingest.reader import Reader, sample_ahead
from engine.ingest.records import Defaults
from engine.ingest.sources import FolderSource, Source
from engine.messages import Message

# Formats whose files are told by what is in them: any text may be a chat.
_BY_CONTENT = frozenset(("whatsapp", "x-circle", "messenger"))
# Formats of which one file is the whole export, so that others may lie beside it.
_OF_ONE_FILE = frozenset(("whatsapp", "bluesky"))
# Files that tell a reader about its records, and those that name a folder an export of Slack.
COMPANIONS = re.compile(
    r"(?:.*/)?(?:manifest|account|note-tweet(?:-part\d+)?|(?:org_)?users|channels|groups|dms|mpims"
    r"|actor|profile_information|personal_information)\.js(?:on)?"
)
# Folders that only the folder of an export has.
_INSIDE = re.compile(
    r"(?:data|your_\w+_activity|posts|messages|content|threads|personal_information)/"
)
_OF_SLACK = frozenset(("users.json", "org_users.json", "channels.json"))
LOOSE_ENDINGS = (
    *(".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".zip", ".gz", ".xml", ".rss", ".atom"),
)
LOOSE_TEXTS = (".txt", ".md", ".markdown")


@dataclass(frozen=True, slots=True)
class Shares:
    """The files that each reader reads, by its name, and those that are read by themselves."""

    files: Mapping[str, tuple[str, ...]]
    loose: Sequence[str]


def share_files(source: Source, defaults: Defaults) -> Shares:
    """Share the files of a folder or zip among its readers. Raises InputError."""
    names = source.files()
    general = (MarkdownReader, DocumentReader)
    specific = [reader for reader in READERS.values() if not isinstance(reader, general)]
    files = _share_exports(source, specific, names, defaults)
    taken = {name for share in files.values() for name in share}
    rest = [name for name in names if name not in taken]
    is_export = _is_export_itself(files, names)
    if not files:
        reader = DocumentReader() if documents_prevail(names) else MarkdownReader()
        if members := reader.members(rest):
            files[reader.name] = tuple(members)
    elif texts := _list_loose(source, rest, LOOSE_TEXTS, is_export=is_export):
        files[DocumentReader.name] = tuple(texts)
    taken = {name for share in files.values() for name in share}
    loose = _list_loose(source, rest, LOOSE_ENDINGS, is_export=is_export)
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
        and not COMPANIONS.fullmatch(name)
    ]


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
