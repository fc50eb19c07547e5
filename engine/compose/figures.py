"""Numbers in English and Spanish text: digits with either separator, scales, per cent, words. Pure.

"3,2 millones", "3.2M", "3,200,000" and "three million two hundred thousand" are one number.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

_ONES: Mapping[str, int] = {
    word: number
    for number, words in {
        1: "one un una uno",
        2: "two dos",
        3: "three tres",
        4: "four cuatro",
        5: "five cinco",
        6: "six seis",
        7: "seven siete",
        8: "eight ocho",
        9: "nine nueve",
        10: "ten diez",
        11: "eleven once",
        12: "twelve doce",
        13: "thirteen trece",
        14: "fourteen catorce",
        15: "fifteen quince",
        16: "sixteen dieciséis",
        17: "seventeen diecisiete",
        18: "eighteen dieciocho",
        19: "nineteen diecinueve",
        20: "twenty veinte",
        21: "veintiuno veintiún veintiuna",
        22: "veintidós",
        23: "veintitrés",
        24: "veinticuatro",
        25: "veinticinco",
        26: "veintiséis",
        27: "veintisiete",
        28: "veintiocho",
        29: "veintinueve",
        30: "thirty treinta",
        40: "forty cuarenta",
        50: "fifty cincuenta",
        60: "sixty sesenta",
        70: "seventy setenta",
        80: "eighty ochenta",
        90: "ninety noventa",
        100: "cien ciento",
        200: "doscientos doscientas",
        300: "trescientos trescientas",
        400: "cuatrocientos cuatrocientas",
        500: "quinientos quinientas",
        600: "seiscientos seiscientas",
        700: "setecientos setecientas",
        800: "ochocientos ochocientas",
        900: "novecientos novecientas",
    }.items()
    for word in words.split()
}
_MANY: Mapping[str, int] = {
    "hundred": 100,
    "thousand": 1000,
    "mil": 1000,
    "million": 10**6,
    "millón": 10**6,
    "millones": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "billón": 10**12,
    "billones": 10**12,
}
_WORDS = "|".join(sorted({*_ONES, *_MANY}, key=len, reverse=True))
_IN_WORDS = re.compile(rf"(?<![\w-])(?:{_WORDS})(?:(?:[\s-]|\s(?:and|y)\s)(?:{_WORDS}))*\b", re.I)
_READ_BY_DIGITS = re.compile(r"(?:\d[\s-]?|\bpor\s)\Z", re.IGNORECASE)
# Alone these are articles, pronouns and conjunctions rather than numbers: "one of them", "once".
_NO_NUMBERS = frozenset({"one", "un", "una", "uno", "once", "mil"})


def numbers_in_words(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, value) of the numbers in words, but not of "million" after digits."""
    for found in _IN_WORDS.finditer(text):
        words = re.split(r"[\s-]+", found[0].casefold())
        words = [word for word in words if word not in {"and", "y"}]
        alone = len(words) == 1 and words[0] in _NO_NUMBERS
        if alone or (words[0] in _MANY and words[0] != "mil"):
            continue
        if not _READ_BY_DIGITS.search(text, 0, found.start()):
            yield found.start(), found.end(), _spelt(words)


def _spelt(words: Iterable[str]) -> int:
    total = current = 0
    for word in words:
        if word in _ONES:
            current += _ONES[word]
        elif _MANY[word] == 100:
            current = max(1, current) * 100
        elif _MANY[word] == 1000:
            current = max(1, current) * 1000
        else:
            total += max(1, current) * _MANY[word]
            current = 0
    return total + current


PERCENT = "%"
MONEY = {
    "$": "$ us$ usd dollar dollars dólar dólares dolar dolares peso pesos",
    "€": "€ eur euro euros",
    "£": "£ gbp pound pounds libra libras",
    "¥": "¥ yen yuan",
}
_CURRENCIES: Mapping[str, str] = {
    word: sign for sign, words in MONEY.items() for word in words.split()
}
_SCALES: Mapping[str, int] = {
    word: 10**power
    for power, words in {
        3: "k thousand thousands mil",
        6: "m mn mm million millions millón millon millones",
        9: "b bn billion billions",
        12: "t tn trillion trillions billón billon billones",
    }.items()
    for word in words.split()
}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_AMBIGUOUS = frozenset({"m", "b", "t"})  # also metres, bytes and tonnes

_SPACES = "\u00a0\u2009\u202f"
_NUMBER = re.compile(
    rf"(?<!\w)(?<![^\W\d_]-)(?<!\d[.,])(?P<before>US\$|[$€£¥])?[ {_SPACES}]?"
    rf"(?P<digits>\d{{1,3}}(?:(?P<group>[ .,’'{_SPACES}])\d{{3}}(?!\d))"
    rf"(?:(?P=group)\d{{3}}(?!\d))*(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"(?:(?:st|nd|rd|th|s|º|ª)\b)?",
    re.IGNORECASE,
)
_PERCENT = re.compile(
    r"\s?%|[\s-]?(?:per\s?cent|percent|pct|percentage[\s-]points?|por\s?cien(?:to)?|"
    r"puntos porcentuales|punto porcentual|pp)\b",
    re.IGNORECASE,
)
_SCALE = re.compile(
    rf"[\s-]?(?:(?P<thousands>mil)\s(?=millones\b))?(?P<scale>{_any(_SCALES)})\b",
    re.IGNORECASE,
)
_CURRENCY = re.compile(
    rf"[\s-]?(?:(?:de|US|of)\s)?"
    rf"(?P<currency>[€$£¥]|(?:{_any(word for word in _CURRENCIES if word.isalpha())})\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as written, the values that it may have, and its unit: "", "%" or a currency."""

    shown: str
    values: frozenset[Decimal]
    unit: str = ""
    start: int = 0


def figures(text: str) -> list[Figure]:
    """Return the numbers in a text, in order."""
    found = [*_in_digits(text), *_in_words(text)]
    return _ranges(text, sorted(found, key=lambda figure: figure.start))


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers that some texts hold, by unit."""

    values: Mapping[str, frozenset[Decimal]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Figures":
        """Collect the numbers of texts."""
        held: dict[str, set[Decimal]] = {}
        for text in texts:
            for figure in (*figures(text), *_parts(text)):
                held.setdefault(figure.unit, set()).update(figure.values)
        return cls({unit: frozenset(values) for unit, values in held.items()})

    def hold(self, figure: Figure) -> bool:
        """Return whether the number occurs: as a percentage, in its currency, or plain."""
        if figure.unit == PERCENT:
            units: Iterable[str] = [PERCENT]
        elif figure.unit:
            units = [figure.unit, ""]
        else:
            units = [unit for unit in self.values if unit != PERCENT]
        return any(figure.values & self.values.get(unit, frozenset()) for unit in units)


_BETWEEN = re.compile(r"\s?(?:[-–—]|to|and|or|a|y|o)\s?", re.IGNORECASE)


def _ranges(text: str, found: list[Figure]) -> list[Figure]:
    """Return the figures; in "10-12 %" both are percentages."""
    for at in range(len(found) - 2, -1, -1):
        figure, after = found[at], found[at + 1]
        between = text[figure.start + len(figure.shown) : after.start]
        if after.unit and not figure.unit and _BETWEEN.fullmatch(between):
            found[at] = replace(figure, unit=after.unit)
    return found


def _in_digits(text: str) -> Iterator[Figure]:
    for found in _NUMBER.finditer(text):
        values = _values(found["digits"])
        end = found.end()
        scale = _SCALE.match(text, end)
        if scale:
            factor = _SCALES[scale["scale"].casefold()] * (1000 if scale["thousands"] else 1)
            scaled = {value * factor for value in values}
            values = values | scaled if scale["scale"].casefold() in _AMBIGUOUS else scaled
            end = scale.end()
        unit, end = _unit(text, end, found["before"])
        yield Figure(text[found.start() : end].strip(), frozenset(values), unit, found.start())


def _unit(text: str, end: int, before: str | None) -> tuple[str, int]:
    if percent := _PERCENT.match(text, end):
        return PERCENT, percent.end()
    if before:
        return _CURRENCIES[before.casefold()], end
    if currency := _CURRENCY.match(text, end):
        return _CURRENCIES[currency["currency"].casefold()], currency.end()
    return "", end


def _values(digits: str) -> set[Decimal]:
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


_SPACED = re.compile(r"(?<![\w.,])\d{1,3}(?: \d{3})+(?![\d.,]\d)")


def _parts(text: str) -> Iterator[Figure]:
    """Yield the parts of "12 300", which may also be two numbers."""
    for found in _SPACED.finditer(text):
        for part in found[0].split(" "):
            yield Figure(part, frozenset({Decimal(part)}), "", found.start())


def _in_words(text: str) -> Iterator[Figure]:
    for start, after, value in numbers_in_words(text):
        unit, end = _unit(text, after, None)
        yield Figure(text[start:end].strip(), frozenset({Decimal(value)}), unit, start)
