"""Numbers written in words: English, Spanish, German, French, Portuguese, Italian, Japanese. Pure.

English and Spanish words are read in every text; those of another language only where the text is
in it, or in none that can be told: "due" is 2 in Italian alone.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from engine.text.language import detect_language

_MILLION, _BILLION, _TRILLION = "1000000", "1000000000", "1000000000000"
# Alone these are articles, pronouns and conjunctions rather than numbers: "one of them", "once".
_NO_NUMBERS = frozenset(
    """
    one un una uno once mil ein eine einen einem einer eins une um uma mille cent cento vent trent
    quarant cinquant sessant settant ottant novant neuf
    """.split()  # noqa: SIM905 - a list of words, not of strings
)
# Words of another language, so that they count only where the text's language is known.
_SHARED = frozenset(
    "due elf tre sei set cent cents vent mila acht sept mille cem dix otto".split()  # noqa: SIM905 - a list of words, not of strings
)
_READ_BY_DIGITS = re.compile(r"(?:\d[\s-]?|\b(?:por|pour|pro|per)\s)\Z", re.IGNORECASE)
_ARTICLE = re.compile(r"\ba\s\Z", re.IGNORECASE)
_SCALES_THAT_STAND_ALONE = frozenset({"mil", "mille", "cento", "cent", "hundert", "tausend"})
_IDEOGRAPH = re.compile("[\u3041-\u30ff\u4e00-\u9fff]")
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_COUNTED = (
    "人名年月日時分秒回件個箇台隻艘頭匹本枚冊戸棟軒社校国県市町村歳才倍割点"
    "位カヶつ円元%％パメキトド"
)
_DIGITS = {sign: number for number, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
_IDEOGRAPHIC = re.compile(
    rf"(?:(?:\d[\d,]*(?:\.\d+)?)|[{''.join((*_DIGITS, *_TENS))}])"
    rf"(?:\d[\d,]*|[{''.join((*_DIGITS, *_TENS, *_MYRIADS))}])*(?=(?P<counter>[{_COUNTED}])?)"
)


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """The words of a language with their numbers.

    `ones` are 1, 2, 3 ..., `tens` 20, 30 ...; `glue` may stand between words of one number.
    """

    ones: str
    tens: str
    others: str  # "30 trenta 40 quaranta"
    scales: str
    glue: str
    compounds: bool = False  # words are written together

    def values(self) -> dict[str, int]:
        """Return the number of each word that is no scale."""
        found = {word: number for number, word in enumerate(self.ones.split(), start=1)}
        found |= {word: 10 * number for number, word in enumerate(self.tens.split(), start=2)}
        return found | _read_number_words(self.others)


def _read_number_words(listed: str) -> dict[str, int]:
    """Read "30 trenta treinta 40 quaranta"."""
    found, number = {}, 0
    for word in listed.split():
        if word.isdigit():
            number = int(word)
        else:
            found[word] = number
    return found


_LEXICONS: Mapping[str, _Lexicon] = {
    "en": _Lexicon(
        ones="one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen",
        tens="twenty thirty forty fifty sixty seventy eighty ninety",
        others="",
        scales=f"100 hundred 1000 thousand {_MILLION} million {_BILLION} billion "
        f"{_TRILLION} trillion",
        glue="and",
    ),
    "es": _Lexicon(
        ones="uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
        "dieciséis diecisiete dieciocho diecinueve",
        tens="veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        others="1 un una 16 dieciseis 21 veintiuno veintiún veintiuna veintiun 22 veintidós "
        "veintidos 23 veintitrés veintitres 24 veinticuatro 25 veinticinco 26 veintiséis "
        "veintiseis 27 veintisiete 28 veintiocho 29 veintinueve 100 cien ciento 200 doscientos "
        "doscientas 300 trescientos trescientas 400 cuatrocientos cuatrocientas 500 quinientos "
        "quinientas 600 seiscientos seiscientas 700 setecientos setecientas 800 ochocientos "
        "ochocientas 900 novecientos novecientas",
        scales=f"1000 mil {_MILLION} millón millon millones {_TRILLION} billón billon billones",
        glue="y",
    ),
    "de": _Lexicon(
        ones="eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
        "fünfzehn sechzehn siebzehn achtzehn neunzehn",
        tens="zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        others="1 ein eine einen einem einer 2 zwo 30 dreissig",
        scales=f"100 hundert 1000 tausend {_MILLION} million millionen {_BILLION} milliarde "
        f"milliarden {_TRILLION} billion billionen",
        glue="und",
        compounds=True,
    ),
    "fr": _Lexicon(
        ones="un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze "
        "seize",
        tens="vingt trente quarante cinquante soixante septante octante nonante",
        others="1 une 80 quatre-vingt quatre-vingts huitante",
        scales=f"100 cent cents 1000 mille {_MILLION} million millions {_BILLION} milliard "
        f"milliards {_TRILLION} billion billions",
        glue="et",
    ),
    "pt": _Lexicon(
        ones="um dois três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze "
        "dezesseis dezessete dezoito dezenove",
        tens="vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
        others="1 uma 2 duas 14 catorze 16 dezasseis 17 dezassete 19 dezanove 100 cem cento 200 "
        "duzentos duzentas 300 trezentos trezentas 400 quatrocentos quatrocentas 500 quinhentos "
        "quinhentas 600 seiscentos seiscentas 700 setecentos setecentas 800 oitocentos oitocentas "
        "900 novecentos novecentas",
        scales=f"1000 mil {_MILLION} milhão milhões {_BILLION} bilhão bilhões "
        f"{_TRILLION} trilhão trilhões bilião biliões",
        glue="e",
    ),
    "it": _Lexicon(
        ones="uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici "
        "quattordici quindici sedici diciassette diciotto diciannove",
        tens="venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
        others="1 un una 3 tré 20 vent 30 trent 40 quarant 50 cinquant 60 sessant 70 settant "
        "80 ottant 90 novant",
        scales=f"100 cento cent 1000 mille mila {_MILLION} milione milioni {_BILLION} miliardo "
        f"miliardi {_TRILLION} bilione bilioni",
        glue="e",
        compounds=True,
    ),
}
READ_LANGUAGES = frozenset({*_LEXICONS, "ja", "zh"})


@dataclass(frozen=True, slots=True)
class _Reader:
    """Finds the words of one or more languages."""

    pattern: re.Pattern[str]
    token: re.Pattern[str]
    values: Mapping[str, int]
    scales: Mapping[str, int]
    glue: frozenset[str]
    units_first: bool  # "dreiundzwanzig"


def _build_reader(*names: str, without: frozenset[str] = frozenset()) -> _Reader:
    lexicons = [_LEXICONS[name] for name in names]
    values: dict[str, int] = {}
    scales: dict[str, int] = {}
    for lexicon in reversed(lexicons):
        values |= lexicon.values()
        scales |= _read_number_words(lexicon.scales)
    words = {word for word in (*values, *scales) if word not in without}
    glue = frozenset(lexicon.glue for lexicon in lexicons)
    any_word = "|".join(sorted(words, key=len, reverse=True))
    any_glue = "|".join(glue)
    compound = any(lexicon.compounds for lexicon in lexicons)
    single = rf"(?:{any_word})(?:(?:{any_glue})?(?:{any_word}))*" if compound else f"(?:{any_word})"
    return _Reader(
        pattern=re.compile(
            rf"(?<![\w-])(?:{single})(?:(?:[\s-]|\s(?:{any_glue})\s|-(?:{any_glue})-)(?:{single}))*"
            r"(?![\w])",
            re.IGNORECASE,
        ),
        # "centotto" is cent and otto, though "cento" is longer.
        token=re.compile(rf"cent(?=ott)|{any_word}|{any_glue}", re.IGNORECASE),
        values={word: values[word] for word in values if word in words},
        scales={word: scales[word] for word in scales if word in words},
        glue=glue,
        units_first=names[0] == "de",
    )


_COMMON = _build_reader("en", "es")
_READERS: Mapping[str, _Reader] = {
    name: _build_reader(name) for name in _LEXICONS if name not in {"en", "es"}
}
_UNSURE = tuple(
    _build_reader(name, without=_SHARED) for name in _LEXICONS if name not in {"en", "es"}
)


def numbers_in_words(text: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yield (start, end, value) of the numbers in words, but not of "million" after digits."""
    language = detect_language(text)
    if language in {"ja", "zh"} or (language is None and _IDEOGRAPH.search(text)):
        yield from _numbers_in_ideographs(text)
        return
    readers: tuple[_Reader, ...] = (_COMMON,) if language else (_COMMON, *_UNSURE)
    if own := _READERS.get(language or ""):
        readers = (own,)
    ends = 0
    found = (number for reader in readers for number in _find_numbers(reader, text))
    for start, end, value in sorted(found, key=lambda number: (number[0], -number[1])):
        if start >= ends:
            yield start, end, value
            ends = end


def _find_numbers(reader: _Reader, text: str) -> Iterator[tuple[int, int, Decimal]]:
    for found in reader.pattern.finditer(text):
        if _READ_BY_DIGITS.search(text, 0, found.start()):
            continue
        tokens = [
            (found.start() + token.start(), found.start() + token.end(), token[0].casefold())
            for token in reader.token.finditer(found[0])
        ]
        for start, end, value, words in _read_tokens(reader, tokens):
            alone = len(words) == 1 and words[0] in _NO_NUMBERS
            scale_first = words[0] in reader.scales and words[0] not in _SCALES_THAT_STAND_ALONE
            if scale_first and len(words) == 1:  # "a hundred", but not "hundred" or "millones"
                if article := _ARTICLE.search(text, 0, start):
                    yield article.start(), end, Decimal(value)
            elif not alone:
                yield start, end, Decimal(value)


@dataclass(slots=True)
class _Sum:
    """A number of which some words have been read."""

    start: int
    end: int
    words: list[str]
    total: int = 0
    current: int = 0

    def takes(self, value: int, *, glued: bool, units_first: bool) -> bool:
        """Return whether a further word belongs to the number: "twenty one", not "two three"."""
        rest = self.current % 100
        if units_first and glued and 0 < rest < 10 and value in range(20, 100):
            return True
        if value >= 100:
            return self.current == 0
        fits = rest == 0 or (rest in range(20, 91, 10) and value < 10)
        # dix-sept, soixante-dix, quatre-vingt-dix
        return fits or (rest == 10 and 7 <= value < 10) or (rest in {60, 80} and value < 20)

    def scale(self, by: int) -> None:
        """Multiply what has been read: "two hundred", "tres mil"."""
        if by == 100:
            self.current = max(1, self.current) * 100
        elif by == 1000 or self.total < 1000 or self.total >= 10**6:
            self.total += max(1, self.current) * by
            self.current = 0
        else:  # "dos mil millones"
            self.total, self.current = (self.total + self.current) * by, 0


def _read_tokens(
    reader: _Reader, tokens: list[tuple[int, int, str]]
) -> Iterator[tuple[int, int, int, list[str]]]:
    number: _Sum | None = None
    glued = False
    for start, end, word in tokens:
        if word in reader.glue and word not in reader.values:
            glued = True
            continue
        scale = reader.scales.get(word)
        value = reader.values.get(word, 0)
        fits = number and (
            scale is not None or number.takes(value, glued=glued, units_first=reader.units_first)
        )
        if number is None or not fits:
            if number:
                yield number.start, number.end, number.total + number.current, number.words
            number = _Sum(start, end, [])
        number.words.append(word)
        number.end = end
        if scale is not None:
            number.scale(scale)
        else:
            number.current += value
        glued = False
    if number:
        yield number.start, number.end, number.total + number.current, number.words


def _numbers_in_ideographs(text: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yield the numbers of a Japanese or Chinese text, whose digits stand between letters."""
    for found in _IDEOGRAPHIC.finditer(text):
        # 一部 is a part and 一番 the most: a single sign counts only before what it counts.
        if found["counter"] or len(found[0]) > 1 or found[0].isdecimal():
            yield found.start(), found.end(), _read_ideographs(found[0])


def _read_ideographs(written: str) -> Decimal:
    total = section = current = Decimal(0)
    for part in re.findall(r"\d[\d,]*(?:\.\d+)?|\D", written):
        if part[0].isdecimal():
            current = Decimal(part.replace(",", ""))
        elif part in _DIGITS:
            current = current * 10 + _DIGITS[part]
        elif part in _TENS:
            section += max(Decimal(1), current) * _TENS[part]
            current = Decimal(0)
        elif part in _MYRIADS:
            total += max(Decimal(1), section + current) * _MYRIADS[part]
            section = current = Decimal(0)
    return total + section + current
