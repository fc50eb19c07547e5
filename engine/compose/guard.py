"""What code can check in a sentence: its citations, numbers, dates, quotations, superlatives. Pure.

Numbers in words, units and superlatives are read in English and Spanish. Where the sentence or a
text that it cites is in another language, its numbers are compared by their digits.

Names only warn: on supported sentences they are what raises false alarms. Of several words the last
decides, as a model may know a given name, and where the passages are in another language names are
not compared, as it may translate them. Swapped names, negations and comparisons pass;
`engine.compose.finish` asks a model about those.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from itertools import dropwhile

from engine.compose.composition import DraftSentence, SourcePassage
from engine.compose.days import (
    Days,
    clock_times,
    find_mentions,
    tells_time_between,
    without_clock_times,
    without_dates,
)
from engine.compose.figures import Figure, find_figures, stem_words
from engine.compose.held_figures import Figures, Holding
from engine.compose.quantities import Quantities, find_amounts, find_superlatives
from engine.compose.quotations import (
    find_quotations,
    normalise_quotation,
    open_quotation,
    stands_in,
)
from engine.messages import Message
from engine.text.clean import fold_case_and_accents
from engine.text.language import detect_language

_WORDS_READ = frozenset({None, "en", "es"})  # in a language that nobody can tell, words are tried
_LONGEST_MENTION = 3  # words
_HASHTAG = re.compile(r"#\w+")
_NUMBERING = re.compile(r"^\s*\(?\d{1,2}\)")  # "1)" and "(2)": the number of a line, not a claim
_OPENING = re.compile(
    r"(?:a |un |el |the )?(?:thread|hilo|sources?|fuentes?|read on|sigue|abro hilo)\s*",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(
    r"(?<![\w@])[A-ZÁÉÍÓÚÑÜ][\w’'-]*(?:\s+(?:de\s+la\s+|de\s+|del\s+|of\s+|of\s+the\s+)?"
    r"[A-ZÁÉÍÓÚÑÜ][\w’'-]*)*"
)
_HANDLE = re.compile(r"(?<!\w)[@＠](\w+)")
_MIN_OF_HANDLE = 4  # letters of a name that a handle may hold: "Caño" in @NicolasdelCano
_ABBREVIATION = re.compile(r"(?<![\w.])[A-Z]{2,3}(?![\w])")
_MIN_COMMON = 5  # letters that two forms of a name share
_NO_NAMES = frozenset(
    """
    i a an the this that these those it he she they we you in on at by for from to of and or but
    as if when while after before since with without no not el la los las un una unos unas este
    esta estos estas ese esa eso esto en de del al a por para con sin y o pero si que cuando
    mientras tras desde hasta segun su sus lo se there here what who how why where today new
    january february march april may june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday ok tv mio mrd
    """.split()  # noqa: SIM905 - a list of words, not of strings
)


class GuardFault(StrEnum):
    """What is wrong with a sentence."""

    UNCITED = "uncited"
    UNKNOWN_SOURCE = "unknown source"
    NUMBER = "number"
    DATE = "date"
    QUOTATION = "quotation"
    SUPERLATIVE = "superlative"
    ELSEWHERE = "elsewhere"  # a number of another sentence of the source
    NAME = "name"


_WARNINGS = frozenset({GuardFault.ELSEWHERE, GuardFault.NAME})
_MESSAGES: Mapping[GuardFault, Callable[[str], Message]] = {
    GuardFault.UNCITED: lambda _: Message("It names no source."),
    GuardFault.UNKNOWN_SOURCE: lambda _: Message("It cites a source that does not exist."),
    GuardFault.NUMBER: lambda words: Message(
        "No cited source holds the number {words}.", words=words
    ),
    GuardFault.DATE: lambda words: Message("No cited source holds the date {words}.", words=words),
    GuardFault.QUOTATION: lambda words: Message(
        "No cited source holds the quotation “{words}”.", words=words
    ),
    GuardFault.SUPERLATIVE: lambda words: Message("No cited source says “{words}”.", words=words),
    GuardFault.ELSEWHERE: lambda words: Message(
        "The number {words} stands in a sentence about something else.", words=words
    ),
    GuardFault.NAME: lambda words: Message("No cited source holds the name {words}.", words=words),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a sentence, and the words that have it."""

    fault: GuardFault
    words: str = ""

    @property
    def vetoes(self) -> bool:
        """Whether the sentence must not be shown."""
        return self.fault not in _WARNINGS

    @property
    def message(self) -> Message:
        """What is wrong, for a user."""
        return _MESSAGES[self.fault](self.words)


@dataclass(frozen=True, slots=True)
class Witness:
    """What some passages hold, for comparing sentences with it.

    `days_before` are the dates of what was cited before, from which "five days later" counts.
    """

    figures: Figures
    days: Days
    days_before: Days
    quantities: Quantities
    clock_times: frozenset[tuple[int, int]]
    normal_text: str
    words: frozenset[str]
    sorted_words: Sequence[str]
    handles: str  # all of them, folded
    abbreviations: Mapping[str, Collection[str]]  # in lower case, by their first letter
    words_read: bool  # whether the passages are in languages whose words are read

    @classmethod
    def of(
        cls, passages: Sequence[SourcePassage], before: Sequence[SourcePassage] = ()
    ) -> "Witness":
        """Collect what passages hold, their titles, authors and dates included."""
        texts = _texts_of(passages)
        together = "\n".join(texts)
        undated = list(map(_without_days, texts))
        days = Days.of(texts, _dates_of(passages))
        words = frozenset(_fold_words(together))
        capitals: dict[str, set[str]] = {}
        for short in _ABBREVIATION.findall(together):
            capitals.setdefault(short[0].lower(), set()).add(short.lower())
        # An author may be known by a handle alone.
        handles = [*_HANDLE.findall(together), *(each.author or "" for each in passages)]
        all_texts, all_dates = [*texts, *_texts_of(before)], _dates_of((*passages, *before))
        return cls(
            figures=Figures.of(undated, days.dated_years),
            days=days,
            days_before=Days.of(all_texts, all_dates) if before else days,
            quantities=Quantities.of(undated),
            clock_times=frozenset(clock_times(together)),
            normal_text=normalise_quotation(together),
            words=words,
            sorted_words=sorted(words),
            handles="\n".join("".join(_fold_words(name)) for name in handles),
            abbreviations=capitals,
            words_read=all(detect_language(passage.text) in _WORDS_READ for passage in passages),
        )


def _texts_of(passages: Sequence[SourcePassage]) -> list[str]:
    return [
        text for passage in passages for text in (passage.title, passage.author or "", passage.text)
    ]


def _dates_of(passages: Sequence[SourcePassage]) -> list[datetime]:
    """Return the days on which passages were written, which a person who reads them sees."""
    return [passage.date for passage in passages if passage.date and not passage.dated_by]


def _without_days(text: str) -> str:
    return without_clock_times(without_dates(text))


def check_sentence(
    sentence: DraftSentence,
    passages: Sequence[SourcePassage],
    before: Sequence[int] = (),
    *,
    language: str | None = None,
) -> tuple[Finding, ...]:
    """Return the faults of a sentence; `passages` are all passages, numbered from 1.

    `before` are the numbers of those that sentences before it cite, `language` is the code of what
    it was to be written in, if anything tells.
    """
    cited = [passages[number - 1] for number in sentence.sources]
    if sentence.unknown:
        return (Finding(GuardFault.UNKNOWN_SOURCE),)
    if not cited:
        return (Finding(GuardFault.UNCITED),) if makes_claim(sentence.text, language) else ()
    earlier = tuple(passages[number - 1] for number in before)
    told = _tell_language(tuple(cited)) or _tell_language(tuple(passages))
    foreign = language is not None and told not in {language, None}
    witness = _read_passages(tuple(cited), earlier)
    return tuple(_find_faults(sentence.text, witness, language, foreign=foreign))


# Sentences of several variants cite the same passages.
_read_passages = lru_cache(maxsize=64)(Witness.of)


@lru_cache(maxsize=64)
def _tell_language(passages: Sequence[SourcePassage]) -> str | None:
    return detect_language("\n".join(passage.text for passage in passages))


def makes_claim(text: str, language: str | None = None) -> bool:
    """Return whether a sentence says something that a source must support.

    Questions, lines that announce what follows, hashtags and symbols alone say nothing, unless
    they hold a number, a date, a quotation or a superlative. What a question mentions between
    quotation marks, such as "global warming", is a quotation only from four words on.
    """
    plain = _HASHTAG.sub(" ", text).strip()
    if not re.search(r"[^\W_]", plain):
        return False
    words_read = language in _WORDS_READ
    if find_figures(_NUMBERING.sub(" ", plain), in_words=words_read) or find_mentions(plain):
        return True
    if words_read and (find_superlatives(plain) or find_amounts(plain)):
        return True
    bare = re.sub(r"[^\w\s?:¿]", " ", plain).strip()
    mentioned = _LONGEST_MENTION if bare.endswith("?") else 0
    if any(len(quotation.split()) > mentioned for quotation in find_quotations(plain)):
        return True
    return not (bare.endswith(("?", ":")) or _OPENING.fullmatch(bare))


def _find_faults(
    text: str, witness: Witness, language: str | None, *, foreign: bool
) -> Iterator[Finding]:
    """Yield the faults of a text; `foreign` tells that the passages are in another language."""
    # Where nothing tells what was to be written, the passages do.
    in_words = language in _WORDS_READ and (witness.words_read or language is not None)
    quantities = witness.quantities if in_words and witness.words_read else None
    plain = _without_days(_NUMBERING.sub(lambda number: " " * len(number[0]), text))
    about = frozenset(stem_words(plain))
    for figure in find_figures(plain, in_words=in_words):
        if not _is_time(figure, plain, witness) and (
            fault := _judge_figure(figure, about, witness, quantities)
        ):
            yield Finding(fault, figure.shown)
    for amount in quantities.find_unsupported_amounts(plain) if quantities else ():
        yield Finding(GuardFault.NUMBER, amount)
    dates = [each.shown for each in find_mentions(text) if not witness.days.holds(each)]
    dates += [shown for at, shown in clock_times(text).items() if at not in witness.clock_times]
    yield from (Finding(GuardFault.DATE, shown) for shown in dates)
    quoted = [q for q in find_quotations(text) if not stands_in(q, witness.normal_text)]
    quoted += filter(None, [open_quotation(text)])
    yield from (Finding(GuardFault.QUOTATION, quotation) for quotation in quoted)
    if quantities:
        for superlative in quantities.find_unsupported_superlatives(plain, foreign=foreign):
            yield Finding(GuardFault.SUPERLATIVE, superlative)
    for name in () if foreign else names_in(text):
        if not _is_known(name, witness, nouns=language == "de"):
            yield Finding(GuardFault.NAME, name)


def _judge_figure(
    figure: Figure, about: frozenset[str], witness: Witness, quantities: Quantities | None
) -> GuardFault | None:
    """Return what is wrong with a number of a sentence; without quantities only digits count."""
    if quantities is None:
        return None if witness.figures.holds_digits(figure) else GuardFault.NUMBER
    holding = witness.figures.judge(figure, about)
    if holding is Holding.HELD or quantities.derive(figure):
        return None
    return GuardFault.ELSEWHERE if holding is Holding.ELSEWHERE else GuardFault.NUMBER


def _is_time(figure: Figure, text: str, witness: Witness) -> bool:
    """Return whether a number is a time of day, or the time between dates: "five days later"."""
    if any(time in witness.clock_times for time in clock_times(figure.shown.replace(".", ":"))):
        return True
    if figure.unit not in {"day", "month"} or not tells_time_between(text, figure.end):
        return False
    days = int(figure.unit == "day")
    return any(
        witness.days_before.are_apart(int(value) * days, int(value) * (1 - days))
        for value in figure.values
    )


def names_in(text: str) -> list[str]:
    """Return the names in a sentence: capitalised words, but not a single one at its beginning."""
    names = []
    first = re.search(r"\w", text)
    for match in _CAPITALISED.finditer(text):
        written = match[0].split()
        words = list(dropwhile(lambda word: word.casefold() in _NO_NAMES, written))
        begins = first is not None and first.start() == match.start() and words == written
        if words and not (begins and len(words) == 1):
            names.append(" ".join(words))
    return names


def _is_known(name: str, witness: Witness, *, nouns: bool) -> bool:
    """Return whether a source holds a name; with `nouns`, any noun may look like a part of one."""
    words = _fold_words(name)
    together, last = "".join(words), words[-1]
    if nouns and len(words) == 1:
        return True
    return (
        any(len(part) >= _MIN_OF_HANDLE and part in witness.handles for part in (together, last))
        or not witness.words.isdisjoint((last, f"{last}s"))  # or a possessive without apostrophe
        or last in _NO_NAMES
        or _stands_for(last, witness)
    )


def _stands_for(word: str, witness: Witness) -> bool:
    """Return whether a source has a longer form of a name, "Albertiano" for "Alberto", or capitals
    that may stand for it: "WA" for Washington."""
    beginning = word[: max(_MIN_COMMON, len(word) - 2)]
    at = bisect_left(witness.sorted_words, beginning)
    forms = witness.sorted_words[at : at + 1]
    if len(word) > _MIN_COMMON and any(form.startswith(beginning) for form in forms):
        return True
    capitals = witness.abbreviations.get(word[0], ())
    return any(_holds_in_order(word, short) for short in capitals)


def _holds_in_order(word: str, letters: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in letters)


def _fold_words(text: str) -> list[str]:
    """Return the words of a text without accents, in lower case and without a genitive s."""
    words = re.findall(r"\w+(?:[’'-]\w+)*", fold_case_and_accents(text))
    return [re.sub(r"[’']s$", "", word) for word in words]
