"""The bundled corpus keeps the shape that the demo and the acceptance tests rely on."""

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz import fuzz

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Tweet = dict[str, Any]

FIRST_SNOWFLAKE = datetime(2010, 11, 4, tzinfo=UTC)
LONGER_TWEETS = datetime(2017, 11, 7, tzinfo=UTC)
SNOWFLAKE_EPOCH_MS = 1_288_834_974_657  # 2010-11-04T01:42:54.657Z
ONLY_LINKS = re.compile(r"(https?://\S+\s*)+")


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


def moment(tweet: Tweet) -> datetime:
    return datetime.fromisoformat(tweet["created_at"])


def starts_as_retweet(tweet: Tweet) -> bool:
    return bool(tweet["text"].startswith("RT @"))


def near_duplicates() -> Iterator[tuple[Tweet, Tweet]]:
    """Pairs (older, newer) of texts that are nearly equal and long enough to mean it."""
    own = [
        tweet
        for tweet in TWEETS
        if len(tweet["text"]) >= 30 and not ONLY_LINKS.fullmatch(tweet["text"])
    ]
    for index, older in enumerate(own):
        for newer in own[index + 1 :]:
            if fuzz.ratio(older["text"], newer["text"], score_cutoff=85):
                yield older, newer


def test_the_corpus_has_about_four_hundred_tweets_of_one_account() -> None:
    assert 390 <= len(TWEETS) <= 430
    assert {tweet["author"] for tweet in TWEETS} == {"CapNereoPike"}


def test_texts_are_unique() -> None:
    texts = Counter(tweet["text"] for tweet in TWEETS)
    assert [text for text, count in texts.items() if count > 1] == []


def test_each_language_holds_at_least_two_fifths_of_the_texts() -> None:
    share = Counter(tweet["lang"] for tweet in TWEETS)
    assert set(share) == {"en", "es"}
    assert min(share.values()) >= 0.4 * len(TWEETS)


def test_ids_are_text_unique_and_rise_with_time() -> None:
    ids = [tweet["id"] for tweet in TWEETS]
    assert all(isinstance(tweet_id, str) and tweet_id.isdecimal() for tweet_id in ids)
    assert len(set(ids)) == len(ids)
    assert sorted(ids, key=int) == ids
    moments = [moment(tweet) for tweet in TWEETS]
    assert sorted(moments) == moments


def test_id_style_changes_in_november_2010() -> None:
    before = {len(t["id"]) for t in TWEETS if moment(t) < FIRST_SNOWFLAKE}
    after = {len(t["id"]) for t in TWEETS if moment(t) >= FIRST_SNOWFLAKE}
    assert before == {10, 11}
    assert after == {17, 18, 19}


def test_newer_ids_hold_their_time() -> None:
    for tweet in TWEETS:
        if moment(tweet) >= FIRST_SNOWFLAKE:
            milliseconds = (int(tweet["id"]) >> 22) + SNOWFLAKE_EPOCH_MS
            written = datetime.fromtimestamp(milliseconds / 1000, UTC)
            assert abs(written - moment(tweet)) <= timedelta(seconds=1)


def test_dates_have_a_time_zone_and_span_2009_to_2019() -> None:
    assert all(tweet["created_at"].endswith("+00:00") for tweet in TWEETS)
    assert {moment(tweet).year for tweet in TWEETS} == set(range(2009, 2020))


def test_texts_fit_the_length_of_their_time() -> None:
    for tweet in TWEETS:
        limit = 140 if moment(tweet) < LONGER_TWEETS else 280
        assert len(html.unescape(tweet["text"])) <= limit, tweet


def test_some_texts_use_nearly_all_of_280_characters() -> None:
    assert sum(len(html.unescape(tweet["text"])) >= 220 for tweet in TWEETS) >= 4


def test_retweets_come_whole_and_cut() -> None:
    retweets = [tweet for tweet in TWEETS if starts_as_retweet(tweet)]
    assert len(retweets) >= 30
    assert sum(tweet["text"].endswith("…") for tweet in retweets) >= 5


def test_threads_answer_own_earlier_tweets() -> None:
    replies = [tweet for tweet in TWEETS if tweet.get("in_reply_to") in BY_ID]
    roots = {
        tweet["in_reply_to"]
        for tweet in replies
        if BY_ID[tweet["in_reply_to"]].get("in_reply_to") not in BY_ID
    }
    assert len(roots) >= 15
    assert all(int(tweet["in_reply_to"]) < int(tweet["id"]) for tweet in replies)


def test_replies_to_others_point_outside_the_corpus() -> None:
    outside = [t for t in TWEETS if "in_reply_to" in t and t["in_reply_to"] not in BY_ID]
    assert len(outside) >= 10
    assert all(tweet["text"].startswith("@") for tweet in outside)


def test_thoughts_return_years_later_with_small_changes() -> None:
    pairs = list(near_duplicates())
    assert len(pairs) >= 25
    assert all(moment(newer) - moment(older) > timedelta(days=365) for older, newer in pairs)


def test_some_tweets_say_almost_nothing() -> None:
    texts = [html.unescape(tweet["text"]) for tweet in TWEETS]
    one_word = [text for text in texts if len(text.split()) == 1 and "http" not in text]
    without_words = [text for text in one_word if not re.search(r"\w", text)]
    assert len(one_word) >= 15
    assert len(without_words) >= 4
    assert sum(bool(ONLY_LINKS.fullmatch(text)) for text in texts) >= 12


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


def test_some_tweets_were_deleted() -> None:
    assert sum(bool(tweet.get("is_deleted")) for tweet in TWEETS) >= 4


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


def test_judged_headlines_are_sixteen_with_matches_and_four_without() -> None:
    assert Counter(line["kind"] for line in JUDGED) == {"written": 16, "nomatch": 4}
    assert len({line["qid"] for line in JUDGED}) == len(JUDGED)
    newest = max(moment(tweet) for tweet in TWEETS).date()
    assert all(date.fromisoformat(line["date"]) > newest for line in JUDGED)


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
