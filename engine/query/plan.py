"""From a query and what the database reads its words as, to what is looked for.

A text is searched as its own language reads the query: in Spanish documents the Spanish lexemes of
a word are wanted, in English ones the English.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.query.query import Alternative, Query, Unit
from engine.text.terms import Reading, slots
from engine.types import Term


class Plan(StrEnum):
    """The ways to answer a query."""

    RANKED = "ranked"  # by BM25 over the words that are wanted
    NEWEST = "newest"  # no word is wanted: newest first
    NOTHING = "nothing"  # nothing is asked for
    NEAREST = "nearest"  # by meaning alone, where that was asked for


# Lexemes with their positions, ascending: what must stand together.
Chain = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageQuery:
    """The query as one language reads it: one chain of each group, and none of the excluded."""

    language: str
    required: tuple[tuple[Chain, ...], ...]
    excluded: tuple[Chain, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A term that is scored, and the part of the query that brought it."""

    term: Term
    alternative: Alternative


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for. `plan` says how; `by_language` has no entry where nothing can match."""

    plan: Plan
    by_language: tuple[LanguageQuery, ...]
    sought: tuple[Sought, ...]
    ignored: tuple[Unit, ...]  # no language makes a lexeme of them
    unseen: tuple[Unit, ...]  # wanted, and no document has them; stop words not counted

    @property
    def terms(self) -> tuple[Term, ...]:
        """What is scored."""
        return tuple(one.term for one in self.sought)


def units(query: Query) -> tuple[Unit, ...]:
    """Return every word and phrase of the query once, those to be read by the database."""
    wanted = (one.unit for group in query.groups for one in group.alternatives)
    return tuple(dict.fromkeys([*wanted, *query.excluded]))


def wanted(
    query: Query, languages: Sequence[str], readings: Iterable[Reading], documents: int
) -> Wanted:
    """Return what to look for. `readings` are of `units(query)`, in its order."""
    known = list(readings)
    read = units(query)
    chains = _chains(read, known)
    ranked = any(one.unit in chains for group in query.groups for one in group.alternatives)
    by_language = tuple(_in_language(query, language, chains) for language in languages)
    if ranked:
        by_language = tuple(one for one in by_language if one.required)
    frequencies: dict[Unit, int] = defaultdict(int)
    for reading in known:
        frequencies[read[reading.unit]] += reading.document_frequency
    return Wanted(
        plan=_plan(query, ranked=ranked, excluding=any(one.excluded for one in by_language)),
        by_language=by_language,
        sought=_sought(query, read, known, documents),
        ignored=tuple(unit for unit in read if unit not in chains),
        unseen=tuple(
            one.unit
            for group in query.groups
            for one in group.alternatives
            if one.alias_of is None
            and len(chains.get(one.unit, ())) == len(languages)
            and not frequencies[one.unit]
        ),
    )


def _plan(query: Query, *, ranked: bool, excluding: bool) -> Plan:
    if ranked:
        return Plan.RANKED
    return Plan.NEWEST if query.filters or excluding else Plan.NOTHING


def _chains(read: Sequence[Unit], readings: Iterable[Reading]) -> dict[Unit, dict[str, Chain]]:
    """Return the chain of each unit in each language that makes a lexeme of it."""
    found: dict[Unit, dict[str, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
    for one in readings:
        found[read[one.unit]][one.language].append((one.lexeme, one.position))
    return {
        unit: {
            language: tuple(sorted(links, key=lambda link: (link[1], link[0])))
            for language, links in by_language.items()
        }
        for unit, by_language in found.items()
    }


def _in_language(
    query: Query, language: str, chains: Mapping[Unit, Mapping[str, Chain]]
) -> LanguageQuery:
    """Read the query in one language; what is no lexeme there (a stop word) demands nothing."""

    def made(found: Iterable[Unit]) -> tuple[Chain, ...]:
        of = (chains.get(unit, {}).get(language) for unit in found)
        return tuple(dict.fromkeys(chain for chain in of if chain))

    groups = (made(one.unit for one in group.alternatives) for group in query.groups)
    return LanguageQuery(
        language=language,
        required=tuple(group for group in groups if group),
        excluded=made(query.excluded),
    )


def _sought(
    query: Query, read: Sequence[Unit], readings: Iterable[Reading], documents: int
) -> tuple[Sought, ...]:
    """Return the terms to score. A lexeme counts once, for what the person wrote if possible."""
    alternatives = [one for group in query.groups for one in group.alternatives]
    alternatives.sort(key=lambda one: one.alias_of is not None)
    numbers = {unit: number for number, unit in enumerate(read)}
    found = slots(readings, [numbers[one.unit] for one in alternatives])
    chosen = ((alternatives[slot.place], slot) for slot in found if slot.fresh)
    return tuple(
        Sought(term=slot.term(one.unit.text, documents, weight=one.weight), alternative=one)
        for one, slot in chosen
    )
