"""Words that claim an amount without a number: multiples, shares, dozens, all. Pure.

They are read in English and Spanish. A superlative needs one of its source about the same thing. A
multiple or a share may also be computed from two numbers of one sentence.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest

from engine.compose.figures import (
    PERCENT,
    YEAR,
    Figure,
    build_alternation,
    find_figures,
    spread_words,
    stem_words,
)
from engine.text.chunks import split_sentences

_WAYS: Mapping[str, str] = {
    "best": r"best|(?:el|la|los|las|lo) mejor(?:es)?",
    "worst": r"worst|(?:el|la|los|las|lo) peor(?:es)?",
    "largest": r"largest|biggest|greatest|(?:el|la|los|las|su) mayor(?:es)?|más grandes?"
    r"|maximum|máxim[oa]s?|massivest|hugest",
    "smallest": r"smallest|least|fewest|tiniest|(?:el|la|los|las|su) menor(?:es)?|más pequeñ[oa]s?"
    r"|minimum|mínim[oa]s?",
    "highest": r"highest|all[- ]time high|peak|más alt[oa]s?|máxim[oa]s? históric[oa]s?|tallest",
    "lowest": r"lowest|all[- ]time low|más baj[oa]s?|mínim[oa]s? históric[oa]s?",
    "record": r"record(?:[- ](?:high|low|breaking|setting|year|profits?|losses|number|level|sales))"
    r"|(?:a|new|all[- ]time|set (?:a )?) ?records?|r[eé]cord|históric[oa]s?",
    "first": r"first[- ]ever|first (?:[\w'’-]+ ){1,6}?ever|(?:for )?the first time"
    r"|(?:the|its|his|her|their) first \w+"
    r"|por primera vez|(?:el|la|los|las|su|sus) primer[oa]?s? \w+|primera vez",
    "last": r"last[- ]ever|the last time|por última vez",
    "only": r"the only|(?:el|la|los|las) únic[oa]s?|unique|únic[oa]s? en",
    "most": r"(?:the|its|his|her|their|world's|ever's) most"
    r"|(?:el|la|los|las|lo)(?: [\wáéíóúñ]+)?(?: que)? más",
    "fastest": r"fastest|quickest|más rápid[oa]s?",
    "oldest": r"oldest|earliest|más antigu[oa]s?|más viej[oa]s?",
    "youngest": r"youngest|newest|más joven(?:es)?|más nuev[oa]s?",
    "strongest": r"strongest|más fuertes?|más potentes?",
    "cheapest": r"cheapest|más barat[oa]s?",
    "richest": r"richest|wealthiest|más ric[oa]s?",
    "deadliest": r"deadliest|más mortífer[oa]s?|más letal(?:es)?",
    "unprecedented": r"unprecedented|sin precedentes?|inédit[oa]s?|never before|nunca antes"
    r"|unmatched|unrivall?ed|unparallell?ed",
    "world": r"in the world|world's|of all time|in history|del mundo|de la historia|de todos los"
    r" tiempos|de siempre",
}
# Any other word in -est with an article: "the calmest". Nouns and verbs in -est stay out of it.
_OTHER = re.compile(
    r"\bthe (?!(?:west|rest|test|guest|forest|interest|request|protest|harvest|arrest|quest|nest"
    r"|chest|contest|conquest|invest|latest|first|priest|tempest|digest|manifest|midwest"
    r"|northwest|southwest|unrest|vest|zest|crest|pest)\b)(?P<word>[a-z]{2,12}est)\b",
    re.IGNORECASE,
)
_ABOUT = 4  # words before and after a superlative that it may be about
_AROUND = 300  # characters that these are looked for in
# What another superlative of a source confirms as well.
ALSO_CONFIRMED_BY: Mapping[str, frozenset[str]] = {
    "largest": frozenset({"highest", "record", "most"}),
    "highest": frozenset({"largest", "record", "most"}),
    "lowest": frozenset({"smallest", "record"}),
    "smallest": frozenset({"lowest"}),
    "record": frozenset({"highest", "lowest", "largest", "unprecedented"}),
    "unprecedented": frozenset({"first", "record"}),
    "first": frozenset({"unprecedented", "oldest"}),
    "most": frozenset(_WAYS) - {"world", "only", "first", "last"},
}

_PATTERNS = {name: re.compile(rf"\b(?:{way})\b", re.IGNORECASE) for name, way in _WAYS.items()}


@dataclass(frozen=True, slots=True)
class Superlative:
    """A superlative as written, what it claims, and the stems of the words around it."""

    name: str
    shown: str
    about: frozenset[str]


def find_superlatives(text: str) -> list[Superlative]:
    """Return the superlatives in a text."""
    superlatives = []
    for sentence in split_sentences(text):
        hits = [(name, hit) for name, way in _PATTERNS.items() for hit in way.finditer(sentence)]
        phrase = " ".join(hit[0].casefold() for _, hit in hits)
        hits += [
            (other["word"].casefold(), other)
            for other in _OTHER.finditer(sentence)
            if other["word"].casefold() not in phrase
        ]
        superlatives += [
            Superlative(name, hit[0], _stems_around(sentence, hit)) for name, hit in hits
        ]
    return superlatives


def _stems_around(sentence: str, hit: re.Match[str]) -> frozenset[str]:
    before = stem_words(sentence[max(0, hit.start() - _AROUND) : hit.start()])
    after = stem_words(sentence[hit.end() : hit.end() + _AROUND])
    # "the first bridge" matches with what it is about
    return frozenset((*before[-_ABOUT:], *stem_words(hit[0])[1:], *after[:_ABOUT]))


_FOLD = re.compile(r"\b(?P<times>\d{1,9}|[a-z]{3,9}?)-?fold\b", re.IGNORECASE)
_TIMES = frozenset({"times", "veces"})
_TOLERANCE = Decimal("0.04")  # of a ratio that two numbers make
_MAX_PLACES = 100  # of one superlative that are looked at
_BEFORE = 60  # characters before a word, in which something may tell how many of it
_POINTS = Decimal("1.5")  # of a percentage that stands for a share
_ALL = (
    r"(?<!at )(?<!after )(?<!above )(?<!of )all(?!-| (?:time|over|but|day|year|along))|every|each"
    r"|todos|todas|cada"
)
_UNIVERSAL = re.compile(
    rf"\b(?:{_ALL})\s(?:of\s)?(?:the|los|las|its|his|her|their|our|sus)?\s?(?P<what>[^\W\d_]{{3,}})",
    re.IGNORECASE,
)
_EVERY = re.compile(rf"\b(?:{_ALL}|whole|entire|unanimous\w*|unánime\w*)\b")
_SOME = re.compile(
    r"\b(?:one|single|some|several|many|most|few|half|part|certain|un|una|uno|algun[oa]s|varios"
    r"|varias|much[oa]s|mayoría|poc[oa]s|parte|\d+)\b"
)
_OF_TIME = frozenset(stem_words("day days week year years month time times año años día días mes"))
_DENOMINATORS = spread_words(
    {
        3: "third thirds tercio tercios tercera terceras",
        4: "quarter quarters cuarto cuartos cuarta cuartas",
        5: "fifth fifths quinto quintos quinta quintas",
        6: "sixth sixths sexto sexta",
        8: "eighth eighths octavo octava",
        10: "tenth tenths décimo décima décimos décimas",
    }
)
_NUMERATORS = spread_words({1: "a one un una", 2: "two dos", 3: "three tres", 4: "four cuatro"})
_FRACTION = re.compile(
    rf"\b(?P<above>{build_alternation(_NUMERATORS)})"
    rf"[\s-](?P<below>{build_alternation(_DENOMINATORS)})"
    r"(?=[\s-](?:of|de|del|partes?|más|more|less|menos|as)\b|\W{0,9}$|[,.;])",
    re.IGNORECASE,
)


# Multiples and shares by their value, and amounts that nobody counted by what they may stand for.
_AMOUNTS = tuple(
    (re.compile(rf"\b(?:{way})\b", re.IGNORECASE), Decimal(minimum), Decimal(maximum))
    for minimum, maximum, way in (
        (
            *(2, 2),
            r"doubl(?:e|ed|es|ing)|twice(?= (?:as|the|its|his|her|their|what|more))|two-?fold"
            r"|duplic(?:ó|a|an|ar|aron|aba|ado|ada|arse)|(?:el|al|del) doble",
        ),
        (3, 3, r"tripl\w+|three-?fold|trebl\w+"),
        (4, 4, r"quadrupl\w+|four-?fold|cuadruplic\w+|cuádruple"),
        (
            *("0.5", "0.5"),
            r"halv(?:e|ed|es|ing)|(?<!first )(?<!second )(?<!and a )(?<!other )half(?!-time| a m"
            r"| a b)|(?<!primera )(?<!segunda )(?<!otra )mitad",
        ),
        (20, 200, r"dozens|docenas|decenas(?! de mil)"),
        (15_000, 300_000, r"tens of thousands|decenas de miles"),
        (150_000, 3_000_000, r"hundreds of thousands|cientos de miles"),
        (150, 5_000, r"hundreds(?! of (?:thou|mill))|cientos(?= de (?!mil))|centenares"),
        (
            *(1_500, 500_000),
            r"(?<!hundreds of )(?<!tens of )thousands"
            r"|(?<!cientos de )(?<!decenas de )miles(?= de )",
        ),
        (
            *(1_500_000, 2_000_000_000),
            r"(?<!\d )(?:millions of|tens of millions|hundreds of millions"
            r"|(?:cientos|decenas) de millones)",
        ),
    )
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
    amounts = [
        Amount(hit[0], minimum, maximum)
        for way, minimum, maximum in _AMOUNTS
        for hit in way.finditer(text)
    ]
    for hit in _FRACTION.finditer(text):
        above, below = hit["above"].casefold(), hit["below"].casefold()
        value = Decimal(_NUMERATORS[above]) / _DENOMINATORS[below]
        amounts.append(Amount(hit[0], value, value))
    for hit in _FOLD.finditer(text):
        times = next((min(figure.values) for figure in find_figures(hit["times"])), Decimal(0))
        if times > 3:
            amounts.append(Amount(hit[0], times, times))
    return amounts


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a source: its numbers, and its words as written and as stems."""

    text: str
    figures: tuple[Figure, ...]
    stems: frozenset[str]


@dataclass(frozen=True, slots=True)
class Quantities:
    """The superlatives, amounts and numbers of some texts; superlatives by their names."""

    superlatives: Mapping[str, Sequence[frozenset[str]]]
    amounts: frozenset[Decimal]  # the least that each stands for
    ratios: frozenset[Decimal]
    values: frozenset[Decimal]
    sentences: tuple[_Sentence, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Quantities":
        """Collect what texts hold."""
        superlatives: dict[str, list[frozenset[str]]] = defaultdict(list)
        for superlative in (each for text in texts for each in find_superlatives(text)):
            if len(superlatives[superlative.name]) < _MAX_PLACES:
                superlatives[superlative.name].append(superlative.about)
        sentences = tuple(
            _Sentence(sentence, tuple(find_figures(sentence)), frozenset(stem_words(sentence)))
            for text in texts
            for sentence in split_sentences(text)
        )
        figures = [figure for sentence in sentences for figure in sentence.figures]
        amounts = [amount for text in texts for amount in find_amounts(text)]
        return cls(
            superlatives=dict(superlatives),
            amounts=frozenset(amount.minimum for amount in amounts),
            ratios=frozenset(amount.minimum for amount in amounts if amount.is_ratio),
            values=frozenset(value for figure in figures for value in figure.values),
            sentences=sentences,
        )

    def find_unsupported_superlatives(self, text: str, *, foreign: bool = False) -> list[str]:
        """Return the superlatives of a text, and its "all", for which these texts hold none.

        `foreign` tells that these are in another language, where words in common settle nothing.
        """
        about_text = frozenset(stem_words(text))
        common = about_text & frozenset().union(*(sentence.stems for sentence in self.sentences))
        foreign = foreign or len(common) < max(1, len(about_text) // 3)
        unsupported: dict[str, None] = {}
        for claimed in find_superlatives(text):
            names = {claimed.name, *ALSO_CONFIRMED_BY.get(claimed.name, ())}
            held = [about for name in names for about in self.superlatives.get(name, ())]
            alike = foreign or claimed.name == "world" or not claimed.about
            if not (held if alike else any(claimed.about & about for about in held)):
                unsupported[claimed.shown] = None
        for hit in _UNIVERSAL.finditer(text):
            what = stem_words(hit["what"])
            if what and what[0] not in _OF_TIME and self._counts_some(what[0]):
                unsupported[hit[0]] = None
        return list(unsupported)

    def _counts_some(self, stem: str) -> bool:
        """Return whether these texts tell of some of a thing, and nowhere of all of them."""
        some = False
        for sentence in self.sentences:
            if stem not in sentence.stems:
                continue
            folded = " ".join(sentence.text.casefold().split())
            if _EVERY.search(folded):
                return False
            words = re.finditer(r"\w+", folded)
            place = next((word.start() for word in words if stem in stem_words(word[0])), 0)
            before = " ".join(folded[max(0, place - _BEFORE) : place].split()[-3:])
            some = some or bool(_SOME.search(before) or find_figures(before))
        return some

    def derive(self, figure: Figure) -> bool:
        """Return whether a number is a share or a multiple, told in words, of one that is held."""
        return any(value / ratio in self.values for value in figure.values for ratio in self.ratios)

    def find_unsupported_amounts(self, text: str) -> list[str]:
        """Return the multiples, shares and vague amounts of a text that these texts do not bear."""
        return [
            amount.shown for amount in find_amounts(text) if not self._is_amount_supported(amount)
        ]

    def _is_amount_supported(self, claimed: Amount) -> bool:
        if claimed.minimum in self.amounts:
            return True
        if claimed.is_ratio:
            pairs = zip_longest(self.sentences, self.sentences[1:])
            return any(
                _make_ratio(claimed.minimum, (*first.figures, *(after.figures if after else ())))
                for first, after in pairs
            )
        return any(
            claimed.minimum <= value <= claimed.maximum
            for sentence in self.sentences
            for figure in sentence.figures
            if figure.unit not in {PERCENT, YEAR}
            for value in figure.values
        )


def _make_ratio(ratio: Decimal, held: Sequence[Figure]) -> bool:
    """Return whether the numbers of a sentence make a ratio: as a percentage, or two of them."""
    percentages = {ratio * 100} if ratio < 1 else {ratio * 100, (ratio - 1) * 100}
    values: dict[str, set[Decimal]] = defaultdict(set)
    for figure in held:
        if figure.unit == PERCENT and any(
            abs(value - percentage) <= _POINTS
            for value in figure.values
            for percentage in percentages
        ):
            return True
        if ratio in figure.values and set(figure.counted[:1]) & _TIMES:
            return True
        if figure.unit != YEAR:
            values[figure.unit] |= figure.values
    times = max(ratio, 1 / ratio)
    return any(_hold_pair(times, sorted(of_unit)) for of_unit in values.values())


def _hold_pair(times: Decimal, values: Sequence[Decimal]) -> bool:
    """Return whether one of these values is about so many times another of them."""
    for low in values:
        at = bisect_left(values, low * times * (1 - _TOLERANCE)) if low > 0 else len(values)
        if at < len(values) and values[at] <= low * times * (1 + _TOLERANCE):
            return True
    return False
