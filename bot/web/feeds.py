"""Feeds of the prophecies that were posted or approved: Atom at /feed.xml, JSON Feed at /feed.json.

A browser that opens one is shown a page.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.card import can_draw
from bot.replies.dates import say_age
from bot.reply import format_signature, name_flags, say_date
from bot.web.rendering import render_fragment, render_template, web_address
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import find_visitor, format_day, own_address
from bot.web.votes import open_wall
from db.posting.outbox import Outbox
from db.search.shown import DocumentLookup
from engine.chat import WallEntry
from engine.feeds.markup import without_forbidden
from engine.page.article import first_link
from engine.posting.delivery import PublicPost
from engine.search import Candidate
from engine.text.address import address_candidate

MAX_ENTRIES = 30
_KEEP_SECONDS = 300
_VARY = "Accept, Accept-Language"
_ATOM = "http://www.w3.org/2005/Atom"
_JSON_FEED = "https://jsonfeed.org/version/1.1"
_NAMESPACE = uuid.UUID("5d0e2c52-7e4b-4c5c-9a67-3d3b3fa9b6b1")

router = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicProphecy:
    """A prophecy that everybody may know of: it was posted, or the operator approved it."""

    name: str  # what tells it from others, the same for good
    title: str
    headline: str  # its words, as they were searched for
    link: str | None
    source: str | None
    published: datetime
    corpus: str
    external_id: str
    shown_at: datetime

    @property
    def pair(self) -> tuple[str, str, str]:
        """Return the headline and the text, by which what is told twice is known."""
        return self.headline, self.corpus, self.external_id


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedEntry:
    """A headline, and the old text that foretold it. All addresses are whole."""

    id: str  # a URN, the same for all languages and addresses
    title: str
    url: str
    quote: str
    author: str | None
    when: str  # the date of the text, how long before that was, its labels
    original: str | None
    source: str
    link: str | None  # of the news
    news_day: str
    news_date: str
    picture: str | None
    posted_at: datetime
    html: str = ""

    @property
    def text(self) -> str:
        """Return the entry without markup: what foretold it, when, where both can be read."""
        source = " · ".join(filter(None, (self.source, self.link)))
        paragraphs = (f"“{self.quote}”", self.when, self.original, source)
        return "\n\n".join(filter(None, paragraphs))


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedFeed:
    """A feed, with its address and that of the page."""

    title: str
    language: str
    home: str
    url: str
    icon: str
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
        corpus = request.query_params.get("corpus", "")
        page = render_template(request, "feed.html", feed=feed, corpus=corpus)
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
    asked = request.query_params.get("corpus", "").strip()
    shown = await shared.app.corpora.list()
    corpora = [await shared.app.corpora.get(asked)] if asked else shown
    by_name, texts = (
        {corpus.name: corpus for corpus in corpora},
        DocumentLookup(shared.app.database),
    )
    entries = []
    for prophecy in await _list_prophecies(shared, list(by_name)):
        corpus = by_name[prophecy.corpus]
        # A text that has been removed from its corpus since is not shown any more.
        if document := await texts.document(corpus, prophecy.external_id):
            found = address_candidate(document.candidate, corpus)
            entries.append(_build_entry(request, prophecy, found))
    origin = own_address(request)
    return PostedFeed(
        title=f"Presagio · {asked}" if asked else "Presagio",
        language=visitor.words.language,
        home=origin + visitor.link("/"),
        url=origin + visitor.link(request.url.path, corpus=asked),
        icon=f"{origin}/static/icon-512.png",
        entries=entries,
    )


async def _list_prophecies(shared: SharedState, corpora: Sequence[str]) -> list[PublicProphecy]:
    """Return what was posted and what the operator approved, each once, newest first."""
    database = shared.app.database
    posts = await Outbox(database).public_posts(corpora, limit=MAX_ENTRIES)
    wall = await open_wall(database, shared.settings.web)
    approved = await wall.list_approved(corpora, limit=MAX_ENTRIES)
    every = (*map(_tell_post, posts), *map(_tell_approved, approved))
    distinct = {each.pair: each for each in reversed(every)}  # as it was posted, if it was
    return sorted(distinct.values(), key=lambda each: each.shown_at, reverse=True)[:MAX_ENTRIES]


def _tell_post(post: PublicPost) -> PublicProphecy:
    return PublicProphecy(
        name=f"{post.story_id} {post.corpus} {post.external_id}",
        title=post.title,
        headline=post.headline,
        link=post.link,
        source=post.source,
        published=post.published,
        corpus=post.corpus,
        external_id=post.external_id,
        shown_at=post.posted_at,
    )


def _tell_approved(entry: WallEntry) -> PublicProphecy:
    liked = entry.favourite
    return PublicProphecy(
        name=f"wall {entry.answer_id} {liked.hit.rank}",
        title=liked.headline.text,
        headline=liked.headline.text,
        link=first_link(liked.headline.original),
        source=None,
        published=liked.headline.date or liked.asked_at,
        corpus=liked.corpus,
        external_id=liked.hit.candidate.external_id,
        shown_at=entry.decided_at or liked.asked_at,
    )


def _build_entry(request: Request, prophecy: PublicProphecy, found: Candidate) -> PostedEntry:
    visitor, origin = find_visitor(request), own_address(request)
    words, day = visitor.words, format_day(prophecy.published)
    date = say_date(found.created_at, found.dated_by, words)
    age = say_age(found.created_at, prophecy.published, words)
    picture = visitor.link(
        f"/card/{prophecy.corpus}/{quote(prophecy.external_id)}.png", headline=prophecy.headline
    )
    entry = PostedEntry(
        id=uuid.uuid5(_NAMESPACE, prophecy.name).urn,
        title=prophecy.title,
        url=origin
        + visitor.link("/prophecy", headline=prophecy.headline, date=day, corpus=prophecy.corpus),
        quote=found.text,
        author=format_signature(found.voice, found.author, in_item=found.place is not None),
        when=" · ".join(filter(None, (date, age, *name_flags(found.flags.names, words)))),
        original=web_address(found.url),
        source=prophecy.source or "",
        link=web_address(prophecy.link),
        news_day=day,
        news_date=words.date(prophecy.published),
        picture=origin + picture if can_draw() else None,
        posted_at=prophecy.shown_at,
    )
    return replace(entry, html=render_fragment(request, "posted.html", entry=entry))


def render_atom(feed: PostedFeed) -> bytes:
    """Return the feed as Atom (RFC 4287)."""
    root = Element("feed", {"xmlns": _ATOM, "xml:lang": feed.language})
    _add_element(root, "id", feed.url)
    _add_element(root, "title", feed.title)
    _add_element(root, "updated", feed.updated_at.astimezone(UTC).isoformat())
    _add_element(root, "icon", feed.icon)
    SubElement(root, "link", {"rel": "self", "type": "application/atom+xml", "href": feed.url})
    SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": feed.home})
    for posted in feed.entries:
        entry = SubElement(root, "entry")
        _add_element(entry, "id", posted.id)
        _add_element(entry, "title", posted.title)
        _add_element(entry, "published", posted.posted_at.astimezone(UTC).isoformat())
        _add_element(entry, "updated", posted.posted_at.astimezone(UTC).isoformat())
        SubElement(entry, "link", {"rel": "alternate", "type": "text/html", "href": posted.url})
        _add_element(SubElement(entry, "author"), "name", posted.author or feed.title)
        _add_element(entry, "content", posted.html, type="html")
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def render_json_feed(feed: PostedFeed) -> bytes:
    """Return the feed as JSON Feed 1.1."""
    items = [
        {
            "id": posted.id,
            "url": posted.url,
            "title": posted.title,
            "content_html": posted.html,
            "content_text": posted.text,
            "date_published": posted.posted_at.astimezone(UTC).isoformat(),
            **({"image": posted.picture} if posted.picture else {}),
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
            "icon": feed.icon,
            "items": items,
        }
    )


def _add_element(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = without_forbidden(text)
