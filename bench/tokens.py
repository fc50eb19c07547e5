"""Prompt tokens of one judge request: ours against the plain form. `python -m bench.tokens`

Plain form: one JSON object a line, {"i", "id", "created_at", "text"}, ISO date with time, texts
cut alike. Tokens are counted with o200k_base, the vocabulary of the default model's family,
which the package bpe-openai ships. Prints one JSON line a row; `of_plain` is the ratio to the
first row.
"""

import json
import sys
from datetime import datetime
from pathlib import Path

from engine.judge.request import TEXT_LENGTH, build_judge_request, candidate_line, one_line
from engine.llm.prompts import JUDGE_SYSTEM
from engine.types import Candidate, Flag, Headline

ARCHIVE = Path(__file__).resolve().parents[1] / "../shared/data/tweets/trump_archive.jsonl"
CANDIDATES = 150
HEADLINE = Headline(text="Trump orders a wall along the border", original="")


def main() -> None:
    """Count and print."""
    try:
        from bpe_openai import get_encoding
    except ImportError:
        sys.exit("bench.tokens needs bpe-openai: pip install bpe-openai")
    if not ARCHIVE.exists():
        sys.exit("bench.tokens needs the tweets in ../shared/data.")
    encoding = get_encoding("o200k_base")
    tweets = _spread()
    request = build_judge_request(HEADLINE, tweets, model="")
    forms = {
        "plain lines": _lines(tweets, (", ", ": ")),
        "plain lines without spaces": _lines(tweets, (",", ":")),
        "our lines": "\n".join(candidate_line(i, one) for i, one in enumerate(tweets, start=1)),
        "texts alone": "\n".join(one_line(one.text, TEXT_LENGTH) for one in tweets),
        "our whole prompt": JUDGE_SYSTEM + "\n" + request.content,
    }
    counts = {name: len(encoding.encode(text)) for name, text in forms.items()}
    for name, tokens in counts.items():
        share = round(tokens / counts["plain lines"], 3)
        print(json.dumps({"form": name, "tokens": tokens, "of_plain": share}))


def _spread() -> list[Candidate]:
    """Tweets at equal distances through the whole archive."""
    with ARCHIVE.open(encoding="utf-8") as file:
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
            "created_at": tweet.created_at.isoformat(),
            "text": one_line(tweet.text, TEXT_LENGTH),
        }
        for number, tweet in enumerate(tweets, start=1)
    )
    return "\n".join(json.dumps(row, ensure_ascii=False, separators=separators) for row in rows)


if __name__ == "__main__":
    main()
