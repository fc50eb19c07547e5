"""Reads the outbox of a Mastodon account (`outbox.json`) from its export.

A boost is exported only as the address of the boosted post, which becomes its text. The export does
not contain the number of likes or boosts. Messages to named people stand among the posts.
"""

from collections.abc import Iterator, Mapping

from engine.errors import RecordError
from engine.ingest.fields import (
    as_mapping,
    host_of,
    last_part,
    list_strings,
    mapping_at,
    read_mappings,
    read_string,
    read_zoned_time,
    string_at,
    text_of,
)
from engine.ingest.parsers.html import html_text
from engine.ingest.reader import OpenFile, Reader, Sample, change_values, json_arrays
from engine.ingest.records import PostFields, RawRecord, Reject
from engine.ingest.sources import Source
from engine.ingest.streams import HEAD
from engine.messages import Message
from engine.values import Flag, Kind

_PUBLIC = ("https://www.w3.org/ns/activitystreams#Public", "as:Public", "Public")
_ACTIVITIES = "orderedItems"


def is_direct(payload: Mapping[str, object]) -> bool:
    """Return whether a record of an outbox is a message to named people."""
    note = mapping_at(payload, "activity", "object")
    return bool(note.get("to")) and _read_visibility(note) == "direct"


def holds_direct(source: Source, name: str) -> bool:
    """Return whether a file is an outbox with messages to named people. Raises InputError."""
    with source.open_ahead(name) as stream:
        if not MastodonReader().recognises(Sample(head=stream.peek(HEAD), objects=())):
            return False
        return any(
            not isinstance(item, Reject) and is_direct({"activity": item.value})
            for item in json_arrays(name, stream, _ACTIVITIES)
        )


class MastodonReader(Reader):
    """Reads `outbox.json`, one activity at a time."""

    name = "mastodon"
    kinds = (Kind.SOCIAL, Kind.TWEETS)
    pattern = r"outbox\.json"

    def recognises(self, sample: Sample) -> bool:
        return b'"orderedItems"' in sample.head and b'"OrderedCollection"' in sample.head

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        citation = file.citation
        return change_values(
            json_arrays(file.label, file.stream, _ACTIVITIES),
            lambda activity: {"activity": activity, "file": citation},
        )

    def identify(self, value: Mapping[str, object]) -> object:
        """Return the id of a post; that of a boost is its own, even if the post is inside it."""
        activity = mapping_at(value, "activity")
        if activity.get("type") == "Announce":
            return activity.get("id")
        return mapping_at(activity, "object").get("id") or activity.get("id")

    def post(self, payload: Mapping[str, object]) -> PostFields:
        activity = mapping_at(payload, "activity")
        kind, note = activity.get("type"), mapping_at(activity, "object")
        identity = last_part(str(self.identify(payload)).removesuffix("/activity"))
        attribution = f"{payload.get('file')}#{identity}"
        if kind == "Announce":
            return _read_boost(activity, attribution)
        if kind != "Create" or not note:
            raise RecordError(Message("an activity of the type {kind} is no post", kind=kind))
        return _read_note(note, attribution)


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
    text, warning = html_text(string_at(note, "content") or ""), string_at(note, "summary")
    attachments = read_mappings(note.get("attachment"))
    polled = read_mappings(note.get("oneOf")) or read_mappings(note.get("anyOf"))
    options = "\n".join(str(option.get("name")) for option in polled)
    said = "\n\n".join(filter(None, (warning, text)))
    # The author's descriptions of the pictures, or their file names.
    described = "\n\n".join(string_at(a, "name") or last_part(a.get("url")) for a in attachments)
    images = (("image", words) for words in list_strings(attachments, "name"))
    languages = list(mapping_at(note, "contentMap"))
    return PostFields(
        text=said or text_of(described or options),
        beside=(*images, *((("poll", options),) if options else ())) if said else (),
        created_at=read_zoned_time(note.get("published")),
        author=_account_address(note.get("attributedTo")),
        lang=languages[0] if len(languages) == 1 else None,
        url=string_at(note, "url"),
        reply_to=string_at(note, "inReplyTo"),
        platform=MastodonReader.name,
        thread=string_at(note, "conversation"),
        attribution=attribution,
        tags=_list_tag_names(note, "Hashtag"),
        mentions=_list_tag_names(note, "Mention"),
        flags=Flag.of((Flag.REPLY, note.get("inReplyTo")), (Flag.MEDIA, note.get("attachment"))),
        meta={
            "attachments": [last_part(attachment.get("url")) for attachment in attachments],
            "content_warning": warning,
            "domain": host_of(note.get("attributedTo")),
            "visibility": _read_visibility(note),
        },
        mine=True,
    )


def _list_tag_names(note: Mapping[str, object], kind: str) -> tuple[str, ...]:
    tags = (tag for tag in read_mappings(note.get("tag")) if tag.get("type") == kind)
    return tuple(str(tag.get("name")) for tag in tags)


def _account_address(actor: object) -> str | None:
    """Return "ana@example.social" for "https://example.social/users/ana"."""
    name, host = last_part(actor), host_of(actor)
    return f"{name.removeprefix('@')}@{host}" if name and host else None


def _read_visibility(note: Mapping[str, object]) -> str:
    values = (note.get("to"), note.get("cc"))
    to, cc = (value if isinstance(value, list) else [value] for value in values)
    if any(name in to for name in _PUBLIC):
        return "public"
    if any(name in cc for name in _PUBLIC):
        return "unlisted"
    return "followers" if any(str(name).endswith("/followers") for name in to) else "direct"


READERS: tuple[Reader, ...] = (MastodonReader(),)
