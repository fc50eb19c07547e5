"""A tweet object as the v2 API defines it, in the flattened shape that twarc2 gives it.

Flattened: the author and the referenced tweets lie inside the tweet, not beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.ingest.dates import zoned
from engine.ingest.fields import count, mapping, mappings, string, text_of
from engine.ingest.records import Post
from engine.types import Flag

_REFERENCES = {"retweeted": Flag.REPOST, "quoted": Flag.QUOTE, "replied_to": Flag.REPLY}


@dataclass(frozen=True, slots=True)
class Includes:
    """What a page tells once for all its tweets, by id."""

    users: Mapping[str, Mapping[str, object]]
    tweets: Mapping[str, Mapping[str, object]]

    @classmethod
    def of(cls, value: object) -> "Includes":
        """Read the `includes` of a page."""
        found = mapping(value)
        return cls(_by_id(found.get("users")), _by_id(found.get("tweets")))


def with_includes(tweet: Mapping[str, object], includes: Includes) -> dict[str, object]:
    """Return the tweet flattened: its author and the tweets it refers to inside it."""
    return {
        **tweet,
        "author": includes.users.get(str(tweet.get("author_id")), tweet.get("author")),
        "referenced_tweets": [
            {
                **_with_author(includes.tweets.get(str(reference.get("id")), {}), includes),
                **reference,
            }
            for reference in mappings(tweet.get("referenced_tweets"))
        ],
    }


def v2_post(tweet: Mapping[str, object]) -> Post:
    """Translate one flattened tweet. Raises RecordError."""
    references = mappings(tweet.get("referenced_tweets"))
    original = next((r for r in references if r.get("type") == "retweeted"), {})
    metrics = mapping(tweet.get("public_metrics"))
    answered = next((r.get("id") for r in references if r.get("type") == "replied_to"), None)
    flags = Flag.MEDIA if mapping(tweet.get("attachments")).get("media_keys") else Flag.NONE
    for reference in references:
        flags |= _REFERENCES.get(str(reference.get("type")), Flag.NONE)
    return Post(
        text=text_of(_repeated(original) or _text(tweet)),
        created_at=zoned(tweet.get("created_at")),
        author=_username(tweet),
        lang=string(tweet.get("lang")),
        reply_to=string(answered),
        platform="x",
        engagement=count(metrics.get("like_count")) + count(metrics.get("retweet_count")),
        flags=flags,
        links=(*_links(tweet), *_links(original)),
        device=string(tweet.get("source")),
    )


def _by_id(value: object) -> dict[str, Mapping[str, object]]:
    return {str(item.get("id")): item for item in mappings(value)}


def _with_author(tweet: Mapping[str, object], includes: Includes) -> dict[str, object]:
    return {**tweet, "author": includes.users.get(str(tweet.get("author_id")))}


def _text(tweet: Mapping[str, object]) -> object:
    return mapping(tweet.get("note_tweet")).get("text") or tweet.get("text")


def _username(tweet: Mapping[str, object]) -> str | None:
    return string(mapping(tweet.get("author")).get("username"))


def _repeated(original: Mapping[str, object]) -> str | None:
    name, text = _username(original), string(_text(original))
    return f"RT @{name}: {text}" if name and text else None


def _links(tweet: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    entities = mapping(tweet.get("entities"))
    pairs = [
        (string(u.get("url")), string(u.get("expanded_url")))
        for u in mappings(entities.get("urls"))
    ]
    return [(short, expanded) for short, expanded in pairs if short and expanded]
