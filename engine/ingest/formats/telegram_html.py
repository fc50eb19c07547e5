"""Reads the pages of a chat that Telegram exported as HTML (`messages.html`, `messages2.html`).

They become the messages of its JSON export, without the number of the chat, which they lack.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from datetime import datetime

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.errors import RecordError
from engine.ingest.dates import read_written_time
from engine.ingest.formats.telegram import TelegramReader, build_identity
from engine.ingest.parsers.html import html_text
from engine.ingest.reader import JsonObject, Reader, Sample, members_named
from engine.ingest.records import Defaults, Reject, SourceRecord, build_fingerprint
from engine.ingest.sources import Source
from engine.ingest.streams import read_whole

_LARGEST = 64 << 20  # bytes of a page
_SIGN = re.compile(rb'class="page_body chat_page"|class="message default clearfix')
_PART = re.compile(r"(?:.*/)?messages(\d*)\.html")
_ANSWERED = re.compile(r"go_to_message(\d+)")
_ZONE = re.compile(r"UTC(?=[+-])")
_MEDIA = ("photo", "video", "voice_message", "audio_file", "sticker", "animation", "file")


class TelegramHtmlReader(TelegramReader):
    """Reads the pages of a chat in their order."""

    name = "telegram-html"

    def members(self, names: Sequence[str]) -> Sequence[str]:
        files = members_named(r"messages\d*\.html", names)
        return sorted(files, key=lambda name: (name.rpartition("/")[0], _number_of(name)))

    def recognises(self, sample: Sample) -> bool:
        return bool(_SIGN.search(sample.head))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        digest = build_fingerprint(defaults, self.name)
        sender: str | None = None
        for name in names:
            with source.open(name) as stream:
                page = LexborHTMLParser(read_whole(stream, _LARGEST).decode("utf-8", "replace"))
            title = _text_of(page.css_first(".page_header .text"))
            chat = {"id": title, "name": title}
            context = {
                "chat": chat,
                "owner": defaults.author,
                "file": source.citation(name),
            }
            for number, node in enumerate(page.css("div.message.default"), start=1):
                sender = _text_of(_own(node, ".from_name")) or sender
                message = _read_message(node, sender)
                item = JsonObject(source.label(name), number, "record", b"", message)
                try:
                    message["date"] = _read_date(node)
                except RecordError as exc:
                    yield item.reject(str(exc))
                    continue
                identity = build_identity(chat, message["id"])
                raw = orjson.dumps([title, message])
                payload = {"message": message, **context}
                yield item.record(TelegramReader.name, identity, digest(raw), payload)


def _number_of(name: str) -> int:
    match = _PART.fullmatch(name)
    return int(match[1] or 1) if match else 0


def _read_message(node: LexborNode, sender: str | None) -> dict[str, object]:
    """Return a message as the JSON export writes it."""
    answered = node.css_first(".reply_to a")
    match = (
        _ANSWERED.search(str(answered.attributes.get("href") or answered.attributes))
        if answered
        else None
    )
    message: dict[str, object] = {
        "id": (node.attributes.get("id") or "").removeprefix("message"),
        "from": sender,
        "text": "\n".join(_read_texts(node)),
        "reply_to_message_id": match[1] if match else None,
    }
    if forwarded := node.css_first(".forwarded"):
        message["forwarded_from"] = _text_of(forwarded.css_first(".from_name"))
    if media := node.css_first(".media, .photo_wrap, .video_file_wrap, .sticker_wrap"):
        classes = media.attributes.get("class") or ""
        kind = next((kind for kind in _MEDIA if kind.split("_")[0] in classes), "file")
        message["media_type"] = kind
        message["file_name"] = _text_of(media.css_first(".title"))
    if poll := node.css_first(".media_poll"):
        message["poll"] = {
            "question": _text_of(poll.css_first(".question")),
            "answers": [{"text": (_text_of(a) or "").lstrip("- ")} for a in poll.css(".answer")],
        }
    return message


def _read_texts(node: LexborNode) -> Iterator[str]:
    for text in node.css(".text"):
        yield html_text(text.html or "")


def _own(node: LexborNode, selector: str) -> LexborNode | None:
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


def _text_of(node: LexborNode | None) -> str | None:
    return " ".join(node.text(deep=True).split()) or None if node else None


def _read_date(node: LexborNode) -> str:
    """Return the time of a message ("31.01.2023 20:11:05 UTC+01:00"). Raises RecordError."""
    date = node.css_first(".date")
    written = _ZONE.sub("", (date.attributes.get("title") or "") if date else "")
    zoned = written if re.search(r"[+-]\d\d:?\d\d$", written) else f"{written} +00:00"
    moment: datetime = read_written_time(zoned, zone=None, is_day_first=True)
    return moment.isoformat()


READERS: tuple[Reader, ...] = (TelegramHtmlReader(),)
