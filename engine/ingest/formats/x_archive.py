"""Reads the official export of Twitter and X in its three layouts, with long posts in full."""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from engine.errors import InputError, RecordError
from engine.ingest.fields import mapping_at, read_mappings, read_zoned_time, string_at
from engine.ingest.formats.tweets import keep_last_versions, tweet_id, tweet_post
from engine.ingest.reader import JsonReader, Reader, Sample, json_objects
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, build_fingerprint
from engine.ingest.sources import Source
from engine.messages import Message
from engine.text.clean import clean_for_display
from engine.values import Kind

_SLACK = tuple(timedelta(seconds=seconds) for seconds in (0, -1, 1, -2, 2))
_SHORTEST_BEGINNING = 40  # characters that must agree
_ADDRESSED = re.compile(r"(?:@\w+\s+)*")
_LONGEST_CUT = 2_000  # characters
_SHORT_LINK = re.compile(r"https?://t\.co/\w+")
_LINKS = re.compile(r"(?<!\s)(?:\s*+https?://t\.co/\w++)++")
_POSTS = re.compile(r"(?:.*/)?(?:community-)?tweets?(?:-part(\d+))?\.js")
_CIRCLE = re.compile(r"(?:.*/)?twitter-circle-tweet(?:-part(\d+))?\.js")
_OF_POSTS = (None, b"tweet", b"tweets", b"community_tweet", b"twitter_circle_tweet")
_MONTH = re.compile(r"(?:.*/)?\d{4}_\d\d\.js")
_ASSIGNMENT = re.compile(rb"\s*(?:window\.YTD\.(\w+)\.part\d+|Grailbird\.data\.(tweets)\w*)\s*=")
_LARGEST_MANIFEST = 1_000_000  # bytes


@dataclass(frozen=True, slots=True)
class _Note:
    compared: str  # with every short link replaced by the same text
    whole: str  # with every short link expanded


class NoteTweets:
    """The texts of long posts, by the second in which they were written."""

    def __init__(self, notes: Iterable[Mapping[str, object]] = ()) -> None:
        self._by_second: dict[datetime, list[_Note]] = {}
        for wrapped in notes:
            note = mapping_at(wrapped, "noteTweet")
            read = _read_note(mapping_at(note, "core"))
            try:
                second = read_zoned_time(note.get("createdAt")).replace(microsecond=0)
            except RecordError:
                continue  # without a time it matches no post; that post stays flagged as cut
            if read:
                self._by_second.setdefault(second, []).append(read)

    def whole_text(self, tweet: Mapping[str, object]) -> str | None:
        """Return the whole text of a post that was cut, or None if nothing is missing."""
        cut = string_at(tweet, "full_text")
        if not self._by_second or not cut or len(cut) > _LONGEST_CUT:
            return None
        addressed, beginning = _split_handles(clean_for_display(cut))
        if len(beginning) < _SHORTEST_BEGINNING:
            return None
        for note in self._written_at(tweet.get("created_at")):
            if note.compared.startswith(beginning) and len(note.compared) > len(beginning):
                return addressed + note.whole
        return None

    def _written_at(self, created_at: object) -> Iterable[_Note]:
        try:
            second = read_zoned_time(created_at)
        except RecordError:
            return  # the normaliser reports it
        for slack in _SLACK:
            yield from self._by_second.get(second + slack, ())


def _read_note(core: Mapping[str, object]) -> _Note | None:
    text = string_at(core, "text")
    if not text:
        return None
    whole = text
    for link in read_mappings(core.get("urls")):
        short, expanded = string_at(link, "shortUrl"), string_at(link, "expandedUrl")
        if short and expanded:
            whole = whole.replace(short, expanded)
    return _Note(_SHORT_LINK.sub("t.co", text), whole)


def _split_handles(text: str) -> tuple[str, str]:
    """Split a cut text into the handles it addresses and the rest."""
    match = _ADDRESSED.match(text)
    addressed = match[0] if match else ""
    beginning = text[len(addressed) :].rstrip()
    end = max(
        (links.start() for links in _LINKS.finditer(beginning) if links.end() == len(beginning)),
        default=len(beginning),
    )
    return addressed, _SHORT_LINK.sub("t.co", beginning[:end].removesuffix("…"))


class XArchiveReader(JsonReader):
    """Reads an export as a folder, a zip, or one of its files."""

    name = "x-archive"
    kinds: tuple[Kind, ...] = (Kind.TWEETS, Kind.SOCIAL)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        parts = [(int(match[1] or 0), name) for name in names if (match := _POSTS.fullmatch(name))]
        return [name for _part, name in sorted(parts)] + sorted(filter(_MONTH.fullmatch, names))

    def recognises(self, sample: Sample) -> bool:
        return bool(_ASSIGNMENT.match(sample.head)) or super().recognises(sample)

    def fits(self, value: Mapping[str, object]) -> bool:
        return "id_str" in mapping_at(value, "tweet")

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        yield from keep_last_versions(self._read_all(source, names, defaults))

    def _read_all(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        for name in names:
            match = _ASSIGNMENT.match(source.head(name))
            if match and match[1] not in _OF_POSTS:
                raise InputError(
                    Message(
                        "{label} holds {found}, not tweets.",
                        label=source.label(name),
                        found=match[1].decode(),
                    ),
                    fix=Message("Give the folder of the export, or its tweets.js."),
                )
            author = _read_account(source, name)
            notes = NoteTweets(_read_note_tweets(source, name))
            digest = build_fingerprint(defaults, self.name, author or "")
            with source.open(name) as stream:
                for item in json_objects(source.label(name), stream):
                    if isinstance(item, Reject):
                        yield item
                        continue
                    tweet = mapping_at(item.value, "tweet") or item.value
                    whole_text = notes.whole_text(tweet)
                    raw = item.raw + (whole_text or "").encode("utf-8", "replace")
                    payload = {"tweet": tweet, "author": author, "whole_text": whole_text}
                    yield item.record(XArchiveReader.name, tweet_id(tweet), digest(raw), payload)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        return tweet_post(
            mapping_at(payload, "tweet"),
            author=string_at(payload, "author"),
            whole_text=string_at(payload, "whole_text"),
        )


def _read_note_tweets(source: Source, name: str) -> Iterator[Mapping[str, object]]:
    for companion in ("note-tweet.js", *(f"note-tweet-part{part}.js" for part in range(1, 100))):
        beside = source.beside(name, companion)
        if beside is None:
            return
        with source.open_ahead(beside) as stream:
            for item in json_objects(source.label(beside), stream):
                if not isinstance(item, Reject):
                    yield item.value


def _read_account(source: Source, name: str) -> str | None:
    """Return the screen name of the export's account, if the export contains it."""
    if manifest := source.beside(name, "manifest.js"):
        with source.open_ahead(manifest) as stream:
            text = stream.read(_LARGEST_MANIFEST)
        try:
            config = orjson.loads(text[text.find(b"{") :].rstrip(b"; \r\n"))
        except orjson.JSONDecodeError:
            config = None  # the account file may contain it, too
        if user := string_at(config, "userInfo", "userName"):
            return user
    if account := source.beside(name, "account.js"):
        with source.open_ahead(account) as stream:
            for item in json_objects(source.label(account), stream):
                if not isinstance(item, Reject):
                    return string_at(item.value, "account", "username")
    return None


class XCircleReader(XArchiveReader):
    """Reads posts to a circle of friends, which nobody else saw."""

    name = "x-circle"
    kinds = (Kind.PERSONAL,)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        return [name for name in names if _CIRCLE.fullmatch(name)]

    def recognises(self, sample: Sample) -> bool:
        return bool(sample.objects) and b"twitter_circle_tweet" in sample.head[:200]


READERS: tuple[Reader, ...] = (XCircleReader(), XArchiveReader())
