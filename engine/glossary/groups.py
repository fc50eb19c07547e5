"""The glossary: which words may stand for one another, and which never do.

A group is a set of terms with the same meaning. Terms are compared as the text search reads them,
so case, spaces, accents and endings do not matter. docs/glossary.md is the manual.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations

from engine.glossary.suggest import SuggestedPair
from engine.glossary.terms import is_exact, key
from engine.text.terms import Reading

# The lexemes of a word or phrase, in order, for each language that yields any.
Signature = Mapping[str, tuple[str, ...]]
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
