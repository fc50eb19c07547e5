"""Lately foretold: what the bot posted from feeds, as the page lists it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from urllib.parse import quote

from bot.replies.dates import say_age
from bot.web.rendering import TextView, view_text
from bot.web.shared_state import SharedState
from bot.web.visitor import Visitor, format_day
from db.posting.outbox import Outbox
from db.search.shown import DocumentLookup
from engine.posting.delivery import PublicPost
from engine.search import Candidate
from engine.text.address import address_candidate
from engine.values import Corpus

MAX_POSTS = 30
_LATEST = 5  # of them, on the first page and that of an archive
_LONGEST_QUOTE = 280


@dataclass(frozen=True, slots=True, kw_only=True)
class ForetoldView:
    """A headline and the old text that foretold it, as lists show them; paths are of this page."""

    title: str
    path: str  # of the answer to the headline
    picture_path: str
    text: TextView
    age: str  # how long before the news
    news_day: str  # ISO
    news_date: str

    @property
    def when(self) -> str:
        """The date of the text, how long before the news that was, its labels."""
        return " · ".join(filter(None, (self.text.date_text, self.age, *self.text.labels)))


async def list_posted(
    shared: SharedState, corpora: Sequence[Corpus], *, limit: int = MAX_POSTS
) -> list[tuple[PublicPost, Candidate]]:
    """Return what was posted from feeds of the settings, newest first, with the texts out of
    `corpora`, which visitors may see. Texts that are gone are left out.

    Posts may be missing for some minutes. Raises StorageError.
    """
    database, by_name = shared.app.database, {corpus.name: corpus for corpus in corpora}
    read_posts = partial(Outbox(database).public_posts, [*by_name], limit=MAX_POSTS)
    texts = DocumentLookup(database)
    posted: list[tuple[PublicPost, Candidate]] = []
    for post in await shared.kept.get(("posts", *sorted(by_name)), read_posts):
        if len(posted) == limit:
            break
        corpus = by_name[post.corpus]
        if document := await texts.document(corpus, post.external_id):
            posted.append((post, address_candidate(document.candidate, corpus)))
    return posted


async def list_latest(
    shared: SharedState, corpora: Sequence[Corpus], visitor: Visitor
) -> list[ForetoldView]:
    """Return the newest posts, as lists show them. Raises StorageError."""
    posts = await list_posted(shared, corpora, limit=_LATEST)
    return [view_post(*post, visitor) for post in posts]


async def list_foretold_by(
    shared: SharedState, corpus: Corpus, external_id: str, *, limit: int
) -> Mapping[str, datetime]:
    """Return the headlines of posts with a text, and their dates. Raises StorageError."""
    outbox = Outbox(shared.app.database)
    posts = await outbox.public_posts([corpus.name], external_id=external_id, limit=limit)
    return {post.headline: post.published for post in posts}


def view_post(post: PublicPost, text: Candidate, visitor: Visitor) -> ForetoldView:
    """Return a post as lists show it."""
    picture = f"/card/{post.corpus}/{quote(post.external_id)}.png"
    return view_foretold(
        post.headline,
        post.published,
        post.corpus,
        text,
        visitor,
        title=post.title,
        picture_path=visitor.link(picture, headline=post.headline),
    )


def view_foretold(
    headline: str,
    published: datetime,
    corpus: str,
    text: Candidate,
    visitor: Visitor,
    *,
    title: str = "",
    picture_path: str = "",
) -> ForetoldView:
    """Return a headline and a text as lists show them."""
    words = visitor.words
    parameters = {"headline": headline, "date": format_day(published), "corpus": corpus}
    return ForetoldView(
        title=title or headline,
        path=visitor.link("/prophecy", **parameters),
        picture_path=picture_path or visitor.link("/picture.png", **parameters),
        text=view_text(text, corpus, words, longest=_LONGEST_QUOTE),
        age=say_age(text.created_at, published, words),
        news_day=parameters["date"],
        news_date=words.date(published),
    )
