"""The query dialect: typed text as values, and those values as text again.

    word  "exact phrase"  a OR b  -word  -"a phrase"  name:value  -name:value  #tag  @mention

Any text is a query: what is not an operator is an ordinary word, and what has no letter and no
digit is ignored. The manual is docs/find.md; the parser is engine.query.parser.

Each document is searched with the lexemes of its own language: Spanish documents with the Spanish
lexemes of a word, English ones with the English.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby

from engine.messages import Message
from engine.search import Term
from engine.text.terms import Reading, assign_slots, order_lexemes

# Lexemes with their positions, ascending, which must occur at the same distances.
Chain = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Word:
    """One word as typed. If it is read as several ("and/or"), they must be adjacent, in order."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Phrase:
    """Adjacent words, in order."""

    text: str

    def __str__(self) -> str:
        return f'"{self.text}"'


Unit = Word | Phrase


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to satisfy a group. `alias_of` is what the user wrote, if this is an alias."""

    unit: Unit
    weight: float = 1.0  # of its score, relative to what was written
    alias_of: Unit | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives, one of which is required; most groups have one."""

    alternatives: tuple[Alternative, ...]

    def __str__(self) -> str:
        """Write the group in the dialect, with aliases in parentheses for people only."""
        if any(alternative.alias_of for alternative in self.alternatives):
            return f"({' | '.join(str(alternative.unit) for alternative in self.alternatives)})"
        return " OR ".join(str(alternative.unit) for alternative in self.alternatives)


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on something other than the words. The value is in canonical form."""

    name: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        written = (
            f"@{self.value}" if self.name == "mention" else f"{self.name}:{self._quote_value()}"
        )
        return f"-{written}" if self.negated else written

    def _quote_value(self) -> str:
        # An unquoted value ends at a blank and loses trailing punctuation.
        plain = (self.value[-1:].isalnum() or self.value[-1:] == "_") and not any(
            c.isspace() for c in self.value
        )
        return self.value if plain else f'"{self.value}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed query. `str` returns its canonical form, which parses to the same query."""

    groups: tuple[Group, ...] = ()
    excluded: tuple[Unit, ...] = ()
    filters: tuple[Filter, ...] = ()
    notices: tuple[Message, ...] = field(default=(), compare=False)  # on parts read differently

    @property
    def alternatives(self) -> list[Alternative]:
        """Those of all groups, in their order."""
        return [alternative for group in self.groups for alternative in group.alternatives]

    def __str__(self) -> str:
        excluded = (f"-{unit}" for unit in self.excluded)
        return " ".join([*_write_groups(self.groups), *excluded, *map(str, self.filters)])

    def expand_aliases(self, aliases: Callable[[Unit], Sequence[tuple[Unit, float]]]) -> "Query":
        """Return the query with the aliases (unit, weight) of each required or OR word added.

        Phrases are not expanded, because they are meant literally; nor are exclusions, because
        more of them would hide wanted documents.
        """
        return replace(self, groups=tuple(_expand_group(group, aliases) for group in self.groups))


def _write_groups(groups: Sequence[Group]) -> Iterator[str]:
    """Write groups, and those whose words have aliases together as one: (rate limit | quota)."""
    for aliases, run in groupby(groups, _of_several_words):
        members = list(run)
        if aliases and len(members) > 1:
            own = (
                Group(tuple(each for each in group.alternatives if each not in aliases))
                for group in members
            )
            words = " ".join(map(str, own))
            yield f"({' | '.join([words, *(str(alternative.unit) for alternative in aliases)])})"
        else:
            yield from map(str, members)


def _of_several_words(group: Group) -> tuple[Alternative, ...]:
    """Return the aliases of this group's word and its neighbours, taken together."""
    return tuple(
        alternative
        for alternative in group.alternatives
        if isinstance(alternative.alias_of, Phrase)
    )


def _expand_group(group: Group, aliases: Callable[[Unit], Sequence[tuple[Unit, float]]]) -> Group:
    seen = {alternative.unit for alternative in group.alternatives}
    wider: list[Alternative] = []
    for alternative in group.alternatives:
        wider.append(alternative)
        if isinstance(alternative.unit, Phrase):
            continue
        for unit, weight in aliases(alternative.unit):
            if unit not in seen:
                seen.add(unit)
                wider.append(Alternative(unit, weight, alias_of=alternative.unit))
    return Group(tuple(wider))


class Plan(StrEnum):
    """The ways to answer a query."""

    RANKED = "ranked"  # by BM25 over the wanted words
    NEWEST = "newest"  # no words are wanted: newest first
    NOTHING = "nothing"  # the query is empty
    NEAREST = "nearest"  # by meaning alone, on request


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageQuery:
    """The query in one language: one chain of each group is required, excluded ones forbidden."""

    language: str
    required: tuple[tuple[Chain, ...], ...]
    excluded: tuple[Chain, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A term to score, and the part of the query it comes from."""

    term: Term
    alternative: Alternative


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSearch:
    """The planned search. `by_language` has no entry for languages in which nothing can match."""

    plan: Plan
    by_language: tuple[LanguageQuery, ...]
    sought: tuple[Sought, ...]
    ignored: tuple[Unit, ...]  # have no lexeme; or in one language alone, and nothing is found
    unseen: tuple[Unit, ...]  # wanted, but in no document; without stop words

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms to score."""
        return tuple(sought.term for sought in self.sought)


def list_units(query: Query) -> tuple[Unit, ...]:
    """Return the distinct words and phrases of the query, for the database to read."""
    wanted = (alternative.unit for alternative in query.alternatives)
    return tuple(dict.fromkeys([*wanted, *query.excluded]))


def plan_query(
    query: Query, languages: Sequence[str], readings: Iterable[Reading], documents: int
) -> PlannedSearch:
    """Return the planned search. `readings` are those of `list_units(query)`, in the same order."""
    every, read = list(readings), list_units(query)
    chains = _chain_lexemes(read, every)
    plan, by_language = _choose_plan(query, languages, chains)
    present = {read[reading.unit] for reading in every if reading.document_frequency}
    return PlannedSearch(
        plan=plan,
        by_language=by_language,
        sought=_choose_sought(query, read, every, documents),
        ignored=tuple(
            unit
            for unit in read
            # A stop word of one language is sought in the others, where nobody writes it.
            if unit not in chains or (len(chains[unit]) < len(languages) and not present)
        ),
        unseen=tuple(
            alternative.unit
            for alternative in query.alternatives
            if alternative.alias_of is None
            and len(chains.get(alternative.unit, ())) == len(languages)
            and alternative.unit not in present
        ),
    )


def _chain_lexemes(
    read: Sequence[Unit], readings: Iterable[Reading]
) -> dict[Unit, dict[str, Chain]]:
    """Return the lexemes of each unit that has some, by language."""
    return {
        read[number]: {
            language: tuple((reading.lexeme, reading.position) for reading in ordered)
            for language, ordered in by_language.items()
        }
        for number, by_language in order_lexemes(readings).items()
    }


def _choose_plan(
    query: Query, languages: Sequence[str], chains: Mapping[Unit, Mapping[str, Chain]]
) -> tuple[Plan, tuple[LanguageQuery, ...]]:
    """Return how to answer the query, and what to look for in each language."""
    by_language = tuple(_in_language(query, language, chains) for language in languages)
    if any(alternative.unit in chains for alternative in query.alternatives):
        return Plan.RANKED, tuple(each for each in by_language if each.required)
    if query.filters or any(each.excluded for each in by_language):
        return Plan.NEWEST, by_language
    return Plan.NOTHING, by_language


def _in_language(
    query: Query, language: str, chains: Mapping[Unit, Mapping[str, Chain]]
) -> LanguageQuery:
    """Read the query in one language; words without a lexeme in it (stop words) are ignored, and
    demand no alias of a term that they are a part of."""

    def made(units: Iterable[Unit]) -> tuple[Chain, ...]:
        of = (chains.get(unit, {}).get(language) for unit in units)
        return tuple(dict.fromkeys(chain for chain in of if chain))

    def select_units(group: Group) -> Iterator[Unit]:
        own = {
            alternative.unit for alternative in group.alternatives if alternative.alias_of is None
        }
        is_read = any(language in chains.get(unit, {}) for unit in own)
        for alternative in group.alternatives:
            if is_read or not isinstance(alternative.alias_of, Phrase):
                yield alternative.unit

    groups = (made(select_units(group)) for group in query.groups)
    return LanguageQuery(
        language=language,
        required=tuple(group for group in groups if group),
        excluded=made(query.excluded),
    )


def _choose_sought(
    query: Query, read: Sequence[Unit], readings: Iterable[Reading], documents: int
) -> tuple[Sought, ...]:
    """Return the terms to score. Each lexeme counts once, for the user's own word if possible."""
    alternatives = sorted(query.alternatives, key=lambda each: each.alias_of is not None)
    numbers = {unit: number for number, unit in enumerate(read)}
    slots = assign_slots(readings, [numbers[alternative.unit] for alternative in alternatives])
    fresh = ((alternatives[slot.place], slot) for slot in slots if slot.fresh)
    return tuple(
        Sought(
            term=slot.term(alternative.unit.text, documents, weight=alternative.weight),
            alternative=alternative,
        )
        for alternative, slot in fresh
    )
