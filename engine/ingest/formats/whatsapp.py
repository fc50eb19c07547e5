"""Reads a chat that WhatsApp exported as text, in the styles of Android and iOS."""

import io
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePath, PurePosixPath

from engine.errors import RecordError
from engine.ingest.dates import made_id, read_string, text_of, written_at
from engine.ingest.reader import JsonObject, Reader, Sample, is_mine, members_named, role_of
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, build_fingerprint
from engine.ingest.sources import Source
from engine.ingest.streams import BOM, raw_lines
from engine.messages import Message
from engine.values import Flag, Kind

DAY_FIRST, MONTH_FIRST = "day first", "month first"

_NUMBER = re.compile(r"\d+")
_AFTERNOON = re.compile(r"p\.?\s?m", re.IGNORECASE)
_MORNING = re.compile(r"a\.?\s?m", re.IGNORECASE)
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


def guess_date_order(written: Iterable[tuple[str, str]]) -> str:
    """Return whether the day or the month comes first, from dates and times in file order.

    The right order makes every date valid and none earlier than the one before it. If both do, the
    day comes first, unless the dates look American (slashes and a clock of twelve hours).
    """
    given = [(date, time) for date, time in written if not _year_first(date)]
    american = any("/" in date and _is_twelve_hours(time) for date, time in given)
    preferred = (MONTH_FIRST, DAY_FIRST) if american else (DAY_FIRST, MONTH_FIRST)
    return min(preferred, key=lambda order: _count_faults([date for date, _ in given], order))


def read_time(date: str, time: str, order: str) -> datetime:
    """Read "31/12/20" and "11:59:59 PM" as UTC. Raises RecordError."""
    try:
        hour, minute, second = (*map(int, _NUMBER.findall(time)), 0)[:3]
        if _is_twelve_hours(time):
            hour = hour % 12 + (12 if _AFTERNOON.search(time) else 0)
        year, month, day = _date_parts(date, order)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError) as exc:
        raise RecordError(
            Message(
                "the time {date} {time} does not exist, read with the {order}",
                date=date,
                time=time,
                order=order,
            )
        ) from exc
    return written_at(moment)


def _is_twelve_hours(time: str) -> bool:
    return bool(_AFTERNOON.search(time) or _MORNING.search(time))


def _year_first(date: str) -> bool:
    return len(_NUMBER.findall(date)[0]) == 4


def _date_parts(date: str, order: str) -> tuple[int, int, int]:
    """Return year, month and day."""
    first, second, third = (int(number) for number in _NUMBER.findall(date))
    if _year_first(date):
        return first, second, third
    year = third + 2000 if third < 100 else third
    return (year, first, second) if order == MONTH_FIRST else (year, second, first)


def _count_faults(dates: Sequence[str], order: str) -> int:
    """Count the invalid dates, and those earlier than the one before."""
    faults, last = 0, datetime.min.replace(tzinfo=UTC)
    for date in dates:
        try:
            moment = read_time(date, "00:00", order)
        except RecordError:
            faults += 1
            continue
        faults += moment < last
        last = moment
    return faults


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
        if begun := _begin_message(number, line):
            if current:
                yield current
            current = begun
        elif current and len(current.text) < _LONGEST:
            current = replace(current, text=f"{current.text}\n{line}")
    if current:
        yield current


def find_headers(text: str) -> Iterator[tuple[str, str]]:
    """Yield the date and time of every message that begins in `text`."""
    for line in text.split("\n"):
        if found := _match_header(line):
            yield found["date"], found["time"]


def strip_marks(text: str) -> str:
    """Return `text` without the invisible marks of direction."""
    return _MARKS.sub("", text)


def _match_header(line: str) -> re.Match[str] | None:
    return _HEADER.match(_SPACES.sub(" ", line).lstrip("\u200e\u200f\ufeff"))


def _begin_message(number: int, line: str) -> WrittenMessage | None:
    found = _match_header(line)
    if not found:
        return None
    spoken = _AUTHOR.match(found["rest"])
    author = strip_marks(spoken[1] or spoken[3]).strip() if spoken else None
    text = (spoken[2] or "") if spoken else found["rest"]
    return WrittenMessage(number, found["date"], found["time"], author, text)


class WhatsAppReader:
    """Reads a chat message by message; the first mebibyte shows how it writes dates."""

    name = "whatsapp"
    kinds = (Kind.PERSONAL,)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        return members_named(r"_chat\.txt|[^/]*WhatsApp[^/]*\.txt", names)

    def recognises(self, sample: Sample) -> bool:
        first, _, _ = sample.head.lstrip()[:4096].partition(b"\n")
        return any(find_headers(first.decode("utf-8", "replace")))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        for name in names:
            chat, label = _chat_name(source, name), source.label(name)
            head = source.head(name).removeprefix(BOM).decode("utf-8", "replace")
            order = guess_date_order(find_headers(head))
            digest = build_fingerprint(defaults, self.name, order)
            context = {"chat": chat, "order": order, "owner": defaults.author}
            with source.open(name) as stream:
                for message, identity in _identify_messages(written_messages(stream), chat):
                    payload = {
                        "date": message.date, "time": message.time, "author": message.author,
                        "text": message.text, "place": f"{source.citation(name)}#{identity}",
                        **context,
                    }  # fmt: skip
                    item = JsonObject(label, message.line, "line", b"", payload)
                    yield item.record(self.name, identity, digest(identity.encode()))

    def post(self, payload: Mapping[str, object]) -> PostFields:
        text = strip_marks(_EDITED.sub("", text_of(payload.get("text"))))
        author, chat = read_string(payload.get("author")), read_string(payload.get("chat"))
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
            attribution=read_string(payload.get("place")),
            flags=Flag.MEDIA if media else Flag.NONE,
            meta={"channel": chat, "attachments": [attached[1] or attached[2]] if attached else []},
            mine=mine,
        )


def _chat_name(source: Source, name: str) -> str:
    """Return the name of the chat: that of the file, or of the zip that holds "_chat.txt"."""
    stem = PurePosixPath(name).stem
    if not source.packed or stem == "_chat":
        stem = PurePath(source.name).stem
    found = _TITLE.fullmatch(stem)
    return found[1].strip() if found else stem


def _identify_messages(
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
    bare = strip_marks(text)
    return not (_ATTACHED.search(bare) or _LEFT_OUT.fullmatch(bare))


READERS: tuple[Reader, ...] = (WhatsAppReader(),)
