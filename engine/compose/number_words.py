"""Numbers in words, English and Spanish: "two hundred thousand", "treinta y cinco". Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

# Alone these are articles, pronouns and conjunctions rather than numbers: "one of them", "once".
_NO_NUMBERS = frozenset({"one", "un", "una", "uno", "once", "mil"})
_READ_BY_DIGITS = re.compile(r"(?:\d[\s-]?|\b(?:por|per)\s)\Z", re.IGNORECASE)
_ARTICLE = re.compile(r"\ba\s\Z", re.IGNORECASE)
_LOOK_BACK = 5  # characters, which these two see


def _read_number_words(listed: str) -> dict[str, int]:
    """Read "30 thirty treinta 40 forty"; of words without a number, each is one more."""
    words, number = dict[str, int](), 0
    for word in listed.split():
        if word.isdigit():
            number = int(word)
        else:
            words[word] = number
    return words


def _count_words(words: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * place for place, word in enumerate(words.split())}


_VALUES = {
    **_count_words(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen",
        1,
    ),
    **_count_words(
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
        "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés "
        "veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve",
        1,
    ),
    **_count_words("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
    **_count_words("treinta cuarenta cincuenta sesenta setenta ochenta noventa", 30, 10),
    **_read_number_words(
        "1 un una 16 dieciseis 21 veintiún veintiuna veintiun 22 veintidos 23 veintitres "
        "26 veintiseis 100 cien ciento 200 doscientos doscientas 300 trescientos trescientas "
        "400 cuatrocientos cuatrocientas 500 quinientos quinientas 600 seiscientos seiscientas "
        "700 setecientos setecientas 800 ochocientos ochocientas 900 novecientos novecientas"
    ),
}
_SCALES = _read_number_words(
    "100 hundred 1000 thousand mil 1000000 million millón millon millones 1000000000 billion "
    "1000000000000 trillion billón billon billones"
)
_WORDS = "|".join(sorted((*_VALUES, *_SCALES), key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?<![\w-])(?:{_WORDS})(?:(?:[\s-]|\s(?:and|y)\s|-(?:and|y)-)(?:{_WORDS}))*(?!\w)",
    re.IGNORECASE,
)
_TOKEN = re.compile(_WORDS, re.IGNORECASE)


def numbers_in_words(text: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yield (start, end, value) of the numbers in words, but not of "million" after digits."""
    for number in _NUMBER.finditer(text):
        if _READ_BY_DIGITS.search(text, max(0, number.start() - _LOOK_BACK), number.start()):
            continue
        for part in _sum_words(_TOKEN.finditer(text, *number.span())):
            word = part.words[0] if len(part.words) == 1 else ""
            if word in _NO_NUMBERS:
                continue
            if word not in _SCALES:
                yield part.start, part.end, part.value
            elif article := _ARTICLE.search(text, max(0, part.start - _LOOK_BACK), part.start):
                yield article.start(), part.end, part.value  # "a hundred", but not "hundred"


@dataclass(slots=True)
class _Sum:
    """A number of which some words have been read."""

    start: int
    end: int
    words: list[str]
    total: int = 0
    current: int = 0

    @property
    def value(self) -> Decimal:
        """What its words make together."""
        return Decimal(self.total + self.current)

    def takes(self, value: int) -> bool:
        """Return whether a further word belongs to the number: "twenty one", not "two three"."""
        rest = self.current % 100
        if value >= 100:
            return self.current == 0
        return rest == 0 or (rest in range(20, 91, 10) and value < 10)

    def scale(self, by: int) -> None:
        """Multiply what has been read: "two hundred", "tres mil"."""
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
        word = token[0].casefold()
        scale, value = _SCALES.get(word), _VALUES.get(word, 0)
        if number is None or (scale is None and not number.takes(value)):
            if number:
                yield number
            number = _Sum(token.start(), token.end(), [])
        number.words.append(word)
        number.end = token.end()
        if scale is not None:
            number.scale(scale)
        else:
            number.current += value
    if number:
        yield number
