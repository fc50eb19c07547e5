"""The query dialect: what a person typed, as values, and those values as text again.

    word  "exact phrase"  a OR b  -word  -"a phrase"  name:value  -name:value  #tag  @mention

Whatever can be typed is a query: what is no operator is an ordinary word, and what holds no letter
and no digit is nothing. docs/find.md is the manual, engine.query.read the reader.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from engine.messages import Message


@dataclass(frozen=True, slots=True)
class Word:
    """One word as typed. Read as several ("and/or"), they must stand as they do here."""

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
    """One way to satisfy a group. `alias_of` is what the person wrote where this is an alias."""

    unit: Unit
    weight: float = 1.0  # of its score, beside what was written
    alias_of: Unit | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives, one of which is required; most groups have one."""

    alternatives: tuple[Alternative, ...]

    def __str__(self) -> str:
        """Write the group in the dialect, aliases in parentheses that only people read."""
        if any(one.alias_of for one in self.alternatives):
            return f"({' | '.join(str(one.unit) for one in self.alternatives)})"
        return " OR ".join(str(one.unit) for one in self.alternatives)


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on something else than the words. The value is in its canonical form."""

    name: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        written = f"@{self.value}" if self.name == "mention" else f"{self.name}:{self._value()}"
        return f"-{written}" if self.negated else written

    def _value(self) -> str:
        # Unquoted, a value ends at a blank and loses the punctuation at its end.
        plain = (self.value[-1:].isalnum() or self.value[-1:] == "_") and not any(
            c.isspace() for c in self.value
        )
        return self.value if plain else f'"{self.value}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed query. `str` gives its canonical form, which reads back as the same query."""

    groups: tuple[Group, ...] = ()
    excluded: tuple[Unit, ...] = ()
    filters: tuple[Filter, ...] = ()
    notices: tuple[Message, ...] = field(default=(), compare=False)  # what was read otherwise

    def __str__(self) -> str:
        excluded = (f"-{unit}" for unit in self.excluded)
        return " ".join([*map(str, self.groups), *excluded, *map(str, self.filters)])

    def expanded(self, aliases: Callable[[Unit], Sequence[tuple[Unit, float]]]) -> "Query":
        """Return the query with the aliases (unit, weight) of each required or OR word beside it.

        Phrases stay as they are, for they were meant to the letter; so does what is excluded, for
        more of it would hide what was asked for.
        """
        return replace(self, groups=tuple(_expanded(group, aliases) for group in self.groups))


def _expanded(group: Group, aliases: Callable[[Unit], Sequence[tuple[Unit, float]]]) -> Group:
    seen = {one.unit for one in group.alternatives}
    wider: list[Alternative] = []
    for one in group.alternatives:
        wider.append(one)
        if isinstance(one.unit, Phrase):
            continue
        for unit, weight in aliases(one.unit):
            if unit not in seen:
                seen.add(unit)
                wider.append(Alternative(unit, weight, alias_of=one.unit))
    return Group(tuple(wider))
