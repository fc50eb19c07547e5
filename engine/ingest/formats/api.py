"""Objects of Twitter's API: v1.1 (an array, or lines as twarc writes them) and v2."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from engine.ingest.dates import zoned
from engine.ingest.fields import count, mapping, mappings, string, text_of
from engine.ingest.formats.tweets import tweet_id, tweet_post
from engine.ingest.reader import JsonObject, JsonReader, Sample
from engine.ingest.records import PostFields, Reject, SourceRecord
from engine.types import Flag, Kind

_REFERENCES = {"retweeted": Flag.REPOST, "quoted": Flag.QUOTE, "replied_to": Flag.REPLY}


@dataclass(frozen=True, slots=True)
class Includes:
    """What a page states once for all its tweets, by id."""

    users: Mapping[str, Mapping[str, object]]
    tweets: Mapping[str, Mapping[str, object]]

    @classmethod
    def of(cls, value: object) -> "Includes":
        """Read the `includes` of a page."""
        found = mapping(value)
        return cls(_by_id(found.get("users")), _by_id(found.get("tweets")))


def with_includes(tweet: Mapping[str, object], includes: Includes) -> dict[str, object]:
    """Return the tweet with its author and the tweets it refers to embedded."""
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


def v2_post(tweet: Mapping[str, object]) -> PostFields:
    """Translate one flattened tweet. Raises RecordError."""
    references = mappings(tweet.get("referenced_tweets"))
    original = next((r for r in references if r.get("type") == "retweeted"), {})
    metrics = mapping(tweet.get("public_metrics"))
    answered = next((r.get("id") for r in references if r.get("type") == "replied_to"), None)
    flags = Flag.MEDIA if mapping(tweet.get("attachments")).get("media_keys") else Flag.NONE
    for reference in references:
        flags |= _REFERENCES.get(str(reference.get("type")), Flag.NONE)
    return PostFields(
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


# A page may be longer than the sample, which then holds no complete object.
_PAGE = re.compile(rb'\s*\{\s*"data"\s*:\s*\[\s*\{\s*"')


class ApiReader(JsonReader):
    """Reads responses of the API."""

    name = "api"
    kinds = (Kind.TWEETS, Kind.SOCIAL)
    longest_line = 16_000_000  # a page of v2 holds up to 500 tweets

    def recognises(self, sample: Sample) -> bool:
        return bool(_PAGE.match(sample.head)) or super().recognises(sample)

    def fits(self, found: Mapping[str, object]) -> bool:
        if isinstance(found.get("data"), list):
            return any("text" in tweet for tweet in mappings(found.get("data")))
        if {"id", "text"} <= found.keys() and ("author_id" in found or "public_metrics" in found):
            return True
        return "created_at" in found and (
            "full_text" in found or {"id_str", "text", "entities"} <= found.keys()
        )

    def split(
        self, found: JsonObject, digest: Callable[[bytes], int]
    ) -> Generator[SourceRecord | Reject]:
        if not isinstance(found.value.get("data"), list):
            yield found.record(self.name, tweet_id(found.value), digest(found.raw))
            return
        includes = Includes.of(found.value.get("includes"))
        for tweet in mappings(found.value.get("data")):
            whole = with_includes(tweet, includes)
            yield found.record(self.name, tweet.get("id"), digest(orjson.dumps(whole)), whole)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        if "author_id" in payload or "public_metrics" in payload:
            return v2_post(payload)
        return tweet_post(payload)
