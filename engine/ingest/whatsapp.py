"""A chat that WhatsApp exported as text, in the styles of Android and iOS.

    31/12/2020, 23:59 - Ana: text            12/31/20, 11:59 PM - Ana: text
    [31/12/2020, 23:59:59] Ana: text         [2020-12-31, 11:59:59 PM] Ana: text

A line that begins otherwise continues the message before it. What WhatsApp wrote by itself is
left out, and so are deleted messages. The file names no ids: a message is known by its chat,
time, author and words. Times are those of the phone and are taken for UTC.
"""

import re
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import PurePath, PurePosixPath

from engine.ingest.fields import string, text_of
from engine.ingest.identity import made_id
from engine.ingest.ownership import is_mine, role_of
from engine.ingest.phone_times import date_order, read_time
from engine.ingest.reader import BOM, JsonObject, Sample, members_named
from engine.ingest.records import Defaults, Post, Reject, SourceRecord, fingerprint
from engine.ingest.sources import Source
from engine.ingest.whatsapp_lines import Message, headers, messages, unmarked
from engine.types import Flag, Kind

_OWN_MARK = "\u200e"  # iOS puts it before what it wrote itself
# "<attached: a.jpg>", also after a caption, or "a.jpg (file attached)" before one.
_ATTACHED = re.compile(r"<[^<>:\n]+: ([^<>\n]+\.\w{2,5})>|\A(\S[^\n]*?\.\w{2,5}) \([^()\n]+\)")
_LEFT_OUT = re.compile(
    r"<[^<>\n]+>"  # Android, in any language
    r"|[^\n]{0,40}\b(?:omitted|omitid[oa]|ocultad[oa]|weggelassen|omess[oa]|omise?)\.?",
    re.IGNORECASE,
)
_EDITED = re.compile("(?<!\\s)\\s+\u200e<[^<>:\n]+>$")
_TITLE = re.compile(
    r"(?:whatsapp[ -]chat (?:with|mit|-) |chat de whatsapp con )?(.+)", re.IGNORECASE
)


class WhatsAppReader:
    """Reads a chat message by message; the first mebibyte tells how it writes dates."""

    name = "whatsapp"
    kinds = (Kind.PERSONAL,)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        return members_named(r"_chat\.txt|[^/]*WhatsApp[^/]*\.txt", names)

    def recognises(self, sample: Sample) -> bool:
        first, _, _ = sample.head.lstrip()[:4096].partition(b"\n")
        return any(headers(first.decode("utf-8", "replace")))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        for name in names:
            chat, label = _chat(source, name), source.label(name)
            head = source.head(name).removeprefix(BOM).decode("utf-8", "replace")
            order = date_order(headers(head))
            digest = fingerprint(defaults, self.name, order)
            context = {"chat": chat, "order": order, "owner": defaults.author}
            with source.open(name) as stream:
                for message, identity in _identified(messages(stream), chat):
                    payload = {
                        "date": message.date, "time": message.time, "author": message.author,
                        "text": message.text, "place": f"{source.citation(name)}#{identity}",
                        **context,
                    }  # fmt: skip
                    item = JsonObject(label, message.line, "line", b"", payload)
                    yield item.record(self.name, identity, digest(identity.encode()))

    def post(self, payload: Mapping[str, object]) -> Post:
        text = unmarked(_EDITED.sub("", text_of(payload.get("text"))))
        author, chat = string(payload.get("author")), string(payload.get("chat"))
        mine = is_mine(payload.get("owner"), author)
        attached = _ATTACHED.search(text)
        media = bool(attached or _LEFT_OUT.fullmatch(text))
        return Post(
            text=text.strip(),
            searched=(_ATTACHED.sub("", text) if attached else "") if media else None,
            created_at=read_time(
                str(payload.get("date")), str(payload.get("time")), str(payload.get("order"))
            ),
            author=author,
            title=chat,
            role=role_of(mine),
            platform=self.name,
            thread=chat,
            attribution=string(payload.get("place")),
            flags=Flag.MEDIA if media else Flag.NONE,
            meta={
                "channel": chat,
                "attachments": [attached[1] or attached[2]] if attached else [],
            },
            mine=mine,
        )


def _chat(source: Source, name: str) -> str:
    """Return the name of the chat: that of the file, or of the zip around "_chat.txt"."""
    stem = PurePosixPath(name).stem
    if not source.packed or stem == "_chat":
        stem = PurePath(source.name).stem
    found = _TITLE.fullmatch(stem)
    return found[1].strip() if found else stem


def _identified(found: Generator[Message], chat: str) -> Generator[tuple[Message, str]]:
    """Yield what people wrote with an id; the same words in the same minute are numbered."""
    again: Counter[str] = Counter()
    when = ("", "")
    for message in found:
        if message.author is None or _is_notice(message.text):
            continue
        if when != (when := (message.date, message.time)):
            again.clear()
        key = made_id(chat, *when, message.author, message.text)
        again[key] += 1
        yield message, key if again[key] == 1 else f"{key}-{again[key]}"


def _is_notice(text: str) -> bool:
    """Tell what iOS wrote in the name of a person ("encrypted", "deleted") from left-out media."""
    if not text.startswith(_OWN_MARK):
        return False
    bare = unmarked(text)
    return not (_ATTACHED.search(bare) or _LEFT_OUT.fullmatch(bare))
