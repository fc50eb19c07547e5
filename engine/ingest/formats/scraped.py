"""Reads tweets as programs save them that read X's pages: snscrape, twscrape, and those for Nitter.

snscrape and twscrape write the same fields, one object a line or one array. Nitter's readers write
`{"tweets": [...], "threads": [[...], ...]}`, or the tweets alone.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import orjson

from engine.errors import InputError
from engine.ingest.dates import (
    as_mapping,
    read_identifier,
    read_mappings,
    read_number,
    read_string,
    read_strings,
    read_written_time,
    read_zoned_time,
    text_of,
)
from engine.ingest.formats.tweets import read_device, tweet_id
from engine.ingest.reader import (
    Digest,
    JsonObject,
    JsonReader,
    OpenFile,
    Reader,
    Sample,
    json_objects,
)
from engine.ingest.records import PostFields, Reject, SourceRecord
from engine.ingest.streams import HEAD, read_whole
from engine.messages import Message
from engine.values import Flag, Kind

_LARGEST = 64 << 20  # bytes of a file that is one object
_WHOLE = re.compile(rb'\s*\{\s*"(?:tweets|threads)"\s*:\s*\[')
_STATUS = re.compile(r"/status(?:es)?/(\d+)")
_MEDIA = ("pictures", "videos", "gifs")


class SnscrapeReader(JsonReader):
    """Reads tweets of snscrape and twscrape, of every version."""

    name = "snscrape"
    kinds = (Kind.TWEETS, Kind.SOCIAL)

    def fits(self, value: Mapping[str, object]) -> bool:
        has_text = "rawContent" in value or "content" in value
        return has_text and {"id", "date", "user", "likeCount"} <= value.keys()

    def split(self, item: JsonObject, digest: Digest) -> Iterator[SourceRecord | Reject]:
        yield item.record(self.name, tweet_id(item.value), digest(item.raw))

    def post(self, payload: Mapping[str, object]) -> PostFields:
        original = as_mapping(payload.get("retweetedTweet"))
        text = _read_words(payload)
        if original and (name := _account_name(original)) and (words := _read_words(original)):
            text = f"RT @{name}: {words}"
        answered = read_identifier(
            payload.get("inReplyToTweetIdStr") or payload.get("inReplyToTweetId")
        )
        flags = Flag.REPOST if original else Flag.NONE
        flags |= Flag.QUOTE if payload.get("quotedTweet") and not original else Flag.NONE
        flags |= Flag.REPLY if answered or payload.get("inReplyToUser") else Flag.NONE
        flags |= Flag.MEDIA if _has_media(payload.get("media")) else Flag.NONE
        return PostFields(
            text=text_of(text),
            created_at=read_zoned_time(payload.get("date")),
            author=_account_name(payload),
            lang=read_string(payload.get("lang")),
            url=read_string(payload.get("url")),
            reply_to=answered,
            platform="x",
            engagement=read_number(payload.get("likeCount"))
            + read_number(payload.get("retweetCount")),
            flags=flags,
            links=(*_read_links(payload), *_read_links(original)),
            device=read_string(payload.get("sourceLabel")) or read_device(payload.get("source")),
        )


def _read_words(tweet: Mapping[str, object]) -> object:
    return tweet.get("rawContent") or tweet.get("content")


def _account_name(tweet: Mapping[str, object]) -> str | None:
    return read_string(as_mapping(tweet.get("user")).get("username"))


def _has_media(value: object) -> bool:
    """Tell whether there are pictures: a list, or an object that has a list for each kind."""
    return any(value.values()) if isinstance(value, dict) else bool(value)


def _read_links(tweet: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    pairs = [(link.get("tcourl"), link.get("url")) for link in read_mappings(tweet.get("links"))]
    pairs += zip(
        read_strings(tweet.get("tcooutlinks")), read_strings(tweet.get("outlinks")), strict=False
    )
    for short, whole in pairs:
        if isinstance(short, str) and isinstance(whole, str) and short and whole:
            yield short, whole


class NitterReader(JsonReader):
    """Reads what ntscraper returns."""

    name = "nitter"
    kinds = (Kind.TWEETS, Kind.SOCIAL)

    def recognises(self, sample: Sample) -> bool:
        is_whole = _WHOLE.match(sample.head) and b'"is-retweet"' in sample.head
        return bool(is_whole) or super().recognises(sample)

    def fits(self, value: Mapping[str, object]) -> bool:
        return {"link", "text", "user", "date", "is-retweet"} <= value.keys()

    def objects(self, file: OpenFile) -> Iterator[JsonObject | Reject]:
        if not _WHOLE.match(file.stream.peek(HEAD)):
            return json_objects(file.label, file.stream)
        return _tweets_within(file.label, read_whole(file.stream, _LARGEST))

    def split(self, item: JsonObject, digest: Digest) -> Iterator[SourceRecord | Reject]:
        status = _STATUS.search(str(item.value.get("link")))
        yield item.record(self.name, status[1] if status else None, digest(item.raw))

    def post(self, payload: Mapping[str, object]) -> PostFields:
        stats, link = as_mapping(payload.get("stats")), read_string(payload.get("link"))
        files = [
            name
            for kind in _MEDIA
            for url in read_strings(payload.get(kind))
            if (name := _parse_file_name(url))
        ]
        flags = Flag.REPOST if payload.get("is-retweet") is True else Flag.NONE
        flags |= Flag.QUOTE if payload.get("quoted-post") else Flag.NONE
        flags |= Flag.REPLY if payload.get("replying-to") else Flag.NONE
        flags |= Flag.MEDIA if files else Flag.NONE
        return PostFields(
            text=text_of(payload.get("text")),
            created_at=read_written_time(payload.get("date"), zone=None, is_day_first=False),
            author=(_account_name(payload) or "").removeprefix("@") or None,
            url=link.partition("#")[0] if link else None,
            platform="x",
            engagement=read_number(stats.get("likes")) + read_number(stats.get("retweets")),
            flags=flags,
            meta={"attachments": files},
        )


def _tweets_within(label: str, content: bytes) -> Iterator[JsonObject | Reject]:
    """Yield the tweets of one object, alone or in threads. Raises InputError."""
    try:
        whole = as_mapping(orjson.loads(content))
    except orjson.JSONDecodeError as exc:
        raise InputError(
            Message("{name} is not valid JSON, or larger than 64 MB.", name=label),
            fix=Message("Get or make the file again."),
        ) from exc
    threads = whole.get("threads")
    inner = [read_mappings(thread) for thread in threads] if isinstance(threads, list) else []
    tweets = [*read_mappings(whole.get("tweets")), *(tweet for thread in inner for tweet in thread)]
    for number, tweet in enumerate(tweets, start=1):
        yield JsonObject(label, number, "record", orjson.dumps(tweet), tweet)


def _parse_file_name(url: str) -> str:
    try:
        return PurePosixPath(urlsplit(url).path).name
    except ValueError:  # "http://["
        return ""


READERS: tuple[Reader, ...] = (SnscrapeReader(), NitterReader())
