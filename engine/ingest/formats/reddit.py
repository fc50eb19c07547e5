"""Reads Reddit's export of an account: posts (`posts.csv`) and comments (`comments.csv`).

Ids get the prefix that Reddit's own names have, as a post and a comment may have the same one.
"""

import csv
import re
from collections.abc import Generator, Mapping, Sequence
from io import StringIO

from engine.errors import RecordError
from engine.ingest.dates import as_mapping, read_string, read_written_time
from engine.ingest.reader import CsvReader, Reader, members_named, open_file
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, build_fingerprint
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

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        author = _read_account(source) if source.packed else None
        digest = build_fingerprint(defaults, self.name, author or "")
        for name in names:
            with open_file(source, name, defaults) as file:
                for item in self.objects(file):
                    if isinstance(item, Reject):
                        yield item
                        continue
                    payload = {"row": item.value, "author": author}
                    yield item.record(
                        self.name, _build_identity(item.value), digest(item.raw), payload
                    )

    def post(self, payload: Mapping[str, object]) -> PostFields:
        row = as_mapping(payload.get("row"))
        body, title = read_string(row.get("body")), read_string(row.get("title"))
        if body in _GONE:
            raise RecordError(Message("the text was removed"))
        link = read_string(row.get("permalink")) or ""
        post = _POST_ID.search(link) or _POST_ID.search(str(row.get("link")))
        return PostFields(
            text="\n\n".join(filter(None, (title, body))) or read_string(row.get("url")) or "",
            created_at=read_written_time(row.get("date"), zone=None, is_day_first=None),
            author=read_string(payload.get("author")),
            url=_SITE + link if link.startswith("/") else link,
            reply_to=None if _is_post(row) else _parent_id(row, post),
            platform=self.name,
            thread=_POST + post[1] if post else None,
            attribution=f"reddit:r/{row.get('subreddit')}/{row.get('id')}",
            flags=Flag.NONE if _is_post(row) else Flag.REPLY,
            meta={
                "channel": read_string(row.get("subreddit")),
                "shared": read_string(row.get("url")),
            },
            mine=True,
        )


def _is_post(row: Mapping[str, object]) -> bool:
    return "title" in row


def _build_identity(row: Mapping[str, object]) -> str | None:
    identity = (read_string(row.get("id")) or "").strip()
    prefix = _POST if _is_post(row) else _COMMENT
    return (identity if identity.startswith(prefix) else prefix + identity) if identity else None


def _parent_id(row: Mapping[str, object], post: re.Match[str] | None) -> str | None:
    """Return the id of the comment that is answered, or of the post."""
    parent = read_string(row.get("parent"))
    if parent:
        return parent if parent.startswith((_POST, _COMMENT)) else _COMMENT + parent
    return _POST + post[1] if post else None


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
