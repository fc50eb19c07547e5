"""Answers without a model: the sentences of the sources that match the question best."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.answer.citations import without_brackets
from engine.answer.types import Claim, Passage
from engine.answer.wording import Wording
from engine.judge.request import one_line
from engine.text.plain import without_links
from engine.text.sentences import sentences

_LONGEST_READ = 6000  # characters of a passage: many short sentences take long to score
_LONGEST_QUOTE = 300
_FEWEST_LETTERS = 3
_WEAKEST = 0.25  # share of the best passage's score; passages below it only fill the list
_FRAGMENT = 0.5  # the weight of a heading or a fragment, relative to a whole sentence
_BULLET = re.compile(r"^[*•·▪‣–-]\s+")
_WHOLE = re.compile(r"(?![a-zà-öø-ÿ,;)]).*[.!?…][\"'”’»)\]]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Quote:
    text: str
    passage: int
    score: float
    whole: bool  # begins and ends as a sentence does

    @property
    def worth(self) -> float:
        """How good it is compared with other sentences of its passage."""
        return self.score if self.whole else self.score * _FRAGMENT


def extract(passages: Sequence[Passage], *, most: int) -> tuple[Claim, ...]:
    """Return the best sentences, one per passage, at most `most`, best first.

    A sentence scores by those of its words for which its text was found; ties keep the order of
    the passages. Of a passage, whole sentences go before headings and fragments. Passages
    far weaker than the best one are not quoted. Links, bullets, and brackets that could be taken
    for marks are removed; a long sentence is cut, with a sign of it.
    """
    wording = Wording.of(passages)
    weakest = _WEAKEST * max((one.hit.score for one in passages), default=0.0)
    best = [
        max(quotes, key=lambda one: one.worth)  # the first of equal ones
        for number, passage in enumerate(passages, start=1)
        if passage.hit.score >= weakest
        if (quotes := list(_quotes(number, passage, wording)))
    ]
    best.sort(key=lambda one: -round(one.score, 9))
    distinct = {one.text.casefold(): one for one in reversed(best)}
    chosen = [one for one in best if distinct[one.text.casefold()] is one]
    return tuple(Claim(text=one.text, passages=(one.passage,)) for one in chosen[:most])


def _quotes(number: int, passage: Passage, wording: Wording) -> Iterator[_Quote]:
    for sentence in sentences(passage.hit.candidate.text[:_LONGEST_READ]):
        line = _BULLET.sub("", one_line(sentence, len(sentence)))
        text = without_links(without_brackets(one_line(line, _LONGEST_QUOTE)))
        if sum(map(str.isalnum, text)) >= _FEWEST_LETTERS:
            cut = "…" if len(line) > _LONGEST_QUOTE else ""
            worth = wording.score(text) * (0.5 + passage.hit.score / 2)
            whole = _WHOLE.fullmatch(line) is not None
            yield _Quote(text=text + cut, passage=number, score=worth, whole=whole)
