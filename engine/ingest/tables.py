"""Detects the layout of a table: encoding, delimiter, columns, date order and time zone.

A table is a CSV, or the objects of a JSON file whose fields have other names than ours. What is
guessed here is shown before anything is stored.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import orjson

from engine.errors import RecordError, UnknownFormat, UsageError
from engine.ingest.csv_rows import (
    RowMap,
    fit_row,
    is_own_device,
    read_cell,
    says_repost,
    translate_row,
)
from engine.ingest.exchange import is_exported
from engine.ingest.records import Defaults, TableLayout
from engine.ingest.streams import WINDOWS, find_encoding
from engine.messages import Message
from engine.text.clean import make_storable, normalise_form
from engine.text.language import detect_language
from engine.text.written_dates import DayOrder, find_day_order, is_time, names_zone

USUAL_ZONE = "UTC"
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLED = 200  # rows
_SHOWN = 3  # records
_NOTES = 10  # the rows among which the names of the columns are looked for
_NEEDED = ("id", "text", "created_at")
# What people call the fields, best first; letters and digits alone count.
_NAMES = {
    "id": (
        "id tweetid idstr postid statusid messageid commentid guid uuid uid identificador"
        " idtweet iddeltweet idpublicacion"
    ),
    "text": (
        "fulltext text rawcontent posttext"
        " content body selftext commenttext tweet tweettext message texto textocompleto"
        " mensaje contenido tuit cuerpo comment comentario post publicacion caption note nota"
        " notes notas quote cita description descripcion name nombre"
    ),
    "created_at": (
        "createdat datetime timestamp date time createdtime created createdutc creationdate"
        " publishedat published pubdate postedat posted timestampms tweetcreatedat fechahora"
        " fechayhora fecha fechadecreacion fechadepublicacion fechapublicacion creado publicado"
        " cuando when day dia"
    ),
    "author": (
        "author authorusername userscreenname userusername fromuser"
        " ownerusername authorhandle username handle screenname user userhandle account accountname"
        " autor usuario cuenta nombredeusuario from sender"
    ),
    "title": "title titulo titular headline subject asunto",
    "url": (
        "statusurl tweeturl permalinkurl permanenturl tweetlink posturl postlink permalink url"
        " link href enlace"
    ),
    "lang": "lang language idioma lengua",
    "in_reply_to": (
        "inreplyto inreplytostatusid inreplytostatusidstr inreplytotweetid inreplytoid replytoid"
        " parentid referencedtweetsrepliedtoid replytostatusid"
    ),
    "thread": "thread threadid conversationid conversation hilo subreddit channel canal",
    "role": "role rol",
    "platform": "platform plataforma network redsocial",
    "device": "device sourcelabel dispositivo",
    "favorites": (
        "favorites favourites favoritecount favouritescount favoritescount likes likecount"
        " publicmetricslikecount likescount nlikes megusta favoritos favs score ups"
    ),
    "retweets": (
        "retweets retweetcount publicmetricsretweetcount"
        " retweetscount nretweets reposts repostcount shares sharecount"
        " compartidos retuits"
    ),
    "is_retweet": (
        "isretweet retweet isrepost repost referencedtweetsretweetedid retweetedtweet"
        " retweetedstatus retweetedstatusid posttype sourcetweettype"
        " tweettype retweetid retweetstatusid retweeteduserid retweetuserid type"
    ),
    "is_quote": "isquote isquotestatus referencedtweetsquotedid quotedtweet",
    "is_deleted": "isdeleted",
    "tags": "tags hashtags etiquetas",
    "attribution": "attribution",
}
FIELDS = tuple(_NAMES)
_BY_NAME = {
    name: (field, rank) for field in FIELDS for rank, name in enumerate(_NAMES[field].split())
}
# In longer names, such as "Texto del tuit" and "Fecha de envío", the first word tells.
_FIRST_WORDS = {
    **dict.fromkeys(("text", "texto", "tweet", "tuit", "mensaje", "message"), "text"),
    **dict.fromkeys(("fecha", "date"), "created_at"),
}
_LAST_RANK = 1_000
# Columns of messages, those that only public posts have, and those that no public post has.
_OF_MESSAGES = re.compile(
    r"(?:sender|recipient|receiver|chat|conversation(?!id)|channel|room|message|mensaje|phone"
    r"|contact)\w*"
    r"|role|participants|groupname|direction|(?:is)?from(?:me|name)?|issender|sentby|emisor"
    r"|remitente|destinatario|authorid"
)
_OF_POSTS = ("favorites", "retweets", "url", "is_retweet")
_OF_LETTERS = frozenset(
    ["to", "recipient", "recipients", "receiver", "isfromme", "destinatario", "senderprofileurl"]
)
_OF_FEW = frozenset(("direct", "specified", "private"))  # who may see a post
# Columns that nobody but X, or who copies from it, calls so.
_OF_X = frozenset(
    ["tweetid", "idstr", "tweet", "fulltext", "screenname", "statusid", "isretweet", "tweeturl"]
)
# A day and a time of day may stand in two columns.
_CLOCKS = frozenset(("time", "hour", "hora", "clock"))
_NO_WORDS = re.compile(r"\d+|https?://\S+")
_CLOCK = re.compile(r"\s*\d{1,2}:\d{2}(:\d{2})?.{0,9}")


def fold_name(name: str) -> str:
    """Return the letters and digits of a column's name, without case and accents."""
    letters = normalise_form("NFKD", name.casefold())
    return "".join(letter for letter in letters if letter.isalnum())


def sniff_table(head: bytes) -> tuple[TableLayout, list[list[str]]] | None:
    """Return the encoding, delimiter and width of a table, and its first rows; None if it is none.

    The rows include the header, if there is one.
    """
    encoding = find_encoding(head)
    if encoding is None:
        return None
    text = head.decode(encoding, "replace").removeprefix("\ufeff")
    candidates = [(delimiter, _first_rows(text, delimiter)) for delimiter in _DELIMITERS]
    tables = [(delimiter, rows) for delimiter, rows in candidates if rows and len(rows[0]) > 1]
    if not tables:
        return None
    delimiter, rows = max(tables, key=lambda table: _rate_rows(table[1]))
    guessed = ("encoding",) if encoding == WINDOWS else ()
    return TableLayout(encoding=encoding, delimiter=delimiter, guessed=guessed), rows


def _first_rows(text: str, delimiter: str) -> list[list[str]]:
    """Return the first rows from the names of the columns on; not the last if it may be cut."""
    rows: list[list[str]] = []
    try:
        for row in islice(csv.reader(io.StringIO(text), delimiter=delimiter), _SAMPLED + 2):
            if any(cell.strip() for cell in row):
                rows.append(row)
    except csv.Error:  # NUL, a lone carriage return, a quote that never ends
        return []
    if rows and rows[0][0].lower().startswith("sep="):
        rows = rows[1:]
    # People write notes above the names of the columns.
    rows = rows[next((n for n, row in enumerate(rows[:_NOTES]) if names_fields(row)), 0) :]
    return rows[:-1] if len(rows) > 2 and len(text) > 100_000 else rows


def _rate_rows(rows: Sequence[Sequence[str]]) -> tuple[int, float, int]:
    """Return how much rows look like a table: known names, equal widths, columns."""
    width = len(rows[0])
    number = sum(fold_name(name) in _BY_NAME for name in rows[0])
    return min(number, 2), sum(len(row) == width for row in rows) / len(rows), width


def names_fields(names: Iterable[str]) -> bool:
    """Return whether columns have names that people give to texts and to dates."""
    return {"text", "created_at"} <= {_field_named(name)[0] for name in names}


def _field_named(column: str) -> tuple[str, int]:
    """Return the field that a column's name means, "" for none, and how surely: 0 is best."""
    if field := _BY_NAME.get(fold_name(column)):
        return field
    words = column.split()
    return _FIRST_WORDS.get(fold_name(words[0]), "") if len(words) > 1 else "", _LAST_RANK


def guess_layout(
    name: str,
    base: TableLayout,
    rows: Sequence[Sequence[str]],
    defaults: Defaults,
    dates: Callable[[TableLayout], Iterable[object]],
) -> TableLayout:
    """Return how the CSV `name` is to be read, given its first rows.

    `dates` returns the dates of the whole file, which are read only if the first leave the order of
    day and month open. Raises UnknownFormat, UsageError with what to say.
    """
    in_header = {fold_name(name) for name in defaults.columns.values()} & set(
        map(fold_name, rows[0])
    )
    has_header = bool(in_header) or not any(map(is_time, rows[0]))
    header = (
        [cell.strip() for cell in rows[0]]
        if has_header
        else [str(n + 1) for n in range(min(map(len, rows)))]
    )
    layout = replace(base, names=tuple(header), has_header=has_header)
    if not has_header:
        layout = replace(layout, guessed=(*layout.guessed, "header"))
    named = [fit_row(row, layout) for row in (rows[1:] if has_header else rows)]
    records = [dict(zip(header, row, strict=False)) for row in named]
    return complete_layout(name, layout, records, defaults, dates)


def complete_layout(
    name: str,
    base: TableLayout,
    rows: Sequence[RowMap],
    defaults: Defaults,
    dates: Callable[[TableLayout], Iterable[object]],
) -> TableLayout:
    """Return how a table is to be read, given its first records by column; see `guess_layout`."""
    columns = _find_named_columns(name, base.names, defaults.columns)
    guessed = _guess_columns(
        base, columns, rows, dropped=frozenset(defaults.columns) - columns.keys()
    )
    layout = replace(base, columns={**columns, **guessed})
    _require_columns(name, layout)
    layout = _decide_day_order(name, layout, rows, defaults.is_day_first, dates)
    layout = _decide_zone(layout, rows, defaults.timezone)
    folded = {fold_name(column) for column in base.names}
    devices = (row.get(column) for row in rows for column in ("device", "source"))
    texts = (str(read_cell(row, layout, "text") or "") for row in rows)
    is_told = defaults.language or "lang" in layout.columns
    layout = replace(
        layout,
        guessed=tuple(_name_guesses(base, layout, guessed, defaults)),
        kind=str(rows[0].get("kind") or "") if rows and is_exported(rows[0]) else "",
        is_chat=_is_chat(folded, layout, rows),
        is_of_x=not folded.isdisjoint(_OF_X) or any(map(is_own_device, devices)),
        looks=None if is_told else detect_language("\n".join(texts)),
    )
    return replace(layout, first=tuple(_preview_rows(rows, layout)))


def _decide_zone(layout: TableLayout, rows: Sequence[RowMap], zone: str | None) -> TableLayout:
    """Return the layout with the zone of its times, if these name none.

    A few times without a zone among others are mistakes, which are refused one by one.
    """
    cells = (read_cell(row, layout, "created_at") for row in rows)
    zoned = [has_zone for cell in cells if (has_zone := names_zone(cell)) is not None]
    if zone or sum(zoned) * 2 < len(zoned):
        return replace(layout, timezone=zone or USUAL_ZONE)
    return layout


def _name_guesses(
    base: TableLayout, layout: TableLayout, columns: Mapping[str, str], defaults: Defaults
) -> Iterator[str]:
    """Yield what nobody has told: fields that have a column of another name, and the rest."""
    for field, column in columns.items():
        if not base.has_header or fold_name(column) != fold_name(field):
            yield field
    yield from base.guessed
    if "id" not in layout.columns and "id" not in defaults.columns:
        yield "id"
    if layout.timezone and not defaults.timezone:
        yield "timezone"


def _require_columns(name: str, layout: TableLayout) -> None:
    """Raise UnknownFormat if no column holds texts, or none dates."""
    columns = list_names(layout.names)
    if "text" not in layout.columns:
        field = "text"
        message = Message(
            "No column of {name} is known to hold its texts: {columns}.", name=name, columns=columns
        )
    elif "created_at" not in layout.columns:
        field = "created_at"
        message = Message(
            "No column of {name} is known to hold its dates: {columns}.", name=name, columns=columns
        )
    else:
        return
    raise UnknownFormat(message, fix=Message("Name it: --columns {field}=COLUMN.", field=field))


def _is_chat(names: Iterable[str], layout: TableLayout, rows: Sequence[RowMap]) -> bool:
    """Return whether a table holds messages, or posts that few may see."""
    for_few = (
        str(row.get("visibility")) in _OF_FEW or row.get("is_private") is True for row in rows
    )
    if not _OF_LETTERS.isdisjoint(names) or any(for_few):
        return True
    if not layout.has_header:  # a column beside text and date is that of the names
        return any(not str(row.get(name)).isdigit() for row in rows for name in layout.unused)
    return not layout.columns.keys() & set(_OF_POSTS) and any(map(_OF_MESSAGES.fullmatch, names))


def _find_named_columns(
    name: str, names: Sequence[str], named: Mapping[str, str]
) -> dict[str, str]:
    """Return the columns that the command names, as the file spells them. Raises UsageError."""
    spelled = {fold_name(column): column for column in reversed(names)}
    columns = {}
    for field, column in named.items():
        if field not in FIELDS:
            raise UsageError(
                Message("There is no field {field!r}.", field=field),
                fix=Message("Fields: {fields}.", fields=", ".join(FIELDS)),
            )
        parts = [column] if column in names else column.split("+")
        if not column:
            continue
        exact = [part if part in names else spelled.get(fold_name(part)) for part in parts]
        if None in exact:
            raise UsageError(
                Message("{name} has no column {column!r}.", name=name, column=column),
                fix=Message("Its columns: {columns}.", columns=list_names(names)),
            )
        columns[field] = "+".join(filter(None, exact))
    return columns


def _guess_columns(
    base: TableLayout, named: Mapping[str, str], rows: Sequence[RowMap], *, dropped: frozenset[str]
) -> dict[str, str]:
    """Return the columns of fields that nothing names, by their names, then by what they hold."""
    used = {part for column in named.values() for part in (column, *column.split("+"))}
    ranked: dict[str, tuple[int, str]] = {}
    for column in base.names if base.has_header else ():
        field, rank = _field_named(column)
        if not field or field in named or field in dropped or column in used:
            continue
        if fold_name(column) == "type" and not any(says_repost(row.get(column)) for row in rows):
            continue  # it tells posts with pictures from others, or the like
        # "url" may be that of the account, and "text" is cut where there is a "full_text".
        rank = -1 if column == field not in ("url", "text") else rank
        if not any(row.get(column) for row in rows):
            rank += _LAST_RANK  # it is empty
        if field not in ranked or rank < ranked[field][0]:
            ranked[field] = (rank, column)
    columns = {field: column for field, (_rank, column) in ranked.items()}
    free = [name for name in base.names if name not in used and name not in columns.values()]
    if "created_at" not in {*named, *columns, *dropped}:
        dated = [name for name in free if _has_matching_cells(rows, name, is_time)]
        columns |= {"created_at": dated[0]} if dated else {}
    if "text" not in {*named, *columns, *dropped} and "title" in columns:
        columns["text"] = columns.pop("title")
    if "text" not in {*named, *columns, *dropped}:
        lengths = {name: _mean_length(rows, name) for name in free if name not in columns.values()}
        longest = max(lengths, key=lambda name: lengths[name], default="")
        columns |= {"text": longest} if longest and lengths[longest] >= 1 else {}
    if day := columns.get("created_at"):
        columns["created_at"] = _with_clock(base, rows, day, {*used, *columns.values()} - {day})
    return columns


def _with_clock(base: TableLayout, rows: Sequence[RowMap], day: str, used: set[str]) -> str:
    """Return the column of days, joined with that of the times of day, if that is another one."""
    if any(":" in str(row.get(day, "")) for row in rows):
        return day
    others = (name for name in base.names if name not in used and name != day)
    clocks = (name for name in others if fold_name(name) in _CLOCKS)

    def is_clock(cell: object) -> bool:
        return bool(_CLOCK.fullmatch(str(cell)))

    clock = next((name for name in clocks if _has_matching_cells(rows, name, is_clock)), None)
    return f"{day}+{clock}" if clock else day


def _has_matching_cells(rows: Sequence[RowMap], name: str, holds: Callable[[object], bool]) -> bool:
    cells = [cell for row in rows if (cell := row.get(name))]
    return bool(cells) and all(map(holds, cells))


def _mean_length(rows: Sequence[RowMap], name: str) -> float:
    cells = [cell for row in rows if isinstance(cell := row.get(name), str)]
    words = sum(len(cell) for cell in cells if not (is_time(cell) or _NO_WORDS.fullmatch(cell)))
    return words / max(len(cells), 1)


def _decide_day_order(
    name: str,
    layout: TableLayout,
    rows: Sequence[RowMap],
    is_day_first: bool | None,
    dates: Callable[[TableLayout], Iterable[object]],
) -> TableLayout:
    if is_day_first is not None:
        return replace(layout, is_day_first=is_day_first)
    order = find_day_order(read_cell(row, layout, "created_at") for row in rows)
    if order is DayOrder.UNDECIDED:
        order = find_day_order(dates(layout))
    if order is DayOrder.UNDECIDED:
        message = Message(
            "In {name} no date tells whether the day or the month comes first.", name=name
        )
    elif order is DayOrder.MIXED:
        message = Message(
            "In {name} the day comes first in some dates, and the month in others.", name=name
        )
    else:
        day_first = {DayOrder.DAY_FIRST: True, DayOrder.MONTH_FIRST: False}
        return replace(layout, is_day_first=day_first.get(order))
    raise UnknownFormat(message, fix=Message("Say which: --day-first or --month-first."))


def _preview_rows(rows: Sequence[RowMap], layout: TableLayout) -> Iterable[Mapping[str, str]]:
    for row in islice(rows, _SHOWN):
        try:
            record = translate_row(row, layout)
        except RecordError as exc:
            yield {"problem": str(exc)}
            continue
        fields = {name: record.get(name) for name in (*_NEEDED, "author", "title", "url")}
        yield {name: make_storable(str(value))[:200] for name, value in fields.items() if value}


def list_names(names: Iterable[str]) -> str:
    """Return the names of columns as a sentence lists them, at most eight."""
    labels = [" ".join(name.split())[:40] for name in islice(names, 9)]
    return ", ".join([*labels[:8], "…"] if len(labels) > 8 else labels)


def layout_mark(layout: TableLayout) -> str:
    """Return what tells a table that is not plain from others, for the digest of its records."""
    is_plain = layout.has_header and layout.timezone is None and layout.is_day_first is None
    read = {name: name for name in layout.names if name in FIELDS} | {"id": "id"}
    if is_plain and (not layout.names or layout.columns == read):
        return ""
    layout_key = (sorted(layout.columns.items()), layout.timezone, layout.is_day_first)
    return orjson.dumps(layout_key).decode()
