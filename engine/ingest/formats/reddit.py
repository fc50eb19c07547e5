"""Reads Reddit's export of an account: posts (`posts.csv`) and comments (`comments.csv`).

Ids get the prefix that Reddit's own names have, as a post and a comment may have the same one.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from engine.errors import RecordError
from engine.ingest.fields import mapping_at, read_written_time, string_at
from engine.ingest.reader import CsvReader, OpenFile, Reader, change_values, members_named
from engine.ingest.records import Defaults, PostFields, RawRecord, Reject
from engine.ingest.sources import Source
from engine.messages import Message
from engine.values import Flag, Kind

_NEEDED = frozenset(("id", "permalink", "date", "subreddit", "body"))
# Files that tell the export from any other folder with posts.csv.
_BESIDE = r"(?:post|comment)_headers\.csv|subscribed_subreddits\.csv|post_votes\.csv|checkfile\.csv"
_LARGEST_STATISTICS = 100_000  # bytes
_POST_ID = re.compile(r"/comments/(\w+)")
_SITE = "https://www.reddit.com"
_GONE = frozenset(("[deleted]", "[removed]"))
_POST, _COMMENT = "t3_", "t1_"


class RedditReader(CsvReader):
    """Reads both files, row by row."""

    name = "reddit"
    kinds = (Kind.SOCIAL,)
    columns = "id, permalink, date, subreddit and body"

    def members(self, names: Sequence[str]) -> Sequence[str]:
        files = members_named(r"posts\.csv|comments\.csv", names)
        return files if members_named(_BESIDE, names) else ()

    def is_header(self, row: Sequence[str]) -> bool:
        return set(row) >= _NEEDED

    def find_owner(self, source: Source, defaults: Defaults) -> str:  # noqa: ARG002
        return (_read_account(source) if source.packed else None) or ""

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        rows = super().read_records(file)
        return change_values(rows, lambda row: {"row": row, "author": file.owner})

    def identify(self, value: Mapping[str, object]) -> str | None:
        row = mapping_at(value, "row")
        prefix = _POST if _is_post(row) else _COMMENT
        identity = (string_at(row, "id") or "").strip()
        return f"{prefix}{identity.removeprefix(prefix)}" if identity else None

    def post(self, payload: Mapping[str, object]) -> PostFields:
        row = mapping_at(payload, "row")
        body, title = string_at(row, "body"), string_at(row, "title")
        if body in _GONE:
            raise RecordError(Message("the text was removed"))
        link = string_at(row, "permalink") or ""
        post = _POST_ID.search(link) or _POST_ID.search(str(row.get("link")))
        thread, parent = _POST + post[1] if post else None, string_at(row, "parent")
        if parent and not parent.startswith((_POST, _COMMENT)):
            parent = _COMMENT + parent
        return PostFields(
            text="\n\n".join(filter(None, (title, body))) or string_at(row, "url") or "",
            created_at=read_written_time(row.get("date"), zone=None, is_day_first=None),
            author=string_at(payload, "author"),
            url=_SITE + link if link.startswith("/") else link,
            reply_to=None if _is_post(row) else parent or thread,
            platform=self.name,
            thread=thread,
            attribution=f"reddit:r/{row.get('subreddit')}/{row.get('id')}",
            flags=Flag.NONE if _is_post(row) else Flag.REPLY,
            meta={"channel": string_at(row, "subreddit"), "shared": string_at(row, "url")},
            mine=True,
        )


def _is_post(row: Mapping[str, object]) -> bool:
    return "title" in row


def _read_account(source: Source) -> str | None:
    """Return the name of the account, which stands among the statistics of the export."""
    for name in members_named(r"statistics\.csv", source.names()):
        with source.open_ahead(name) as stream:
            text = stream.read(_LARGEST_STATISTICS).decode("utf-8", "replace")
        for row in csv.reader(StringIO(text)):
            if len(row) > 1 and row[0].strip().lower() == "account name":
                return row[1].strip() or None
    return None


READERS: tuple[Reader, ...] = (RedditReader(),)
