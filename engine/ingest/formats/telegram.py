"""Reads Telegram's JSON export (`result.json`): one chat, or the whole account.

{"name": ..., "type": ..., "id": ..., "messages": [...]}
{"personal_information": {...}, "chats": {"list": [{..., "messages": [...]}, ...]}}

Service messages (joins, calls, pins) are left out: nobody wrote them. Exports before 2021 give
times without a zone; they are taken as UTC.
"""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import orjson

from engine.ingest.dates import (
    as_mapping,
    from_seconds,
    read_identifier,
    read_mappings,
    read_number,
    read_string,
    text_of,
    zoned_or_utc,
)
from engine.ingest.reader import FileReader, Reader, Sample, is_mine, parse_objects, role_of
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, build_fingerprint
from engine.ingest.sources import Source
from engine.ingest.streams import named_arrays
from engine.values import Flag, Kind

_BEGINNING = re.compile(
    rb'\s*\{.{0,4000}?"(?:messages"\s*:\s*\[|personal_information"|chats"\s*:\s*\{)', re.DOTALL
)
_TYPE = re.compile(
    rb'"type"\s*:\s*"(?:personal_chat|bot_chat|saved_messages|private_\w+|public_\w+)"'
)
_ACCOUNT = re.compile(rb'"personal_information"\s*:\s*\{[^{}]*?"user_id"\s*:\s*(\d+)')
# Null where the account is gone that wrote the message first.
_FORWARDED = frozenset(("forwarded_from", "forwarded_from_id", "saved_from"))
# Fields with words beside the text, by what holds them; "" is the message itself.
_TITLES = {
    "todo_list": ("title",),
    "invoice_information": ("title", "description"),
    "": ("game_title", "game_description", "place_name", "address"),
}
_LONGEST_HEADER = 4_000  # bytes of the fields before the messages of a chat
_NOT_INCLUDED = "(File "  # "(File not included. Change data exporting settings to download.)"


class TelegramReader(FileReader):
    """Reads `result.json`, one message at a time."""

    name = "telegram"
    kinds = (Kind.PERSONAL,)
    pattern = r"result\.json"

    def recognises(self, sample: Sample) -> bool:
        return bool(_BEGINNING.match(sample.head) and _TYPE.search(sample.head))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        for name in names:
            # Long lists of contacts come between the account and its chats.
            account = _ACCOUNT.search(source.head(name))
            owner = f"user{account[1].decode()}" if account else defaults.author
            with source.open(name) as stream:
                for header, items in named_arrays(stream, "messages"):
                    chat = _chat_fields(header)
                    context = {"chat": chat, "owner": owner, "file": source.citation(name)}
                    digest = build_fingerprint(
                        defaults, self.name, owner or "", orjson.dumps(chat).decode()
                    )
                    for item in parse_objects(source.label(name), "record", items):
                        if isinstance(item, Reject):
                            yield item
                        elif item.value.get("type") != "service":
                            identity = build_identity(chat, item.value.get("id"))
                            payload = {"message": item.value, **context}
                            yield item.record(self.name, identity, digest(item.raw), payload)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message, chat = as_mapping(payload.get("message")), as_mapping(payload.get("chat"))
        parts = _text_parts(message)
        text, poll = "".join(_part_text(part) for part in parts).strip(), _read_poll(message)
        told = (f"[poll] {poll}" if poll and text else poll, *_read_titles(message))
        text = "\n\n".join(filter(None, (text, *told)))
        forwarded = not _FORWARDED.isdisjoint(message)
        sender = read_identifier(message.get("from_id"))
        wrote = is_mine(payload.get("owner"), sender, f"user{sender}", message.get("from"))
        mine = False if forwarded else wrote
        unix = message.get("date_unixtime")
        return PostFields(
            text=text or text_of(_stand_in(message)),
            searched=None if text else "",
            created_at=from_seconds(unix) if unix else zoned_or_utc(message.get("date")),
            author=read_string(message.get("from")) or sender,
            title=read_string(chat.get("name")),
            role=role_of(wrote),
            reply_to=_answered_id(chat, message),
            platform=self.name,
            thread=read_identifier(chat.get("id")),
            attribution=f"{payload.get('file')}#{read_identifier(message.get('id'))}",
            tags=_entity_texts(parts, "hashtag"),
            mentions=_entity_texts(parts, "mention"),
            engagement=sum(
                read_number(r.get("count")) for r in read_mappings(message.get("reactions"))
            ),
            flags=_read_message_flags(message),
            meta={
                "channel": read_string(chat.get("name")),
                "attachments": _list_file_names(message),
                "forwarded_from": read_string(message.get("forwarded_from")),
            },
            mine=mine,
        )


def _chat_fields(header: bytes) -> dict[str, object]:
    """Return the chat's own fields, which come right before its messages."""
    header = header[-_LONGEST_HEADER:]
    start = len(header)
    while (start := header.rfind(b"{", 0, start)) >= 0:
        try:
            fields = orjson.loads(header[start:] + b"}")
        except orjson.JSONDecodeError:
            continue  # a bracket inside a name
        return {name: fields.get(name) for name in ("id", "name", "type")}
    return {}


def build_identity(chat: Mapping[str, object], message: object) -> str | None:
    """Return the id of a message of a chat."""
    number = read_identifier(message)
    return f"{read_identifier(chat.get('id')) or 'chat'}/{number}" if number else None


def _answered_id(chat: Mapping[str, object], message: Mapping[str, object]) -> str | None:
    """Return the answered message, if it is in the same chat."""
    elsewhere = message.get("reply_to_peer_id")
    return None if elsewhere else build_identity(chat, message.get("reply_to_message_id"))


def _text_parts(message: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    """Return the pieces of the text, each with its type; older exports give plain text no type."""
    text = message.get("text")
    if isinstance(text, str):
        return read_mappings(message.get("text_entities")) or [{"type": "plain", "text": text}]
    pieces = text if isinstance(text, list) else []
    return [{"type": "plain", "text": p} if isinstance(p, str) else as_mapping(p) for p in pieces]


def _part_text(part: Mapping[str, object]) -> str:
    text, address = read_string(part.get("text")) or "", read_string(part.get("href"))
    if part.get("type") == "blockquote":
        return "\n".join(f"> {line}" for line in text.split("\n"))
    return f"{text} ({address})" if address and address != text else text


def _entity_texts(parts: Sequence[Mapping[str, object]], kind: str) -> tuple[str, ...]:
    return tuple(read_string(p.get("text")) or "" for p in parts if p.get("type") == kind)


def _read_poll(message: Mapping[str, object]) -> str | None:
    poll = as_mapping(message.get("poll"))
    answers = (read_string(a.get("text")) for a in read_mappings(poll.get("answers")))
    return "\n".join(filter(None, (read_string(poll.get("question")), *answers))) or None


def _read_titles(message: Mapping[str, object]) -> Iterator[str]:
    """Yield the words of what a message holds beside its text: lists, places, games, bills."""
    for name, fields in _TITLES.items():
        holder = as_mapping(message.get(name)) if name else message
        titles = [title for field in fields if (title := read_string(holder.get(field)))]
        items = (read_string(a.get("text")) for a in read_mappings(holder.get("answers")))
        if titles:
            yield "\n".join((*titles, *(filter(None, items) if name else ())))


def _stand_in(message: Mapping[str, object]) -> str | None:
    """Return a stand-in for a message without words: "[photo]", "[voice_message]", "[🙂]"."""
    kind = read_string(message.get("sticker_emoji")) or read_string(message.get("media_type"))
    names = ("photo", "file", "location_information", "contact_information")
    kind = kind or next((name for name in names if message.get(name)), None)
    return f"[{kind.removesuffix('_information')}]" if kind else None


def _list_file_names(message: Mapping[str, object]) -> list[str]:
    files = [read_string(message.get(name)) for name in ("photo", "file_name", "file")]
    names = [PurePosixPath(f).name for f in files if f and not f.startswith(_NOT_INCLUDED)]
    return list(dict.fromkeys(names))


def _read_message_flags(message: Mapping[str, object]) -> Flag:
    flags = Flag.NONE if _FORWARDED.isdisjoint(message) else Flag.REPOST
    if message.get("reply_to_message_id"):
        flags |= Flag.REPLY
    if any(message.get(name) for name in ("photo", "file", "media_type")):
        flags |= Flag.MEDIA
    return flags


READERS: tuple[Reader, ...] = (TelegramReader(),)
