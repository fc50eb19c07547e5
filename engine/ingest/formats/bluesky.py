"""Reads the repository of a Bluesky account from its export (`repo.car`).

A CAR file is a header followed by blocks in any order, which a tree of keys names, so the whole
file is read into memory. The repository identifies its account by a DID, not by its handle; likes
and reposts by others are not in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import libipld
import orjson

from engine.errors import InputError, RecordError
from engine.ingest.fields import (
    list_strings,
    mapping_at,
    read_mappings,
    read_strings,
    string_at,
    text_of,
    zoned_or_utc,
)
from engine.ingest.reader import OpenFile, Reader, Sample
from engine.ingest.records import PostFields, RawRecord, Reject
from engine.ingest.streams import read_whole
from engine.messages import Message
from engine.values import Flag, Kind

LARGEST = 1 << 30  # bytes
_POST, _REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
_FACET = "app.bsky.richtext.facet#"
_MAX_LEVELS = 64  # of the tree, whose depth grows with the logarithm of the records


class BlueskyReader(Reader):
    """Reads the posts and reposts of a repository, in the order of their keys."""

    name = "bluesky"
    kinds = (Kind.SOCIAL, Kind.TWEETS)
    pattern = r"[^/]+\.car"

    def recognises(self, sample: Sample) -> bool:
        # A length in one or two bytes, then a map of two entries that begins with "roots".
        return b"\xa2\x65roots" in sample.head[1:9]

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        did, entries = _read_repository(file.label, read_whole(file.stream, LARGEST + 1))
        context = {"did": did, "author": file.defaults.author, "file": file.citation}
        for number, (key, value) in enumerate(entries, start=1):
            uri = f"at://{did}/{key}"
            raw = orjson.dumps([uri, value], default=_plain_value, option=orjson.OPT_SORT_KEYS)
            payload = {"record": value, "uri": uri, **context}
            yield RawRecord(file.label, number, "record", raw, payload)

    def identify(self, value: Mapping[str, object]) -> object:
        return value.get("uri")

    def post(self, payload: Mapping[str, object]) -> PostFields:
        record, uri = mapping_at(payload, "record"), str(payload.get("uri"))
        author = string_at(payload, "author") or string_at(payload, "did")
        attribution = f"{payload.get('file')}#{uri.rpartition('/')[2]}"
        if record.get("$type") == _REPOST:
            return _read_repost(record, author, attribution)
        return _read_post(record, uri, author, attribution)


def _read_repository(label: str, content: bytes) -> tuple[str, Iterator[tuple[str, object]]]:
    """Return the owner of the repository, and its posts by key. Raises InputError."""
    if len(content) > LARGEST:
        raise InputError(
            Message("{label} is larger than {number:,} bytes.", label=label, number=LARGEST),
            fix=Message("It is no export."),
        )
    try:
        header, blocks = libipld.decode_car(content)
        commit = blocks[header["roots"][0]]
        did, root = commit["did"], commit["data"]
    except (ValueError, LookupError, TypeError, RecursionError) as exc:
        raise InputError(
            Message("{label} is damaged or no repository of Bluesky.", label=label),
            fix=Message("Download it again."),
        ) from exc
    return str(did), _find_posts(label, blocks, root)


def _find_posts(
    label: str, blocks: Mapping[bytes, Any], root: bytes
) -> Iterator[tuple[str, object]]:
    for key, link in _walk_tree(blocks, root, 0):
        if key.startswith((_POST + "/", _REPOST + "/")):
            if link not in blocks:
                raise InputError(
                    Message("{label} lacks the record {key}.", label=label, key=key),
                    fix=Message("Download it again."),
                )
            yield key, blocks[link]


def _walk_tree(
    blocks: Mapping[bytes, Any], link: object, level: int
) -> Iterator[tuple[str, bytes]]:
    """Walk the tree in order; each key in a node omits the prefix it shares with the key before."""
    node = blocks.get(link) if isinstance(link, bytes) else None
    if not isinstance(node, dict) or level > _MAX_LEVELS:
        return
    yield from _walk_tree(blocks, node.get("l"), level + 1)
    key = b""
    for entry in read_mappings(node.get("e")):
        shared, rest, value = entry.get("p"), entry.get("k"), entry.get("v")
        if isinstance(shared, int) and isinstance(rest, bytes) and isinstance(value, bytes):
            key = key[:shared] + rest
            yield key.decode("utf-8", "replace"), value
        yield from _walk_tree(blocks, entry.get("t"), level + 1)


def _read_repost(record: Mapping[str, object], author: str | None, attribution: str) -> PostFields:
    address = _build_web_address(string_at(record, "subject", "uri"))
    return PostFields(
        text=text_of(address),
        created_at=zoned_or_utc(record.get("createdAt")),
        author=author,
        url=address,
        platform=BlueskyReader.name,
        attribution=attribution,
        tags=(),
        mentions=(),
        flags=Flag.REPOST,
        mine=False,
    )


def _read_post(
    record: Mapping[str, object], uri: str, author: str | None, attribution: str
) -> PostFields:
    text = record.get("text")
    if not isinstance(text, str):
        raise RecordError(Message("no text"))
    reply, embed, facets = record.get("reply"), mapping_at(record, "embed"), _read_facets(record)
    parent, languages = string_at(reply, "parent", "uri"), record.get("langs")
    parts = (embed, mapping_at(embed, "media"))
    images = [image for part in parts for image in read_mappings(part.get("images"))]
    alts = list_strings([*images, *(part for part in parts if "video" in part)], "alt")
    described = "\n\n".join(alts)
    cards = [card for part in parts if (card := mapping_at(part, "external"))]
    linked = next(iter(list_strings(cards, "uri")), None)
    told = ((string_at(card, "title"), string_at(card, "description")) for card in cards)
    kind = str(embed.get("$type") or "").rpartition(".")[2]
    stand_in = f"[{kind}]" if kind else None  # "[images]"
    return PostFields(
        text=_whole_links(text, facets) or described or linked or text_of(stand_in),
        searched=None if text.strip() or described or linked else "",
        beside=(
            *(("image", alt) for alt in alts),
            *(("link", "\n".join(filter(None, about))) for about in told if any(about)),
        ),
        created_at=zoned_or_utc(record.get("createdAt")),
        author=author,
        lang=str(languages[0]) if isinstance(languages, list) and len(languages) == 1 else None,
        url=_build_web_address(uri),
        reply_to=parent,
        platform=BlueskyReader.name,
        thread=string_at(reply, "root", "uri") or uri,
        attribution=attribution,
        tags=(
            *read_strings(record.get("tags")),
            *(str(f["tag"]) for _, _, f in facets if "tag" in f),
        ),
        mentions=tuple(
            text.encode()[start:end].decode("utf-8", "replace")
            for start, end, feature in facets
            if "did" in feature
        ),
        flags=Flag.of(
            (Flag.REPLY, parent),
            (Flag.QUOTE, "record" in kind.lower()),
            (Flag.MEDIA, kind.endswith(("images", "video", "recordWithMedia"))),
        ),
        meta={"attachments": alts},
        mine=True,
    )


def _read_facets(record: Mapping[str, object]) -> list[tuple[int, int, Mapping[str, object]]]:
    """Return the facets of the text, by the byte ranges that they mark."""
    spans: list[tuple[int, int, Mapping[str, object]]] = []
    for facet in read_mappings(record.get("facets")):
        index = mapping_at(facet, "index")
        start, end = index.get("byteStart"), index.get("byteEnd")
        if isinstance(start, int) and isinstance(end, int) and 0 <= start < end:
            features = read_mappings(facet.get("features"))
            facet_features = (f for f in features if str(f.get("$type")).startswith(_FACET))
            spans.extend((start, end, feature) for feature in facet_features)
    return spans


def _whole_links(text: str, facets: Sequence[tuple[int, int, Mapping[str, object]]]) -> str:
    """Replace shortened addresses in the text ("example.org/2020/01...") by whole ones."""
    raw = text.encode("utf-8", "replace")
    for start, end, feature in sorted(facets, key=lambda facet: facet[0], reverse=True):
        address = string_at(feature, "uri")
        words = raw[start:end].decode("utf-8", "replace").removesuffix("...").removesuffix("…")
        if address and words and words in address:
            raw = raw[:start] + address.encode("utf-8", "replace") + raw[end:]
    return raw.decode("utf-8", "replace").strip()


def _build_web_address(uri: str | None) -> str | None:
    """Return the web page of "at://did:plc:x/app.bsky.feed.post/key"."""
    parts = (uri or "").removeprefix("at://").split("/")
    if len(parts) != 3 or parts[1] != _POST:
        return uri
    return f"https://bsky.app/profile/{parts[0]}/post/{parts[2]}"


def _plain_value(value: object) -> object:
    """Convert links to blocks, and bytes; they only contribute to the digest."""
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError


READERS: tuple[Reader, ...] = (BlueskyReader(),)
