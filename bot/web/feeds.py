"""Feeds of the prophecies that were posted: Atom at /feed.xml, JSON Feed at /feed.json."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from xml.etree.ElementTree import Element, SubElement, tostring

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.replies.dates import say_age
from bot.reply import labels, say_date
from bot.web.rendering import web_address
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import Visitor, find_visitor, format_day, own_address
from db.posting.outbox import Outbox
from db.search.shown import Shown
from engine.feeds.markup import without_forbidden
from engine.posting.delivery import PublicPost
from engine.search import Candidate
from engine.text.address import address_candidate

MOST_ENTRIES = 30
_KEEP_SECONDS = 300
_ATOM = "http://www.w3.org/2005/Atom"
_JSON_FEED = "https://jsonfeed.org/version/1.1"
_NAMESPACE = uuid.UUID("5d0e2c52-7e4b-4c5c-9a67-3d3b3fa9b6b1")

router = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedEntry:
    """A headline, and the old text that foretold it."""

    id: str  # a URN, the same for all languages and addresses
    title: str
    url: str
    text: str
    author: str | None
    posted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedFeed:
    """A feed, with its address and that of the page."""

    title: str
    language: str
    home: str
    url: str
    entries: Sequence[PostedEntry]

    @property
    def updated_at(self) -> datetime:
        """Return when something was posted last."""
        return max(
            (entry.posted_at for entry in self.entries), default=datetime(1970, 1, 1, tzinfo=UTC)
        )


@router.get("/feed.xml")
async def _send_atom(request: Request, shared: SharedOf) -> Response:
    return _respond(request, render_atom(await _read_feed(request, shared)), "application/atom+xml")


@router.get("/feed.json")
async def _send_json(request: Request, shared: SharedOf) -> Response:
    return _respond(
        request, render_json_feed(await _read_feed(request, shared)), "application/feed+json"
    )


async def _read_feed(request: Request, shared: SharedState) -> PostedFeed:
    """Read the feed of `corpus`, or of all corpora that are shown. Raises CorpusNotFound."""
    visitor = find_visitor(request)
    asked = request.query_params.get("corpus", "").strip()
    shown = await shared.app.corpora.list()
    corpora = [await shared.app.corpora.get(asked)] if asked else shown
    origin = own_address(request)
    posts = await Outbox(shared.app.database).public_posts(
        [corpus.name for corpus in corpora], limit=MOST_ENTRIES
    )
    by_name, texts = {corpus.name: corpus for corpus in corpora}, Shown(shared.app.database)
    entries = []
    for post in posts:
        corpus = by_name[post.corpus]
        # A text that has been removed from its corpus since is not shown any more.
        if document := await texts.document(corpus, post.external_id):
            found = address_candidate(document.candidate, corpus)
            entries.append(_build_entry(post, found, visitor, origin))
    return PostedFeed(
        title=f"Presagio · {asked}" if asked else "Presagio",
        language=visitor.words.language,
        home=origin + visitor.link("/"),
        url=origin + visitor.link(request.url.path, corpus=asked),
        entries=entries,
    )


def _build_entry(post: PublicPost, found: Candidate, visitor: Visitor, origin: str) -> PostedEntry:
    named = f"{post.story_id} {post.corpus} {post.external_id}"
    return PostedEntry(
        id=uuid.uuid5(_NAMESPACE, named).urn,
        title=post.title,
        url=origin
        + visitor.link(
            "/prophecy", headline=post.headline, date=format_day(post.published), corpus=post.corpus
        ),
        text="\n\n".join(_write_paragraphs(post, found, visitor.words)),
        author=found.author,
        posted_at=post.posted_at,
    )


def _write_paragraphs(post: PublicPost, found: Candidate, words: Words) -> list[str]:
    """Return the text that foretold, when, and where both can be read."""
    age = say_age(found.created_at, post.published, words)
    date = say_date(found.created_at, found.dated_by, words)
    source = " · ".join(part for part in (post.source, web_address(post.link)) if part)
    when = " · ".join(filter(None, (date, age, *labels(found.flags.names, words))))
    said = [f"“{found.text}”", when, web_address(found.url), source]
    return [part for part in said if part]


def render_atom(feed: PostedFeed) -> bytes:
    """Return the feed as Atom (RFC 4287)."""
    root = Element("feed", {"xmlns": _ATOM, "xml:lang": feed.language})
    _add(root, "id", feed.url)
    _add(root, "title", feed.title)
    _add(root, "updated", feed.updated_at.astimezone(UTC).isoformat())
    SubElement(root, "link", {"rel": "self", "type": "application/atom+xml", "href": feed.url})
    SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": feed.home})
    for posted in feed.entries:
        entry = SubElement(root, "entry")
        _add(entry, "id", posted.id)
        _add(entry, "title", posted.title)
        _add(entry, "updated", posted.posted_at.astimezone(UTC).isoformat())
        SubElement(entry, "link", {"rel": "alternate", "type": "text/html", "href": posted.url})
        _add(SubElement(entry, "author"), "name", posted.author or feed.title)
        _add(entry, "content", posted.text, type="text")
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def render_json_feed(feed: PostedFeed) -> bytes:
    """Return the feed as JSON Feed 1.1."""
    items = [
        {
            "id": posted.id,
            "url": posted.url,
            "title": posted.title,
            "content_text": posted.text,
            "date_published": posted.posted_at.astimezone(UTC).isoformat(),
            "authors": [{"name": posted.author}] if posted.author else [],
        }
        for posted in feed.entries
    ]
    return orjson.dumps(
        {
            "version": _JSON_FEED,
            "title": feed.title,
            "language": feed.language,
            "home_page_url": feed.home,
            "feed_url": feed.url,
            "items": items,
        }
    )


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = without_forbidden(text)


def _respond(request: Request, body: bytes, media_type: str) -> Response:
    """Return the body, or 304 to a reader that has it already."""
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {
        "ETag": tag,
        "Vary": "Accept-Language",
        "Cache-Control": f"public, max-age={_KEEP_SECONDS}",
    }
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)
