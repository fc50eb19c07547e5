"""Turns feed entries into headlines: cleaned, dated, and recognised when they recur."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from engine.feeds.plain import plain_words
from engine.feeds.stories import words_of
from engine.feeds.types import FeedEntry, NewHeadline, ParsedFeed
from engine.prophecy.headline import read_headline
from engine.text.address import link_key

_LONGEST_FROM_SUMMARY = 200  # for an entry without a title, as short posts are
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)  # programs write earlier dates for "no date"


def headlines_of(
    parsed: ParsedFeed, *, now: datetime, primed: bool, news_for: float
) -> tuple[NewHeadline, ...]:
    """Return the entries as headlines, each identity once, in the order of the feed.

    Entries without words are left out. None of them is news unless the feed is `primed`, and no
    entry is that its author dates more than `news_for` seconds ago.
    """
    shared = _shared_links(parsed.entries)
    oldest_news = now - timedelta(seconds=news_for)
    found: dict[str, NewHeadline] = {}
    for entry in parsed.entries:
        title = entry.title or plain_words(entry.summary, _LONGEST_FROM_SUMMARY)
        text = read_headline(title).text
        if not words_of(text) or entry.identity in found:
            continue
        published = _dated(entry.published, now)
        key = link_key(entry.link) if entry.link else None
        found[entry.identity] = NewHeadline(
            identity=entry.identity,
            title=title,
            text=text,
            published=published,
            link=entry.link,
            summary=entry.summary,
            author=entry.author,
            tags=entry.tags,
            language=parsed.language,
            link_key=None if key in shared else key,
            seen_before=not primed or published < oldest_news,
        )
    return tuple(found.values())


def identity_hash(headline: NewHeadline) -> bytes:
    """Return the SHA-256 of the identity that the feed gives the entry."""
    return sha256(headline.identity.encode()).digest()


def words_hash(headline: NewHeadline) -> bytes:
    """Return the SHA-256 of link and words, which recognises an entry whose guid has changed."""
    key = link_key(headline.link) if headline.link else None
    return sha256("\0".join((key or "", headline.text.casefold())).encode()).digest()


def _dated(published: datetime | None, now: datetime) -> datetime:
    """Return the date, or the time first seen if there is none; never one in the future."""
    return now if published is None or published < _EARLIEST else min(published, now)


def _shared_links(entries: Sequence[FeedEntry]) -> set[str]:
    """Return the links that different entries share: they lead to a page about many things."""
    titles: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        if entry.link and (key := link_key(entry.link)):
            titles[key].add(entry.title)
    return {key for key, said in titles.items() if len(said) > 1}
