"""Building search terms from the lexemes of words in each language.

Headlines and queries are read alike: a word with lexemes in several languages is one term, so that
its rarity is that of the word and not that of one language's stem.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from engine.search import Term
from engine.text.clean import normalise_form

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_ACCENTS = re.compile("[\u0300-\u036f]")
# Of English and Spanish.
FUNCTION_WORDS = frozenset(
    _WORD.findall(
        """
        a about after all also am an and any are as at be because been before but by can could
        did do does for from had has have he her him his how i if in into is it its just may
        more most my of off on or our out over she so some than that the their them then there
        these they this those to up was we were what when where which who why will with would
        you your al ante asi cada como con contra cual cuando de del desde donde dos el ella
        ellos en entre era es esa ese eso esta estan este esto fue ha hace han hasta hay la las
        le les lo los mas me mi muy ni nos o para pero por porque que quien se segun ser si sin
        sobre son su sus tambien tras tu un una uno y ya s t
        """
    )
)

# Of greetings, thanks and wishes, in English and Spanish.
_COURTESIES = frozenset(
    _WORD.findall(
        """
        afternoon amazing anniversary awesome best birthday bless bye cheers christmas congrats
        congratulations cool day dear doing enjoy eve evening everybody everyone fantastic fine
        folks friend friends fun funny going good goodbye great greetings guys haha happy hello
        here hey hi holiday holidays hugs kind later lol lot lots love luck lucky lunch merry
        morning much new nice night ok okay please see soon sorry thank thanks thanx thx today
        tomorrow tonight true very wait weekend welcome wish wishes wonderful wow xmas yeah year
        yes yet
        abrazo abrazos adios amiga amigas amigo amigos ano anos besos bien bienvenida
        bienvenidas bienvenido bienvenidos buena buenas bueno buenos chau claro dia dias estas
        excelente felices felicidades felicitaciones feliz finde genial gracias gran hola hoy
        igualmente jaja jajaja linda lindo luego manana muchas mucho muchos navidad noche noches
        pascuas querida querido saludo saludos semana siempre suerte tal tarde tardes todas
        todos vale vemos
        """
    )
)
_NAMES_AND_LINKS = re.compile(
    r"(?:https?://|www\.|@)\S+|(?<![\w.-])(?:[\w-]++\.)++[a-z]{2,10}/\S*", re.IGNORECASE
)
_REPOST_MARKS = frozenset(("rt", "via"))
# A shorter word has neighbours by chance.
_SHORTEST_MISSPELT = 5
# Letters of a part of a hyphenated word that is looked for by itself.
_SHORTEST_PART = 3
# A text with more unknown words is in another language, so its words have no useful neighbours.
_MAX_MISSPELT = 8
# Characters of Korean, Japanese and Chinese, whose words are read by single characters and pairs
# (to_lexemes in the database).
_UNSPACED = re.compile(
    "[\u3005\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30fe\u3131-\u318e\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
_EDGES = re.compile(r"^\W+|(?<!\W)\W+$")


def is_generic(text: str) -> bool:
    """Return whether a text could stand anywhere: a greeting, thanks, or nothing but a link."""
    return not count_telling_words(text)


def count_telling_words(text: str) -> int:
    """Return how many words of a text are neither function words nor courtesies, names or links.

    Of a script without spaces, each character counts.
    """
    return sum(
        len(word) if has_unspaced(word) else 1
        for word in folded_words(_NAMES_AND_LINKS.sub(" ", text))
        if word not in FUNCTION_WORDS and word not in _COURTESIES
    )


def has_own_words(text: str) -> bool:
    """Return whether a text says anything besides names, links and the marks of a repost."""
    words_written = folded_words(_NAMES_AND_LINKS.sub(" ", text))
    return any(word not in _REPOST_MARKS and not word.isdigit() for word in words_written)


def folded_words(text: str) -> list[str]:
    """Return all words in their order, without case and accents; numbers stay whole."""
    return _WORD.findall(_ACCENTS.sub("", normalise_form("NFKD", text.casefold())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One lexeme of a word or phrase in one language, with the corpus' figures for it."""

    unit: int  # index into the texts that were read
    language: str
    lexeme: str
    position: int  # counts the words of the text ("state-run" makes three), stop words too
    document_frequency: int
    max_tf: int


@dataclass(frozen=True, slots=True)
class Slot:
    """The lexemes in all languages at one position of a unit."""

    place: int  # index in the requested order of units
    fresh: Mapping[str, Reading]  # lexemes that no earlier slot has
    lexemes: Mapping[str, Reading]

    @property
    def only_known(self) -> "Slot":
        """The same slot with only the fresh lexemes that are in some document, if there are any."""
        readings = {name: r for name, r in self.fresh.items() if r.document_frequency}
        return replace(self, fresh=readings or self.fresh)

    def term(self, word: str, documents: int, *, weight: float = 1.0) -> Term:
        """Return the term for the fresh lexemes; its document frequency counts all lexemes."""
        frequency = sum(r.document_frequency for r in self.lexemes.values())
        return Term(
            word=word,
            lexemes=tuple(self.fresh),
            document_frequency=min(documents, frequency),
            max_tf=max(r.max_tf for r in self.fresh.values()),
            weight=weight,
        )


def assign_slots(readings: Iterable[Reading], order: Iterable[int]) -> Iterator[Slot]:
    """Yield the slots of the units in `order`, one by one; some have no fresh lexemes.

    Of a word that was read by characters and pairs, only the pairs count.
    """
    read: dict[int, dict[int, dict[str, Reading]]] = defaultdict(lambda: defaultdict(dict))
    for reading in _select_telling(sorted(readings, key=lambda reading: reading.language)):
        read[reading.unit][reading.position].setdefault(reading.lexeme, reading)
    seen: set[str] = set()
    for place, unit in enumerate(order):
        for _, lexemes in sorted(read[unit].items()):
            yield Slot(place, {name: r for name, r in lexemes.items() if name not in seen}, lexemes)
            seen |= set(lexemes)


def order_lexemes(readings: Iterable[Reading]) -> dict[int, dict[str, tuple[Reading, ...]]]:
    """Return how each unit was read in each language that reads it, in the order of its words."""
    read: dict[int, dict[str, list[Reading]]] = defaultdict(lambda: defaultdict(list))
    for reading in sorted(readings, key=lambda reading: (reading.position, reading.lexeme)):
        read[reading.unit][reading.language].append(reading)
    return {
        unit: {language: tuple(ordered) for language, ordered in by_language.items()}
        for unit, by_language in read.items()
    }


def has_unspaced(text: str) -> bool:
    """Return whether a text is read by characters: Korean, Japanese, Chinese."""
    return bool(_UNSPACED.search(text))


def _select_telling(readings: Sequence[Reading]) -> list[Reading]:
    """Drop single characters of what was read by pairs as well."""
    paired = {
        reading.unit
        for reading in readings
        if len(reading.lexeme) > 1 and has_unspaced(reading.lexeme)
    }
    return [
        reading
        for reading in readings
        if reading.unit not in paired or len(reading.lexeme) > 1 or not has_unspaced(reading.lexeme)
    ]


def headline_terms(
    words: Sequence[str], languages: Sequence[str], readings: Iterable[Reading], documents: int
) -> list[Term]:
    """Return the terms of a headline in the order of its words, for texts in `languages`.

    `readings` are of `words`, and may be in more languages: words that the headline's own language
    drops as stop words are dropped in all. A hyphenated word has the weight of one word.
    """
    candidates = [r for r in _drop_stop_words(words, readings) if r.language in languages]
    # What stands alone counts in full, though it also stands in a hyphenated word.
    order = sorted(range(len(words)), key=lambda place: "-" in words[place])
    # If an earlier word already has one lexeme of this word, another lexeme may still be new:
    # "nación nacional" is one stem in English and two in Spanish.
    slots = [
        replace(slot, place=order[slot.place])
        for slot in assign_slots(candidates, order)
        if len(slot.fresh) == len(slot.lexemes)
        or any(term.document_frequency for term in slot.fresh.values())
    ]
    slots.sort(key=lambda slot: slot.place)
    terms = [
        slot.only_known.term(_word_to_show(slot, words[place]), documents, weight=weight)
        for place, of_word in groupby(slots, key=lambda slot: slot.place)
        for slot, weight in _weigh_parts(list(of_word), words[place])
    ]
    if len(languages) < 2:
        return terms
    read_in: dict[str, set[str]] = defaultdict(set)
    for reading in candidates:
        read_in[reading.lexeme].add(reading.language)
    return [
        replace(term, read_in={name: frozenset(read_in[name]) for name in term.lexemes})
        for term in terms
    ]


def _drop_stop_words(words: Sequence[str], readings: Iterable[Reading]) -> list[Reading]:
    """Return the readings of words that the headline's own language keeps, each lexeme of a word
    once: "bye-bye"."""
    first: dict[tuple[int, str, str], Reading] = {}
    for reading in sorted(readings, key=lambda reading: reading.position):
        first.setdefault((reading.unit, reading.language, reading.lexeme), reading)
    own = find_own_language(words, first.values())
    telling = {r.unit for r in first.values() if own is None or r.language == own}
    return [r for r in first.values() if r.unit in telling]


def find_own_language(words: Sequence[str], readings: Iterable[Reading]) -> str | None:
    """Return the language that drops most of a headline's words as stop words, if only one does."""
    made = Counter(language for language, _ in {(r.language, r.unit) for r in readings})
    (own, count), *others = [*sorted(made.items(), key=lambda pair: pair[1]), ("", len(words))]
    return own if count < len(words) and others[0][1] > count else None


def _weigh_parts(slots: Sequence[Slot], word: str) -> Iterator[tuple[Slot, float]]:
    """Yield what to look for of a word, with weights that make one word of a hyphenated one.

    A text that has "Wi-Fi" is found by this alone, for "Fi" tells little. One that has "state-run"
    is found by both halves, which it has too. Either may also be written together: "WiFi".
    """
    if len(slots) == 1 or has_unspaced(word):
        yield from ((slot, 1.0) for slot in slots)
        return
    whole, *parts = slots
    if not any("-" in lexeme for lexeme in whole.lexemes):  # "94,8", "32-Bit"
        yield from ((slot, 1 / len(slots)) for slot in slots)
        return
    readings = {name: r for name, r in whole.fresh.items() if r.document_frequency}
    if readings and any(len(lexeme) < _SHORTEST_PART for part in parts for lexeme in part.lexemes):
        yield whole, 1.0
        return
    if joined := {name: r for name, r in readings.items() if "-" not in name}:
        yield replace(whole, fresh=joined, lexemes=joined), 1.0
    yield from ((part, 1 / (1 + word.count("-"))) for part in parts)


def _word_to_show(slot: Slot, word: str) -> str:
    """Return the word of a slot as receipts show it; of one that was read by pairs, the pair."""
    pair = next((lexeme for lexeme in slot.lexemes if has_unspaced(lexeme)), "")
    return pair or _EDGES.sub("", word) or word


def find_misspelt(terms: Sequence[Term]) -> list[Term]:
    """Return the terms to find neighbours for: the first few long unknown words."""
    long = (term for term in terms if len(term.word) >= _SHORTEST_MISSPELT and term.word.isalpha())
    return [term for term in long if not term.document_frequency][:_MAX_MISSPELT]


def without_repeats(terms: Sequence[Term]) -> list[Term]:
    """Drop neighbours that are in the headline itself or that repeat an earlier neighbour."""
    seen = {name for term in terms if term.neighbour_of is None for name in term.lexemes}
    distinct = []
    for term in terms:
        if term.neighbour_of is None or not seen & set(term.lexemes):
            distinct.append(term)
        seen |= set(term.lexemes)
    return distinct
