"""Objects of Twitter's API: v1.1 (an array, or lines as twarc writes them) and v2.

A line of v2 is one tweet, or a page `{"data": [...], "includes": {...}}` as twarc2 writes it.
"""

import re
from collections.abc import Callable, Generator, Mapping

import orjson

from engine.ingest.api_v2 import Includes, v2_post, with_includes
from engine.ingest.fields import mappings
from engine.ingest.reader import JsonObject, JsonReader, Sample
from engine.ingest.records import Post, Reject, SourceRecord
from engine.ingest.tweets import tweet_id, tweet_post
from engine.types import Kind

# A page may be longer than what is looked at, and is then no object yet.
_PAGE = re.compile(rb'\s*\{\s*"data"\s*:\s*\[\s*\{\s*"')


class ApiReader(JsonReader):
    """Reads what the API answered."""

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

    def post(self, payload: Mapping[str, object]) -> Post:
        if "author_id" in payload or "public_metrics" in payload:
            return v2_post(payload)
        return tweet_post(payload)
