"""The numbers of a text, and what each of them counts. Pure.

"3,2 millones", "3.2M", "3,200,000" and "three million two hundred thousand" are one number. What
it counts is its unit: per cent, a currency, a measure, a year, a place in an order, a label such
as "page 12", or else the words that follow it. Words are read in English and Spanish.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeVar

from engine.text.language import is_function_word
from engine.text.terms import folded_words

T = TypeVar("T")


def spread_words(listed: Mapping[T, str]) -> dict[str, T]:
    """Return what each word stands for; `listed` are the words by what they stand for."""
    return {word: meaning for meaning, words in listed.items() for word in words.split()}


def build_alternation(words: Iterable[str]) -> str:
    """Return a pattern for any of some words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


PERCENT, YEAR, PLACE, LABEL = "%", "year", "place", "label"
_CURRENCIES = spread_words(
    {
        "$": "$ us$ usd dollar dollars dólar dólares dolar dolares peso pesos",
        "€": "€ eur euro euros",
        "£": "£ gbp pound pounds libra libras",
        "¥": "¥ yen yuan",
    }
)
_SCALES_IN_WORDS = spread_words(
    {
        100: "hundred",
        10**3: "thousand mil",
        10**6: "million millón millon millones",
        10**9: "billion",
        10**12: "trillion billón billon billones",
    }
)
_SCALES = _SCALES_IN_WORDS | spread_words(
    {
        10**3: "k thousands",
        10**6: "m mn mm millions",
        10**9: "b bn billions",
        10**12: "t tn trillions",
    }
)
_VALUES = {
    word: number
    for numbers, listed in (
        (
            range(1, 31),
            "one/un/una/uno two/dos three/tres four/cuatro five/cinco six/seis seven/siete "
            "eight/ocho nine/nueve ten/diez eleven/once twelve/doce thirteen/trece "
            "fourteen/catorce fifteen/quince sixteen/dieciséis/dieciseis seventeen/diecisiete "
            "eighteen/dieciocho nineteen/diecinueve twenty/veinte "
            "veintiuno/veintiún/veintiuna/veintiun veintidós/veintidos veintitrés/veintitres "
            "veinticuatro veinticinco veintiséis/veintiseis veintisiete veintiocho veintinueve "
            "thirty/treinta",
        ),
        (
            range(40, 100, 10),
            "forty/cuarenta fifty/cincuenta sixty/sesenta seventy/setenta eighty/ochenta "
            "ninety/noventa",
        ),
        (
            range(100, 1000, 100),
            "cien/ciento doscientos/doscientas trescientos/trescientas cuatrocientos/cuatrocientas "
            "quinientos/quinientas seiscientos/seiscientas setecientos/setecientas "
            "ochocientos/ochocientas novecientos/novecientas",
        ),
    )
    for number, words in zip(numbers, listed.split(), strict=True)
    for word in words.split("/")
}
# Alone these are articles, pronouns and conjunctions rather than numbers: "one of them", "once".
_NO_NUMBERS = frozenset({"one", "un", "una", "uno", "once", "mil"})
# Each measure with the words for it, and how many of its first one they are.
MEASURES: Mapping[str, Mapping[str, str]] = {
    "metre": {
        "1": "metre metres meter meters metro metros",
        "1000": "km kms kilometre kilometres kilometer kilometers kilómetro kilómetros",
        "0.01": "cm centimetre centimetres centimeter centimeters centímetro centímetros",
        "0.001": "mm millimetre millimetres millimeter millimeters milímetro milímetros",
    },
    "mile": {"1": "mile miles milla millas"},
    "foot": {"1": "foot feet ft"},
    "kilogram": {
        "1": "kg kilo kilos kilogram kilograms kilogramo kilogramos",
        "1000": "tonne tonnes ton tons tonelada toneladas",
        "0.001": "gram grams gramo gramos",
    },
    "litre": {"1": "litre litres liter liters litro litros"},
    "gallon": {"1": "gallon gallons"},
    "barrel": {"1": "barrel barrels barril barriles"},
    "hectare": {"1": "ha hectare hectares hectárea hectáreas"},
    "acre": {"1": "acre acres"},
    "km/h": {"1": "km/h kmh kph"},
    "mph": {"1": "mph"},
    "degree": {"1": "degree degrees grado grados °c °f °"},
    "second": {"1": "second seconds segundo segundos"},
    "hour": {"60": "hour hours hora horas", "1": "minute minutes minuto minutos"},
    "day": {"1": "day days día días dia dias", "7": "week weeks semana semanas"},
    "month": {
        "1": "month months mes meses",
        "12": "year years año años",
        "120": "decade decades década décadas",
        "1200": "century centuries siglo siglos",
    },
}
_UNITS: Mapping[str, tuple[str, Decimal]] = {
    word: (name, Decimal(factor))
    for name, factors in MEASURES.items()
    for factor, words in factors.items()
    for word in words.split()
}
_AMBIGUOUS = frozenset({"m", "b", "t"})  # also metres, bytes and tonnes
_SPACES = "\u00a0\u2009\u202f"
_UNSPACED = "\u3041-\u30ff\u4e00-\u9fff"  # letters that stand beside digits without a space
_NUMBER = re.compile(
    rf"(?:(?<!\w)|(?<=[{_UNSPACED}]))(?<![^\W\d_]-)(?<!\d[.,])(?P<before>US\$|[$€£¥])?[ {_SPACES}]?"
    rf"(?P<digits>\d{{1,3}}(?:(?P<group>[ .,’'{_SPACES}])\d{{3}}(?!\d))"
    rf"(?:(?P=group)\d{{3}}(?!\d))*(?:[.,]\d+)?|\d+(?:[.,]\d+)?)(?!\d)"
    r"(?P<suffix>(?:st|nd|rd|th|s|º|ª|er)\b)?",
    re.IGNORECASE,
)
_PERCENT = re.compile(
    r"\s?[%％]|[\s-]?(?:per\s?cent|percent|pct|percentage[\s-]points?|por\s?cien(?:to)?"
    r"|puntos porcentuales|punto porcentual|pp)\b",
    re.IGNORECASE,
)
_YEAR_DIGITS = re.compile(r"(?:1\d|20|21)\d\d")
_BEFORE_YEAR = re.compile(
    r"\b(?:in|since|from|until|till|by|of|during|after|before|between|circa|around|early|late|mid"
    r"|year|years|spring|summer|autumn|fall|winter|en|desde|hasta|de|del|durante|entre|año)\s\Z",
    re.IGNORECASE,
)
_NOT_BEFORE_YEAR = re.compile(r"(?<![^\W\d_])(?P<word>[^\W\d_]++)\s\Z")
_YEARS = re.compile(
    r"(?<![\d.,])(?P<first>(?:1\d|20|21)\d\d)\s?[-–/]\s?(?P<last>(?:1\d|20|21)\d\d|\d\d)(?![\d.,]\d|\d)"
)
_CLAUSE = re.compile(r"[.;:!?()\[\]“”«»\"—]|,\s")
_MAX_COUNTED = 3  # words after a number that may say what it counts
# Words between a number and what it counts: "45 of the drivers", "30 more boats".
_WITHIN = frozenset(
    {"of", "the", "its", "their", "de", "del", "los", "las", "sus", "more", "other"}
)
_BETWEEN = re.compile(r"\s?(?:[-–—]|to|and|or|a|y|o)\s?", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?:\b(?:pages?|pp?\.|sections?|chapters?|articles?|artículos?|art\.|releases?|versions?"
    r"|versión|no\.|nº|n°|number|número|fig(?:ure|\.)|tables?|tabla|vol(?:ume|\.)|route|ruta|room"
    r"|phase|fase|line|línea|flight|vuelo|paragraph|item|part|parte|act|ley|law|decree|decreto"
    r"|capítulo|páginas?|type|tipo|model|modelo|step|level|nivel|channel|canal)"
    r"|§|#)\s?\Z",
    re.IGNORECASE,
)


_NUMBER_WORD = build_alternation((*_VALUES, *_SCALES_IN_WORDS))
_IN_WORDS = re.compile(
    rf"(?<![\w-])(?:{_NUMBER_WORD})(?:(?:[\s-]|\s(?:and|y)\s|-(?:and|y)-)(?:{_NUMBER_WORD}))*(?!\w)",
    re.IGNORECASE,
)
_TOKEN = re.compile(_NUMBER_WORD, re.IGNORECASE)
_READ_BY_DIGITS = re.compile(r"(?:\d[\s-]?|\b(?:por|per)\s)\Z", re.IGNORECASE)
_ARTICLE = re.compile(r"\ba\s\Z", re.IGNORECASE)
_LOOK_BACK = 5  # characters, which these two see
_SCALE = re.compile(
    rf"[\s-]?(?:(?P<thousands>mil)\s(?=millones\b))?(?P<scale>{build_alternation(_SCALES)})\b",
    re.IGNORECASE,
)
_CURRENCY = re.compile(
    rf"[\s-]?(?:(?:de|US|of)\s?)?(?P<currency>[€$£¥]|(?:{build_alternation(_CURRENCIES)})\b)",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    rf"[\s-]?(?:(?:de|of)\s)?(?P<measure>{build_alternation(_UNITS)})(?![^\W\d_])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as written, the values that it may have, its unit, and its place in the text.

    `counted` are the first words of what follows, by their stems.
    """

    shown: str
    values: frozenset[Decimal]
    unit: str = ""
    start: int = 0
    end: int = 0
    counted: tuple[str, ...] = ()
    may_be_year: bool = False
    factor: Decimal = Decimal(1)  # of the measure as written: 1000 for km
    scale: Decimal = Decimal(1)  # of a word after the digits: 1000000 for "5 million"

    @property
    def written(self) -> frozenset[Decimal]:
        """The values without the factor of the measure: 5 for "5 km"."""
        return frozenset(value / self.factor for value in self.values)

    @property
    def digits(self) -> frozenset[Decimal]:
        """What the digits alone say: 5 for "5 million km"."""
        return frozenset(value / self.scale for value in self.written)

    @property
    def may_be_any_unit(self) -> bool:
        """Whether the number stands alone, so that its unit may stand elsewhere."""
        return not self.unit and not self.counted


def find_figures(text: str, *, in_words: bool = True) -> list[Figure]:
    """Return the numbers in a text, in order; without `in_words` only those in digits."""
    figures = list(_in_digits(text))
    if in_words:
        figures += [
            _with_unit(text, start, end, {value}) for start, end, value in numbers_in_words(text)
        ]
    ordered = _share_units(text, sorted(figures, key=lambda figure: figure.start))
    return [
        _tell_year(text, replace(figure, counted=_read_counted_words(text, figure)))
        for figure in ordered
    ]


def stem_words(text: str) -> tuple[str, ...]:
    """Return the beginnings of the words of a text that say what it is about, in order."""
    return tuple(
        word[:5]
        for word in folded_words(text)
        if len(word) > 2 and not word[0].isdigit() and not is_function_word(word)
    )


def _share_units(text: str, figures: list[Figure]) -> list[Figure]:
    """Return the figures; in "10-12 %" both are percentages."""
    for at in range(len(figures) - 2, -1, -1):
        figure, after = figures[at], figures[at + 1]
        between = text[figure.end : after.start]
        if after.unit and not figure.unit and _BETWEEN.fullmatch(between):
            values = frozenset(value * after.factor for value in figure.values)
            figures[at] = replace(figure, unit=after.unit, values=values, factor=after.factor)
    return figures


def _in_digits(text: str) -> Iterator[Figure]:
    years = [(span.start("last"), span) for span in _YEARS.finditer(text)]
    lasts = {
        start: int(span["first"][: 4 - len(span["last"])] + span["last"]) for start, span in years
    }
    for match in _NUMBER.finditer(text):
        start = match.start("digits")
        if start in lasts:  # "2019-20" ends in 2020
            last = frozenset({Decimal(lasts[start])})
            yield Figure(match["digits"], last, YEAR, start, match.end("digits"))
            continue
        values, scale = _read_digits(match["digits"]), 1
        end = match.end()
        if word := _SCALE.match(text, end):
            scale = _SCALES[word["scale"].casefold()] * (1000 if word["thousands"] else 1)
            end = word.end()
            scaled = {value * scale for value in values}
            if word["scale"].casefold() in _AMBIGUOUS:
                values, scale = values | scaled, 1
            else:
                values = scaled
        figure = _with_unit(
            text, match.start(), end, values, before=match["before"], suffix=match["suffix"]
        )
        yield replace(figure, scale=Decimal(scale)) if scale > 1 else figure


def _with_unit(
    text: str,
    start: int,
    end: int,
    values: set[Decimal],
    *,
    before: str | None = None,
    suffix: str | None = None,
) -> Figure:
    """Return a number with the unit that stands before or after it."""
    unit, factor = "", Decimal(1)
    if percent := _PERCENT.match(text, end):
        unit, end = PERCENT, percent.end()
    elif before:
        unit = _CURRENCIES[before.casefold()]
    elif currency := _CURRENCY.match(text, end):
        unit, end = _CURRENCIES[currency["currency"].casefold()], currency.end()
    elif suffix and suffix.casefold() != "s":
        unit = PLACE
    elif suffix:
        unit = YEAR if _YEAR_DIGITS.fullmatch(text[start : end - 1].strip()) else ""
    elif _LABELLED.search(text, max(0, start - 20), start):
        unit = LABEL
    elif measure := _MEASURE.match(text, end):
        unit, factor = _UNITS[measure["measure"].casefold()]
        values, end = {value * factor for value in values}, measure.end()
    written = text[start:end]
    start += len(written) - len(written.lstrip())
    return Figure(written.strip(), frozenset(values), unit, start, end, factor=factor)


def _read_digits(digits: str) -> set[Decimal]:
    """Return what digits may mean: "1.500" is 1500 in Spanish and 1.5 in English."""
    plain = re.sub(f"[ ’'{_SPACES}]", "", digits)
    marks = [character for character in plain if character in ".,"]
    if not marks:
        return {Decimal(plain)}
    if len(set(marks)) == 2 or len(marks) == 1:
        whole, _, rest = plain.rpartition(marks[-1])
        decimal = Decimal(f"{re.sub('[.,]', '', whole)}.{rest}")
        grouped = len(marks) == 1 and len(rest) == 3 and len(whole) <= 3 and whole[0] != "0"
        if not grouped:
            return {decimal}
        return {Decimal(whole + rest)} if rest == "000" else {decimal, Decimal(whole + rest)}
    return {Decimal(re.sub("[.,]", "", plain))}


def numbers_in_words(text: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yield (start, end, value) of the numbers in words, but not of "million" after digits."""
    for number in _IN_WORDS.finditer(text):
        if _READ_BY_DIGITS.search(text, max(0, number.start() - _LOOK_BACK), number.start()):
            continue
        for part in _sum_words(_TOKEN.finditer(text, *number.span())):
            word = part.words[0] if len(part.words) == 1 else ""
            value = Decimal(part.total + part.current)
            if word in _NO_NUMBERS:
                continue
            if word not in _SCALES_IN_WORDS:
                yield part.start, part.end, value
            elif article := _ARTICLE.search(text, max(0, part.start - _LOOK_BACK), part.start):
                yield article.start(), part.end, value  # "a hundred", but not "hundred"


@dataclass(slots=True)
class _Sum:
    """A number of which some words have been read."""

    start: int
    end: int = 0
    words: list[str] = field(default_factory=list)
    total: int = 0
    current: int = 0

    def add(self, token: re.Match[str]) -> bool:
        """Add a word if it belongs to the number: "twenty one", not "two three"."""
        word = token[0].casefold()
        value, rest = _VALUES.get(word, 0), self.current % 100
        if scale := _SCALES_IN_WORDS.get(word):
            self._multiply(scale)
        elif self.current == 0 or (
            value < 100 and (rest == 0 or (rest in range(20, 91, 10) and value < 10))
        ):
            self.current += value
        else:
            return False
        self.words.append(word)
        self.end = token.end()
        return True

    def _multiply(self, by: int) -> None:
        if by == 100:
            self.current = max(1, self.current) * 100
        elif by == 1000 or self.total < 1000 or self.total >= 10**6:
            self.total += max(1, self.current) * by
            self.current = 0
        else:  # "dos mil millones"
            self.total, self.current = (self.total + self.current) * by, 0


def _sum_words(tokens: Iterator[re.Match[str]]) -> Iterator[_Sum]:
    """Yield the numbers that words make, one after the other: "two three" are two."""
    number: _Sum | None = None
    for token in tokens:
        if number and number.add(token):
            continue
        if number:
            yield number
        number = _Sum(token.start())
        number.add(token)
    if number:
        yield number


def _read_counted_words(text: str, figure: Figure) -> tuple[str, ...]:
    """Return the stems of the words after a number, up to the end of its clause."""
    rest = text[figure.end : figure.end + 80]
    if clause := _CLAUSE.search(rest):
        rest = rest[: clause.start()]
    counted: list[str] = []
    for word in folded_words(rest):
        if word[0].isdigit() or (is_function_word(word) and word not in _WITHIN):
            break
        counted += stem_words(word)
    return tuple(counted[:_MAX_COUNTED])


def _tell_year(text: str, figure: Figure) -> Figure:
    if figure.unit or not _YEAR_DIGITS.fullmatch(figure.shown):
        return figure
    if _BEFORE_YEAR.search(text, max(0, figure.start - 20), figure.start):
        return replace(figure, unit=YEAR)
    before = _NOT_BEFORE_YEAR.search(text, max(0, figure.start - 30), figure.start)
    # "fined 2021 captains" counts; "the 2021 season" and "2021 ended" do not.
    counts = bool(
        before
        and before["word"].islower()
        and not is_function_word(before["word"])
        and figure.counted
    )
    return replace(figure, may_be_year=not counts)
