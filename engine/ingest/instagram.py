"""One's posts in an export of Instagram as JSON (`posts_1.json`).

Posts have no ids: one is known by its time and its first file. The caption of a post with one
picture stands at the picture.
"""

from collections.abc import Generator, Mapping, Sequence
from pathlib import PurePosixPath

import orjson

from engine.ingest.dates import from_seconds
from engine.ingest.fields import mapping, mappings, string
from engine.ingest.identity import made_id
from engine.ingest.mended import mended
from engine.ingest.reader import JsonReader, json_objects, members_named
from engine.ingest.records import Defaults, Post, Reject, SourceRecord, fingerprint
from engine.ingest.sources import Source
from engine.types import Flag, Kind

_LARGEST_PROFILE = 1_000_000  # bytes
_VIDEO = (".mp4", ".mov", ".webm")


class InstagramReader(JsonReader):
    """Reads posts; stories and reels lie in other files."""

    name = "instagram"
    kinds = (Kind.SOCIAL,)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        return members_named(r"posts_\d+\.json", names)

    def fits(self, found: Mapping[str, object]) -> bool:
        return any({"uri", "creation_timestamp"} <= m.keys() for m in mappings(found.get("media")))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        author = _owner(source) if source.packed else None
        digest = fingerprint(defaults, self.name, author or "")
        for name in names:
            file = source.citation(name)
            with source.open(name) as stream:
                for found in json_objects(source.label(name), stream):
                    if isinstance(found, Reject):
                        yield found
                        continue
                    post = mapping(mended(found.value))
                    identity = made_id(str(_time(post)), *_files(post)[:1])
                    payload = {"post": post, "author": author, "place": f"{file}#{identity}"}
                    yield found.record(self.name, identity, digest(found.raw), payload)

    def post(self, payload: Mapping[str, object]) -> Post:
        post = mapping(payload.get("post"))
        media, files = mappings(post.get("media")), _files(post)
        captions = (string(item.get("title")) for item in (post, *media))
        caption = next(filter(None, captions), None)
        stand_in = "[video]" if files and files[0].endswith(_VIDEO) else "[photo]"
        return Post(
            text=caption or stand_in,
            searched=None if caption else "",
            created_at=from_seconds(_time(post)),
            author=string(payload.get("author")),
            platform=self.name,
            attribution=string(payload.get("place")),
            flags=Flag.MEDIA if media else Flag.NONE,
            meta={"attachments": files},
            mine=True,
        )


def _time(post: Mapping[str, object]) -> object:
    media = mappings(post.get("media"))
    return post.get("creation_timestamp") or (media[0].get("creation_timestamp") if media else None)


def _files(post: Mapping[str, object]) -> list[str]:
    return [PurePosixPath(str(m.get("uri"))).name for m in mappings(post.get("media"))]


def _owner(source: Source) -> str | None:
    """Return the name of the export's account, where the export tells it in English."""
    for name in members_named(r"personal_information\.json", source.names()):
        with source.open(name, counted=False) as stream:
            try:
                found = mapping(mended(orjson.loads(stream.read(_LARGEST_PROFILE))))
            except orjson.JSONDecodeError:
                continue  # the posts do not depend on it
        for user in mappings(found.get("profile_user")):
            values = mapping(user.get("string_map_data"))
            if username := string(mapping(values.get("Username")).get("value")):
                return username
    return None
