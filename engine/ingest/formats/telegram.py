"""Reads Telegram's exports: JSON (`result.json`) of one chat or the whole account, and HTML pages.

{"name": ..., "type": ..., "id": ..., "messages": [...]}
{"personal_information": {...}, "chats": {"list": [{..., "messages": [...]}, ...]}}

Service messages (joins, calls, pins) are left out: nobody wrote them. Exports before 2021 give
times without a zone; they are taken as UTC. The pages of a chat (`messages.html`, `messages2.html`)
become the messages of its JSON export, without the number of the chat, which they lack.
"""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.errors import RecordError
from engine.ingest.fields import (
    as_mapping,
    from_seconds,
    list_strings,
    mapping_at,
    read_identifier,
    read_mappings,
    read_number,
    read_written_time,
    string_at,
    text_of,
    zoned_or_utc,
)
from engine.ingest.parsers.html import html_text
from engine.ingest.reader import Digest, OpenFile, Reader, Sample, is_mine, parse_objects, role_of
from engine.ingest.records import (
    Defaults,
    PostFields,
    RawRecord,
    Reject,
    SourceRecord,
    build_fingerprint,
)
from engine.ingest.sources import Source
from engine.ingest.streams import named_arrays, read_whole
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
_LARGEST_PAGE = 64 << 20  # bytes
_PAGE = re.compile(rb'class="page_body chat_page"|class="message default clearfix')
_PAGE_NAME = re.compile(r"(.*/)?messages(\d*)\.html")
_PAGE_MEDIA = ("photo", "video", "voice_message", "audio_file", "sticker", "animation", "file")
_ANSWERED = re.compile(r"go_to_message(\d+)")
_ZONE = re.compile(r"UTC(?=[+-])")
_NOT_INCLUDED = "(File "  # "(File not included. Change data exporting settings to download.)"


class TelegramReader(Reader):
    """Reads `result.json`, one message at a time."""

    name = "telegram"
    kinds = (Kind.PERSONAL,)
    pattern = r"result\.json"

    def recognises(self, sample: Sample) -> bool:
        return bool(_BEGINNING.match(sample.head) and _TYPE.search(sample.head))

    def read_file(self, file: OpenFile, digest: Digest) -> Iterator[SourceRecord | Reject]:  # noqa: ARG002
        # Long lists of contacts come between the account and its chats.
        account = _ACCOUNT.search(file.source.head(file.name))
        owner = f"user{account[1].decode()}" if account else file.defaults.author
        label, citation = file.label, file.citation
        for header, pieces in named_arrays(file.stream, "messages"):
            chat = _chat_fields(header)
            context = {"chat": chat, "owner": owner, "file": citation}
            chat_digest = build_fingerprint(
                file.defaults, self.name, owner or "", orjson.dumps(chat).decode()
            )
            for item in parse_objects(label, "record", pieces):
                if isinstance(item, Reject):
                    yield item
                elif item.value.get("type") != "service":
                    yield item.record(
                        self.name,
                        build_identity(chat, item.value.get("id")),
                        chat_digest(item.raw),
                        {"message": item.value, **context},
                    )

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message, chat = mapping_at(payload, "message"), mapping_at(payload, "chat")
        parts = _text_parts(message)
        text, poll = "".join(_part_text(part) for part in parts).strip(), _read_poll(message)
        told = (f"[poll] {poll}" if poll and text else poll, *_read_titles(message))
        text = "\n\n".join(filter(None, (text, *told)))
        sender, title = read_identifier(message.get("from_id")), string_at(chat, "name")
        wrote = is_mine(payload.get("owner"), sender, f"user{sender}", message.get("from"))
        forwarded, unix = not _FORWARDED.isdisjoint(message), message.get("date_unixtime")
        return PostFields(
            text=text or text_of(_stand_in(message)),
            searched=None if text else "",
            created_at=from_seconds(unix) if unix else zoned_or_utc(message.get("date")),
            author=string_at(message, "from") or sender,
            title=title,
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
            flags=Flag.of(
                (Flag.REPOST, forwarded),
                (Flag.REPLY, message.get("reply_to_message_id")),
                (Flag.MEDIA, any(map(message.get, ("photo", "file", "media_type")))),
            ),
            meta={
                "channel": title,
                "attachments": _list_file_names(message),
                "forwarded_from": string_at(message, "forwarded_from"),
            },
            mine=False if forwarded else wrote,
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
    text, address = string_at(part, "text") or "", string_at(part, "href")
    if part.get("type") == "blockquote":
        return "\n".join(f"> {line}" for line in text.split("\n"))
    return f"{text} ({address})" if address and address != text else text


def _entity_texts(parts: Sequence[Mapping[str, object]], kind: str) -> tuple[str, ...]:
    return tuple(string_at(p, "text") or "" for p in parts if p.get("type") == kind)


def _read_poll(message: Mapping[str, object]) -> str | None:
    poll = mapping_at(message, "poll")
    lines = (string_at(poll, "question"), *list_strings(poll.get("answers"), "text"))
    return "\n".join(filter(None, lines)) or None


def _read_titles(message: Mapping[str, object]) -> Iterator[str]:
    """Yield the words of what a message holds beside its text: lists, places, games, bills."""
    for name, fields in _TITLES.items():
        holder = mapping_at(message, name) if name else message
        titles = [title for field in fields if (title := string_at(holder, field))]
        items = list_strings(holder.get("answers"), "text") if name else []
        if titles:
            yield "\n".join((*titles, *items))


def _stand_in(message: Mapping[str, object]) -> str | None:
    """Return a stand-in for a message without words: "[photo]", "[voice_message]", "[🙂]"."""
    kind = string_at(message, "sticker_emoji") or string_at(message, "media_type")
    names = ("photo", "file", "location_information", "contact_information")
    kind = kind or next((name for name in names if message.get(name)), None)
    return f"[{kind.removesuffix('_information')}]" if kind else None


def _list_file_names(message: Mapping[str, object]) -> list[str]:
    files = [string_at(message, name) for name in ("photo", "file_name", "file")]
    names = [PurePosixPath(f).name for f in files if f and not f.startswith(_NOT_INCLUDED)]
    return list(dict.fromkeys(names))


class TelegramHtmlReader(TelegramReader):
    """Reads the pages of a chat in their order."""

    name = "telegram-html"

    def members(self, names: Sequence[str]) -> Sequence[str]:
        matches = filter(None, map(_PAGE_NAME.fullmatch, names))
        ordered = sorted(matches, key=lambda match: (match[1] or "", int(match[2] or 1)))
        return [match[0] for match in ordered]

    def recognises(self, sample: Sample) -> bool:
        return bool(_PAGE.search(sample.head))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        digest = build_fingerprint(defaults, self.name)
        sender: str | None = None  # of messages that name none: it goes on from page to page
        for name in names:
            with source.open(name) as stream:
                page = LexborHTMLParser(
                    read_whole(stream, _LARGEST_PAGE).decode("utf-8", "replace")
                )
            title = _node_text(page.css_first(".page_header .text"))
            chat = {"id": title, "name": title}
            context = {"chat": chat, "owner": defaults.author, "file": source.citation(name)}
            for number, node in enumerate(page.css("div.message.default"), start=1):
                sender = _node_text(_find_own(node, ".from_name")) or sender
                message = _read_page_message(node, sender)
                item = RawRecord(source.label(name), number, "record", b"", message)
                try:
                    message["date"] = _read_date(node)
                except RecordError as exc:
                    yield item.reject(str(exc))
                    continue
                identity = build_identity(chat, message["id"])
                raw = orjson.dumps([title, message])
                payload = {"message": message, **context}
                yield item.record(TelegramReader.name, identity, digest(raw), payload)


def _read_page_message(node: LexborNode, sender: str | None) -> dict[str, object]:
    """Return a message as the JSON export writes it."""
    answered = node.css_first(".reply_to a")
    target = str(answered.attributes.get("href") or answered.attributes) if answered else ""
    match = _ANSWERED.search(target)
    message: dict[str, object] = {
        "id": (node.attributes.get("id") or "").removeprefix("message"),
        "from": sender,
        "text": "\n".join(html_text(text.html or "") for text in node.css(".text")),
        "reply_to_message_id": match[1] if match else None,
    }
    if forwarded := node.css_first(".forwarded"):
        message["forwarded_from"] = _node_text(forwarded.css_first(".from_name"))
    if media := node.css_first(".media, .photo_wrap, .video_file_wrap, .sticker_wrap"):
        classes = media.attributes.get("class") or ""
        kind = next((kind for kind in _PAGE_MEDIA if kind.split("_")[0] in classes), "file")
        message["media_type"] = kind
        message["file_name"] = _node_text(media.css_first(".title"))
    if poll := node.css_first(".media_poll"):
        message["poll"] = {
            "question": _node_text(poll.css_first(".question")),
            "answers": [{"text": (_node_text(a) or "").lstrip("- ")} for a in poll.css(".answer")],
        }
    return message


def _find_own(node: LexborNode, selector: str) -> LexborNode | None:
    """Return what is the message's own, and not that of a message that it forwards."""
    for element in node.css(selector):
        parent = element.parent
        while parent is not None and parent != node:
            if "forwarded" in (parent.attributes.get("class") or "").split():
                break
            parent = parent.parent
        else:
            return element
    return None


def _node_text(node: LexborNode | None) -> str | None:
    return " ".join(node.text(deep=True).split()) or None if node else None


def _read_date(node: LexborNode) -> str:
    """Return the time of a message ("31.01.2023 20:11:05 UTC+01:00"). Raises RecordError."""
    date = node.css_first(".date")
    written = _ZONE.sub("", (date.attributes.get("title") or "") if date else "")
    zoned = written if re.search(r"[+-]\d\d:?\d\d$", written) else f"{written} +00:00"
    moment: datetime = read_written_time(zoned, zone=None, is_day_first=True)
    return moment.isoformat()


READERS: tuple[Reader, ...] = (TelegramReader(), TelegramHtmlReader())
