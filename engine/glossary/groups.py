"""The glossary: which words may stand for one another, and which never do.

A group is a set of terms with the same meaning. Terms are compared as the text search reads them,
so case, spaces, accents and endings do not matter. docs/glossary.md is the manual.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations

from engine.glossary.suggest import SuggestedPair
from engine.glossary.terms import is_exact, key
from engine.query.find import FindIndex
from engine.query.query import Alternative, Group, Phrase, Query, Unit, Word
from engine.text.clean import searchable
from engine.text.terms import Reading
from engine.types import Corpus

# The lexemes of a word or phrase, in order, for each language that yields any.
Signature = Mapping[str, tuple[str, ...]]
_EDGES = re.compile(r"^\W+|\W+$")
Pair = tuple[str, str]  # two keys, the smaller first


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


def keys(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct keys of terms, sorted."""
    return tuple(sorted({key(term) for term in terms}))


def pairs(terms: Iterable[str]) -> tuple[Pair, ...]:
    """Return every pair of the terms, as keys."""
    return tuple((first, second) for first, second in combinations(keys(terms), 2))


@dataclass(frozen=True, slots=True)
class Glossary:
    """The groups that apply in one corpus, as its languages read them."""

    # (language, lexemes) -> the terms that may replace them
    aliases: Mapping[tuple[str, tuple[str, ...]], tuple[str, ...]] = field(default_factory=dict)
    longest: int = 0  # lexemes of the longest term
    protected: frozenset[str] = frozenset()  # keys of names that stand for nothing else

    def __bool__(self) -> bool:
        return bool(self.aliases)

    def of(self, signature: Signature) -> tuple[str, ...]:
        """Return the aliases of what has this signature, in the order of the groups."""
        found = (self.aliases.get(one, ()) for one in signature.items())
        return tuple(dict.fromkeys(alias for aliases in found for alias in aliases))


def glossary(
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
    read = signatures(readings)
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
                and not barred.intersection(pairs((term, other)))
            ]
            for one in own.items():
                aliases.setdefault(one, {}).update(dict.fromkeys(others))
        place += len(group)
    return Glossary(
        aliases={one: tuple(others) for one, others in aliases.items() if others},
        longest=max((len(lexemes) for _, lexemes in aliases), default=0),
        protected=protected,
    )


def signatures(readings: Iterable[Reading]) -> dict[int, dict[str, tuple[str, ...]]]:
    """Return how each text was read, by its index, without those that no language reads."""
    found: dict[int, dict[str, list[tuple[int, str]]]] = {}
    for one in readings:
        by_language = found.setdefault(one.unit, {})
        by_language.setdefault(one.language, []).append((one.position, one.lexeme))
    return {
        unit: {
            language: tuple(lexeme for _, lexeme in sorted(lexemes))
            for language, lexemes in by_language.items()
        }
        for unit, by_language in found.items()
    }


def unheard(
    candidates: Sequence[SuggestedPair], heard: Sequence[Pair], readings: Iterable[Reading]
) -> list[SuggestedPair]:
    """Return the candidates that are not in `heard`, not even in other forms of the words.

    `readings` are those of the candidates' terms, then of the terms of `heard`, in order.
    """
    read = signatures(readings)

    def said(place: int) -> frozenset[tuple[tuple[str, tuple[str, ...]], ...]]:
        both = (read.get(2 * place + offset, {}) for offset in (0, 1))
        return frozenset(tuple(sorted(one.items())) for one in both)

    known = {said(len(candidates) + place) for place in range(len(heard))}
    return [
        one
        for place, one in enumerate(candidates)
        if len(said(place)) == 2 and said(place) not in known
    ]


def expandable(query: Query, protected: Collection[str] = ()) -> list[Word]:
    """Return the words that aliases may replace: required or alternative, and not exact."""
    units = (one.unit for group in query.groups for one in group.alternatives)
    words = (unit for unit in units if isinstance(unit, Word))
    return [word for word in dict.fromkeys(words) if not is_exact(word.text, protected)]


def expanded(query: Query, known: Glossary, readings: Iterable[Reading], *, weight: float) -> Query:
    """Return the query with the aliases of its words, and of neighbouring words taken together.

    `readings` are of `expandable(query, known.protected)`.
    """
    read = signatures(readings)
    words = expandable(query, known.protected)
    by_word = {word: read.get(place, {}) for place, word in enumerate(words)}
    found: dict[Unit, list[tuple[Unit, float]]] = {
        word: [(_unit(alias), weight) for alias in known.of(signature)]
        for word, signature in by_word.items()
    }
    wide = query.expanded(lambda unit: found.get(unit, ()))
    return replace(wide, groups=_with_terms(wide.groups, query, known, by_word, weight))


def _with_terms(
    wide: Sequence[Group],
    query: Query,
    known: Glossary,
    by_word: Mapping[Word, Signature],
    weight: float,
) -> tuple[Group, ...]:
    """Add the aliases of terms of several words to the group of each of these words.

    (rate | throttle) & (limit | throttle) is (rate & limit) | throttle.
    """
    alone = [_only_word(group) for group in query.groups]
    read = {
        place: signature
        for place, word in enumerate(alone)
        if word and (signature := by_word.get(word))
    }
    exact = [word is None or word not in by_word for word in alone]
    groups = list(wide)
    for places, aliases in _terms(read, exact, known):
        if len(places) > 1:
            term = Phrase(" ".join(word.text for place in places if (word := alone[place])))
            added = [Alternative(_unit(alias), weight, alias_of=term) for alias in aliases]
            for place in places:
                if place in read:
                    groups[place] = _widened(groups[place], added)
    return tuple(groups)


def _only_word(group: Group) -> Word | None:
    unit = group.alternatives[0].unit
    return unit if len(group.alternatives) == 1 and isinstance(unit, Word) else None


def _widened(group: Group, added: Iterable[Alternative]) -> Group:
    known = {one.unit for one in group.alternatives}
    return Group((*group.alternatives, *(one for one in added if one.unit not in known)))


async def widened(
    index: FindIndex, corpus: Corpus, query: Query, known: Glossary, *, weight: float
) -> Query:
    """Return the query with the aliases that apply in a corpus. Raises the errors of the index."""
    words = expandable(query, known.protected) if known else []
    if not words:
        return query
    readings = await index.read(corpus, [searchable(word.text) for word in words])
    return expanded(query, known, readings, weight=weight)


def _unit(alias: str) -> Unit:
    return Phrase(alias) if " " in alias else Word(alias)


@dataclass(frozen=True, slots=True)
class Fired:
    """An alias that stands for some words of a headline."""

    written: str  # the words it stands for
    alias: str


def fired(words: Sequence[str], readings: Iterable[Reading], known: Glossary) -> list[Fired]:
    """Return the aliases of the words of a text, and of neighbouring words taken together.

    `readings` are those of `words`, in order.
    """
    exact = [is_exact(word, known.protected) for word in words]
    found: dict[Fired, None] = {}
    for places, aliases in _terms(signatures(readings), exact, known):
        written = _EDGES.sub("", " ".join(words[place] for place in places))
        found |= {Fired(written, alias): None for alias in aliases}
    return list(found)


def _terms(
    read: Mapping[int, Signature], exact: Sequence[bool], known: Glossary
) -> Iterator[tuple[range, tuple[str, ...]]]:
    """Yield the places of words that make a term, and its aliases. No word of it may be exact."""
    for start in sorted(read):
        for end in range(start + 1, min(len(exact), start + 2 * known.longest) + 1):
            if end - 1 in read and not any(exact[start:end]):
                places = range(start, end)
                if aliases := known.of(_together(read, places)):
                    yield places, aliases


def _together(read: Mapping[int, Signature], places: range) -> Signature:
    """Read neighbouring words as one phrase; stop words among them are skipped."""
    languages = set(read[places[0]]) & set(read[places[-1]])
    return {language: tuple(_lexemes(read, language, places)) for language in languages}


def _lexemes(read: Mapping[int, Signature], language: str, places: range) -> Iterator[str]:
    for place in places:
        yield from read.get(place, {}).get(language, ())
