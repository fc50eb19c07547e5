"""Parses the cells of a table by its layout: dates, counts, flags, authors."""

import re
from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

from engine.ingest.dates import made_id, read_written_time
from engine.ingest.records import TableLayout

RowMap = Mapping[str, object]
_THOUSANDS = re.compile(r"(\d{1,3}(?:[.,\u00a0\u202f' ]\d{3})+)(?:[.,]\d{1,2})?")
_DECIMAL = re.compile(r"(\d+)(?:[.,]\d*)?")
_SHORT = re.compile(r"(\d+)(?:[.,](\d))?\s?([KkMm])(?:il)?")
_WHOLE_AS_FLOAT = re.compile(r"(\d{1,15})\.0")
_WORDS = re.compile(r"[^\s,;'\"\[\](){}#]+")
_OWN_DEVICES = ("Twitter", "TweetDeck")
_NOTHING = frozenset(("", "0", "0.0", "f", "false", "no", "n", "none", "nan", "null", "{}", "[]"))
_POST_TYPE = re.compile(r"[a-z]{3,}(?:[_ ][a-z]+)?")
_REPOSTS = frozenset(("retweet", "retweeted", "repost", "reposted", "true", "yes", "rt"))
_PRINTED = re.compile(
    r"['\"](?:screen_?name|username|handle)['\"]\s*:\s*['\"]([^'\"]+)['\"]", re.IGNORECASE
)
# Fields of our own that a table has under these names alone.
PLAIN_FIELDS = frozenset(("attachments", "participants"))


def fit_row(row: Sequence[str], layout: TableLayout) -> Sequence[str]:
    """Return a row of as many cells as there are columns: without a header, the rest is its end.

    Who writes two columns by hand puts no quotes around a text with commas.
    """
    width = len(layout.names)
    if layout.has_header or len(row) <= width:
        return row
    return [*row[: width - 1], layout.delimiter.join(row[width - 1 :])]


def read_cell(row: RowMap, layout: TableLayout, field: str) -> object:
    """Return what the columns of a field hold."""
    column = layout.columns.get(field, "")
    if column in row or "+" not in column:
        return row.get(column)
    return " ".join(str(row.get(part) or "") for part in column.split("+")).strip()


def translate_row(row: RowMap, layout: TableLayout) -> dict[str, object]:
    """Return a record with our fields, as JSON lines have them. Raises RecordError."""
    fields = {field: read_cell(row, layout, field) for field in layout.columns}
    fields |= {name: row[name] for name in row if name in PLAIN_FIELDS and name not in fields}
    for field in ("is_retweet", "is_quote"):
        if field in fields:
            fields[field] = says_so(fields[field])
    for field in ("favorites", "retweets"):
        fields[field] = read_count(fields.get(field))
    if isinstance(fields.get("tags"), str):
        fields["tags"] = _WORDS.findall(str(fields["tags"]))
    if isinstance(user := fields.get("author"), Mapping):
        fields["author"] = user.get("username") or user.get("screen_name") or user.get("name")
    elif isinstance(user, str) and user.startswith("{") and (named := _PRINTED.search(user)):
        fields["author"] = named[1]  # as pandas prints an object
    if isinstance(fields.get("text"), str):
        fields["text"] = str(fields["text"]).strip()
    written = fields.get("created_at")
    zone = ZoneInfo(layout.timezone) if layout.timezone else None
    moment = read_written_time(written, zone=zone, is_day_first=layout.is_day_first)
    fields["created_at"] = moment.isoformat()
    if "id" not in layout.columns:
        parts = (fields.get(name) for name in ("text", "author", "url"))
        fields["id"] = made_id(str(written), *(str(part or "") for part in parts))
    elif isinstance(fields["id"], str) and (
        whole := _WHOLE_AS_FLOAT.fullmatch(fields["id"].strip())
    ):
        fields["id"] = whole[1]
    return fields


def is_own_device(name: object) -> bool:
    """Tell whether an app is X's own."""
    return isinstance(name, str) and name.startswith(_OWN_DEVICES)


def says_so(value: object) -> bool:
    """Tell whether a column says that a post is a repost, or a quote.

    It holds a flag, the kind of the post, or the other post, if there is one.
    """
    if isinstance(value, str):
        word = value.strip().casefold()
        if _POST_TYPE.fullmatch(word):
            return word in _REPOSTS
        return word not in _NOTHING
    return bool(value)


def read_count(value: object) -> object:
    """Return a number of likes that a spreadsheet wrote: 1.234, 1,234, 12.0, 1.2K."""
    if isinstance(value, float):
        return int(value) if abs(value) < 2**53 else 0
    if not isinstance(value, str):
        return value
    text = value.strip()
    if grouped := _THOUSANDS.fullmatch(text):
        return "".join(filter(str.isdigit, grouped[1]))
    if short := _SHORT.fullmatch(text):
        unit = 1_000 if short[3] in "kK" else 1_000_000
        return int(short[1]) * unit + int(short[2] or 0) * unit // 10
    match = _DECIMAL.fullmatch(text)
    return match[1] if match else text
