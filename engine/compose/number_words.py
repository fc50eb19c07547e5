"""Numbers that are written in words, in English and Spanish. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping

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
