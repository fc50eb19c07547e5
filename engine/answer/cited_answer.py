"""The values of an answer with sources, its citations, and the words by which texts were found.

Only the database knows the lexemes of a word in each language. For choosing what to show of a text
that has already been found, comparing the first letters of words is enough.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Protocol, Self

from engine.messages import Message
from engine.search import Hit, Mode
from engine.text.clean import fold_case_and_accents
from engine.text.snippet import Excerpt, choose_window, find_words, one_line
from engine.values import Corpus, Usage

_BRACKETS = re.compile(r"[\[［【]([^\[\]［］【】]{0,200})[\]］】]")
_CITATION = re.compile(
    r"[\s^#]*(?:(?:source|passage|fuente|pasaje|doc)\w?\W*)?\d++(?:\s*+(?:[-–,;&]|and|y)?+\s*+\d++)*+"
    r"\s*+(?:†\w*)?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(\d{1,4})(?:\s*[-–]\s*(\d{1,4}))?")
_BEGINNING = 5  # letters that forms of one word share
_MAX_MATCHES = 200  # considered for choosing a window
_SHARE_BEFORE = 5  # of an excerpt, a fifth stands before its best match
_CUT = "…"
_QUOTATION_MARKS = tuple('"“”„‟«»‹›')
_LONGEST_READ = 20_000  # characters, as in engine.text.snippet


class AnswerOutcome(StrEnum):
    """The kind of answer that a question got."""

    ANSWERED = "answered"  # by the model, with citations
    SILENT = "silent"  # the model says that the sources do not answer it
    EXTRACTED = "extracted"  # without a model: verbatim sentences of the sources
    NOTHING = "nothing"  # there are no sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question. `earlier` are the last questions of the same thread, oldest first."""

    text: str
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that an answer may be made from. The hit's score is its relevance, 0..1."""

    corpus: str
    hit: Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """What the check says against a sentence; `text` is what the model had written."""

    text: str
    why: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of the model, cleaned, with the numbers of the passages that it cites.

    The numbers are only those of passages that the model was given. With an objection, the check
    corrected the text, or found it not `supported`.
    """

    text: str
    passages: tuple[int, ...]
    supported: bool = True  # False only if it was checked
    objection: Objection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """A model's answer as it is cached. No claims: the passages do not answer it."""

    claims: tuple[Claim, ...]
    model: str | None = None
    prompt_version: str | None = None
    damage: Mapping[str, int] = field(default_factory=dict)  # faults of the answer, by kind
    checked: bool = False  # whether a model compared the claims with their passages


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaims:
    """Claims after the check. With a `failure`, no model checked them."""

    claims: tuple[Claim, ...]
    usage: Usage | None = None
    failure: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of an answer. `sources` are numbers of its sources, from 1."""

    text: str
    sources: tuple[int, ...]
    quoted: bool = False  # verbatim from a source
    supported: bool = True  # False: a check found that the sources do not say it

    @property
    def needs_marks(self) -> bool:
        """Return whether quotation marks are put around it; its source may have some already."""
        return self.quoted and not self.text.startswith(_QUOTATION_MARKS)

    def __str__(self) -> str:
        """The sentence with a mark for each source: "So it is. [1][2]".

        It ends with [?] if it has no source, or none that supports it.
        """
        text = f"“{self.text}”" if self.needs_marks else self.text
        marks = [f"[{number}]" for number in self.sources]
        if not marks or not self.supported:
            marks.append("[?]")
        return f"{text} {''.join(marks)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """A passage that the answer cites. `number` is the one in its marks."""

    number: int
    passage: Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedAnswer:
    """The answer to a question; sources are numbered in the order of their use."""

    question: Question
    outcome: AnswerOutcome
    corpora: tuple[str, ...] = ()  # that were searched
    sentences: tuple[Sentence, ...] = ()
    sources: tuple[CitedSource, ...] = ()
    passages: int = 0  # that were found, cited or not
    model: str | None = None
    prompt_version: str | None = None
    usage: Usage | None = None  # None: nothing was paid for
    cached: bool = False
    checked: bool = False  # by a model, sentence by sentence
    objections: tuple[Objection, ...] = ()  # of the check
    damage: Mapping[str, int] = field(default_factory=dict)
    notice: Message | None = None  # for the user, about how the answer was made
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None

    @property
    def text(self) -> str:
        """The sentences with their marks; "" if there are none."""
        return " ".join(str(sentence) for sentence in self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredPassages:
    """The passages for a question, best first, and how they were found."""

    corpora: tuple[Corpus, ...]
    passages: Sequence[Passage] = ()
    mode: Mode = Mode.LEXICAL
    embedding_model: str | None = None
    notice: Message | None = None


class ClaimCheck(Protocol):
    """Compares claims with the passages that they cite."""

    @property
    def version(self) -> str:
        """The prompt and the model, for cache keys."""

    async def check(
        self, claims: Sequence[Claim], gathered: GatheredPassages, *, now: datetime
    ) -> CheckedClaims:
        """Return the claims with the check's objections. Raises only what the ledger raises."""


def split_citations(text: str, given: int, damage: Counter[str]) -> tuple[str, tuple[int, ...]]:
    """Return the text without marks, and the distinct numbers in them that are 1..`given`.

    Other numbers are counted in `damage`. Nothing that is left looks like a mark.
    """
    numbers: list[int] = []

    def mark(match: re.Match[str]) -> str:
        if not _CITATION.fullmatch(match[1]):
            return match[0]
        numbers.extend(_parse_numbers(match[1], given))
        return " "  # not "", which could join the words on both sides

    text = without_brackets(_BRACKETS.sub(mark, text))
    return text, select_known(numbers, given, damage)


def select_known(numbers: list[int], given: int, damage: Counter[str]) -> tuple[int, ...]:
    """Return the distinct `numbers` that are 1..`given`; others are counted in `damage`."""
    valid = [number for number in numbers if 1 <= number <= given]
    damage["unknown_source"] += len(numbers) - len(valid)
    return tuple(dict.fromkeys(valid))


def without_brackets(text: str) -> str:
    """Return text in which nothing looks like a mark: "[2]" becomes "(2)", "[sic]" stays."""
    return _BRACKETS.sub(
        lambda match: f"({match[1]})" if _CITATION.fullmatch(match[1]) else match[0], text
    )


def cut_plain_text(text: str, length: int) -> str:
    """Return text from elsewhere on one line, without anything that looks like a mark."""
    return without_brackets(one_line(text, length))


def _parse_numbers(mark: str, given: int) -> Iterator[int]:
    for match in _NUMBERS.finditer(mark):
        first = int(match[1])
        last = int(match[2]) if match[2] else None
        if last is None:
            yield first
        else:  # cannot be a range of passages, so it is two numbers with a dash
            yield from range(first, last + 1) if first <= last <= given else (first, last)


@dataclass(frozen=True, slots=True)
class Wording:
    """The words that passages were found by: their beginnings, with the weight of each."""

    worth: Mapping[str, float]

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> Self:
        """Take the matched words of all hits; a word in fewer of them has more weight."""
        held: Counter[str] = Counter()
        for passage in passages:
            # A term may be "word as written → replacement".
            terms = (matched.rpartition("→")[2] for matched in passage.hit.matched)
            held.update({_word_beginning(spot.word) for term in terms for spot in find_words(term)})
        return cls(
            {
                beginning: math.log(1 + len(passages) / number)
                for beginning, number in sorted(held.items())
            }
        )

    @classmethod
    def of_claims(cls, claims: Sequence[str], text: str) -> Self:
        """Take the words of the claims that a text supports; the rarer in it, the more weight."""
        occurrences = Counter(
            _word_beginning(spot.word) for spot in find_words(text[:_LONGEST_READ])
        )
        spoken = {_word_beginning(spot.word) for claim in claims for spot in find_words(claim)}
        return cls(
            {
                beginning: 1 / occurrences[beginning]
                for beginning in sorted(spoken)
                if occurrences[beginning]
            }
        )

    def score(self, text: str) -> float:
        """Return the sum of the weights of the distinct words in a text."""
        beginnings = {_word_beginning(spot.word) for spot in find_words(text)}
        return math.fsum(worth for word, worth in self.worth.items() if word in beginnings)

    def window(self, text: str, length: int) -> Excerpt:
        """Return about `length` characters around the best match, most of them after it.

        What answers a question, such as a list, follows the words that name it.
        """
        text, before = text[:_LONGEST_READ], length // _SHARE_BEFORE
        words = ((spot, self.worth.get(_word_beginning(spot.word))) for spot in find_words(text))
        matches = list(islice(((spot, worth) for spot, worth in words if worth), _MAX_MATCHES))
        return choose_window(text, matches, before, after=length - before)


def cited_excerpt(source: CitedSource, answer: CitedAnswer, *, longest: int) -> str:
    """Return at most `longest` characters of a source, around what the answer cites it for."""
    text = source.passage.hit.candidate.text
    if len(text) <= longest:
        return text
    claims = [sentence.text for sentence in answer.sentences if source.number in sentence.sources]
    excerpt = Wording.of_claims(claims, text).window(text, longest - 2 * len(_CUT))
    before, after = (_CUT if cut else "" for cut in (excerpt.before, excerpt.after))
    return f"{before}{excerpt.text.strip()}{after}"


def _word_beginning(word: str) -> str:
    return fold_case_and_accents(word)[:_BEGINNING]
