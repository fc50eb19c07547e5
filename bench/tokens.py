"""Counts the prompt tokens of one judge request in both archives: our form against a plain one.

`python -m bench.tokens`

Plain form: one JSON object a line, {"i", "id", "created_at", "text"}, ISO date with time, texts
cut alike. Tokens are counted with o200k_base, the vocabulary of the default model's family,
which the package bpe-openai ships. Prints one JSON line a row; `of_plain` is the ratio to the
first row of the archive. "why" is what the prompt and one twelve-word reason add, "one answer" an
answer that lists a fifth of the texts.
"""

import json
import sys
from datetime import datetime
from pathlib import Path

from engine.judge.judge import JUDGE, JUDGE_WITH_REASONS
from engine.judge.request import (
    TEXT_LENGTH,
    around,
    build_judge_request,
    one_line,
)
from engine.search import Candidate, Headline
from engine.values import Flag

_TWEETS = Path(__file__).resolve().parents[1] / "../shared/data/tweets"
ARCHIVES = {
    "trump_archive": "Trump orders a wall along the border",
    "argentina_2019": "El gobierno anuncia un nuevo acuerdo con el FMI",
}
CANDIDATES = 150
_LIMITS = (200, 240, TEXT_LENGTH)  # characters of a text
# Texts that score 0 are not listed.
_LISTED = 30
_ANSWER = json.dumps(
    {"n": CANDIDATES, "scores": [[5 * i, i % 6 + 1] for i in range(1, _LISTED + 1)]}
)
_REASON = {"i": 42, "why": "He warned in 2012 that fuel prices would double within four years"}


def main() -> None:
    """Count and print."""
    try:
        from bpe_openai import get_encoding
    except ImportError:
        sys.exit("bench.tokens needs bpe-openai: pip install bpe-openai")
    if not _TWEETS.exists():
        sys.exit("bench.tokens needs the tweets in ../shared/data.")
    encoding = get_encoding("o200k_base")
    for archive, title in ARCHIVES.items():
        forms = _forms(_spread(archive), Headline(text=title, original=""))
        counts = {name: len(encoding.encode(text)) for name, text in forms.items()}
        for name, tokens in counts.items():
            share = round(tokens / counts["plain lines"], 3)
            row = {"archive": archive, "form": name, "tokens": tokens, "of_plain": share}
            print(json.dumps(row))


def _forms(tweets: list[Candidate], headline: Headline) -> dict[str, str]:
    request = build_judge_request(headline, tweets, model="", version="")
    return {
        "plain lines": _lines(tweets, (", ", ": ")),
        "plain lines without spaces": _lines(tweets, (",", ":")),
        "our lines": request.content.split("\n", 1)[1],
        **{
            f"texts of {limit}": "\n".join(around(one.text, headline.text, limit) for one in tweets)
            for limit in _LIMITS
        },
        "our whole prompt": JUDGE.system + "\n" + request.content,
        "the same with why": JUDGE_WITH_REASONS.system + "\n" + request.content,
        "one why": json.dumps(_REASON),
        "one answer": _ANSWER,
    }


def _spread(archive: str) -> list[Candidate]:
    """Return tweets at equal distances through the whole archive."""
    with (_TWEETS / f"{archive}.jsonl").open(encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    step = len(records) // CANDIDATES
    return [_candidate(number, records[number * step]) for number in range(CANDIDATES)]


def _candidate(number: int, record: dict[str, str]) -> Candidate:
    return Candidate(
        id=number,
        external_id=record["id"],
        text=record["text"],
        context=None,
        created_at=datetime.fromisoformat(record["created_at"]),
        author=None,
        url=None,
        lang=None,
        flags=Flag.NONE,
        length=1,
        bm25=0.0,
        matched={},
    )


def _lines(tweets: list[Candidate], separators: tuple[str, str]) -> str:
    rows = (
        {
            "i": number,
            "id": tweet.external_id,
            "created_at": tweet.created_at and tweet.created_at.isoformat(),
            "text": one_line(tweet.text, TEXT_LENGTH),
        }
        for number, tweet in enumerate(tweets, start=1)
    )
    return "\n".join(json.dumps(row, ensure_ascii=False, separators=separators) for row in rows)


if __name__ == "__main__":
    main()
