"""Whether texts hold the numbers of another text, and count the same with them. Pure."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_MAX_PLACES = 100  # of one number that are looked at
_SPACED = re.compile(r"(?<![\w.,])\d{1,3}(?: \d{3})+(?![\d.,]\d)")
_WORD = re.compile(r"[^\W\d_](?:[^\W_]|[\u0300-\u036f])*")
_MEASURE_STEMS = {
    name: frozenset(stem for words in factors.values() for stem in stem_words(words))
    for name, factors in MEASURES.items()
}


class Holding(IntEnum):
    """How far texts hold a number."""

    NOT = 0  # it does not occur, or counts something else
    ELSEWHERE = 1  # it occurs in a sentence about something else
    HELD = 2


@dataclass(frozen=True, slots=True)
class HeldFigure:
    """A number of a source, with its own stems, those near it, and how many its sentence has."""

    figure: Figure
    sentence: Mapping[str, int]
    own: Sequence[str] = ()
    near: frozenset[str] = frozenset()

    def stands_beside(self, stems: Iterable[str]) -> bool:
        """Return whether the rest of the sentence has one of these stems."""
        return any(self.sentence.get(stem, 0) > self.own.count(stem) for stem in stems)

    @property
    def stands_alone(self) -> bool:
        """Whether the sentence has no other words."""
        return sum(self.sentence.values()) == len(self.own)

    def may_count_same(self, other: Figure) -> bool:
        """Return whether this number and an equal one may count the same, by their units."""
        own = self.figure
        units = {other.unit, own.unit}
        if len(units) == 1:
            return True
        if PERCENT in units:
            return False
        if YEAR in units:
            return other.may_be_year or own.may_be_year
        return self._may_lack_unit(other) if "" in units else units == {PLACE, LABEL}

    def _may_lack_unit(self, other: Figure) -> bool:
        """Return whether two numbers, one of which has no unit, may count the same."""
        own = self.figure
        if other.unit in MEASURES:  # "Okafor, 47" is years, "112 m" may be millions
            return own.may_be_any_unit or (other.unit == "metre" and own.shown.endswith("m"))
        if other.unit or other.may_be_any_unit:
            return True
        if own.unit in {PLACE, LABEL}:
            return False
        if own.unit in _MEASURE_STEMS:
            return bool(_MEASURE_STEMS[own.unit] & set(other.counted))
        return self.stands_beside(other.counted)


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers that some texts hold, by their values and by what their digits say."""

    held: Mapping[Decimal, Sequence[HeldFigure]]
    counting: Mapping[str, Sequence[HeldFigure]]  # those without a unit, by what they count
    stems: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str], years: Iterable[int] = ()) -> "Figures":
        """Collect the numbers of texts, and the years of dates that they name otherwise."""
        held: dict[Decimal, list[HeldFigure]] = defaultdict(list)
        counting: dict[str, list[HeldFigure]] = defaultdict(list)
        every: set[str] = set()
        for text in texts:
            every.update(stem_words(text))
            for holder in _hold_figures(text):
                its = holder.figure
                places = [held[value] for value in its.values | its.written | its.digits]
                if its.counted and not its.unit:
                    places.append(counting[its.counted[0]])
                for place in places:
                    if len(place) < _MAX_PLACES:
                        place.append(holder)
        for year in sorted(set(years)):
            own = Figure(str(year), frozenset({Decimal(year)}), YEAR)
            held[Decimal(year)].append(HeldFigure(own, {}))
        return cls(dict(held), dict(counting), frozenset(every))

    def holds_digits(self, figure: Figure) -> bool:
        """Return whether the number occurs in digits, whatever words stand beside it."""
        return any(value in self.held for value in figure.values | figure.digits)

    def judge(self, figure: Figure, about_text: frozenset[str]) -> Holding:
        """Return how far these texts hold a number of a text with these stems."""
        holders = list(self._find_holders(figure))
        if not holders:
            return Holding.NOT
        # Where the words differ as a whole, the text is in another language.
        is_year = any(holder.figure.unit == YEAR for holder in holders)
        if is_year or len(about_text & self.stems) < max(1, len(about_text) // 3):
            return Holding.HELD
        if figure.unit or not figure.counted:
            near = any(
                holder.stands_beside(about_text) or holder.stands_alone for holder in holders
            )
            return Holding.HELD if near else Holding.ELSEWHERE
        counted = set(figure.counted)
        if any(
            holder.stands_beside(counted) or holder.figure.may_be_any_unit for holder in holders
        ):
            return Holding.NOT if self._is_counted_otherwise(figure, holders) else Holding.HELD
        near = any((about_text - counted) & holder.near for holder in holders)
        return Holding.ELSEWHERE if near else Holding.NOT

    def _is_counted_otherwise(self, figure: Figure, holders: Sequence[HeldFigure]) -> bool:
        """Return whether a source gives another number of this, and this number of others."""
        word = figure.counted[0]
        if any(word in holder.near or not holder.figure.counted for holder in holders):
            return False
        others = (holder.figure.values for holder in self.counting.get(word, ()))
        return any(not values & figure.values for values in others)

    def _find_holders(self, figure: Figure) -> Iterator[HeldFigure]:
        for value in figure.values | figure.written:
            for holder in self.held.get(value, ()):
                its = holder.figure
                # "Caro, 52" is 52 years old: beside what has no unit numbers are compared as
                # written.
                both = figure.unit and its.unit
                same = figure.values & its.values if both else figure.written & its.written
                if same and holder.may_count_same(figure):
                    yield holder


def _hold_figures(text: str) -> Iterator[HeldFigure]:
    """Yield the numbers of a text, each with the words of its sentence."""
    figures = find_figures(text)
    figures += [  # "12 300" may also be two numbers
        Figure(part, frozenset({Decimal(part)}), "", match.start(), match.end())
        for match in _SPACED.finditer(text)
        for part in match[0].split(" ")
    ]
    figures.sort(key=lambda figure: figure.start)
    end = 0
    for written in split_sentences(text) if figures else ():
        start = text.index(written, end)
        end = start + len(written)
        first, last = (
            bisect_left(figures, border, key=lambda figure: figure.start) for border in (start, end)
        )
        if first == last:
            continue
        words = [
            (word.start() + start, stem)
            for word in _WORD.finditer(written)
            for stem in stem_words(word[0])
        ]
        stems = [stem for _, stem in words]
        sentence = Counter(stems)
        for figure in figures[first:last]:
            at, after = (bisect_left(words, (border,)) for border in (figure.start, figure.end))
            near = (*stems[max(0, at - _NEAR) : at], *stems[after : after + _NEAR])
            yield HeldFigure(figure, sentence, stems[at:after], frozenset(near))
