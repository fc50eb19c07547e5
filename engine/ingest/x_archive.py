"""The official export of Twitter and X in its three layouts.

    data/tweets.js, tweets-part1.js, ...    since 2022; long texts whole only in note-tweet.js
    data/tweet.js, tweet-part1.js, ...      2018 to 2022
    data/js/tweets/2012_05.js, ...          2012 to 2018, one file a month

Each file assigns one array to a variable. Deleted posts (deleted-tweets.js) are left out: their
author took them back.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

import orjson

from engine.errors import InputError
from engine.ingest.fields import mapping, string
from engine.ingest.note_tweets import NoteTweets
from engine.ingest.reader import JsonObject, JsonReader, Sample, json_objects
from engine.ingest.records import Defaults, Post, Reject, SourceRecord, fingerprint
from engine.ingest.sources import Source
from engine.ingest.tweets import tweet_id, tweet_post
from engine.types import Kind

_POSTS = re.compile(r"(?:.*/)?tweets?(?:-part(\d+))?\.js")
_MONTH = re.compile(r"(?:.*/)?\d{4}_\d\d\.js")
_ASSIGNMENT = re.compile(rb"\s*(?:window\.YTD\.(\w+)\.part\d+|Grailbird\.data\.(tweets)\w*)\s*=")
_LARGEST_MANIFEST = 1_000_000  # bytes


class XArchiveReader(JsonReader):
    """Reads an export as a folder, a zip, or one of its files."""

    name = "x-archive"
    kinds = (Kind.TWEETS, Kind.SOCIAL)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        parts = [(int(found[1] or 0), name) for name in names if (found := _POSTS.fullmatch(name))]
        return [name for _part, name in sorted(parts)] + sorted(filter(_MONTH.fullmatch, names))

    def recognises(self, sample: Sample) -> bool:
        return bool(_ASSIGNMENT.match(sample.head)) or super().recognises(sample)

    def fits(self, found: Mapping[str, object]) -> bool:
        return "id_str" in mapping(found.get("tweet"))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        for name in names:
            _require_posts(source, name)
            author = _account(source, name)
            notes = NoteTweets(_notes(source, name))
            digest = fingerprint(defaults, self.name, author or "")
            with source.open(name) as stream:
                for found in json_objects(source.label(name), stream):
                    yield (
                        found
                        if isinstance(found, Reject)
                        else _record(found, author, notes, digest)
                    )

    def post(self, payload: Mapping[str, object]) -> Post:
        return tweet_post(
            mapping(payload.get("tweet")),
            author=string(payload.get("author")),
            whole_text=string(payload.get("whole_text")),
        )


def _record(
    found: JsonObject, author: str | None, notes: NoteTweets, digest: Callable[[bytes], int]
) -> SourceRecord | Reject:
    tweet = mapping(found.value.get("tweet")) or found.value
    whole_text = notes.whole_text(tweet)
    raw = found.raw + whole_text.encode("utf-8", "replace") if whole_text else found.raw
    payload = {"tweet": tweet, "author": author, "whole_text": whole_text}
    return found.record(XArchiveReader.name, tweet_id(tweet), digest(raw), payload)


def _require_posts(source: Source, name: str) -> None:
    found = _ASSIGNMENT.match(source.head(name))
    if found and found[1] not in (None, b"tweet", b"tweets"):
        raise InputError(
            f"{source.label(name)} holds {found[1].decode()}, not tweets.",
            fix="Give the folder of the export, or its tweets.js.",
        )


def _notes(source: Source, name: str) -> Iterator[Mapping[str, object]]:
    for companion in ("note-tweet.js", *(f"note-tweet-part{part}.js" for part in range(1, 100))):
        beside = source.beside(name, companion)
        if beside is None:
            return
        with source.open(beside, counted=False) as stream:
            for found in json_objects(source.label(beside), stream):
                if isinstance(found, JsonObject):
                    yield found.value


def _account(source: Source, name: str) -> str | None:
    """Return the screen name of the export's account, where the export tells it."""
    if manifest := source.beside(name, "manifest.js"):
        with source.open(manifest, counted=False) as stream:
            text = stream.read(_LARGEST_MANIFEST)
        try:
            config = orjson.loads(text[text.find(b"{") :].rstrip(b"; \r\n"))
        except orjson.JSONDecodeError:
            config = None  # the account file may tell as well
        if user := string(mapping(mapping(config).get("userInfo")).get("userName")):
            return user
    if account := source.beside(name, "account.js"):
        with source.open(account, counted=False) as stream:
            for found in json_objects(source.label(account), stream):
                if isinstance(found, JsonObject):
                    return string(mapping(found.value.get("account")).get("username"))
    return None
