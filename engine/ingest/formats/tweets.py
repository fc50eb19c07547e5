"""Reads tweet objects as the v1.1 API defined them; X's exports and twarc use the same form."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from engine.errors import RecordError
from engine.ingest.dates import zoned
from engine.ingest.fields import count, identifier, mapping, mappings, string, text_of
from engine.ingest.records import PostFields
from engine.messages import Message
from engine.types import Flag

_STATUS_LINK = re.compile(r"https?://(?:\w+\.)?(?:twitter|x)\.com/\w+/status/\d+", re.IGNORECASE)
_DEVICE = re.compile(r">([^<>]*)<")
# The platform's first post, and its last whose id only counts: later ones begin with their moment.
_FIRST_POST, _LAST_COUNTED = datetime(2006, 3, 21, tzinfo=UTC), datetime(2010, 11, 5, tzinfo=UTC)
_HIGHEST_COUNTED = 29_700_859_247
_EPOCH = datetime(2010, 11, 4, 1, 42, 54, 657_000, tzinfo=UTC)
_LONGEST_ID = 19
_OFF_BY = timedelta(days=1)  # archives are off by up to twelve hours
_OWN_DEVICES = ("Twitter", "TweetDeck")


def tweet_id(tweet: Mapping[str, object]) -> object:
    """Return the id of a tweet from `id_str`, because `id`, a number, may have been rounded."""
    return tweet.get("id_str") or tweet.get("id")


def tweet_post(
    tweet: Mapping[str, object], *, author: str | None = None, whole_text: str | None = None
) -> PostFields:
    """Translate one tweet. Raises RecordError.

    A repost gets the whole text of the original ("RT @name: ..."), if it is embedded. `author` is
    the account of the export; `whole_text` replaces a text that was cut.
    """
    original = mapping(tweet.get("retweeted_status"))
    text, links = _content(tweet)
    if original:
        text, links = _repeated(original, text), links + _content(original)[1]
    return PostFields(
        text=text_of(whole_text or text),
        created_at=zoned(tweet.get("created_at")),
        author=_screen_name(tweet) or author,
        lang=string(tweet.get("lang")),
        reply_to=_answered(tweet),
        platform="x",
        engagement=count(tweet.get("favorite_count")) + count(tweet.get("retweet_count")),
        flags=_flags(tweet, links, cut=not (whole_text or original) and _is_cut(tweet)),
        links=links,
        device=device(tweet.get("source")),
    )


def is_from_x(post_id: str, created_at: datetime, sent_by: str | None) -> bool:
    """Tell whether a record that names no platform is surely a post on X.

    Its id holds the moment when it was made; or it is from before ids did, and names an app of
    that platform as its device.
    """
    if not (post_id.isascii() and post_id.isdigit()) or len(post_id) > _LONGEST_ID:
        return False
    number = int(post_id)
    if number > _HIGHEST_COUNTED:
        return abs(_EPOCH + timedelta(milliseconds=number >> 22) - created_at) <= _OFF_BY
    return _FIRST_POST <= created_at <= _LAST_COUNTED and (sent_by or "").startswith(_OWN_DEVICES)


def device(source: object) -> str | None:
    """Return the name in '<a href="...">Twitter for iPhone</a>', or the text itself."""
    text = string(source)
    found = _DEVICE.search(text) if text else None
    return found[1] if found else text


def _content(tweet: Mapping[str, object]) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    extended = mapping(tweet.get("extended_tweet"))
    text = extended.get("full_text") or tweet.get("full_text") or tweet.get("text")
    if text is not None and not isinstance(text, str):
        raise RecordError(Message("the text is not a text"))
    return text, (*_links(extended), *_links(tweet))


def _links(tweet: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    entities = mapping(tweet.get("entities"))
    for kind in ("urls", "media"):
        for link in mappings(entities.get(kind)):
            short, expanded = string(link.get("url")), string(link.get("expanded_url"))
            if short and expanded:
                yield short, expanded


def _repeated(original: Mapping[str, object], cut: str | None) -> str | None:
    name, text = _screen_name(original), _content(original)[0]
    return f"RT @{name}: {text}" if name and text else cut


def _screen_name(tweet: Mapping[str, object]) -> str | None:
    return string(mapping(tweet.get("user")).get("screen_name"))


def _answered(tweet: Mapping[str, object]) -> str | None:
    return identifier(tweet.get("in_reply_to_status_id_str") or tweet.get("in_reply_to_status_id"))


def _is_cut(tweet: Mapping[str, object]) -> bool:
    return tweet.get("truncated") is True and not mapping(tweet.get("extended_tweet"))


def _flags(tweet: Mapping[str, object], links: tuple[tuple[str, str], ...], *, cut: bool) -> Flag:
    flags = Flag.TRUNCATED if cut else Flag.NONE
    if mapping(tweet.get("retweeted_status")):
        flags |= Flag.REPOST
    elif tweet.get("is_quote_status") is True or any(
        _STATUS_LINK.fullmatch(expanded) for _short, expanded in links
    ):
        flags |= Flag.QUOTE
    if _answered(tweet) or tweet.get("in_reply_to_screen_name"):
        flags |= Flag.REPLY
    if _has_media(tweet) or _has_media(mapping(tweet.get("extended_tweet"))):
        flags |= Flag.MEDIA
    return flags


def _has_media(tweet: Mapping[str, object]) -> bool:
    return any(mapping(tweet.get(kind)).get("media") for kind in ("entities", "extended_entities"))
