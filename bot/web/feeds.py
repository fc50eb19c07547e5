"""Feeds of what was posted: Atom at /feed.xml, JSON Feed at /feed.json.

A browser that opens one is shown a page.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from xml.etree.ElementTree import Element, SubElement, tostring

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.card import can_draw
from bot.web.examples import ForetoldView, list_bundled_leads, list_posted, view_post
from bot.web.rendering import render_fragment, render_template, web_address
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import find_visitor, own_address
from engine.feeds.markup import without_forbidden
from engine.posting.delivery import PublicPost
from engine.search import Candidate

_KEEP_SECONDS = 300
_MAX_EXAMPLES = 2
_ICON = "/static/icon-512.png"
_VARY = "Accept, Accept-Language"
_ATOM = "http://www.w3.org/2005/Atom"
_JSON_FEED = "https://jsonfeed.org/version/1.1"
_NAMESPACE = uuid.UUID("5d0e2c52-7e4b-4c5c-9a67-3d3b3fa9b6b1")

router = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedEntry:
    """A post, with the addresses that are not of this page."""

    id: str  # a URN, the same for all languages and addresses
    foretold: ForetoldView
    original: str | None
    source: str
    link: str | None  # of the news
    posted_at: datetime
    html: str = ""  # of the rest

    @property
    def text(self) -> str:
        """Return the entry without markup: what foretold it, when, where both can be read."""
        source = " · ".join(filter(None, (self.source, self.link)))
        paragraphs = (f"“{self.foretold.text.text}”", self.foretold.when, self.original, source)
        return "\n\n".join(filter(None, paragraphs))


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedFeed:
    """A feed; paths begin at `origin`."""

    title: str
    language: str
    origin: str
    home: str
    path: str
    draws: bool  # whether texts have pictures
    entries: Sequence[PostedEntry]

    @property
    def updated_at(self) -> datetime:
        """Return when something was posted last."""
        return max(
            (entry.posted_at for entry in self.entries), default=datetime(1970, 1, 1, tzinfo=UTC)
        )


@router.get("/feed.xml")
async def _send_atom(request: Request, shared: SharedOf) -> Response:
    return await _send_feed(request, shared, render_atom, "application/atom+xml")


@router.get("/feed.json")
async def _send_json(request: Request, shared: SharedOf) -> Response:
    return await _send_feed(request, shared, render_json_feed, "application/feed+json")


async def _send_feed(
    request: Request, shared: SharedState, write: Callable[[PostedFeed], bytes], media_type: str
) -> Response:
    """Return the feed, or 304 to a reader that has it already; to a browser, a page."""
    feed = await _read_feed(request, shared)
    # Readers of feeds name feeds first, or nothing.
    if request.headers.get("accept", "").strip().startswith("text/html"):
        corpus, visitor = request.query_params.get("corpus", ""), find_visitor(request)
        page = render_template(
            request,
            "feed.html",
            feed=feed,
            corpus=corpus,
            # What entries look like, where there are none yet.
            leads=()
            if feed.entries
            else await list_bundled_leads(
                shared, await shared.app.corpora.list(), visitor, limit=_MAX_EXAMPLES
            ),
        )
        page.headers["Vary"] = _VARY
        return page
    body = write(feed)
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Vary": _VARY, "Cache-Control": f"public, max-age={_KEEP_SECONDS}"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


async def _read_feed(request: Request, shared: SharedState) -> PostedFeed:
    """Read the feed of `corpus`, or of all corpora that are shown. Raises CorpusNotFound."""
    visitor = find_visitor(request)
    name = request.query_params.get("corpus", "").strip()
    corpora = shared.app.corpora
    posted = await list_posted(shared, [await corpora.get(name)] if name else await corpora.list())
    return PostedFeed(
        title=f"Presagio · {name}" if name else "Presagio",
        language=visitor.words.language,
        origin=own_address(request),
        home=visitor.link("/"),
        path=visitor.link(request.url.path, corpus=name),
        draws=can_draw(),
        entries=[_build_entry(request, post, text) for post, text in posted],
    )


def _build_entry(request: Request, post: PublicPost, text: Candidate) -> PostedEntry:
    visitor = find_visitor(request)
    entry = PostedEntry(
        id=uuid.uuid5(_NAMESPACE, f"{post.story_id} {post.corpus} {post.external_id}").urn,
        foretold=view_post(post, text, visitor),
        original=web_address(text.url),
        source=post.source or "",
        link=web_address(post.link),
        posted_at=post.posted_at,
    )
    return replace(entry, html=render_fragment(request, "posted.html", entry=entry))


def render_atom(feed: PostedFeed) -> bytes:
    """Return the feed as Atom (RFC 4287)."""
    root = Element("feed", {"xmlns": _ATOM, "xml:lang": feed.language})
    _add_element(root, "id", feed.origin + feed.path)
    _add_element(root, "title", feed.title)
    _add_element(root, "updated", feed.updated_at.astimezone(UTC).isoformat())
    _add_element(root, "icon", feed.origin + _ICON)
    for rel, media_type, path in (
        ("self", "application/atom+xml", feed.path),
        ("alternate", "text/html", feed.home),
    ):
        SubElement(root, "link", {"rel": rel, "type": media_type, "href": feed.origin + path})
    for posted in feed.entries:
        entry = SubElement(root, "entry")
        _add_element(entry, "id", posted.id)
        _add_element(entry, "title", posted.foretold.title)
        _add_element(entry, "published", posted.posted_at.astimezone(UTC).isoformat())
        _add_element(entry, "updated", posted.posted_at.astimezone(UTC).isoformat())
        address = feed.origin + posted.foretold.path
        SubElement(entry, "link", {"rel": "alternate", "type": "text/html", "href": address})
        _add_element(SubElement(entry, "author"), "name", posted.foretold.text.author or feed.title)
        _add_element(entry, "content", posted.html, type="html")
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def render_json_feed(feed: PostedFeed) -> bytes:
    """Return the feed as JSON Feed 1.1."""
    items = [
        {
            "id": posted.id,
            "url": feed.origin + posted.foretold.path,
            "title": posted.foretold.title,
            "content_html": posted.html,
            "content_text": posted.text,
            "date_published": posted.posted_at.astimezone(UTC).isoformat(),
            **({"image": feed.origin + posted.foretold.picture_path} if feed.draws else {}),
            "authors": [{"name": author}] if (author := posted.foretold.text.author) else [],
        }
        for posted in feed.entries
    ]
    return orjson.dumps(
        {
            "version": _JSON_FEED,
            "title": feed.title,
            "language": feed.language,
            "home_page_url": feed.origin + feed.home,
            "feed_url": feed.origin + feed.path,
            "icon": feed.origin + _ICON,
            "items": items,
        }
    )


def _add_element(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = without_forbidden(text)
