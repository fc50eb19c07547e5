"""Counts the tokens of one headline's judge request: lean lines against JSON with links.

`python -m bench.tokens`

The texts stand at equal distances through each of both archives in ../shared/data. Prints one JSON
line a row; `share` is the ratio to JSON lines with links, `by` is how tokens were counted.
`bench.expansion` counts whole headlines, with the texts that a search proposes.
"""

import json
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from bench.timing import open_token_counter
from bench.unjudged import NOW
from engine.judge.judge import (
    HEADLINE_LENGTH,
    JUDGE,
    TEXT_LENGTH,
    build_judge_request,
    cut_around,
)
from engine.prophecy.expand import EXPANSION
from engine.search import Candidate, Headline
from engine.text.clean import drop_links
from engine.text.snippet import one_line
from engine.values import Corpus, Flag, Kind

_TWEETS = Path(__file__).resolve().parents[1] / "../shared/data/tweets"
ARCHIVES = {
    "trump_archive": "Trump orders a wall along the border",
    "argentina_2019": "El gobierno anuncia un nuevo acuerdo con el FMI",
}
CANDIDATES = (52, 150)


def main() -> None:
    """Count and print."""
    if not _TWEETS.exists():
        sys.exit("bench.tokens needs the tweets in ../shared/data.")
    by, count = open_token_counter()
    for name, prompt in {"expansion": EXPANSION, "judge": JUDGE}.items():
        print(json.dumps({"instructions": name, "tokens": count(prompt.system), "by": by}))
    for archive, title in ARCHIVES.items():
        for number in CANDIDATES:
            forms = _forms(_spread(archive, number), title, archive)
            counts = {form: count(text) for form, text in forms.items()}
            _print_counts(archive, number, counts)


def _print_counts(archive: str, candidates: int, counts: dict[str, int]) -> None:
    maximum = max(counts.values())
    for form, tokens in counts.items():
        row = {"archive": archive, "candidates": candidates, "form": form, "tokens": tokens}
        print(json.dumps({**row, "share": round(tokens / maximum, 3)}))


def _forms(tweets: list[Candidate], title: str, archive: str) -> dict[str, str]:
    headline = Headline(text=one_line(title, HEADLINE_LENGTH), original=title)
    nameless = [replace(tweet, author=None) for tweet in tweets]
    return {
        "JSON, with links": _json_lines(nameless, title),
        "JSON": _json_lines([replace(one, text=drop_links(one.text)) for one in nameless], title),
        "tabs": build_judge_request(_corpus(archive), headline, nameless, now=NOW).content,
        "tabs, with authors": build_judge_request(
            _corpus(archive), headline, tweets, now=NOW
        ).content,
    }


def _json_lines(tweets: list[Candidate], title: str) -> str:
    rows = (
        {
            "i": number,
            "date": tweet.created_at and tweet.created_at.date().isoformat(),
            "text": cut_around(tweet.text, title, TEXT_LENGTH),
        }
        for number, tweet in enumerate(tweets, start=1)
    )
    lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return "\n".join([title, *lines])


def _corpus(name: str) -> Corpus:
    return Corpus(
        id=1,
        name=name,
        kind=Kind.TWEETS,
        language="simple",
        author=None,
        url_template=None,
        documents=1,
        tokens=1,
        languages=(),
    )


def _spread(archive: str, number: int) -> list[Candidate]:
    """Return tweets at equal distances through the whole archive."""
    with (_TWEETS / f"{archive}.jsonl").open(encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    step = len(records) // number
    return [_candidate(place, records[place * step]) for place in range(number)]


def _candidate(number: int, record: dict[str, str]) -> Candidate:
    return Candidate(
        id=number,
        external_id=record["id"],
        text=record["text"],
        context=None,
        created_at=datetime.fromisoformat(record["created_at"]),
        author=record.get("author"),
        url=None,
        lang=None,
        flags=Flag.NONE,
        length=1,
        bm25=0.0,
        matched={},
    )


if __name__ == "__main__":
    main()
