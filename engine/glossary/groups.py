"""The glossary: which words may stand for one another, and which never do.

A group is a set of terms with the same meaning. Terms are compared as the text search reads them,
so case, spaces, accents and endings do not matter. docs/glossary.md is the manual.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from engine.errors import InputError
from engine.messages import Message
from engine.text.clean import make_searchable, normalise_form
from engine.text.terms import Reading, order_lexemes

if TYPE_CHECKING:
    from engine.glossary.suggest import SuggestedPair

# Tells whether a word in lower case is an ordinary one.
Dictionary = Callable[[str], bool]

LONGEST = 100  # characters of a term
FEWEST, MAXIMUM = 2, 20  # terms of a group
_EDGES = re.compile(r"^\W+|(?<!\W)\W+$")
_POSSESSIVE = re.compile(r"['’]s$")
# Characters that have a meaning in the dialect, in receipts and in tables of groups.
_SIGNS = re.compile(r'["|=\n\r\t]|^-')
_STOP = re.compile(r"(?<=[^\W\d_])\.(?=[^\W\d_])")  # as in "U.S"
_SNAKE = re.compile(r"(?<=\w)_(?=\w)")
# The lexemes of a word or phrase, in order, for each language that yields any.
Signature = Mapping[str, tuple[str, ...]]
Pair = tuple[str, str]  # two keys, the smaller first
_MINIMUM = 3  # occurrences; an alias of a rarer term is not worth a question
_SHORTEST = 3  # letters
_LINK = re.compile(r"https?://\S+|[@#]\w+")
_TOKEN = re.compile(r"\S+")
_HOST = re.compile(r"\.\w+/")  # in a token that is an address: pic.twitter.com/x
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NAME = re.compile(r"(?<![\w-])[A-Z][\w-]++(?: [A-Z][\w-]++)++")
_NAME_LENGTHS = (2, 3)  # words
_SENTENCE = re.compile(r"[.!?:;\n]+")


def fold_term(term: str) -> str:
    """Return what spellings of a term share: no case, accents or signs, single spaces."""
    folded = normalise_form("NFD", _STOP.sub("", make_searchable(term)).casefold())
    plain = "".join(c for c in folded if not unicodedata.combining(c))
    return normalise_form("NFC", " ".join(re.findall(r"\w+", plain)))


def is_exact(text: str, names: Collection[str] = ()) -> bool:
    """Return whether a word of `text` is an acronym in capitals or an identifier.

    Or whether the text, or a word of it, is one of `names`, which are keys.
    """
    return any(map(_explain_protection, text.split())) or _is_named(text, names)


def explain_protection(
    term: str, is_word: Dictionary, names: Collection[str] = ()
) -> Message | None:
    """Return why a term is protected, as a sentence, or None.

    A name is a capitalised word that the dictionary does not have in lower case, or one whose key
    is in `names`.
    """
    if _is_named(term, names):
        return Message("A name in glossary.protected matches exactly and has no alias.")
    for written in term.split():
        if reason := _explain_protection(written):
            return reason
        word = _strip_word(written)
        parts = (part.casefold() for part in re.split(r"\W+", word) if part)
        if word[:1].isupper() and len(word) > 1 and not all(map(is_word, parts)):
            return Message("A proper name that no dictionary has matches exactly and has no alias.")
    return None


def check_terms(
    terms: Sequence[str], is_word: Dictionary, names: Collection[str] = ()
) -> tuple[str, ...]:
    """Return terms that may form a group, stripped of extra spaces. Raises InputError."""
    by_key: dict[str, str] = {}
    for term in terms:
        by_key.setdefault(fold_term(term), " ".join(term.split()))
    clean = tuple(by_key.values())
    for term in clean:
        if not any(map(str.isalnum, term)):
            raise InputError(
                Message('"{term}" is no term: it holds no letter and no digit.', term=term)
            )
        if len(term) > LONGEST:
            raise InputError(Message("A term has at most {number} characters.", number=LONGEST))
        if _SIGNS.search(term):
            raise InputError(
                Message(
                    '"{term}" is no term: it holds a sign with a meaning of its own.', term=term
                )
            )
        if reason := explain_protection(term, is_word, names):
            raise InputError(Message('"{term}" is protected.', term=term), fix=reason)
    if not FEWEST <= len(clean) <= MAXIMUM:
        raise InputError(
            Message(
                "A group has {minimum} to {maximum} different terms.",
                minimum=FEWEST,
                maximum=MAXIMUM,
            )
        )
    return clean


def _is_named(text: str, names: Collection[str]) -> bool:
    return bool(names) and (
        fold_term(text) in names or any(fold_term(word) in names for word in text.split())
    )


def _strip_word(written: str) -> str:
    return _POSSESSIVE.sub("", _EDGES.sub("", written))


def _explain_protection(written: str) -> Message | None:
    """Return why a single word is protected, if its spelling alone shows it."""
    word = _strip_word(written)
    letters = "".join(filter(str.isalpha, word))
    if len(word) > 1 and letters.removesuffix("s").isupper():  # "CEOs" too
        return Message("An acronym in capitals matches exactly and has no alias.")
    # A capital after a small letter, or small letters after a run of capitals.
    rises = any(a.islower() and b.isupper() for a, b in pairwise(letters))
    if _SNAKE.search(word) or rises or (letters[:2].isupper() and not letters.isupper()):
        return Message("An identifier matches exactly and has no alias.")
    return None


class GroupStatus(StrEnum):
    """The state of a group."""

    PENDING = "pending"  # waits for a person
    APPROVED = "approved"


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasGroup:
    """Terms with the same meaning, in one corpus or, if it is None, in all."""

    id: int
    corpus: str | None
    status: GroupStatus
    terms: tuple[str, ...]
    sure: bool | None = None  # the model's own word on its suggestion; None if a person made it


def fold_terms(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct keys of terms, sorted."""
    return tuple(sorted({fold_term(term) for term in terms}))


def list_pairs(terms: Iterable[str]) -> tuple[Pair, ...]:
    """Return every pair of the terms, as keys."""
    return tuple((first, second) for first, second in combinations(fold_terms(terms), 2))


@dataclass(frozen=True, slots=True)
class Glossary:
    """The groups that apply in one corpus, as its languages read them."""

    # (language, lexemes) -> the terms that may replace them
    aliases: Mapping[tuple[str, tuple[str, ...]], tuple[str, ...]] = field(default_factory=dict)
    longest: int = 0  # lexemes of the longest term
    protected: frozenset[str] = frozenset()  # keys of names that have no aliases

    def __bool__(self) -> bool:
        return bool(self.aliases)

    def of(self, signature: Signature) -> tuple[str, ...]:
        """Return the aliases of what has this signature, in the order of the groups."""
        found = (self.aliases.get(term, ()) for term in signature.items())
        return tuple(dict.fromkeys(alias for aliases in found for alias in aliases))


def build_glossary(
    groups: Sequence[Sequence[str]],
    readings: Iterable[Reading],
    rejected: Iterable[Pair] = (),
    *,
    protected: frozenset[str] = frozenset(),
) -> Glossary:
    """Return the glossary of `groups`; `readings` are those of all their terms, in order.

    Two terms of a group that are a pair in `rejected` do not stand for each other, and neither does
    a term with a name whose key is in `protected`.
    """
    read = build_signatures(readings)
    barred = set(rejected)
    aliases: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    place = 0
    for group in groups:
        named = [is_exact(term, protected) and not is_exact(term) for term in group]
        for offset, term in enumerate(group):
            own = {} if named[offset] else read.get(place + offset, {})
            others = [
                other
                for at, other in enumerate(group)
                if at != offset
                and not named[at]
                and read.get(place + at, {}) != own
                and not barred.intersection(list_pairs((term, other)))
            ]
            for spelling in own.items():
                aliases.setdefault(spelling, {}).update(dict.fromkeys(others))
        place += len(group)
    return Glossary(
        aliases={spelling: tuple(others) for spelling, others in aliases.items() if others},
        longest=max((len(lexemes) for _, lexemes in aliases), default=0),
        protected=protected,
    )


def build_signatures(readings: Iterable[Reading]) -> dict[int, dict[str, tuple[str, ...]]]:
    """Return how each text was read, by its index, without those that no language reads."""
    return {
        unit: {
            language: tuple(reading.lexeme for reading in ordered)
            for language, ordered in by_language.items()
        }
        for unit, by_language in order_lexemes(readings).items()
    }


@dataclass(frozen=True, slots=True)
class MatchedAlias:
    """An alias that stands for some words of a headline."""

    written: str  # the words it stands for
    alias: str


def match_aliases(
    words: Sequence[str], readings: Iterable[Reading], glossary: Glossary
) -> list[MatchedAlias]:
    """Return the aliases of the words of a text, and of neighbouring words taken together.

    `readings` are those of `words`, in order.
    """
    exact = [is_exact(word, glossary.protected) for word in words]
    matched: dict[MatchedAlias, None] = {}
    for places, aliases in terms_in(build_signatures(readings), exact, glossary):
        written = _EDGES.sub("", " ".join(words[place] for place in places))
        matched |= {MatchedAlias(written, alias): None for alias in aliases}
    return list(matched)


def terms_in(
    read: Mapping[int, Signature], exact: Sequence[bool], glossary: Glossary
) -> Iterator[tuple[range, tuple[str, ...]]]:
    """Yield the places of words that make a term, and its aliases. No word of it may be exact."""
    for start in sorted(read):
        for end in range(start + 1, min(len(exact), start + 2 * glossary.longest) + 1):
            if end - 1 in read and not any(exact[start:end]):
                places = range(start, end)
                # Neighbouring words read as one phrase; stop words among them are skipped.
                phrase = {
                    language: tuple(
                        lexeme for at in places for lexeme in read.get(at, {}).get(language, ())
                    )
                    for language in set(read[start]) & set(read[end - 1])
                }
                if aliases := glossary.of(phrase):
                    yield places, aliases


def drop_heard_pairs(
    candidates: "Sequence[SuggestedPair]", heard: Sequence[Pair], readings: Iterable[Reading]
) -> "list[SuggestedPair]":
    """Return the candidates that are not in `heard`, not even in other forms of the words.

    `readings` are those of the candidates' terms, then of the terms of `heard`, in order.
    """
    read = build_signatures(readings)

    def contexts_at(place: int) -> frozenset[tuple[tuple[str, tuple[str, ...]], ...]]:
        both = (read.get(2 * place + offset, {}) for offset in (0, 1))
        return frozenset(tuple(sorted(counts.items())) for counts in both)

    contexts = {contexts_at(len(candidates) + place) for place in range(len(heard))}
    return [
        candidate
        for place, candidate in enumerate(candidates)
        if len(contexts_at(place)) == 2 and contexts_at(place) not in contexts
    ]


def frequent_terms(
    texts: Iterable[str],
    is_word: Dictionary,
    *,
    minimum: int = _MINIMUM,
    names: Collection[str] = (),
) -> list[str]:
    """Return the terms of texts in their commonest spelling, the most frequent first.

    Protected terms are left out, and so are terms with fewer than `minimum` occurrences.
    """
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        for term in _find_terms(text):
            spellings.setdefault(term.casefold(), Counter())[term] += 1
    often = [c for c in spellings.values() if c.total() >= minimum]
    often.sort(key=lambda c: (-c.total(), min(c)))
    shown = (min(c, key=lambda spelling: (-c[spelling], spelling)) for c in often)
    return [term for term in shown if explain_protection(term, is_word, names) is None]


def _find_terms(text: str) -> Iterator[str]:
    plain = _TOKEN.sub(lambda token: " " if _HOST.search(token[0]) else token[0], text)
    for sentence in _SENTENCE.split(_LINK.sub(" ", plain)):
        if sentence.isupper():
            continue  # capitals are no evidence here
        yield from (word for word in _WORD.findall(sentence) if len(word) >= _SHORTEST)
        for name in _NAME.findall(sentence):
            words = name.split()
            # Every two or three neighbouring words: frequency will show which are names.
            for length in _NAME_LENGTHS:
                for start in range(len(words) - length + 1):
                    yield " ".join(words[start : start + length])


def telling_terms(terms: Sequence[str], readings: Iterable[Reading], limit: int) -> list[str]:
    """Return the first `limit` terms that carry meaning, one of each set with equal lexemes.

    `readings` are those of `terms`; stop words have none.
    """
    read = build_signatures(readings)
    first: dict[tuple[tuple[str, tuple[str, ...]], ...], str] = {}
    for place, term in enumerate(terms):
        if place in read:
            first.setdefault(tuple(sorted(read[place].items())), term)
    return list(first.values())[:limit]
