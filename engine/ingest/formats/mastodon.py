"""Reads the outbox of a Mastodon account (`outbox.json`) from its export.

A boost is exported only as the address of the boosted post, which becomes its text. The export does
not contain the number of likes or boosts. Messages to named people stand among the posts.
"""

from collections.abc import Iterator, Mapping, Sequence

from engine.errors import RecordError
from engine.ingest.dates import (
    as_mapping,
    host_of,
    last_part,
    read_mappings,
    read_string,
    read_zoned_time,
    text_of,
)
from engine.ingest.parsers.html import html_text
from engine.ingest.reader import (
    Digest,
    FileReader,
    JsonObject,
    OpenFile,
    Reader,
    Sample,
    parse_objects,
)
from engine.ingest.records import PostFields, Reject, SourceRecord
from engine.ingest.sources import Source
from engine.ingest.streams import HEAD, named_arrays
from engine.messages import Message
from engine.values import Flag, Kind

_PUBLIC = ("https://www.w3.org/ns/activitystreams#Public", "as:Public", "Public")


def is_direct(payload: Mapping[str, object]) -> bool:
    """Tell whether a record of an outbox is a message to named people."""
    note = as_mapping(as_mapping(payload.get("activity")).get("object"))
    return bool(note.get("to")) and _read_visibility(note) == "direct"


def holds_direct(source: Source, name: str) -> bool:
    """Tell whether a file is an outbox with messages to named people. Raises InputError."""
    with source.open_ahead(name) as stream:
        if not MastodonReader().recognises(Sample(head=stream.peek(HEAD), objects=())):
            return False
        return any(
            isinstance(item, JsonObject) and is_direct({"activity": item.value})
            for _header, items in named_arrays(stream, "orderedItems")
            for item in parse_objects(name, "record", items)
        )


class MastodonReader(FileReader):
    """Reads `outbox.json`, one activity at a time."""

    name = "mastodon"
    kinds = (Kind.SOCIAL, Kind.TWEETS)
    pattern = r"outbox\.json"

    def recognises(self, sample: Sample) -> bool:
        return b'"orderedItems"' in sample.head and b'"OrderedCollection"' in sample.head

    def read_file(self, file: OpenFile, digest: Digest) -> Iterator[SourceRecord | Reject]:
        for _header, items in named_arrays(file.stream, "orderedItems"):
            for item in parse_objects(file.label, "record", items):
                if isinstance(item, JsonObject):
                    payload = {"activity": item.value, "file": file.citation}
                    yield item.record(
                        self.name, _read_identity(item.value), digest(item.raw), payload
                    )
                else:
                    yield item

    def post(self, payload: Mapping[str, object]) -> PostFields:
        activity, file = as_mapping(payload.get("activity")), payload.get("file")
        kind, note = activity.get("type"), as_mapping(activity.get("object"))
        if kind == "Announce":
            return _read_boost(activity, f"{file}#{_shorten_identity(_read_identity(activity))}")
        if kind != "Create" or not note:
            raise RecordError(Message("an activity of the type {kind} is no post", kind=kind))
        return _read_note(note, f"{file}#{_shorten_identity(_read_identity(activity))}")


def _read_identity(activity: Mapping[str, object]) -> object:
    """Return the id of a post; that of a boost is its own, even if the post is inside it."""
    if activity.get("type") == "Announce":
        return activity.get("id")
    return as_mapping(activity.get("object")).get("id") or activity.get("id")


def _shorten_identity(identity: object) -> str:
    return last_part(str(identity).removesuffix("/activity"))


def _read_boost(activity: Mapping[str, object], attribution: str) -> PostFields:
    boosted = activity.get("object")
    address = boosted if isinstance(boosted, str) else as_mapping(boosted).get("id")
    return PostFields(
        text=text_of(address),
        created_at=read_zoned_time(activity.get("published")),
        author=_account_address(activity.get("actor")),
        url=read_string(address),
        platform=MastodonReader.name,
        attribution=attribution,
        tags=(),
        mentions=(),
        flags=Flag.REPOST,
        meta={"domain": host_of(activity.get("actor"))},
        mine=False,
    )


def _read_note(note: Mapping[str, object], attribution: str) -> PostFields:
    text, warning = (
        html_text(read_string(note.get("content")) or ""),
        read_string(note.get("summary")),
    )
    attachments = read_mappings(note.get("attachment"))
    said = "\n\n".join(filter(None, (warning, text)))
    languages = list(as_mapping(note.get("contentMap")))
    return PostFields(
        text=said or text_of(_join_descriptions(attachments) or _join_options(note)),
        beside=(*_list_images(attachments), *_list_polls(note)) if said else (),
        created_at=read_zoned_time(note.get("published")),
        author=_account_address(note.get("attributedTo")),
        lang=languages[0] if len(languages) == 1 else None,
        url=read_string(note.get("url")),
        reply_to=read_string(note.get("inReplyTo")),
        platform=MastodonReader.name,
        thread=read_string(note.get("conversation")),
        attribution=attribution,
        tags=_list_tag_names(note, "Hashtag"),
        mentions=_list_tag_names(note, "Mention"),
        flags=_read_note_flags(note),
        meta={
            "attachments": [last_part(attachment.get("url")) for attachment in attachments],
            "content_warning": warning,
            "domain": host_of(note.get("attributedTo")),
            "visibility": _read_visibility(note),
        },
        mine=True,
    )


def _read_note_flags(note: Mapping[str, object]) -> Flag:
    flags = Flag.REPLY if note.get("inReplyTo") else Flag.NONE
    return flags | (Flag.MEDIA if note.get("attachment") else Flag.NONE)


def _join_descriptions(attachments: Sequence[Mapping[str, object]]) -> str:
    """Return the author's descriptions of the pictures, or their file names."""
    return "\n\n".join(read_string(a.get("name")) or last_part(a.get("url")) for a in attachments)


def _join_options(note: Mapping[str, object]) -> str:
    options = read_mappings(note.get("oneOf")) or read_mappings(note.get("anyOf"))
    return "\n".join(str(option.get("name")) for option in options)


def _list_images(attachments: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    return [("image", words) for a in attachments if (words := read_string(a.get("name")))]


def _list_polls(note: Mapping[str, object]) -> list[tuple[str, str]]:
    options = _join_options(note)
    return [("poll", options)] if options else []


def _list_tag_names(note: Mapping[str, object], kind: str) -> tuple[str, ...]:
    return tuple(
        str(t.get("name")) for t in read_mappings(note.get("tag")) if t.get("type") == kind
    )


def _account_address(actor: object) -> str | None:
    """Return "ana@example.social" for "https://example.social/users/ana"."""
    name, host = last_part(actor), host_of(actor)
    return f"{name.removeprefix('@')}@{host}" if name and host else None


def _read_visibility(note: Mapping[str, object]) -> str:
    to, cc = (_as_list(note.get(field)) for field in ("to", "cc"))
    if any(name in to for name in _PUBLIC):
        return "public"
    if any(name in cc for name in _PUBLIC):
        return "unlisted"
    return "followers" if any(str(name).endswith("/followers") for name in to) else "direct"


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


READERS: tuple[Reader, ...] = (MastodonReader(),)
