"""What code can check in a sentence: its citations, numbers, dates, quotations, superlatives. Pure.

Names only warn: on supported sentences they are what raises false alarms. Swapped names, negations
and comparisons pass; `engine.compose.finish` asks a model about those.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.compose.composition import DraftSentence, SourcePassage
from engine.compose.days import Days, find_unsupported, mentions, superlatives, without_dates
from engine.compose.figures import Figures, figures
from engine.messages import Message

MOST_WORDS = 20
_CUTS = re.compile(r"[\[(]?(?:\.\.\.|…)[\])]?")
_SIGNS = re.compile(r"[@＠#](?=\w)")  # tweets lose them, so that nobody is called
_SCHEME = re.compile(r"\bhttps?://", re.IGNORECASE)  # and so do addresses
_SOFT = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\ufffe\x02]")
_LINE_END_HYPHEN = re.compile(r"(?<=\w)-\s*\n\s*(?=[a-zß-öø-ÿ])")
_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)
_QUOTED = re.compile(
    r"“([^“”]+)”|«([^«»]+)»|\"([^\"]+)\"|„([^„“”]+)[“”]|(?<!\w)‘([^‘’]+(?:’\w[^‘’]*)*)’(?!\w)"
    r"|(?<!\w)'([^'\n]{2,400})'(?!\w)"
)
_OPENING_MARK = re.compile(r"[“”„«»\"]")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def normal(text: str) -> str:
    """Return a text as it is compared: one kind of quotation mark and hyphen, single spaces."""
    text = _SCHEME.sub("", _SIGNS.sub("", _LINE_END_HYPHEN.sub("", _SOFT.sub("", text))))
    text = unicodedata.normalize("NFKC", text).translate(_SAME)
    return " ".join(text.casefold().split())


def stands_in(quote: str, normal_text: str) -> bool:
    """Return whether a quote stands in a text that `normal` returned, each part of it in order.

    The parts are separated by an ellipsis; each needs whole words. A stop or comma at its end,
    which style may demand, does not count.
    """
    at = 0
    parts = [
        part for segment in _CUTS.split(quote) if (part := normal(segment).strip(" .,;:!?\"'"))
    ]
    for part in parts:
        found = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)").search(normal_text, at)
        if found is None:
            return False
        at = found.end()
    return bool(parts)


def first_words(quote: str, most: int = MOST_WORDS) -> str:
    """Return at most the first `most` words of a quote, without quotation marks around it."""
    quote = " ".join(quote.split()).strip('"“”«»„')
    found = list(_WORD.finditer(quote))
    return quote if len(found) <= most else quote[: found[most - 1].end()]


def quotations(text: str) -> list[str]:
    """Return what stands between quotation marks in a text."""
    found = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    return [quotation for quotation in found if _WORD.search(quotation)]


def outside_quotations(text: str, change: Callable[[str], str]) -> str:
    """Return a text in which what stands outside quotation marks is changed."""
    parts, at = [], 0
    for match in _QUOTED.finditer(text):
        parts += [change(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join((*parts, change(text[at:])))


def open_quotation(text: str) -> str:
    """Return what follows a quotation mark that is never closed, or "" if all are."""
    rest = _QUOTED.sub(lambda found: " " * len(found[0]), text)
    mark = _OPENING_MARK.search(rest)
    return text[mark.end() :].strip() or text if mark else ""


class GuardFault(StrEnum):
    """What is wrong with a sentence."""

    UNCITED = "uncited"
    UNKNOWN_SOURCE = "unknown source"
    NUMBER = "number"
    DATE = "date"
    QUOTATION = "quotation"
    SUPERLATIVE = "superlative"
    NAME = "name"


_SAID: Mapping[GuardFault, Message] = {
    GuardFault.UNCITED: Message("It names no source."),
    GuardFault.UNKNOWN_SOURCE: Message("It cites a source that does not exist."),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a sentence, and the words that have it."""

    fault: GuardFault
    words: str = ""

    @property
    def vetoes(self) -> bool:
        """Whether the sentence must not be shown."""
        return self.fault is not GuardFault.NAME

    @property
    def said(self) -> Message:
        """What is wrong, for a user."""
        match self.fault:
            case GuardFault.NUMBER:
                return Message("No cited source holds the number {words}.", words=self.words)
            case GuardFault.DATE:
                return Message("No cited source holds the date {words}.", words=self.words)
            case GuardFault.QUOTATION:
                return Message("No cited source holds the quotation “{words}”.", words=self.words)
            case GuardFault.SUPERLATIVE:
                return Message("No cited source says “{words}”.", words=self.words)
            case GuardFault.NAME:
                return Message("No cited source holds the name {words}.", words=self.words)
            case _:
                return _SAID[self.fault]


@dataclass(frozen=True, slots=True)
class Witness:
    """What some passages hold, for comparing sentences with it."""

    figures: Figures
    days: Days
    normal_text: str
    words: frozenset[str]
    superlatives: Mapping[str, str]

    @classmethod
    def of(cls, passages: Sequence[SourcePassage]) -> "Witness":
        """Collect what passages hold, their titles, authors and dates included."""
        texts = [
            text
            for passage in passages
            for text in (passage.title, passage.author or "", passage.text)
        ]
        # A person who reads the source sees its date as well.
        dated = [passage.date for passage in passages if passage.date and not passage.dated_by]
        together = "\n".join(texts)
        return cls(
            figures=Figures.of([*texts, *(day.date().isoformat() for day in dated)]),
            days=Days.of(texts, dated),
            normal_text=normal(together),
            words=frozenset(_fold_words(together)),
            superlatives=superlatives(together),
        )


def guard(sentence: DraftSentence, passages: Sequence[SourcePassage]) -> tuple[Finding, ...]:
    """Return the faults of a sentence; `passages` are all passages, numbered from 1."""
    cited = [passages[number - 1] for number in sentence.sources]
    if sentence.unknown:
        return (Finding(GuardFault.UNKNOWN_SOURCE),)
    if not cited:
        return (Finding(GuardFault.UNCITED),) if makes_claim(sentence.text) else ()
    return _against(sentence.text, Witness.of(cited))


def makes_claim(text: str) -> bool:
    """Return whether a sentence says something that a source must support.

    Questions, lines that announce what follows, hashtags and symbols alone say nothing, unless
    they hold a number, a date, a quotation or a superlative.
    """
    plain = _HASHTAG.sub(" ", text).strip()
    if not re.search(r"[^\W\d_]", plain) and not re.search(r"\d", plain):
        return False
    if figures(_NUMBERING.sub(" ", plain)) or mentions(plain):
        return True
    if quotations(plain) or superlatives(plain):
        return True
    bare = re.sub(r"[^\w\s?:¿]", " ", plain).strip()
    return not (bare.endswith(("?", ":")) or _OPENING.fullmatch(bare))


_HASHTAG = re.compile(r"#\w+")
_NUMBERING = re.compile(r"^\s*\(?\d{1,2}\)")  # "1)" and "(2)": the number of a line, not a claim
_OPENING = re.compile(
    r"(?:a |un |el |the )?(?:thread|hilo|sources?|fuentes?|read on|sigue|abro hilo)\s*",
    re.IGNORECASE,
)


def _against(text: str, witness: Witness) -> tuple[Finding, ...]:
    found = [
        Finding(GuardFault.NUMBER, figure.shown)
        for figure in figures(without_dates(_NUMBERING.sub(" ", text)))
        if not witness.figures.hold(figure)
    ]
    found += [
        Finding(GuardFault.DATE, mention.shown)
        for mention in mentions(text)
        if not witness.days.hold(mention)
    ]
    quoted = [
        quotation for quotation in quotations(text) if not stands_in(quotation, witness.normal_text)
    ]
    quoted += filter(None, [open_quotation(text)])
    found += [Finding(GuardFault.QUOTATION, quotation) for quotation in quoted]
    claimed = find_unsupported(text, witness.superlatives)
    found += [Finding(GuardFault.SUPERLATIVE, superlative) for superlative in claimed]
    found += [
        Finding(GuardFault.NAME, name) for name in names_in(text) if not _is_known(name, witness)
    ]
    return tuple(found)


_CAPITALISED = re.compile(
    r"(?<![\w@])[A-ZÁÉÍÓÚÑÜ][\w’'-]*(?:\s+(?:de\s+la\s+|de\s+|del\s+|of\s+|of\s+the\s+)?"
    r"[A-ZÁÉÍÓÚÑÜ][\w’'-]*)*"
)
_NO_NAMES = frozenset(
    """
    i a an the this that these those it he she they we you in on at by for from to of and or but
    as if when while after before since with without no not el la los las un una unos unas este
    esta estos estas ese esa eso esto en de del al a por para con sin y o pero si que cuando
    mientras tras desde hasta segun su sus lo se there here what who how why where today new
    january february march april may june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday ok tv
    """.split()  # noqa: SIM905 - a list of words, not of strings
)


def names_in(text: str) -> list[str]:
    """Return the names in a sentence: capitalised words, but not a single one at its beginning."""
    found = []
    for match in _CAPITALISED.finditer(text):
        words = match[0].split()
        begins = not re.search(r"\w", text[: match.start()])
        while words and words[0].casefold() in _NO_NAMES:
            words, begins = words[1:], False
        if words and not (begins and len(words) == 1):
            found.append(" ".join(words))
    return found


def _is_known(name: str, witness: Witness) -> bool:
    return all(word in witness.words or word in _NO_NAMES for word in _fold_words(name))


def _fold_words(text: str) -> list[str]:
    """Return the words of a text without accents, in lower case and without a genitive s."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(character for character in apart if not unicodedata.combining(character))
    return [re.sub(r"[’']s$", "", word) for word in re.findall(r"\w+(?:[’'-]\w+)*", plain)]
