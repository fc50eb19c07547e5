"""What the judge sends: the headline, then one candidate a line as JSON."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256

from engine.llm.prompts import JUDGE_VERSION
from engine.types import Candidate, Headline

HEADLINE_LENGTH = 500
TEXT_LENGTH = 200

# Control characters, line separators, bidirectional overrides, lone surrogates, byte order marks
# and invisible tag characters: they break lines, break UTF-8 or hide text from people.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
    "\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to the model.

    `content` is the user message; candidate number i of it has the id `ids[i - 1]`.
    """

    content: str
    ids: tuple[int, ...]
    key: str  # cache key


def build_judge_request(
    headline: Headline, candidates: Sequence[Candidate], *, model: str
) -> JudgeRequest:
    """Write the request. The same set of candidates gives the same request in any order."""
    title = one_line(headline.text, HEADLINE_LENGTH)
    ordered = sorted(candidates, key=lambda candidate: _place(title, candidate))
    lines = [candidate_line(number, one) for number, one in enumerate(ordered, start=1)]
    return JudgeRequest(
        content="\n".join([title, *lines]),
        ids=tuple(candidate.id for candidate in ordered),
        key=_key(title, candidates, model),
    )


def candidate_line(number: int, candidate: Candidate) -> str:
    """One JSON object without spaces: they are tokens too."""
    shown = {
        "i": number,
        "date": candidate.created_at.astimezone(UTC).date().isoformat(),
        "text": one_line(candidate.text, TEXT_LENGTH),
    }
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def one_line(text: str, limit: int) -> str:
    """Return visible text on one line, at most `limit` characters, cut after a word.

    A word longer than half the limit is cut inside.
    """
    line = " ".join(_UNSEEN.sub(" ", text).split())
    if len(line) <= limit:
        return line
    end = line.rfind(" ", 0, limit + 1)
    return line[: end if end > limit // 2 else limit].rstrip()


def _place(title: str, candidate: Candidate) -> tuple[bytes, int]:
    """A shuffle without a generator: position carries no meaning and is the same every time."""
    seed = f"{title}\n{candidate.external_id}"
    return sha256(seed.encode("utf-8", "replace")).digest(), candidate.id


def _key(title: str, candidates: Sequence[Candidate], model: str) -> str:
    """SHA-256 over everything that may change the judgments."""
    shown = sorted(
        (one.id, one.created_at.astimezone(UTC).date().isoformat(), one_line(one.text, TEXT_LENGTH))
        for one in candidates
    )
    parts = json.dumps([JUDGE_VERSION, model, title, shown])
    return sha256(parts.encode()).hexdigest()
