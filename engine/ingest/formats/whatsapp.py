"""Reads a chat that WhatsApp exported as text, in the styles of Android and iOS."""

import io
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import PurePath, PurePosixPath
from typing import Any

import orjson

from engine.errors import RecordError
from engine.ingest.chat_lines import Header, find_headers, half_of_day, match_header, strip_marks
from engine.ingest.fields import made_id, string_at, text_of, written_at
from engine.ingest.reader import OpenFile, Reader, Sample, is_mine, role_of
from engine.ingest.records import Defaults, PostFields, RawRecord, Reject
from engine.ingest.sources import Source
from engine.ingest.streams import BOM, UTF_8, decode_stream, find_encoding, raw_lines
from engine.messages import Message
from engine.text.clean import clean_for_display
from engine.text.written_dates import read_day
from engine.values import Flag, Kind

DAY_FIRST, MONTH_FIRST = "day first", "month first"
RENEWED = "wa-"  # what ids begin with since they no longer name the file of the chat

_NUMBER = re.compile(r"\d+")
_WORDED = re.compile(r"[^\W\d_年月日년월일]{3}")
_AMERICAN = re.compile(r"\b[AP]M\b")
_BUDDHIST, _PERSIAN = range(2400, 2700), range(1300, 1500)  # years of Thailand and of Iran
_AUTHOR = re.compile(r"([^:\n]{1,100}): (.*)|([^:\n]{1,100}):$", re.DOTALL)
_LONGEST = 200_000  # characters; longer texts are refused later
_TITLE = re.compile(
    r"(?:[^\n]{0,60}?whatsapp\S{0,30}\s(?:chat\s|sohbeti\s)?(?:with|mit|con|com|avec|met|med|с|di|-)\s)?(.+)",
    re.IGNORECASE,
)
_COPY = re.compile(r"\s?\(\d{1,3}\)$")  # of a file that was downloaded again
_ASIDE = "~\u00a0\u202f "  # before the name of somebody who is no contact
_FIRST_LINES, _LEAST_HEADERS = 200, 2
_OWN_MARK = "\u200e"  # iOS puts it before what it wrote itself
# "<attached: a.jpg>", also after a caption, or "a.jpg (file attached)" before one.
ATTACHED = re.compile(r"<[^<>:\n]+: ([^<>\n]+\.\w{2,5})>|\A(\S[^\n]*?\.\w{2,5}) \([^()\n]+\)")
LEFT_OUT = re.compile(
    r"<[^<>\n]+>"  # Android, in any language
    r"|[^\n]{0,40}\b(?:omitted|omitid[oa]|ocultad[oa]|weggelassen|omess[oa]|omise?|omitit[oa]"
    r"|weggelaten|dahil edilmedi)\.?",
    re.IGNORECASE,
)
# Polls, places and events, which iOS writes under a label: "POLL:", "Location: https://...".
_LABELLED = re.compile(r"\w[\w ]{0,24}:\s")
EDITED = re.compile(
    "(?<!\\s)\\s+(?:\u200e<[^<>:\\n]+>|<[^<>:\\n]*"
    "(?:edited|edit[oóaá]|editad|bearbeitet|modifi|bewerkt|düzenle|измен|редактир|编辑|編輯|編集"
    "|수정|diedit|chỉnh sửa|edytow|rediger|muokat|संपादित|تعديل|επεξεργ|szerkeszt|נערכה)"
    "[^<>:\\n]*>)$",
    re.IGNORECASE,
)
# What WhatsApp writes in a person's place, as whole messages.
_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|null|waiting for this message.*"
    r"|se eliminó este mensaje|este mensaje fue eliminado|eliminaste este mensaje"
    r"|diese nachricht wurde gelöscht|du hast diese nachricht gelöscht"
    r"|ce message a été supprimé|vous avez supprimé ce message"
    r"|questo messaggio è stato eliminato|hai eliminato questo messaggio"
    r"|(?:essa |esta )?mensagem (?:foi )?apagada|você apagou esta mensagem|apagou esta mensagem"
    r"|dit bericht is verwijderd|(?:u hebt|je hebt) dit bericht verwijderd"
    r"|bu mesaj silindi|bu mesajı sildiniz|(?:данное )?сообщение удалено"
    r"|вы удалили (?:данное|это) сообщение"
    r"|此消息已被?(?:删除|撤回)|你(?:删除|撤回)了(?:此|一条)消息"
    r"|(?:已刪除此訊息|此訊息已(?:被)?刪除|你已刪除此訊息)"
    r"|このメッセージは削除されました"
    r"|(?:이 메시지는 )?삭제(?:된 메시지입니다|되었습니다|했습니다)"
    r"|تم حذف هذه الرسالة|لقد حذفت هذه الرسالة"
    r"|pesan ini (?:telah )?dihapus|anda (?:telah )?menghapus pesan ini"
    r"|tin nhắn này đã bị xóa|bạn đã xóa tin nhắn này|ta wiadomość została usunięta"
    r"|ezt az üzenetet törölték|αυτό το μήνυμα διαγράφηκε|detta meddelande raderades"
    r"|denne (?:besked|melding)en ble?v? slettet|tämä viesti (?:on )?poistettiin"
    r"|tato zpráva byla odstraněna|táto správa bola odstránená|acest mesaj a fost șters"
    r"|ข้อความนี้ถูกลบ(?:แล้ว)?|це повідомлення (?:було )?видалено|این پیام حذف شد"
    r"|това съобщение беше изтрито|poruka je izbrisana|mesej ini telah dipadam"
    r"|(?:यह|आपने यह) मैसेज (?:डिलीट|मिटा).*|הודעה זו נמחקה|מחקת הודעה זו)[.。]?",
    re.IGNORECASE,
)
_ENCRYPTED = re.compile(
    r"end-to-end|extremo a extremo|ende-zu-ende|bout en bout|ponta a ponta|uçtan uca"
    r"|端到端|端對端|сквозн|종단|エンドツーエンド|تام بين الطرفين"
    r"|mã hóa đầu cuối|végpontok közötti|από άκρο σε άκρο",
    re.IGNORECASE,
)
# What a notice says that somebody did, after the name.
_DID = re.compile(
    r"(?:created|changed|added|left|removed|joined|pinned|turned o\w+|started|deleted|was added"
    r"|is now"
    r"|creó|cambió|añadió|agregó|salió|eliminó|se unió|fijó|activó|desactivó"
    r"|hat (?:die|das|den|dich|eine)|ist (?:beigetreten|der)|wurde"
    r"|a (?:créé|changé|modifié|ajouté|quitté|rejoint|supprimé)"
    r"|ha (?:creato|cambiato|aggiunto|rimosso|abbandonato|modificato)"
    r"|criou|mudou|alterou|adicionou|saiu|entrou|removeu|heeft|grubu|создал|изменил|добавил"
    r"|вышел|покинул)\b",
    re.IGNORECASE,
)
_QUOTE_SIGNS = frozenset('"“”„«»‘’「」『』')


def is_notice(text: str, author: str) -> bool:
    """Return whether WhatsApp wrote a text in a person's name."""
    bare = strip_marks(text).strip()
    if _DELETED.fullmatch(bare) or (
        bare.startswith(f"{author} ") and _DID.match(bare, len(author) + 1)
    ):
        return True
    if not text.startswith(_OWN_MARK):
        return bool(_ENCRYPTED.search(bare)) and "WhatsApp" in bare
    return not (ATTACHED.search(bare) or LEFT_OUT.fullmatch(bare) or _LABELLED.match(bare))


def tells_what_was_done(author: str) -> bool:
    """Return whether a name is the beginning of a notice: "Ana created group “Sailing: summer”"."""
    if not _QUOTE_SIGNS.isdisjoint(author) and len(author.split()) > 2:
        return True
    _name, _, rest = author.partition(" ")
    words = rest.split()
    return len(words) > 1 and any(
        _DID.match(" ".join(words[n:])) for n in range(min(len(words), 3))
    )


def guess_date_order(headers: Iterable[Header]) -> tuple[str, bool]:
    """Return whether the day or the month comes first, and whether nothing but custom says so.

    The right order makes every date valid and none earlier than the one before it. If both do, the
    day comes first, unless the dates look American (slashes and "AM" or "PM").
    """
    given = [
        header
        for header in headers
        if not (_year_first(header.date) or _WORDED.search(header.date))
    ]
    american = any("/" in header.date and _AMERICAN.search(header.time) for header in given)
    preferred = (MONTH_FIRST, DAY_FIRST) if american else (DAY_FIRST, MONTH_FIRST)
    faults = {order: _count_faults([h.date for h in given], order) for order in preferred}
    best = min(preferred, key=faults.__getitem__)
    is_open = len(set(faults.values())) == 1 and any(
        len(set(_NUMBER.findall(header.date)[:2])) > 1 for header in given
    )
    return best, is_open


def read_time(date: str, time: str, order: str) -> datetime:
    """Read "31/12/20" and "11:59:59 PM" as UTC. Raises RecordError."""
    try:
        hour, minute, second = (*map(int, _NUMBER.findall(time)), 0)[:3]
        if hour <= 12 and (half := half_of_day(_NUMBER.sub(" ", time).replace(":", " "))):
            hour = hour % 12 + (12 if half == "pm" else 0)
        year, month, day = _date_parts(date, order)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError) as exc:
        raise RecordError(
            Message(
                "the time {date} {time} does not exist, read with the {order}",
                date=date,
                time=" ".join(time.strip(" ,،").split()),
                order=order,
            )
        ) from exc
    return written_at(moment)


def _year_first(date: str) -> bool:
    return len(_NUMBER.findall(date)[0]) == 4


def _date_parts(written: str, order: str) -> tuple[int, int, int]:
    """Return year, month and day."""
    if _WORDED.search(written):
        return read_day(written, None)
    first, second, third = (int(number) for number in _NUMBER.findall(written))
    if _year_first(written):
        year, month, day = first, second, third
    else:
        year = third + 2000 if third < 100 else third
        month, day = (first, second) if order == MONTH_FIRST else (second, first)
    if year in _PERSIAN and month <= 12 and day <= 31:  # else it is refused as no date
        moment = _convert_persian(year, month, day)
        return moment.year, moment.month, moment.day
    return (year - 543 if year in _BUDDHIST else year), month, day


def _convert_persian(year: int, month: int, day: int) -> date:
    """Return a day of Iran's calendar in ours.

    Six months of 31 days come first, and 8 of 33 years are leap years, as in this century and the
    last. 226,894 is the ordinal of the day before the first one.
    """
    days = 31 * (month - 1) if month <= 7 else 30 * (month - 1) + 6
    return date.fromordinal(226_894 + 365 * (year - 1) + (8 * year + 21) // 33 + days + day)


def _count_faults(dates: Sequence[str], order: str) -> int:
    """Count the invalid dates, and those earlier than the one before."""
    faults, last = 0, datetime.min.replace(tzinfo=UTC)
    for written in dates:
        try:
            moment = read_time(written, "00:00", order)
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
        if header := match_header(line):
            if current:
                yield current
            current = _begin_message(number, header)
        elif current and len(current.text) < _LONGEST:
            current = replace(current, text=f"{current.text}\n{line}")
    if current:
        yield current


def _begin_message(number: int, header: Header) -> WrittenMessage:
    spoken = _AUTHOR.match(header.rest)
    author = name_of(spoken[1] or spoken[3]) if spoken else None
    if spoken is None or not author or tells_what_was_done(author):
        return WrittenMessage(number, header.date, header.time, None, header.rest)
    return WrittenMessage(number, header.date, header.time, author, spoken[2] or "")


def name_of(written: str) -> str:
    """Return the name of an author without marks: "Ana" for "~ Ana"."""
    return strip_marks(written).strip().lstrip(_ASIDE).strip()


def message_id(moment: datetime | None, written: str, author: str, text: str) -> str:
    """Return the id of what was said, by whom, when to the minute, whatever phone exported it.

    `written` stands in for a time that does not exist. Pictures are called otherwise on each phone.
    """
    when = f"{moment:%Y-%m-%dT%H:%M}" if moment else written
    words = "" if LEFT_OUT.fullmatch(text.strip()) else text
    return RENEWED + made_id(when, author, " ".join(ATTACHED.sub("", words).split()))


class WhatsAppReader(Reader):
    """Reads a chat message by message; the first mebibyte shows how it writes dates."""

    name = "whatsapp"
    kinds = (Kind.PERSONAL,)
    pattern = r"[^/.][^/]*\.txt"

    def recognises(self, sample: Sample) -> bool:
        lines = _decode(sample.head).split("\n")[:_FIRST_LINES]
        written = [line for line in lines if line.strip()]
        headers = [header for line in written if (header := match_header(line.rstrip("\r")))]
        spoken = sum(bool(_begin_message(1, header).author) for header in headers)
        begins = bool(written) and match_header(written[0]) is not None
        return bool(spoken) and (begins or len(headers) >= _LEAST_HEADERS)

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        chat, head = _chat_name(file.source, file.name), file.source.head(file.name)
        if file.defaults.is_day_first is None:
            order, _is_open = guess_date_order(find_headers(_decode(head)))
        else:
            order = DAY_FIRST if file.defaults.is_day_first else MONTH_FIRST
        context = {"chat": chat, "order": order, "owner": file.defaults.author}
        label, citation = file.label, file.citation
        stream = decode_stream(file.stream, find_encoding(head) or UTF_8)
        for message, identity in _identify_messages(written_messages(stream), order):
            payload = {
                "date": message.date, "time": message.time, "author": message.author,
                "text": message.text, "place": identity, **context,
            }  # fmt: skip
            value = {**payload, "id": identity, "place": f"{citation}#{identity}"}
            yield RawRecord(label, message.line, "line", orjson.dumps(payload), value)

    def tell_guesses(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Iterator[Message]:
        """Yield what is guessed about dates that may be read in two ways."""
        if defaults.is_day_first is not None:
            return
        for name in names:
            with source.open_ahead(name) as stream:
                order, is_open = guess_date_order(find_headers(_decode(stream.read(1 << 16))))
            if is_open:
                yield _describe_order(source.label(name), order)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        text = _plain_text(text_of(payload.get("text")))
        author, chat = string_at(payload, "author"), string_at(payload, "chat")
        mine = is_mine(payload.get("owner"), author)
        attached = ATTACHED.search(text)
        media = bool(attached or LEFT_OUT.fullmatch(text))
        return PostFields(
            text=text.strip(),
            searched=(ATTACHED.sub("", text) if attached else "") if media else None,
            created_at=read_time(
                str(payload.get("date")), str(payload.get("time")), str(payload.get("order"))
            ),
            author=author,
            title=chat,
            role=role_of(mine),
            platform=self.name,
            thread=chat,
            attribution=string_at(payload, "place"),
            flags=Flag.of((Flag.MEDIA, media)),
            meta={"channel": chat, "attachments": [attached[1] or attached[2]] if attached else []},
            mine=mine,
        )


def _decode(head: bytes) -> str:
    return head.removeprefix(BOM).decode(find_encoding(head) or UTF_8, "replace")


def _plain_text(written: str) -> str:
    return strip_marks(EDITED.sub("", written))


def _describe_order(name: str, order: str) -> Message:
    if order == DAY_FIRST:
        return Message(
            "In {name} no date tells whether the day or the month comes first: it is read with the"
            " day first. If that is wrong: --month-first.",
            name=name,
        )
    return Message(
        "In {name} no date tells whether the day or the month comes first: it is read with the"
        " month first. If that is wrong: --day-first.",
        name=name,
    )


def _chat_name(source: Source, name: str) -> str:
    """Return the name of the chat: that of the file, or of the zip that holds "_chat.txt"."""
    stem = PurePosixPath(name).stem
    if not source.packed or stem == "_chat":
        stem = PurePath(source.name).stem
    match = _TITLE.fullmatch(_COPY.sub("", stem))
    return match[1].strip() if match else stem


def _identify_messages(
    messages: Generator[WrittenMessage], order: str
) -> Generator[tuple[WrittenMessage, str]]:
    """Yield people's messages with ids; the same words in the same minute are numbered."""
    again: Counter[str] = Counter()
    minute: object = None
    for message in messages:
        if message.author is None or is_notice(message.text, message.author):
            continue
        moment, written = None, f"{message.date} {message.time}"
        with suppress(RecordError):  # the normaliser reports it
            moment = read_time(message.date, message.time, order)
        if minute != (minute := moment.replace(second=0) if moment else written):
            again.clear()
        text = clean_for_display(_plain_text(message.text))
        key = message_id(moment, written, message.author, text)
        again[key] += 1
        yield message, key if again[key] == 1 else f"{key}-{again[key]}"


def renew_ids(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, str | None]:
    """Return today's ids of stored messages by those that named the file of the chat.

    `rows` are in the order in which they were stored. None: the message is there twice, or nobody's
    words.
    """
    taken = {row["external_id"] for row in rows if row["external_id"].startswith(RENEWED)}
    again: Counter[tuple[object, str]] = Counter()
    renewed: dict[str, str | None] = {}
    for row in rows:
        if row["external_id"] in taken:
            continue
        author = name_of(row["author"] or "")
        key = message_id(row["created_at"].astimezone(UTC), "", author, row["text"])
        again[row["thread_id"], key] += 1
        number = again[row["thread_id"], key]
        identity = key if number == 1 else f"{key}-{number}"
        is_gone = identity in taken or is_notice(row["text"], author)
        renewed[row["external_id"]] = None if is_gone else identity
        taken.add(identity)
    return renewed


READERS: tuple[Reader, ...] = (WhatsAppReader(),)
