"""Reads LinkedIn's export: posts (`Shares.csv`) and comments (`Comments.csv`).

Times are in UTC. A post is identified by the number in its link; a comment has no id, and its link
is that of the post it answers. The files do not name their owner.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from engine.ingest.fields import made_id, string_at, text_of, zoned_or_utc
from engine.ingest.reader import CsvReader, Reader
from engine.ingest.records import PostFields
from engine.values import Flag, Kind

_SHARES = frozenset(("Date", "ShareLink", "ShareCommentary"))
_COMMENTS = frozenset(("Date", "Link", "Message"))
_NUMBER = re.compile(r"urn:li:(?:share|ugcPost|activity|groupPost):(?:\d+-)?(\d+)")


class LinkedInReader(CsvReader):
    """Reads both files, row by row."""

    name = "linkedin"
    kinds = (Kind.SOCIAL,)
    pattern = r"Shares\.csv|Comments\.csv"
    columns = "Date, ShareLink and ShareCommentary, or Date, Link and Message"

    def is_header(self, row: Sequence[str]) -> bool:
        return set(row) >= _SHARES or set(row) >= _COMMENTS

    def escape(self, header: Sequence[str]) -> str | None:
        return "\\" if set(header) >= _COMMENTS else None

    def identify(self, value: Mapping[str, object]) -> str:
        if "ShareLink" in value:
            link = str(value["ShareLink"])
            return _share_number(link) or made_id(link, str(value.get("Date")))
        return f"comment-{made_id(*(str(value.get(name)) for name in ('Date', 'Link', 'Message')))}"

    def post(self, payload: Mapping[str, object]) -> PostFields:
        identity = self.identify(payload)
        if "ShareLink" in payload:
            return _read_share(payload, identity)
        link = string_at(payload, "Link")
        return PostFields(
            text=text_of(payload.get("Message")),
            created_at=zoned_or_utc(payload.get("Date")),
            url=link,
            reply_to=_share_number(link),
            platform=self.name,
            thread=_share_number(link),
            attribution=f"linkedin:comment/{identity.removeprefix('comment-')}",
            flags=Flag.REPLY,
            mine=True,
        )


def _read_share(row: Mapping[str, object], identity: str) -> PostFields:
    quoted = string_at(row, "ShareCommentary") or ""  # LinkedIn puts quotes around every line
    commentary = quoted.replace('"\n"', "\n").replace('"\r\n"', "\n")
    commentary = commentary.removeprefix('"').removesuffix('"')
    link, shared = string_at(row, "ShareLink"), string_at(row, "SharedUrl")
    return PostFields(
        text=commentary.strip() or text_of(shared or row.get("MediaUrl") or None),
        created_at=zoned_or_utc(row.get("Date")),
        url=link,
        platform=LinkedInReader.name,
        thread=_share_number(link),
        attribution=f"linkedin:post/{identity}",
        flags=Flag.of((Flag.MEDIA, string_at(row, "MediaUrl"))),
        meta={"shared": shared, "visibility": string_at(row, "Visibility")},
        mine=True,
    )


def _share_number(link: str | None) -> str | None:
    match = _NUMBER.search(unquote(link or ""))
    return match[1] if match else None


READERS: tuple[Reader, ...] = (LinkedInReader(),)
