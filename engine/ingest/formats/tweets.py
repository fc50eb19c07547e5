"""Reads tweets as X's exports, the v1.1 and v2 API and twarc write them."""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson

from engine.errors import RecordError
from engine.ingest.fields import (
    as_mapping,
    list_strings,
    mapping_at,
    read_identifier,
    read_mappings,
    read_number,
    read_string,
    read_strings,
    read_zoned_time,
    string_at,
    text_of,
)
from engine.ingest.reader import Digest, JsonReader, Reader, Sample
from engine.ingest.records import Defaults, PostFields, RawRecord, Reject, SourceRecord
from engine.ingest.sources import Source
from engine.messages import Message
from engine.values import Flag, Kind

_STATUS_LINK = re.compile(r"https?://(?:\w+\.)?(?:twitter|x)\.com/\w+/status/\d+", re.IGNORECASE)
_DEVICE = re.compile(r">([^<>]*)<")
# The platform's first post, and its last whose id only counts: later ones begin with their moment.
_FIRST_POST, _LAST_COUNTED = datetime(2006, 3, 21, tzinfo=UTC), datetime(2010, 11, 5, tzinfo=UTC)
_HIGHEST_COUNTED = 29_700_859_247
_EPOCH = datetime(2010, 11, 4, 1, 42, 54, 657_000, tzinfo=UTC)
_LONGEST_ID = 19
_OFF_BY = timedelta(days=1)  # archives are off by up to twelve hours
_REFERENCES = {"retweeted": Flag.REPOST, "quoted": Flag.QUOTE, "replied_to": Flag.REPLY}
# A page may be longer than the sample, which then holds no complete object.
_PAGE = re.compile(rb'\s*\{\s*"(?:data|statuses)"\s*:\s*\[\s*\{\s*"')


def tweet_id(tweet: Mapping[str, object]) -> object:
    """Return the id of a tweet from `id_str`, because `id`, a number, may have been rounded."""
    return tweet.get("id_str") or tweet.get("id")


def keep_last_versions(records: Iterable[SourceRecord | Reject]) -> Iterator[SourceRecord | Reject]:
    """Yield the records without tweets that were edited, if their last version is among them."""
    older, last = dict[str, list[SourceRecord]](), set[str]()
    for record in records:
        versions = [] if isinstance(record, Reject) else _list_versions(record.payload)
        if isinstance(record, Reject) or len(versions) < 2:
            yield record
        elif record.external_id == versions[-1]:
            last.add(versions[-1])
            yield record
        else:
            older.setdefault(versions[-1], []).append(record)
    for newest, held in older.items():
        if newest not in last:
            yield held[-1]


def _list_versions(payload: Mapping[str, object]) -> list[str]:
    """Return the ids of all versions of a tweet, the last one last."""
    tweet = mapping_at(payload, "tweet") or payload
    info = mapping_at(tweet, "edit_info")
    edits = mapping_at(info, "initial") or mapping_at(info, "edit", "editControlInitial")
    ids = read_strings(edits.get("editTweetIds") or tweet.get("edit_history_tweet_ids"))
    return sorted(ids, key=lambda each: (len(each), each))


def tweet_post(
    tweet: Mapping[str, object], *, author: str | None = None, whole_text: str | None = None
) -> PostFields:
    """Translate one tweet. Raises RecordError.

    A repost gets the whole text of the original ("RT @name: ..."), if it is embedded. `author` is
    the account of the export; `whole_text` replaces a text that was cut.
    """
    original = mapping_at(tweet, "retweeted_status")
    text, links = _read_content(tweet)
    is_cut = tweet.get("truncated") is True and not mapping_at(tweet, "extended_tweet")
    if original:
        words, more = _read_content(original)
        text, links = repost_text(_screen_name(original), words) or text, links + more
    return PostFields(
        text=text_of(whole_text or text),
        created_at=read_zoned_time(tweet.get("created_at")),
        author=_screen_name(tweet) or author,
        lang=string_at(tweet, "lang"),
        reply_to=_answered_id(tweet),
        platform="x",
        engagement=read_number(tweet.get("favorite_count"))
        + read_number(tweet.get("retweet_count")),
        beside=_describe_media(_list_media(tweet)),
        flags=_read_tweet_flags(tweet, links, cut=is_cut and not (whole_text or original)),
        links=links,
        device=read_device(tweet.get("source")),
    )


def repost_text(name: str | None, words: object) -> str | None:
    """Return the text of a repost, given whom it repeats and what; None if either is missing."""
    return f"RT @{name}: {words}" if name and words and isinstance(words, str) else None


def is_from_x(post_id: str, created_at: datetime, *, archive_of_x: bool) -> bool:
    """Return whether a record without a platform is a post on X, if its archive shows X's signs.

    Its id holds the moment when it was made, or it is from before ids did.
    """
    if not (post_id.isascii() and post_id.isdigit()) or len(post_id) > _LONGEST_ID:
        return False
    number = int(post_id)
    if number > _HIGHEST_COUNTED:
        return (
            archive_of_x
            and abs(_EPOCH + timedelta(milliseconds=number >> 22) - created_at) <= _OFF_BY
        )
    return archive_of_x and _FIRST_POST <= created_at <= _LAST_COUNTED


def read_device(source: object) -> str | None:
    """Return the name in '<a href="...">Twitter for iPhone</a>', or the text itself."""
    text = read_string(source)
    match = _DEVICE.search(text) if text else None
    return match[1] if match else text


def _read_content(tweet: Mapping[str, object]) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    extended = mapping_at(tweet, "extended_tweet")
    text = extended.get("full_text") or tweet.get("full_text") or tweet.get("text")
    if text is not None and not isinstance(text, str):
        raise RecordError(Message("the text is not a text"))
    return text, tuple(
        link for part in (extended, tweet) for link in _read_links(part, "urls", "media")
    )


def _read_links(tweet: Mapping[str, object], *kinds: str) -> Iterator[tuple[str, str]]:
    """Yield the short links among entities of these kinds, with what they stand for."""
    for kind in kinds:
        for link in read_mappings(mapping_at(tweet, "entities").get(kind)):
            short, expanded = read_string(link.get("url")), read_string(link.get("expanded_url"))
            if short and expanded:
                yield short, expanded


def _screen_name(tweet: Mapping[str, object]) -> str | None:
    return string_at(tweet, "user", "screen_name")


def _answered_id(tweet: Mapping[str, object]) -> str | None:
    return read_identifier(
        tweet.get("in_reply_to_status_id_str") or tweet.get("in_reply_to_status_id")
    )


def _read_tweet_flags(
    tweet: Mapping[str, object], links: tuple[tuple[str, str], ...], *, cut: bool
) -> Flag:
    is_repost = bool(mapping_at(tweet, "retweeted_status"))
    is_quote = tweet.get("is_quote_status") is True or any(
        _STATUS_LINK.fullmatch(expanded) for _short, expanded in links
    )
    return Flag.of(
        (Flag.TRUNCATED, cut),
        (Flag.REPOST, is_repost),
        (Flag.QUOTE, is_quote and not is_repost),
        (Flag.REPLY, _answered_id(tweet) or tweet.get("in_reply_to_screen_name")),
        (Flag.MEDIA, _list_media(tweet) or _list_media(mapping_at(tweet, "extended_tweet"))),
    )


def _list_media(tweet: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    """Return the pictures and films; all of them stand among the extended entities alone."""
    whole = (mapping_at(tweet, kind) for kind in ("extended_entities", "entities"))
    return next((media for part in whole if (media := read_mappings(part.get("media")))), ())


def _describe_media(media: Iterable[Mapping[str, object]]) -> tuple[tuple[str, str], ...]:
    alts = (read_string(item.get("ext_alt_text") or item.get("alt_text")) for item in media)
    return tuple(("image", alt) for alt in alts if alt)


@dataclass(frozen=True, slots=True)
class Includes:
    """What a page states once for all its tweets, by id."""

    users: Mapping[str, Mapping[str, object]]
    tweets: Mapping[str, Mapping[str, object]]
    attached: Mapping[str, Mapping[str, object]]  # media and polls

    @classmethod
    def of(cls, value: object) -> "Includes":
        """Read the `includes` of a page."""
        includes = as_mapping(value)
        return cls(
            _by_id(includes.get("users")),
            _by_id(includes.get("tweets")),
            _by_id(includes.get("media"), "media_key") | _by_id(includes.get("polls")),
        )


def with_includes(tweet: Mapping[str, object], includes: Includes) -> dict[str, object]:
    """Return the tweet with its author, what is attached and the tweets it refers to embedded."""
    attachments = mapping_at(tweet, "attachments")
    attached = {
        kind: [includes.attached[key] for key in read_strings(keys) if key in includes.attached]
        for kind, keys in (
            ("media", attachments.get("media_keys")),
            ("polls", attachments.get("poll_ids")),
        )
    }
    referenced = [
        {**whole, "author": includes.users.get(str(whole.get("author_id"))), **each}
        for each in read_mappings(tweet.get("referenced_tweets"))
        for whole in [includes.tweets.get(str(each.get("id")), {})]
    ]
    return {
        **tweet,
        "attachments": {**attachments, **{kind: each for kind, each in attached.items() if each}},
        "author": includes.users.get(str(tweet.get("author_id")), tweet.get("author")),
        "referenced_tweets": referenced,
    }


def v2_post(tweet: Mapping[str, object]) -> PostFields:
    """Translate one flattened tweet. Raises RecordError."""
    references = read_mappings(tweet.get("referenced_tweets"))
    original = next((r for r in references if r.get("type") == "retweeted"), {})
    metrics = mapping_at(tweet, "public_metrics")
    answered = next((r.get("id") for r in references if r.get("type") == "replied_to"), None)
    attachments = mapping_at(tweet, "attachments")
    poll = mapping_at(attachments, "poll")  # as twarc embeds it
    polls = [poll] if poll else read_mappings(attachments.get("polls"))
    options = ("\n".join(list_strings(each.get("options"), "label")) for each in polls)
    repeated = repost_text(_read_username(original), _read_whole_text(original))
    kinds = {str(reference.get("type")) for reference in references}
    flags = [(flag, name in kinds) for name, flag in _REFERENCES.items()]
    return PostFields(
        text=text_of(repeated or _read_whole_text(tweet)),
        created_at=read_zoned_time(tweet.get("created_at")),
        author=_read_username(tweet),
        lang=string_at(tweet, "lang"),
        reply_to=read_string(answered),
        platform="x",
        engagement=read_number(metrics.get("like_count"))
        + read_number(metrics.get("retweet_count")),
        beside=(
            *_describe_media(read_mappings(attachments.get("media"))),
            *(("poll", words) for words in options if words),
        ),
        flags=Flag.of((Flag.MEDIA, attachments.get("media_keys")), *flags),
        links=(*_read_links(tweet, "urls"), *_read_links(original, "urls")),
        device=string_at(tweet, "source"),
    )


def _by_id(value: object, name: str = "id") -> dict[str, Mapping[str, object]]:
    return {str(item.get(name)): item for item in read_mappings(value)}


def _read_whole_text(tweet: Mapping[str, object]) -> object:
    return mapping_at(tweet, "note_tweet").get("text") or tweet.get("text")


def _read_username(tweet: Mapping[str, object]) -> str | None:
    return string_at(tweet, "author", "username")


def _tweets_of(page: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    """Return the tweets of a page of the API, or the one of a line of its stream."""
    tweet = mapping_at(page, "data")
    if tweet:
        return [tweet]
    return [*read_mappings(page.get("data")), *read_mappings(page.get("statuses"))]


class ApiReader(JsonReader):
    """Reads responses of the API."""

    name = "api"
    kinds = (Kind.TWEETS, Kind.SOCIAL)
    longest = 16_000_000  # a page of v2 holds up to 500 tweets

    def recognises(self, sample: Sample) -> bool:
        return bool(_PAGE.match(sample.head)) or super().recognises(sample)

    def fits(self, value: Mapping[str, object]) -> bool:
        if tweets := _tweets_of(value):
            return any("text" in tweet or "full_text" in tweet for tweet in tweets)
        if {"id", "text"} <= value.keys() and ("author_id" in value or "public_metrics" in value):
            return True
        # Other programs write some of these fields, and others in place of these two.
        has_parts = any(mapping_at(value, part) for part in ("user", "entities"))
        has_text = "full_text" in value or {"id_str", "text", "entities"} <= value.keys()
        return "created_at" in value and has_text and has_parts

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        yield from keep_last_versions(super().records(source, names, defaults))

    def split(self, item: RawRecord, digest: Digest) -> Iterator[SourceRecord | Reject]:
        if not (tweets := _tweets_of(item.value)):
            if not isinstance(item.value.get("data"), list):
                yield item.record(self.name, tweet_id(item.value), digest(item.raw))
            return
        includes = Includes.of(item.value.get("includes"))
        for tweet in tweets:
            whole = tweet if "id_str" in tweet else with_includes(tweet, includes)
            yield item.record(self.name, tweet_id(tweet), digest(orjson.dumps(whole)), whole)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        if "author_id" in payload or "public_metrics" in payload:
            return v2_post(payload)
        return tweet_post(payload)


READERS: tuple[Reader, ...] = (ApiReader(),)
