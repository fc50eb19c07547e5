"""Reads the messages of Messenger and Instagram from Meta's JSON exports (`message_1.json`).

Two layouts: {"participants": [{"name": ...}], "messages": [{"sender_name", "timestamp_ms",
"content"}]}, and that of encrypted chats, {"participants": ["Ana"], "threadName": ...,
"messages": [{"senderName", "timestamp", "text"}]}.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from pathlib import PurePosixPath

import orjson

from engine.ingest.dates import (
    as_mapping,
    made_id,
    read_mappings,
    read_number,
    read_string,
    read_strings,
    text_of,
    zoned_or_utc,
)
from engine.ingest.formats.meta import FacebookReader, InstagramReader, repair_encoding
from engine.ingest.reader import FileReader, JsonObject, Reader, Sample, is_mine, role_of
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, build_fingerprint
from engine.ingest.sources import Source
from engine.ingest.streams import read_whole
from engine.values import Flag, Kind

_LARGEST = 64 << 20  # bytes of a file
_SIGN = re.compile(rb'"participants"\s*:\s*\[')
_MESSAGE = re.compile(rb'"sender_?[nN]ame"\s*:')
_FOLDERS = r"(?:inbox|archived_threads|e2ee_cutover|filtered_threads|message_requests)"
_MEDIA = ("photos", "videos", "audio_files", "files", "gifs", "media")
_OF_NOBODY = ("Subscribe", "Unsubscribe")  # types of notices
_NOTICE = re.compile(r"(?:Liked a message|Reacted \S{1,9} to your message|Le gustó un mensaje)\s*")


class MessengerReader(FileReader):
    """Reads one chat a file."""

    name = "messenger"
    kinds = (Kind.PERSONAL,)
    pattern = rf"messages/{_FOLDERS}/[^/]+/message_\d+\.json|[^/]+_\d+\.json"

    def recognises(self, sample: Sample) -> bool:
        return bool(_SIGN.search(sample.head) and _MESSAGE.search(sample.head))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        owner = defaults.author or (_find_owner(source) if source.packed else None)
        digest = build_fingerprint(defaults, self.name, owner or "")
        for name in names:
            label = source.label(name)
            with source.open(name) as stream:
                content = read_whole(stream, _LARGEST)
            try:
                chat = as_mapping(repair_encoding(orjson.loads(content)))
            except orjson.JSONDecodeError:
                yield Reject(file=label, line=1, reason="not valid JSON, or larger than 64 MB")
                continue
            context = _read_context(chat, name, source.citation(name), owner)
            for number, message in enumerate(read_mappings(chat.get("messages")), start=1):
                words = _read_words(message)
                is_notice = message.get("type") in _OF_NOBODY or (
                    words and _NOTICE.fullmatch(words)
                )
                if message.get("is_unsent") is True or is_notice:
                    continue
                key = (context["thread"], _read_time(message), _read_sender(message))
                identity = made_id(*map(str, key), str(words or _list_files(message)))
                payload = {"message": message, **context, "id": identity}
                item = JsonObject(label, number, "record", b"", payload)
                yield item.record(self.name, identity, digest(orjson.dumps(payload)))

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message = as_mapping(payload.get("message"))
        words, files = _read_words(message), _list_files(message)
        sender = _read_sender(message)
        mine = is_mine(payload.get("owner"), sender)
        link = read_string(as_mapping(message.get("share")).get("link"))
        shared = read_string(as_mapping(message.get("share")).get("share_text"))
        return PostFields(
            text=words or link or text_of("[photo]" if files else None),
            searched=None if words else "",
            beside=(("shared", shared),) if shared else (),
            created_at=zoned_or_utc(_read_time(message)),
            author=sender,
            title=read_string(payload.get("title")),
            role=role_of(mine),
            platform=read_string(payload.get("platform")),
            thread=read_string(payload.get("thread")),
            attribution=f"{payload.get('file')}#{payload.get('id')}",
            tags=(),
            mentions=(),
            engagement=len(read_mappings(message.get("reactions"))),
            flags=Flag.MEDIA if files else Flag.NONE,
            meta={
                "channel": payload.get("title"),
                "attachments": files,
                "participants": payload.get("participants"),
            },
            mine=mine,
        )


def _read_context(
    chat: Mapping[str, object], name: str, file: str, owner: str | None
) -> dict[str, object]:
    people = chat.get("participants")
    named = [read_string(p.get("name")) for p in read_mappings(people)] or read_strings(people)
    title = read_string(chat.get("title")) or read_string(chat.get("threadName"))
    path = read_string(chat.get("thread_path")) or title or ", ".join(filter(None, named))
    return {
        "title": title,
        "thread": PurePosixPath(path).name,
        "participants": [person for person in named if person],
        "platform": "instagram" if "instagram" in name.casefold() else "messenger",
        "file": file,
        "owner": owner,
    }


def _read_sender(message: Mapping[str, object]) -> str | None:
    return read_string(message.get("sender_name")) or read_string(message.get("senderName"))


def _read_words(message: Mapping[str, object]) -> str | None:
    return read_string(message.get("content")) or read_string(message.get("text"))


def _read_time(message: Mapping[str, object]) -> int | None:
    """Return milliseconds since 1970."""
    return read_number(message.get("timestamp_ms") or message.get("timestamp")) or None


def _list_files(message: Mapping[str, object]) -> list[str]:
    places = [
        read_string(item.get("uri")) for kind in _MEDIA for item in read_mappings(message.get(kind))
    ]
    sticker = read_string(as_mapping(message.get("sticker")).get("uri"))
    return [PurePosixPath(place).name for place in (*places, sticker) if place]


def _find_owner(source: Source) -> str | None:
    owners = (reader.find_owner(source) for reader in (FacebookReader(), InstagramReader()))
    return next(filter(None, owners), None)


READERS: tuple[Reader, ...] = (MessengerReader(),)
