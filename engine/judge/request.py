"""The judge's request: the headline, then one candidate per line as JSON."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from engine.search import Candidate, Headline, told_date
from engine.text.snippet import window, words

HEADLINE_LENGTH = 500
TEXT_LENGTH = 280  # characters, as in a tweet; longer texts are cut around the headline's words
_BEGINNING = 5  # letters that forms of a word share, precise enough to choose a window
_LONGEST_MATCH = 20  # characters that a window reserves for the word in its middle

# Control characters, line separators, bidirectional overrides, lone surrogates, byte order marks,
# invisible tag characters and variation selectors of that plane: they break lines, break UTF-8 or
# hide text from people.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
    "\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to the model.

    `content` is the user message; candidate number i in it has the id `ids[i - 1]`.
    """

    content: str
    ids: tuple[int, ...]
    key: str  # cache key


def build_judge_request(
    headline: Headline, candidates: Sequence[Candidate], *, model: str, version: str
) -> JudgeRequest:
    """Build the request, which does not depend on the order of the candidates.

    `version` is the version of the prompt.
    """
    title = one_line(headline.text, HEADLINE_LENGTH)
    ordered = sorted(candidates, key=lambda candidate: _place(title, candidate))
    shown = [_cut_candidate(one, title) for one in ordered]
    lines = [_line(number, one) for number, one in enumerate(shown, start=1)]
    return JudgeRequest(
        content="\n".join([title, *lines]),
        ids=tuple(candidate.id for candidate in ordered),
        key=_key(
            [version, model, title],
            {one.id: said for one, said in zip(ordered, shown, strict=True)},
        ),
    )


def around(text: str, title: str, limit: int) -> str:
    """Return visible text on one line, at most `limit` characters around the words of `title`.

    Words with equal beginnings count as the same; if there are none, the text's start is used.
    """
    line = one_line(text, len(text))
    if len(line) <= limit:
        return line
    sought = {_word_beginning(spot.word): len(spot.word) for spot in words(title)}
    matches = [
        (spot, float(sought[beginning]))
        for spot in words(line)
        if (beginning := _word_beginning(spot.word)) in sought and len(beginning) == _BEGINNING
    ]
    if not matches:
        return one_line(line, limit)
    return one_line(window(line, matches, max(1, limit // 2 - _LONGEST_MATCH)).text, limit)


def _word_beginning(word: str) -> str:
    return word.casefold()[:_BEGINNING]


def one_line(text: str, limit: int) -> str:
    """Return visible text on one line, at most `limit` characters, cut between words.

    A word longer than half the limit may itself be cut.
    """
    line = " ".join(_UNSEEN.sub(" ", text).split())
    if len(line) <= limit:
        return line
    end = line.rfind(" ", 0, limit + 1)
    return line[: end if end > limit // 2 else limit].rstrip()


def _place(title: str, candidate: Candidate) -> tuple[bytes, int]:
    """Return a sort key for a deterministic shuffle, so that position carries no meaning."""
    seed = f"{title}\n{candidate.external_id}"
    return sha256(seed.encode("utf-8", "replace")).digest(), candidate.id


def _cut_candidate(candidate: Candidate, title: str) -> dict[str, str]:
    """Return the day, if there is one, and the text that the model sees."""
    day = told_date(candidate.created_at, candidate.dated_by)
    return {**day, "text": around(candidate.text, title, TEXT_LENGTH)}


def _line(number: int, shown: Mapping[str, str]) -> str:
    """Return one JSON object without spaces, which would cost tokens."""
    return json.dumps({"i": number, **shown}, ensure_ascii=False, separators=(",", ":"))


def _key(asked: Sequence[str], shown: Mapping[int, Mapping[str, str]]) -> str:
    """Return the SHA-256 of everything that may change the judgments."""
    return sha256(json.dumps([*asked, sorted(shown.items())]).encode()).hexdigest()
