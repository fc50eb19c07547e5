"""Whether texts hold the numbers of another text, and count the same with them. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum

from engine.compose.figures import (
    LABEL,
    MEASURES,
    PERCENT,
    PLACE,
    YEAR,
    Figure,
    find_figures,
    stem_words,
)
from engine.text.chunks import split_sentences

_NEAR = 8  # words around a number that are about it
_SPACED = re.compile(r"(?<![\w.,])\d{1,3}(?: \d{3})+(?![\d.,]\d)")
_MEASURE_STEMS = {
    name: frozenset(stem for words in factors.values() for stem in stem_words(words))
    for name, factors in MEASURES.items()
}


def _split_spaced_figures(text: str) -> Iterator[Figure]:
    """Yield the parts of "12 300", which may also be two numbers."""
    for found in _SPACED.finditer(text):
        for part in found[0].split(" "):
            yield Figure(part, frozenset({Decimal(part)}), "", found.start(), found.end())


class Holding(IntEnum):
    """How far texts hold a number."""

    NOT = 0  # it does not occur, or counts something else
    ELSEWHERE = 1  # it occurs in a sentence about something else
    HELD = 2


@dataclass(frozen=True, slots=True)
class HeldFigure:
    """A number of a source, with the stems of its sentence and of the words near it."""

    figure: Figure
    sentence: frozenset[str]
    near: frozenset[str]


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers that some texts hold."""

    held: tuple[HeldFigure, ...]
    stems: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str], years: Iterable[int] = ()) -> "Figures":
        """Collect the numbers of texts, and the years of dates that they name otherwise."""
        held: list[HeldFigure] = []
        every: set[str] = set()
        for text in texts:
            every.update(stem_words(text))
            spans = list(_sentence_spans(text))
            for figure in (*find_figures(text), *_split_spaced_figures(text)):
                held.append(_in_its_sentence(figure, text, spans))
        for year in sorted(set(years)):
            own = Figure(str(year), frozenset({Decimal(year)}), YEAR)
            held.append(HeldFigure(own, frozenset(), frozenset()))
        return cls(tuple(held), frozenset(every))

    def holds(self, figure: Figure) -> bool:
        """Return whether the number occurs with its unit, whatever it counts."""
        return any(self._find_holders(figure))

    def judge(self, figure: Figure, text: str) -> Holding:
        """Return how far these texts hold a number of another text."""
        found = list(self._find_holders(figure))
        if not found:
            return Holding.NOT
        about_text = frozenset(stem_words(text))
        # Where the words differ as a whole, the text is in another language.
        is_year = any(holder.figure.unit == YEAR for holder in found)
        if is_year or len(about_text & self.stems) < max(1, len(about_text) // 3):
            return Holding.HELD
        if figure.unit or not figure.counted:
            near = any(holder.sentence & about_text or not holder.sentence for holder in found)
            return Holding.HELD if near else Holding.ELSEWHERE
        return self._judge_counted(figure, about_text, found)

    def _judge_counted(
        self, figure: Figure, about_text: frozenset[str], found: Sequence[HeldFigure]
    ) -> Holding:
        counted = set(figure.counted)
        if any(counted & holder.sentence or holder.figure.may_be_any_unit for holder in found):
            own = figure.counted[0]
            return Holding.NOT if self._is_counted_otherwise(own, figure, found) else Holding.HELD
        about = about_text - counted
        if not any(about & holder.near for holder in found):
            return Holding.NOT
        return Holding.ELSEWHERE

    def _is_counted_otherwise(self, word: str, figure: Figure, found: Sequence[HeldFigure]) -> bool:
        """Return whether a source gives another number of this, and this number of others."""
        if any(word in holder.near or not holder.figure.counted for holder in found):
            return False
        return any(
            not holder.figure.unit and word in holder.figure.counted[:1]
            for holder in self.held
            if not holder.figure.values & figure.values
        )

    def _find_holders(self, figure: Figure) -> Iterator[HeldFigure]:
        for holder in self.held:
            its = holder.figure
            # "Caro, 52" is 52 years old: beside what has no unit numbers are compared as written.
            both = figure.unit and its.unit
            same = figure.values & its.values if both else figure.written & its.written
            if same and _is_same_role(figure, holder):
                yield holder


def _is_same_role(figure: Figure, held: HeldFigure) -> bool:
    its = held.figure
    units = {figure.unit, its.unit}
    if len(units) == 1:
        return True
    if PERCENT in units:
        return False
    if YEAR in units:
        return figure.may_be_year or its.may_be_year
    if "" in units:
        return _may_lack_unit(figure, held)
    return units == {PLACE, LABEL}


def _may_lack_unit(figure: Figure, held: HeldFigure) -> bool:
    """Return whether two numbers, one of which has no unit, may count the same."""
    its = held.figure
    if figure.unit in MEASURES:  # "Okafor, 47" is years, "112 m" may be millions
        return its.may_be_any_unit or (figure.unit == "metre" and its.shown.endswith("m"))
    if figure.unit or figure.may_be_any_unit:
        return True
    if its.unit in {PLACE, LABEL}:
        return False
    return bool(_MEASURE_STEMS.get(its.unit, held.sentence) & set(figure.counted))


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for sentence in split_sentences(text):
        start = text.find(sentence, at)
        if start < 0:  # its spaces were changed
            start = at
        at = start + len(sentence)
        yield start, at


def _in_its_sentence(figure: Figure, text: str, spans: Sequence[tuple[int, int]]) -> HeldFigure:
    start, end = next((span for span in spans if span[0] <= figure.start < span[1]), (0, len(text)))
    before, after = stem_words(text[start : figure.start]), stem_words(text[figure.end : end])
    near = (*before[-_NEAR:], *after[:_NEAR])
    return HeldFigure(figure, frozenset((*before, *after)), frozenset(near))
