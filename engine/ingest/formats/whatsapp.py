"""Reads a chat that WhatsApp exported as text, in the styles of Android and iOS."""

import io
import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath, PurePosixPath

from engine.ingest.fields import made_id, string, text_of
from engine.ingest.formats.phone_times import date_order, read_time
from engine.ingest.ownership import is_mine, role_of
from engine.ingest.pieces import raw_lines
from engine.ingest.reader import BOM, JsonObject, Sample, members_named
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, fingerprint
from engine.ingest.sources import Source
from engine.types import Flag, Kind

_HEADER = re.compile(
    r"(?P<bracket>\[)?(?P<date>\d{1,4}[./-]\d{1,2}[./-]\d{1,4})[^\d\[\]:]{1,8}"
    r"(?P<time>\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[ap]\.?\s?m\.?)?)"
    r"(?(bracket)\]\s?|\s-\s)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_AUTHOR = re.compile(r"([^:\n]{1,100}): (.*)|([^:\n]{1,100}):$", re.DOTALL)
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACES = re.compile("[\u00a0\u202f\u2007]")
_LONGEST = 200_000  # characters; longer texts are refused later


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """One message; `text` still has the invisible marks that iOS puts before its own words."""

    line: int
    date: str
    time: str
    author: str | None  # None: WhatsApp itself
    text: str


def written_messages(stream: io.BufferedReader) -> Generator[WrittenMessage]:
    """Yield the messages of a chat in order, holding one at a time in memory."""
    current: WrittenMessage | None = None
    for number, raw, _problem in raw_lines(stream):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if begun := _begun(number, line):
            if current:
                yield current
            current = begun
        elif current and len(current.text) < _LONGEST:
            current = replace(current, text=f"{current.text}\n{line}")
    if current:
        yield current


def headers(text: str) -> Iterator[tuple[str, str]]:
    """Yield the date and time of every message that begins in `text`."""
    for line in text.split("\n"):
        if found := _header(line):
            yield found["date"], found["time"]


def unmarked(text: str) -> str:
    """Return `text` without the invisible marks of direction."""
    return _MARKS.sub("", text)


def _header(line: str) -> re.Match[str] | None:
    return _HEADER.match(_SPACES.sub(" ", line).lstrip("\u200e\u200f\ufeff"))


def _begun(number: int, line: str) -> WrittenMessage | None:
    found = _header(line)
    if not found:
        return None
    said = _AUTHOR.match(found["rest"])
    author = unmarked(said[1] or said[3]).strip() if said else None
    text = (said[2] or "") if said else found["rest"]
    return WrittenMessage(number, found["date"], found["time"], author, text)


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
    """Reads a chat message by message; the first mebibyte shows how it writes dates."""

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
                for message, identity in _identified(written_messages(stream), chat):
                    payload = {
                        "date": message.date, "time": message.time, "author": message.author,
                        "text": message.text, "place": f"{source.citation(name)}#{identity}",
                        **context,
                    }  # fmt: skip
                    item = JsonObject(label, message.line, "line", b"", payload)
                    yield item.record(self.name, identity, digest(identity.encode()))

    def post(self, payload: Mapping[str, object]) -> PostFields:
        text = unmarked(_EDITED.sub("", text_of(payload.get("text"))))
        author, chat = string(payload.get("author")), string(payload.get("chat"))
        mine = is_mine(payload.get("owner"), author)
        attached = _ATTACHED.search(text)
        media = bool(attached or _LEFT_OUT.fullmatch(text))
        return PostFields(
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
    """Return the name of the chat: that of the file, or of the zip that holds "_chat.txt"."""
    stem = PurePosixPath(name).stem
    if not source.packed or stem == "_chat":
        stem = PurePath(source.name).stem
    found = _TITLE.fullmatch(stem)
    return found[1].strip() if found else stem


def _identified(
    found: Generator[WrittenMessage], chat: str
) -> Generator[tuple[WrittenMessage, str]]:
    """Yield people's messages with ids; the same words in the same minute are numbered."""
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
    """Tell notices by iOS in a person's name ("encrypted", "deleted") from omitted media."""
    if not text.startswith(_OWN_MARK):
        return False
    bare = unmarked(text)
    return not (_ATTACHED.search(bare) or _LEFT_OUT.fullmatch(bare))
