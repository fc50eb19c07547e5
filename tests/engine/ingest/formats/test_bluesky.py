"""The repository of a Bluesky account."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import libipld
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.corpora import Document
from engine.errors import InputError
from engine.ingest.records import Defaults
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records

DID = "did:plc:ana"
POST, REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
STORM = {"$type": POST, "text": "The storm is coming", "createdAt": "2023-05-01T10:00:00.123Z",
         "langs": ["en"]}  # fmt: skip
CARD = {"uri": "https://example.org/a", "title": "The dam", "description": "It breaks"}


def length(number: int) -> bytes:
    """A number in as many bytes of seven bits as it needs."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + length(rest) if rest else bytes([low])


def car(found: Mapping[str, object], *, levels: int = 1) -> bytes:
    """A repository with those records, its tree one node a level."""
    blocks: dict[bytes, bytes] = {}

    def link(value: object) -> bytes:
        block = libipld.encode_dag_cbor(value)
        name = b"\x01\x71\x12\x20" + hashlib.sha256(block).digest()
        blocks[name] = block
        return name

    def node(keys: Sequence[str], depth: int) -> bytes:
        if depth <= 1 or len(keys) < 3:
            return link({"l": None, "e": entries(keys)})
        third = len(keys) // 3
        middle = entries(keys[third : third + 1])
        middle[0]["t"] = node(keys[third + 1 :], depth - 1)
        return link({"l": node(keys[:third], depth - 1), "e": middle})

    def entries(keys: Sequence[str]) -> list[dict[str, object]]:
        made, before = [], b""
        for key in keys:
            raw = key.encode()
            shared = next((i for i, (a, b) in enumerate(zip(raw, before, strict=False)) if a != b),
                          min(len(raw), len(before)))  # fmt: skip
            made.append({"p": shared, "k": raw[shared:], "v": link(found[key]), "t": None})
            before = raw
        return made

    root = link({"did": DID, "version": 3, "rev": "1", "data": node(sorted(found), levels),
                 "sig": b"x", "prev": None})  # fmt: skip
    header = libipld.encode_dag_cbor({"roots": [root], "version": 1})
    parts = [header, *(name + block for name, block in blocks.items())]
    return b"".join(length(len(part)) + part for part in parts)


def one(**fields: object) -> Document:
    (document,) = accepted(car({f"{POST}/3a": STORM | fields}))
    return document


def test_a_post_says_what_its_record_says() -> None:
    document = one()
    assert document.external_id == f"at://{DID}/{POST}/3a"
    assert (document.text, document.lang, document.author) == ("The storm is coming", "en", DID)
    assert moment_of(document).isoformat() == "2023-05-01T10:00:00.123000+00:00"
    assert document.url == f"https://bsky.app/profile/{DID}/post/3a"
    assert (document.platform, document.thread) == ("bluesky", document.external_id)
    assert document.attribution == "standard input#3a"


def test_the_handle_is_the_one_that_the_command_line_names() -> None:
    (document,), _ = documents(car({f"{POST}/3a": STORM}), defaults=Defaults(author="ana.example"))
    assert document.author == "ana.example"


def test_a_reply_belongs_to_the_thread_of_its_root() -> None:
    root, parent = f"at://did:plc:bob/{POST}/1", f"at://did:plc:bob/{POST}/2"
    document = one(reply={"root": {"uri": root}, "parent": {"uri": parent}})
    assert (document.thread, document.reply_to, document.flags) == (root, parent, Flag.REPLY)


def test_links_tags_and_mentions_come_from_facets() -> None:
    text = "é @bob see example.org/2020... #storm #no"
    raw = text.encode()

    def facet(shown: str, **feature: str) -> dict[str, object]:
        start = raw.index(shown.encode())
        index = {"byteStart": start, "byteEnd": start + len(shown.encode())}
        return {"index": index, "features": [feature]}

    kind = "app.bsky.richtext.facet"
    document = one(
        text=text,
        facets=[
            facet("@bob", **{"$type": f"{kind}#mention", "did": "did:plc:bob"}),
            facet("example.org/2020...",
                  **{"$type": f"{kind}#link", "uri": "https://example.org/2020/05/storm"}),
            facet("#storm", **{"$type": f"{kind}#tag", "tag": "storm"}),
            {"features": [{"$type": f"{kind}#tag", "tag": "of no letters"}]},
        ],
        tags=["Weather"],
    )  # fmt: skip
    assert document.text == "é @bob see https://example.org/2020/05/storm #storm #no"
    assert (document.tags, document.mentions) == (("weather", "storm"), ("bob",))


@pytest.mark.parametrize(
    ("embed", "text", "searched", "flags"),
    [
        ({"$type": "app.bsky.embed.images", "images": [{"alt": "Two ships"}]},
         "Two ships", "Two ships", Flag.MEDIA),
        ({"$type": "app.bsky.embed.images", "images": [{"alt": ""}]}, "[images]", "", Flag.MEDIA),
        ({"$type": "app.bsky.embed.external", "external": {"uri": "https://a.example/b"}},
         "https://a.example/b", "", Flag.NONE),
        ({"$type": "app.bsky.embed.record", "record": {}}, "[record]", "", Flag.QUOTE),
    ],
)  # fmt: skip
def test_a_post_without_text_is_described_by_its_embed(
    embed: object, text: str, searched: str, flags: Flag
) -> None:
    document = one(text="", embed=embed)
    assert (document.text, document.search_text, document.flags) == (text, searched, flags)


def test_a_repost_holds_the_original_url_and_is_not_own_text() -> None:
    subject = {"uri": f"at://did:plc:bob/{POST}/9", "cid": "x"}
    repost = {"$type": REPOST, "subject": subject, "createdAt": "2023-05-02T10:00:00Z"}
    content = car({f"{POST}/1": STORM, f"{REPOST}/2": repost, "app.bsky.feed.like/3": repost})
    post, boosted = documents(content)[0]
    assert boosted.text == "https://bsky.app/profile/did:plc:bob/post/9"
    assert (boosted.flags, boosted.search_text) == (Flag.REPOST, "")
    own, _ = records(content, defaults=Defaults(only_mine=True))
    assert [record.external_id for record in own] == [post.external_id]


@given(st.sets(st.integers(0, 10**6), max_size=40), st.integers(1, 5))
def test_any_repository_tree_yields_each_post_once_in_order(numbers: set[int], levels: int) -> None:
    keys = [f"{POST}/{number:07}" for number in numbers]
    found, rejects = records(car(dict.fromkeys(keys, STORM) | {"a/b": {}}, levels=levels))
    assert [record.external_id for record in found] == [f"at://{DID}/{key}" for key in sorted(keys)]
    assert rejects == []


def test_only_the_post_without_text_is_rejected() -> None:
    stored, rejects = documents(car({f"{POST}/1": {"$type": POST}, f"{POST}/2": STORM}))
    assert len(stored) == 1
    assert [reject.reason for reject in rejects] == ["record 1: no text"]


def test_a_damaged_repository_is_named(tmp_path: Path) -> None:
    whole = car({f"{POST}/{number}": STORM | {"text": str(number)} for number in range(9)})
    for content in (whole[:-20], whole[: len(whole) // 2], whole.replace(b"did:plc", b"\xff" * 7)):
        (tmp_path / "repo.car").write_bytes(content)
        with pytest.raises(InputError, match=r"repo\.car.*(damaged|lacks)"):
            records(tmp_path / "repo.car")


@pytest.mark.parametrize(
    ("kind", "embed", "word", "beside"),
    [
        ("video", {"video": {}, "alt": "A heron lands"}, "heron", "image: A heron lands"),
        ("external", {"external": CARD}, "breaks", "link: The dam\nIt breaks"),
    ],
)
def test_films_and_cards_of_links_are_found_beside_the_words(
    kind: str, embed: dict[str, object], word: str, beside: str
) -> None:
    document = one(embed={"$type": f"app.bsky.embed.{kind}"} | embed)
    assert word in document.search_text
    assert (document.meta["beside"], document.text) == ([beside], STORM["text"])
    assert (document.url or "").startswith("https://bsky.app/profile/")
