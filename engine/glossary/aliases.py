"""Applies a glossary: the aliases of the words of queries and headlines."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.glossary.groups import Glossary, Signature, is_exact, signatures
from engine.query.find import FindIndex
from engine.query.query import Alternative, Group, Phrase, Query, Unit, Word
from engine.text.clean import searchable
from engine.text.terms import Reading
from engine.values import Corpus

_EDGES = re.compile(r"^\W+|\W+$")


def expandable(query: Query, protected: Collection[str] = ()) -> list[Word]:
    """Return the words that aliases may replace: required or alternative, and not exact."""
    units = (alternative.unit for group in query.groups for alternative in group.alternatives)
    words = (unit for unit in units if isinstance(unit, Word))
    return [word for word in dict.fromkeys(words) if not is_exact(word.text, protected)]


def expand_query(
    query: Query, known: Glossary, readings: Iterable[Reading], *, weight: float
) -> Query:
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
    wide = query.expand_aliases(lambda unit: found.get(unit, ()))
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
                    groups[place] = _widen_group(groups[place], added)
    return tuple(groups)


def _only_word(group: Group) -> Word | None:
    unit = group.alternatives[0].unit
    return unit if len(group.alternatives) == 1 and isinstance(unit, Word) else None


def _widen_group(group: Group, added: Iterable[Alternative]) -> Group:
    known = {alternative.unit for alternative in group.alternatives}
    return Group(
        (
            *group.alternatives,
            *(alternative for alternative in added if alternative.unit not in known),
        )
    )


async def widen_query(
    index: FindIndex, corpus: Corpus, query: Query, known: Glossary, *, weight: float
) -> Query:
    """Return the query with the aliases that apply in a corpus. Raises the errors of the index."""
    words = expandable(query, known.protected) if known else []
    if not words:
        return query
    readings = await index.read(corpus, [searchable(word.text) for word in words])
    return expand_query(query, known, readings, weight=weight)


def _unit(alias: str) -> Unit:
    return Phrase(alias) if " " in alias else Word(alias)


@dataclass(frozen=True, slots=True)
class Fired:
    """An alias that stands for some words of a headline."""

    written: str  # the words it stands for
    alias: str


def find_fired(words: Sequence[str], readings: Iterable[Reading], known: Glossary) -> list[Fired]:
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
