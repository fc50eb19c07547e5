"""Documents, as ingest produces them and the database stores them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from engine.values import DateKind, Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A summary of one thread, without its messages."""

    id: str
    title: str | None
    documents: int
    authors: int
    oldest: datetime | None  # None: none of its documents has a date
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """One document of a thread as it is shown."""

    id: int
    external_id: str
    created_at: datetime | None
    author: str | None
    role: str | None
    text: str
    url: str | None
    reply_to: str | None
    attribution: str | None
    flags: Flag


def require_zone(moment: datetime) -> datetime:
    """Return `moment` unchanged. Raises ValueError if it has no time zone."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(f"a time without a zone: {moment.isoformat()}")
    return moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a long text: what is searched and embedded, while the whole is what is cited."""

    text: str  # as shown
    search_text: str  # as searched, with the title and the headings
    heading: str | None = None  # the headings above it, outermost first: "Results > Prices"
    page: int | None = None  # first page, from 1
    last_page: int | None = None
    recognised: bool = False  # read in a picture by OCR


def part_id(external_id: str, number: int) -> str:
    """Return the id of a part of a document; no other document has such an id."""
    return f"{external_id}~part{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document, as ingest produces it: searchable itself, or in `parts`.

    A document in parts is an item of a library, or a long article. Its own texts are empty.
    """

    external_id: str
    text: str  # as shown
    search_text: str  # as searched: engine.text.clean.searchable(text)
    created_at: datetime | None  # None: nothing tells when it was written
    digest: int  # 64-bit signed hash of the source record; equal digest = unchanged
    dated_by: DateKind | None = None  # what the date tells, if not when it was written
    author: str | None = None
    title: str | None = None
    role: str | None = None
    lang: str | None = None  # ISO 639-1; None = the language of the corpus
    url: str | None = None
    reply_to: str | None = None  # external id of the message this one answers
    platform: str | None = None  # mastodon, slack, markdown, ...; None = that of the corpus
    thread: str | None = None  # conversation, channel or folder
    attribution: str | None = None  # where it comes from: "export/file#id", "linkedin:post/123"
    tags: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    engagement: int = 0  # likes plus reposts
    flags: Flag = Flag.NONE
    # Where known: device, attachments (names), participants, channel, app, domain, ...
    meta: Mapping[str, object] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    pages: int | None = None
    unread: str | None = None  # which pages could not be read, and why

    def __post_init__(self) -> None:
        if self.created_at is not None:
            require_zone(self.created_at)
