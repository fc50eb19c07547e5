"""Records unlike what their format promises: each is a document or a reject, never a crash."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import PresagioError, RecordError
from engine.ingest.normalise import normalise
from engine.ingest.records import Defaults, SourceRecord
from tests.engine.ingest.formats import (
    test_blog_feed,
    test_bluesky,
    test_chatgpt,
    test_linkedin,
    test_markdown,
    test_mastodon,
    test_meta,
    test_reddit,
    test_scraped,
    test_slack,
    test_telegram,
    test_telegram_html,
    test_trump_archive,
    test_whatsapp,
)
from tests.engine.ingest.reading import TWEET, documents, javascript, records, table

ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["http://[", "\ud800", "\0", "1e999", "x" * 3000, "9" * 30, "https://a b"]),
    st.lists(st.none() | st.text(max_size=3), max_size=2),
    st.dictionaries(st.sampled_from(["id", "text", "type", "uri", "url", "name"]), st.integers()),
)


def contents(folder: Path) -> list[bytes | Path]:
    """What holds some good records of every format of posts, chats and articles."""
    attachment = {"type": "Document", "url": "/a.jpg", "name": "x"}
    tag = {"type": "Mention", "name": "@bob"}
    note = test_mastodon.created(attachment=[attachment], tag=[tag], content="")
    pieces = [{"type": "text_link", "text": "a", "href": "b"}]
    message = test_telegram.MESSAGE | {
        "text": pieces,
        "reactions": [{"count": 1}],
        "photo": "a.jpg",
        "poll": {"question": "a", "answers": [{"text": "b"}]},
        "reply_to_message_id": 3,
    }
    said = test_slack.MESSAGE | {
        "text": "<@U2> <https://a.example|b>",
        "files": [{"name": "a"}],
        "reactions": [{"count": 1}],
        "attachments": [{"text": "a"}],
        "thread_ts": "1.0",
        "user_profile": {"real_name": "a"},
    }
    index = {"byteStart": 0, "byteEnd": 3}
    facet = {"index": index, "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "a"}]}
    post = test_bluesky.STORM | {
        "facets": [facet],
        "embed": {"$type": "app.bsky.embed.images", "images": [{"alt": "a"}]},
        "reply": {"root": {"uri": "a"}, "parent": {"uri": "b"}},
        "tags": ["a"],
    }
    return [
        test_mastodon.outbox(note, test_mastodon.BOOST),
        orjson.dumps(test_telegram.chat(message)),
        test_slack.export(folder / "slack", general__01=[said]),
        test_bluesky.car({f"{test_bluesky.POST}/1": post}),
        test_whatsapp.ANDROID.encode(),
        orjson.dumps([test_chatgpt.BRANCHED]),
        orjson.dumps([test_chatgpt.OF_DEEPSEEK]),
        orjson.dumps([test_chatgpt.TALK]),
        orjson.dumps(test_meta.CHAT),
        test_telegram_html.page(test_telegram_html.WORDS),
        table(test_linkedin.SHARE),
        table(test_linkedin.COMMENT),
        orjson.dumps([test_meta.FACEBOOK_POST | {"attachments": [{"data": [test_meta.PICTURE]}]}]),
        orjson.dumps([test_meta.ALBUM]),
        orjson.dumps(test_scraped.TWSCRAPE | {"retweetedTweet": test_scraped.SNSCRAPE}),
        orjson.dumps(test_scraped.NITTER),
        table(test_reddit.COMMENT),
        test_meta.threads(test_meta.ANSWER),
        test_blog_feed.RSS.encode(),
        test_markdown.ARTICLE.encode(),
        orjson.dumps({"id": "1", "text": "a", "created_at": "2009-05-04T18:54:25Z"}),
        b"text,id,created_at\na,2,2009-05-04T18:54:25Z\n",
        orjson.dumps(TWEET | {"user": {"screen_name": "ana"}, "retweeted_status": TWEET}),
        javascript("window.YTD.tweets.part0", [{"tweet": TWEET}]),
        orjson.dumps([test_trump_archive.OLD]),
        table(test_trump_archive.ROW, columns=test_trump_archive.COLUMNS),
    ]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> list[SourceRecord]:
    folder = tmp_path_factory.mktemp("samples")
    return [record for content in contents(folder) for record in records(content)[0]]


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a value, from the outermost to the innermost."""
    inner = (
        value.items()
        if isinstance(value, Mapping)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found = [(*path, key) for key, _ in inner]
    return found + [deeper for key, item in inner for deeper in places(item, (*path, key))]


def with_odd(value: Any, path: tuple[Any, ...], odd: object) -> Any:
    """The value with something else at one place."""
    if not path:
        return odd
    copy = dict(value) if isinstance(value, Mapping) else list(value)
    copy[path[0]] = with_odd(copy[path[0]], path[1:], odd)
    return copy


def test_any_file_of_json_is_read_or_rejected(tmp_path: Path) -> None:
    for content in contents(tmp_path):
        if isinstance(content, bytes) and content[:1] in b"[{":
            (form,) = {record.format for record in records(content)[0]}
            value = orjson.loads(content)
            for path in places(value):
                for odd in ("", -1, [], {}, ["a"], {"id": 1}):
                    changed = orjson.dumps(with_odd(value, path, odd))
                    documents(changed, form=form)
                    with contextlib.suppress(PresagioError):  # of no format, or of another
                        documents(changed)


@settings(
    max_examples=5 * settings().max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_record_is_stored_or_rejected(good: list[SourceRecord], data: st.DataObject) -> None:
    record = data.draw(st.sampled_from(good))
    payload = record.payload
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(places(payload)))
        payload = with_odd(payload, path, data.draw(ODD))
    with contextlib.suppress(RecordError):
        document = normalise(replace(record, payload=payload), Defaults())
        # What is stored as JSON and text can be.
        orjson.dumps(document.meta)
        assert all(isinstance(word, str) for word in (*document.tags, *document.mentions))
        said = (document.text, document.author, document.title, document.thread, document.url)
        assert all(part is None or part.encode() for part in said)
        assert document.text.strip() or document.parts
