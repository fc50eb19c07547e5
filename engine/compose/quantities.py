"""Words that claim an amount without a number: multiples, shares, dozens, all. Pure.

A superlative needs one of its source about the same thing. A multiple or a share may also be
computed from two numbers of one sentence.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from engine.compose.figures import PERCENT, YEAR, Figure, find_figures, stem_words
from engine.compose.number_words import numbers_in_words
from engine.compose.superlatives import (
    ALSO_CONFIRMED_BY,
    Superlative,
    compile_alternatives,
    find_superlatives,
)
from engine.text.chunks import split_sentences

_FOLD = re.compile(r"\b(?P<times>\d+|[^\W\d_]+?)(?:-?fold|fach\w*)\b", re.IGNORECASE)
_TIMES = frozenset({"times", "veces", "fois", "vezes", "volte"})
_TOLERANCE = Decimal("0.04")  # of a ratio that two numbers make
_POINTS = Decimal("1.5")  # of a percentage that stands for a share
_ALL = (
    r"(?<!at )(?<!after )(?<!above )(?<!of )all(?!-| (?:time|over|but|day|year|along))|every|each"
    r"|todos|todas|cada|alle[nr]?|jede[rsnm]?|tous|toutes|chaque|tutti|tutte|ogni"
)
_UNIVERSAL = re.compile(
    rf"\b(?P<all>{_ALL})\s(?:of\s)?(?:the|los|las|les|die|der|os|as|i|gli|le|its|his|her|their|our"
    r"|sus)?\s?(?P<what>[^\W\d_]{3,})|(?P<japanese>全員|全て|すべて|全部)",
    re.IGNORECASE,
)
_SOME = re.compile(
    r"\b(?:one|single|some|several|many|most|few|half|part|certain|un|una|uno|algun[oa]s|varios"
    r"|varias|much[oa]s|mayoría|poc[oa]s|parte|ein|eine[rmns]?|einige|manche|viele|une|certaine?s"
    r"|quelques|plusieurs|um|uma|algun?s|algumas|alcun[ie]|\d+)\b"
)
_OF_TIME = frozenset(stem_words("day days week year years month time times año años día días mes"))
_DENOMINATORS = {
    word: number
    for number, words in {
        3: "third thirds tercio tercios tiers drittel terço terços terzo terzi tercera terceras",
        4: "quarter quarters cuarto cuartos quart quarts viertel quarto quartos cuarta cuartas",
        5: "fifth fifths quinto quintos quinta quintas fünftel cinquième cinquièmes",
        6: "sixth sixths sexto sexta sechstel",
        8: "eighth eighths octavo octava achtel",
        10: "tenth tenths décimo décima zehntel dixième décimos décimas",
    }.items()
    for word in words.split()
}
_NUMERATORS = {
    word: number
    for number, words in {
        1: "a one un una ein eine um uma",
        2: "two dos deux zwei dois due",
        3: "three tres trois drei três tre",
        4: "four cuatro quatre vier quatro quattro",
    }.items()
    for word in words.split()
}
_FRACTION = re.compile(
    rf"\b(?P<above>{'|'.join(_NUMERATORS)})[\s-](?P<below>{'|'.join(_DENOMINATORS)})"
    r"(?=[\s-](?:of|de|del|der|des|do|da|di|partes?|más|more|less|menos|as)\b|\W*$|[,.;])"
    r"|(?P<japanese>(?P<under>[2-9二三四五])分の(?P<over>[1-9一二三四]))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One amount in words: its value, or the least and the most of what is meant."""

    way: re.Pattern[str]
    minimum: Decimal
    maximum: Decimal


def _build_kind(way: str, minimum: str, maximum: str | None = None) -> _Kind:
    return _Kind(compile_alternatives(way), Decimal(minimum), Decimal(maximum or minimum))


# Multiples and shares, by their value.
_RATIOS = (
    _build_kind(
        r"doubl(?:e|ed|es|ing)|twice(?= (?:as|the|its|his|her|their|what|more))|twofold|two-fold"
        r"|duplic(?:ó|a|an|ar|aron|aba|ado|ada|arse)|(?:el|al|del) doble|doubl(?:é|ée|er|ent)"
        r"|deux fois plus|verdoppel\w+|doppelt\w*|dobr(?:ou|ar|aram|o)|raddoppi\w+"
        r"|(?:il|al|del) doppio|倍増|2倍|二倍",
        "2",
    ),
    _build_kind(r"tripl\w+|threefold|three-fold|trebl\w+|verdreifach\w+|dreifach\w*|3倍|三倍", "3"),
    _build_kind(
        r"quadrupl\w+|fourfold|four-fold|cuadruplic\w+|cuádruple|vervierfach\w+|4倍|四倍", "4"
    ),
    _build_kind(
        r"halv(?:e|ed|es|ing)|(?<!first )(?<!second )(?<!and a )(?<!other )half(?!-time| a m| a b)"
        r"|(?<!primera )(?<!segunda )(?<!otra )mitad|moitié|hälfte|halbier\w+|metade|metà"
        r"|dimezz\w+|半分|半減",
        "0.5",
    ),
)
# Amounts that nobody counted, by what they may stand for.
_VAGUE = (
    _build_kind(
        r"dozens|docenas|dutzende|douzaines|dezenas|dozzine|decenas(?! de mil)", "20", "200"
    ),
    _build_kind(
        r"(?:tens of thousands|decenas de miles|zehntausende|dizaines de milliers|dezenas de"
        r" milhares|decine di migliaia)|数万",
        "15000",
        "300000",
    ),
    _build_kind(
        r"(?:hundreds of thousands|cientos de miles|hunderttausende|centaines de milliers"
        r"|centenas de milhares|centinaia di migliaia)|数十万",
        "150000",
        "3000000",
    ),
    _build_kind(
        r"hundreds(?! of (?:thou|mill))|cientos(?= de (?!mil))|centenares|hunderte|centaines"
        r"(?! de mil)|centenas(?! de mil)|centinaia(?! di mig)|数百",
        "150",
        "5000",
    ),
    _build_kind(
        r"(?<!hundreds of )(?<!tens of )thousands|(?<!cientos de )(?<!decenas de )miles(?= de )"
        r"|tausende|(?<!s de )milliers|(?<!s de )milhares|(?<!a di )migliaia|数千",
        "1500",
        "500000",
    ),
    _build_kind(
        r"(?<!\d )(?:millions of|tens of millions|hundreds of millions|(?:cientos|decenas) de"
        r" millones)",
        "1500000",
        "2000000000",
    ),
)


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount in words: its value, or what it may stand for if nobody counted it."""

    shown: str
    minimum: Decimal
    maximum: Decimal

    @property
    def is_ratio(self) -> bool:
        """Whether it tells how many times as much, or what share."""
        return self.minimum == self.maximum


def find_amounts(text: str) -> list[Amount]:
    """Return the multiples, the shares and the vague amounts in a text."""
    found = [
        Amount(hit[0], kind.minimum, kind.maximum)
        for kind in (*_RATIOS, *_VAGUE)
        for hit in kind.way.finditer(text)
    ]
    for hit in _FRACTION.finditer(text):
        value = _read_fraction(hit)
        found.append(Amount(hit[0], value, value))
    for hit in _FOLD.finditer(text):
        times = _read_multiple(hit["times"])
        if times and times > 3:
            found.append(Amount(hit[0], times, times))
    return found


def _read_fraction(hit: re.Match[str]) -> Decimal:
    if hit["japanese"]:
        over, under = (
            next(v for *_, v in numbers_in_words(f"{hit[n]}人")) for n in ("over", "under")
        )
        return over / under
    above, below = hit["above"].casefold(), hit["below"].casefold()
    return Decimal(_NUMERATORS[above]) / _DENOMINATORS[below]


def _read_multiple(word: str) -> Decimal | None:
    if word.isdecimal():
        return Decimal(word)
    return next((value for *_, value in numbers_in_words(word)), None)


@dataclass(frozen=True, slots=True)
class Quantities:
    """The superlatives, amounts and numbers of some texts."""

    superlatives: tuple[Superlative, ...]
    amounts: tuple[Amount, ...]
    sentences: tuple[tuple[Figure, ...], ...]
    text: str
    stems: frozenset[str]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Quantities":
        """Collect what texts hold."""
        together = "\n".join(texts)
        return cls(
            superlatives=tuple(
                superlative for text in texts for superlative in find_superlatives(text)
            ),
            amounts=tuple(amount for text in texts for amount in find_amounts(text)),
            sentences=tuple(
                tuple(find_figures(sentence))
                for text in texts
                for sentence in split_sentences(text)
            ),
            text=together,
            stems=frozenset(stem_words(together)),
        )

    def find_unsupported_superlatives(self, text: str) -> list[str]:
        """Return the superlatives of a text, and its "all", for which these texts hold none."""
        about_text = frozenset(stem_words(text))
        foreign = len(about_text & self.stems) < max(1, len(about_text) // 3)
        found = [
            superlative.shown
            for superlative in find_superlatives(text)
            if not self._is_superlative_supported(superlative, foreign)
        ]
        return list(dict.fromkeys((*found, *self._find_unsupported_universals(text))))

    def _is_superlative_supported(self, claimed: Superlative, foreign: bool) -> bool:
        also = ALSO_CONFIRMED_BY.get(claimed.name, frozenset())
        return any(
            (held.name == claimed.name or held.name in also)
            and (
                foreign
                or claimed.name == "world"
                or not claimed.about
                or claimed.about & held.about
            )
            for held in self.superlatives
        )

    def _find_unsupported_universals(self, text: str) -> Iterator[str]:
        """Yield each "all members" where a source speaks of one, some or a number of members."""
        for hit in _UNIVERSAL.finditer(text):
            if hit["japanese"]:
                if not any(universal["japanese"] for universal in _UNIVERSAL.finditer(self.text)):
                    yield hit[0]
                continue
            what = stem_words(hit["what"])
            if what and what[0] not in _OF_TIME and self._counts_some(what[0]):
                yield hit[0]

    def _counts_some(self, stem: str) -> bool:
        """Return whether these texts tell of some of a thing, and nowhere of all of them."""
        some = False
        for sentence in split_sentences(self.text):
            folded = " ".join(sentence.casefold().split())
            if stem not in stem_words(folded):
                continue
            if re.search(rf"\b(?:{_ALL}|whole|entire|unanimous\w*|unánime\w*)\b", folded):
                return False
            place = next(
                found.start()
                for found in re.finditer(r"\w+", folded)
                if stem in stem_words(found[0])
            )
            before = " ".join(folded[:place].split()[-3:])
            some = some or bool(_SOME.search(before) or find_figures(before))
        return some

    def derive(self, figure: Figure) -> bool:
        """Return whether a number is a share or a multiple, told in words, of one that is held."""
        values = {value for found in self.sentences for figure in found for value in figure.values}
        ratios = {amount.minimum for amount in self.amounts if amount.is_ratio}
        return any(value * ratio in figure.values for value in values for ratio in ratios)

    def find_unsupported_amounts(self, text: str) -> list[str]:
        """Return the multiples, shares and vague amounts of a text that these texts do not bear."""
        return [
            amount.shown for amount in find_amounts(text) if not self._is_amount_supported(amount)
        ]

    def _is_amount_supported(self, claimed: Amount) -> bool:
        if any(amount.minimum == claimed.minimum for amount in self.amounts):
            return True
        if claimed.is_ratio:
            pairs = zip(self.sentences, (*self.sentences[1:], ()), strict=True)
            return any(
                _make_ratio(claimed.minimum, (*sentence, *after)) for sentence, after in pairs
            )
        return any(
            claimed.minimum <= value <= claimed.maximum
            for found in self.sentences
            for figure in found
            if figure.unit not in {PERCENT, YEAR}
            for value in figure.values
        )


def _make_ratio(ratio: Decimal, held: Sequence[Figure]) -> bool:
    """Return whether the numbers of a sentence make a ratio: as a percentage, or two of them."""
    percentages = {ratio * 100} if ratio < 1 else {ratio * 100, (ratio - 1) * 100}
    for figure in held:
        if figure.unit == PERCENT and any(
            abs(value - percentage) <= _POINTS
            for value in figure.values
            for percentage in percentages
        ):
            return True
        if ratio in figure.values and set(figure.counted[:1]) & _TIMES:
            return True
    wanted = ratio if ratio > 1 else 1 / ratio
    return any(
        low > 0 and abs(high / low - wanted) <= _TOLERANCE * wanted
        for figure, other in combinations((figure for figure in held if figure.unit != YEAR), 2)
        if figure.unit == other.unit
        for low, high in (sorted((a, b)) for a in figure.values for b in other.values)
    )
