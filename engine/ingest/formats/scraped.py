"""Reads tweets as others save them: snscrape, twscrape, Nitter's readers, the Trump archive.

snscrape and twscrape write the same fields, one object a line or one array. Nitter's readers write
`{"tweets": [...], "threads": [[...], ...]}`, or the tweets alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import orjson

from engine.errors import InputError
from engine.ingest.fields import (
    as_mapping,
    last_part,
    mapping_at,
    read_flag,
    read_identifier,
    read_mappings,
    read_number,
    read_strings,
    read_written_time,
    read_zoned_time,
    string_at,
    text_of,
    zoned_or_utc,
)
from engine.ingest.formats.tweets import read_device, repost_text, tweet_id
from engine.ingest.reader import CsvReader, JsonReader, OpenFile, Reader, Sample
from engine.ingest.records import PostFields, RawRecord, Reject
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

    def identify(self, value: Mapping[str, object]) -> object:
        return tweet_id(value)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        original = mapping_at(payload, "retweetedTweet")
        repeated = repost_text(_account_name(original), _read_words(original))
        answered = read_identifier(
            payload.get("inReplyToTweetIdStr") or payload.get("inReplyToTweetId")
        )
        return PostFields(
            text=text_of(repeated or _read_words(payload)),
            created_at=read_zoned_time(payload.get("date")),
            author=_account_name(payload),
            lang=string_at(payload, "lang"),
            url=string_at(payload, "url"),
            reply_to=answered,
            platform="x",
            engagement=read_number(payload.get("likeCount"))
            + read_number(payload.get("retweetCount")),
            flags=Flag.of(
                (Flag.REPOST, original),
                (Flag.QUOTE, payload.get("quotedTweet") and not original),
                (Flag.REPLY, answered or payload.get("inReplyToUser")),
                (Flag.MEDIA, _has_media(payload.get("media"))),
            ),
            links=(*_read_links(payload), *_read_links(original)),
            device=string_at(payload, "sourceLabel") or read_device(payload.get("source")),
        )


def _read_words(tweet: Mapping[str, object]) -> object:
    return tweet.get("rawContent") or tweet.get("content")


def _account_name(tweet: Mapping[str, object]) -> str | None:
    return string_at(tweet, "user", "username")


def _has_media(value: object) -> bool:
    """Return whether there are pictures: a list, or an object that has a list for each kind."""
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

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        if not _WHOLE.match(file.stream.peek(HEAD)):
            return super().read_records(file)
        return _tweets_within(file.label, read_whole(file.stream, _LARGEST))

    def identify(self, value: Mapping[str, object]) -> str | None:
        status = _STATUS.search(str(value.get("link")))
        return status[1] if status else None

    def post(self, payload: Mapping[str, object]) -> PostFields:
        stats, link = mapping_at(payload, "stats"), string_at(payload, "link")
        urls = [url for kind in _MEDIA for url in read_strings(payload.get(kind))]
        files = list(filter(None, map(last_part, urls)))
        return PostFields(
            text=text_of(payload.get("text")),
            created_at=read_written_time(payload.get("date"), zone=None, is_day_first=False),
            author=(_account_name(payload) or "").removeprefix("@") or None,
            url=link.partition("#")[0] if link else None,
            platform="x",
            engagement=read_number(stats.get("likes")) + read_number(stats.get("retweets")),
            flags=Flag.of(
                (Flag.REPOST, payload.get("is-retweet") is True),
                (Flag.QUOTE, payload.get("quoted-post")),
                (Flag.REPLY, payload.get("replying-to")),
                (Flag.MEDIA, files),
            ),
            meta={"attachments": files},
        )


def _tweets_within(label: str, content: bytes) -> Iterator[RawRecord | Reject]:
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
        yield RawRecord(label, number, "record", orjson.dumps(tweet), tweet)


class _TrumpArchiveReader(Reader):
    """Reads the records of the Trump archive, older and newer, from JSON and from CSV."""

    kinds = (Kind.TWEETS, Kind.SOCIAL)

    def identify(self, value: Mapping[str, object]) -> object:
        return tweet_id(value)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        repost = read_flag(payload.get("isRetweet", payload.get("is_retweet")), "the repost flag")
        deleted = read_flag(payload.get("isDeleted"), "isDeleted")
        likes = payload.get("favorites", payload.get("favorite_count"))
        reposts = payload.get("retweets", payload.get("retweet_count"))
        return PostFields(
            text=text_of(payload.get("text")),
            created_at=zoned_or_utc(payload.get("date", payload.get("created_at"))),
            platform="x",
            engagement=read_number(likes) + read_number(reposts),
            flags=Flag.of((Flag.REPOST, repost), (Flag.DELETED, deleted)),
            device=read_device(payload.get("device", payload.get("source"))),
        )


class TrumpArchiveJsonReader(_TrumpArchiveReader, JsonReader):
    """Reads both JSON layouts."""

    name = "trump-archive-json"

    def fits(self, value: Mapping[str, object]) -> bool:
        newer = {"id", "text", "date", "isRetweet"} <= value.keys()
        older = {"id_str", "text", "created_at", "is_retweet"} <= value.keys()
        return newer or (older and "entities" not in value)


class TrumpArchiveCsvReader(_TrumpArchiveReader, CsvReader):
    """Reads both CSV layouts; columns are found by their names."""

    name = "trump-archive-csv"
    columns = "id, text, isRetweet and date"

    def is_header(self, row: Sequence[str]) -> bool:
        names = set(row)
        return "text" in names and bool(
            {"id", "isRetweet", "date"} <= names or {"id_str", "is_retweet", "created_at"} <= names
        )


READERS: tuple[Reader, ...] = (
    SnscrapeReader(),
    NitterReader(),
    TrumpArchiveJsonReader(),
    TrumpArchiveCsvReader(),
)
