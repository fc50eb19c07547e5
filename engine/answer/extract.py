"""Answers without a model: the sentences of the sources that match the question best."""

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


@dataclass(frozen=True, slots=True)
class _Quote:
    text: str
    passage: int
    score: float


def extract(passages: Sequence[Passage], *, most: int) -> tuple[Claim, ...]:
    """Return the best sentences, one per passage, at most `most`, best first.

    The score of a sentence is that of the words in it that its text was found by; ties keep the
    order of the passages. Links, and brackets that could be taken for marks, are removed; a long
    sentence is cut, with a sign of it.
    """
    wording = Wording.of(passages)
    best = [
        max(quotes, key=lambda one: one.score)  # the first of equal ones
        for number, passage in enumerate(passages, start=1)
        if (quotes := list(_quotes(number, passage, wording)))
    ]
    best.sort(key=lambda one: -round(one.score, 9))
    distinct = {one.text.casefold(): one for one in reversed(best)}
    chosen = [one for one in best if distinct[one.text.casefold()] is one]
    return tuple(Claim(text=one.text, passages=(one.passage,)) for one in chosen[:most])


def _quotes(number: int, passage: Passage, wording: Wording) -> Iterator[_Quote]:
    for sentence in sentences(passage.hit.candidate.text[:_LONGEST_READ]):
        line = one_line(sentence, len(sentence))
        text = without_links(without_brackets(one_line(line, _LONGEST_QUOTE)))
        if sum(map(str.isalnum, text)) >= _FEWEST_LETTERS:
            cut = "…" if len(line) > _LONGEST_QUOTE else ""
            worth = wording.score(text) * (0.5 + passage.hit.score / 2)
            yield _Quote(text=text + cut, passage=number, score=worth)
