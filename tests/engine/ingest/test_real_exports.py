"""Counts of real exports, which must match their sources."""

from pathlib import Path

import pytest

from engine.ingest.normalise import normalise
from engine.ingest.record_stream import open_source
from engine.ingest.records import Defaults, SourceRequest
from engine.values import Flag
from tests.engine.ingest.reading import accepted, documents, moment_of, records

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("path", "form", "number"),
    [
        ("exports/x_archive_2024", "x-archive", 1_218),
        ("exports/x_archive_2024/tweets.js", "x-archive", 1_218),
        ("exports/x_archive_2020_tweet_js", "x-archive", 22),
        ("exports/twitter_archive_2013_anildash", "x-archive", 1_340),
        ("exports/trump_archive/trumptwitterarchive_com_2019.json", "trump-archive-json", 12_152),
        ("exports/trump_archive/thetrumparchive_com_sample1000.json", "trump-archive-json", 1_000),
        ("exports/twitter_api_json/tweets.json", "api", 3),
        ("exports/mastodon_philhawksworth", "mastodon", 216),
        ("exports/mastodon_philhawksworth/outbox.json", "mastodon", 216),
        ("exports/telegram_fragment", "telegram", 7),
        ("exports/telegram_fragment/result.json", "telegram", 7),
        ("tweets/trump_archive.jsonl", "jsonl", 56_573),
        ("tweets/argentina_2019.jsonl", "jsonl", 47_755),
    ],
)
def test_every_record_of_a_real_export_becomes_a_document(
    path: str, form: str, number: int, shared_data: Path
) -> None:
    stored = accepted(shared_data / path)
    assert len(stored) == len({document.external_id for document in stored}) == number
    with open_source(SourceRequest(str(shared_data / path))) as stream:
        assert stream.opened.format == form
        assert not [d for d in stored if "&amp;" in d.text or "t.co/" in d.search_text]


def test_long_posts_of_a_real_export_are_completed(shared_data: Path) -> None:
    good, _ = records(shared_data / "exports" / "x_archive_2024")
    # 41 notes: 31 posts are cut, 10 hold all that their note says.
    assert sum(1 for record in good if record.payload["whole_text"]) == 31
    stored, _ = documents(shared_data / "exports" / "x_archive_2024")
    assert {document.author for document in stored} == {"alrocar"}
    cut = [document for document in stored if document.text.endswith("…")]
    assert len(cut) == 8
    assert all(document.flags == Flag.REPOST | Flag.TRUNCATED for document in cut)


@pytest.mark.slow
def test_reposts_without_the_flag_are_found_in_the_real_archive(shared_data: Path) -> None:
    good, _ = records(shared_data / "tweets" / "trump_archive.jsonl")
    flagged = sum(record.payload["is_retweet"] is True for record in good)
    found = sum(Flag.REPOST in normalise(record, Defaults()).flags for record in good)
    assert found == flagged + 126


def test_the_real_outbox_is_read_as_its_author_wrote_it(shared_data: Path) -> None:
    stored, _ = documents(shared_data / "exports" / "mastodon_philhawksworth")
    assert {document.author for document in stored} == {"philhawksworth@indieweb.social"}
    # 190 posts, of which 155 answer somebody, and 26 boosts.
    assert sum(Flag.REPOST in document.flags for document in stored) == 26
    assert sum(Flag.REPLY in document.flags for document in stored) == 155
    assert sum(len(document.mentions) for document in stored) == 198
    assert not [document for document in stored if "<" in document.text and ">" in document.text]
    own, _ = documents(
        shared_data / "exports" / "mastodon_philhawksworth", defaults=Defaults(only_mine=True)
    )
    assert len(own) == 190


def test_the_real_channel_is_one_thread_in_order(shared_data: Path) -> None:
    stored, _ = documents(shared_data / "exports" / "telegram_fragment")
    assert {(d.thread, d.title, d.author) for d in stored} == {("10083966286", "KHream", "KHream")}
    assert [d.external_id.partition("/")[2] for d in stored] == [str(n) for n in range(4984, 4991)]
    assert stored == sorted(stored, key=moment_of)
