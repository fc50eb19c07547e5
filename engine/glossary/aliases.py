"""Applies a glossary to queries: adds the aliases of their words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from engine.glossary.groups import Glossary, Signature, build_signatures, is_exact, terms_in
from engine.ports import LexemeSource
from engine.query.query import Alternative, Group, Phrase, Query, Unit, Word
from engine.text.clean import make_searchable
from engine.text.terms import Reading
from engine.values import Corpus


def list_expandable_words(query: Query, protected: Collection[str] = ()) -> list[Word]:
    """Return the words that aliases may replace: required or alternative, and not exact."""
    units = (alternative.unit for alternative in query.alternatives)
    words = (unit for unit in units if isinstance(unit, Word))
    return [word for word in dict.fromkeys(words) if not is_exact(word.text, protected)]


def expand_query(
    query: Query, glossary: Glossary, readings: Iterable[Reading], *, weight: float
) -> Query:
    """Return the query with the aliases of its words, and of neighbouring words taken together.

    `readings` are of `list_expandable_words(query, glossary.protected)`.
    """
    read = build_signatures(readings)
    words = list_expandable_words(query, glossary.protected)
    by_word: dict[Unit, Signature] = {word: read.get(place, {}) for place, word in enumerate(words)}
    aliases = {
        word: [(_build_unit(alias), weight) for alias in glossary.of(signature)]
        for word, signature in by_word.items()
    }
    wide = query.expand_aliases(lambda unit: aliases.get(unit, ()))
    return replace(wide, groups=_with_terms(wide.groups, query, glossary, by_word, weight))


def _with_terms(
    wide: Sequence[Group],
    query: Query,
    glossary: Glossary,
    by_word: Mapping[Unit, Signature],
    weight: float,
) -> tuple[Group, ...]:
    """Add the aliases of terms of several words to the group of each of these words.

    (rate | throttle) & (limit | throttle) is (rate & limit) | throttle.
    """
    alone = [
        group.alternatives[0].unit if len(group.alternatives) == 1 else None
        for group in query.groups
    ]
    read = {
        place: signature
        for place, word in enumerate(alone)
        if word and (signature := by_word.get(word))
    }
    exact = [word is None or word not in by_word for word in alone]
    groups = list(wide)
    for places, aliases in terms_in(read, exact, glossary):
        if len(places) > 1:
            term = Phrase(" ".join(word.text for place in places if (word := alone[place])))
            added = [Alternative(_build_unit(alias), weight, alias_of=term) for alias in aliases]
            for place in places:
                if place in read:
                    own = groups[place].alternatives
                    known = {alternative.unit for alternative in own}
                    new = (alternative for alternative in added if alternative.unit not in known)
                    groups[place] = Group((*own, *new))
    return tuple(groups)


async def widen_query(
    index: LexemeSource, corpus: Corpus, query: Query, glossary: Glossary, *, weight: float
) -> Query:
    """Return the query with the aliases that apply in a corpus. Raises the errors of the index."""
    words = list_expandable_words(query, glossary.protected) if glossary else []
    if not words:
        return query
    readings = await index.read(corpus, [make_searchable(word.text) for word in words])
    return expand_query(query, glossary, readings, weight=weight)


def _build_unit(alias: str) -> Unit:
    return Phrase(alias) if " " in alias else Word(alias)
