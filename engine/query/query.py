"""The query dialect: typed text as values, and those values as text again.

    word  "exact phrase"  a OR b  -word  -"a phrase"  name:value  -name:value  #tag  @mention

Any text is a query: what is not an operator is an ordinary word, and what has no letter and no
digit is ignored. The manual is docs/find.md; the parser is engine.query.read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from engine.messages import Message


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
        written = f"@{self.value}" if self.name == "mention" else f"{self.name}:{self._value()}"
        return f"-{written}" if self.negated else written

    def _value(self) -> str:
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
        own = [
            alternative
            for group in members
            for alternative in group.alternatives
            if alternative not in aliases
        ]
        if aliases and len(own) == len(members):
            words = " ".join(str(alternative.unit) for alternative in own)
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
