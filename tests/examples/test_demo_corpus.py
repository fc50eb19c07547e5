"""The bundled corpus keeps the shape that the demo and the acceptance tests rely on."""

import json
import re
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz import fuzz

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Tweet = dict[str, Any]


def read_lines(name: str) -> list[dict[str, Any]]:
    """The JSON objects of one file, one a line."""
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


TWEETS: list[Tweet] = read_lines("demo.jsonl")
BY_ID: dict[str, Tweet] = {tweet["id"]: tweet for tweet in TWEETS}
ACCEPTANCE = read_lines("acceptance.jsonl")
JUDGED = read_lines("judged.headlines.jsonl")
QRELS = [
    (qid, tweet_id, int(label))
    for qid, tweet_id, label in (
        line.split("\t")
        for line in (EXAMPLES / "judged.qrels.tsv").read_text(encoding="utf-8").splitlines()
    )
]
LABELS = {(qid, tweet_id): label for qid, tweet_id, label in QRELS}
BEST = [
    line.split("\t")
    for line in (EXAMPLES / "judged.best.tsv").read_text(encoding="utf-8").splitlines()
]


def moment(tweet: Tweet) -> datetime:
    return datetime.fromisoformat(tweet["created_at"])


def starts_as_retweet(tweet: Tweet) -> bool:
    return bool(tweet["text"].startswith("RT @"))


def test_ids_are_text_unique_and_rise_with_time() -> None:
    ids = [tweet["id"] for tweet in TWEETS]
    assert all(isinstance(tweet_id, str) and tweet_id.isdecimal() for tweet_id in ids)
    assert len(set(ids)) == len(ids)
    assert sorted(ids, key=int) == ids
    moments = [moment(tweet) for tweet in TWEETS]
    assert sorted(moments) == moments


def test_dates_have_a_time_zone_and_span_2009_to_2019() -> None:
    assert all(tweet["created_at"].endswith("+00:00") for tweet in TWEETS)
    assert {moment(tweet).year for tweet in TWEETS} == set(range(2009, 2020))


def test_threads_answer_own_earlier_tweets() -> None:
    replies = [tweet for tweet in TWEETS if tweet.get("in_reply_to") in BY_ID]
    roots = {
        tweet["in_reply_to"]
        for tweet in replies
        if BY_ID[tweet["in_reply_to"]].get("in_reply_to") not in BY_ID
    }
    assert len(roots) >= 15
    assert all(int(tweet["in_reply_to"]) < int(tweet["id"]) for tweet in replies)


@pytest.mark.parametrize(
    ("pattern", "minimum"),
    [
        (r"&(amp|lt|gt|quot);", 25),
        (r"#[A-ZÁÉÍÓÚ]\w*[a-z][A-Z]\w*", 8),
        (r"@[A-Z]\w*[a-z][A-Z]\w*", 40),
        (r"[¿¡«]", 15),
        (r"[\U0001F300-\U0001FAFF]", 10),
    ],
)
def test_texts_include_known_parsing_difficulties(pattern: str, minimum: int) -> None:
    assert sum(bool(re.search(pattern, tweet["text"])) for tweet in TWEETS) >= minimum


def test_links_lead_to_reserved_example_hosts_only() -> None:
    hosts = {
        host
        for path in EXAMPLES.glob("*.jsonl")
        for host in re.findall(r"https?://([^/\s\"]+)", path.read_text(encoding="utf-8"))
    }
    assert hosts == {"example.org", "example.com", "example.net"}


def test_demo_headlines_are_of_each_language_and_newer_than_the_corpus() -> None:
    headlines = read_lines("headlines.jsonl")
    assert Counter(line["lang"] for line in headlines) == {"en": 3, "es": 2}
    newest = max(moment(tweet) for tweet in TWEETS).date()
    assert all(date.fromisoformat(line["date"]) > newest for line in headlines)
    assert {line["headline"] for line in headlines} <= {line["headline"] for line in JUDGED}


def test_judgments_name_known_headlines_and_tweets_once_each() -> None:
    assert {qid for qid, _, _ in QRELS} == {line["qid"] for line in JUDGED}
    assert {tweet_id for _, tweet_id, _ in QRELS} <= set(BY_ID)
    assert {label for _, _, label in QRELS} <= set(range(7))
    assert len(LABELS) == len(QRELS)


@pytest.mark.parametrize("headline", JUDGED, ids=lambda line: str(line["qid"]))
def test_every_headline_has_enough_judgments_consistent_with_its_kind(
    headline: dict[str, Any],
) -> None:
    labels = [label for qid, _, label in QRELS if qid == headline["qid"]]
    assert len(labels) >= 15
    assert labels.count(0) >= 3
    if headline["kind"] == "nomatch":
        assert max(labels) <= 1
    else:
        assert sum(label >= 4 for label in labels) >= 3
        assert max(labels) == 6


def test_the_best_of_each_headline_were_judged_to_match() -> None:
    of_headline = Counter(qid for qid, _, _ in BEST)
    assert {*of_headline} == {row["qid"] for row in JUDGED if row["kind"] == "written"}
    assert min(of_headline.values()) == 3
    assert all(LABELS[qid, tweet_id] >= 4 for qid, tweet_id, _ in BEST)


def test_matches_of_every_headline_come_in_both_languages() -> None:
    for line in JUDGED:
        matched = {
            BY_ID[tweet_id]["lang"]
            for qid, tweet_id, label in QRELS
            if qid == line["qid"] and label >= 3
        }
        assert matched == ({"en", "es"} if line["kind"] == "written" else set()), line["qid"]


def test_acceptance_cases_name_judged_matches() -> None:
    headlines = {line["qid"]: line["headline"] for line in JUDGED}
    assert len(ACCEPTANCE) >= 12
    for case in ACCEPTANCE:
        assert case["headline"] == headlines[case["qid"]]
        assert case["top3_any"]
        for tweet_id in case["top3_any"]:
            assert LABELS[case["qid"], tweet_id] >= 4
            assert not starts_as_retweet(BY_ID[tweet_id])


def test_acceptance_pairs_are_older_before_newer_near_duplicate() -> None:
    pairs = [(case["qid"], case["first"], case["below"]) for case in ACCEPTANCE if "below" in case]
    assert len(pairs) >= 5
    for qid, first, below in pairs:
        assert moment(BY_ID[first]) < moment(BY_ID[below])
        assert fuzz.ratio(BY_ID[first]["text"], BY_ID[below]["text"]) >= 85
        assert LABELS[qid, first] == LABELS[qid, below] >= 4
