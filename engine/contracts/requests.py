"""The search requests for corpora of each kind.

Each search is a query of the dialect with filters of its own, which are applied strictly.
docs/kinds.md is the manual.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from engine.corpora import ALL
from engine.messages import Message
from engine.query.filters import read_filter
from engine.query.parser import parse_query
from engine.query.query import Filter, Query
from engine.values import Kind

MAX_HITS = 100
_YEARS = range(1000, 9999)  # the years that engine.query.filters reads
_Value = str | int | tuple[str, ...] | None
Limit = Annotated[int, Field(ge=1, le=MAX_HITS, description="Most hits to return.")]
# A query may carry several filters with these names; a document needs to match only one of them.
_ALTERNATIVES = frozenset({"from", "lang", "platform", "role", "domain", "thread"})


def _known_year(day: date) -> date:
    if day.year not in _YEARS:
        raise ValueError(f"must be a year from {_YEARS[0]} to {_YEARS[-1]}")
    return day


Day = Annotated[date, AfterValidator(_known_year)]


class SearchContract(BaseModel):
    """The fields of all searches. Days are in UTC, both ends included."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    kinds: ClassVar[tuple[Kind, ...]]
    dialect: ClassVar[Mapping[str, str]]  # the fields of this kind, by the dialect's names

    query: str = Field(
        "",
        description='What to find: every word must be there, in any form. "exact phrase", a OR b,'
        " -word. Few words find more. Empty: the newest texts that meet the filters.",
    )
    corpus: str = Field("", description="Name of the corpus; empty where there is only one.")
    date_from: Day | None = Field(None, description="First day, such as 2015-03-02.")
    date_to: Day | None = Field(None, description="Last day.")

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.date_from and self.date_to and self.date_to < self.date_from:
            raise ValueError("date_to is before date_from")
        tuple(self.filters())  # raises if one of them cannot be a filter
        return self

    def to_query(self) -> Query:
        """Return the search as a query of the dialect.

        A field takes precedence over filters of the same name in the text: the dialect would treat
        several as alternatives, and let in results that the field excludes.
        """
        query, own = parse_query(self.query), tuple(self.filters())
        fixed = {condition.name for condition in own} & _ALTERNATIVES | (
            {"in"} if self.corpus else set()
        )
        dropped = [
            condition
            for condition in query.filters
            if condition.name in fixed and not condition.negated
        ]
        remaining = [condition for condition in query.filters if condition not in dropped]
        left_out = [str(condition) for condition in dropped if condition not in own]
        said = Message(
            "Left out, for a field goes before it: {filters}.", filters=", ".join(left_out)
        )
        return replace(
            query,
            filters=tuple(dict.fromkeys([*remaining, *own])),
            notices=(*query.notices, *((said,) if left_out else ())),
        )

    def filters(self) -> Iterator[Filter]:
        """Yield the fields as filters of the dialect."""
        if self.date_from:
            yield Filter("after", self.date_from.isoformat())
        if self.date_to:
            yield Filter("before", (self.date_to + timedelta(days=1)).isoformat())
        for name, field in self.dialect.items():
            yield from _read_filters(name, self._value_of(field))

    def _value_of(self, field: str) -> _Value:
        value: _Value = getattr(self, field)
        return value


def _read_filters(name: str, value: _Value) -> Iterator[Filter]:
    """Yield a field as filters. Raises ValueError if it cannot be one."""
    if value is None:
        return
    for entry in value if isinstance(value, tuple) else (value,):
        if name == "mention":
            read: Filter | str = Filter(name, str(entry).lstrip("@").casefold())
        else:
            read = read_filter(name, str(entry), negated=False)
        if isinstance(read, str) or not read.value.strip():
            raise ValueError(f'"{entry}" is no value for the filter {name}')
        yield read


class PersonalSearch(SearchContract):
    """Search one's own messages, chats with assistants and notes, exactly; say so if nothing is
    there."""

    kinds = (Kind.PERSONAL,)
    dialect = MappingProxyType(
        {"role": "role", "platform": "source", "thread": "thread_id", "tag": "tags"}
    )

    limit: Limit = 20
    role: str | None = Field(None, description="Whose words: me or others, user or assistant.")
    source: str | None = Field(None, description="The app: slack, whatsapp, chatgpt, telegram...")
    thread_id: str | None = Field(None, description="One conversation, channel or folder.")
    tags: tuple[str, ...] = Field((), description="Tags, all of which a text must carry.")


class SocialSearch(SearchContract):
    """Search posts on social networks, exactly; say so if nothing is there."""

    kinds = (Kind.SOCIAL, Kind.TWEETS)
    dialect = MappingProxyType(
        {"platform": "platform", "tag": "hashtags", "mention": "mentions", "min": "min_engagement"}
    )

    limit: Limit = 30
    platform: str | None = Field(
        None,
        description="The network: mastodon, bluesky, linkedin, x... None: that of the best post, so"
        " that none are mixed. all: whatever the corpus holds, mixed.",
    )
    hashtags: tuple[str, ...] = Field((), description="Hashtags, all of which a post must carry.")
    mentions: tuple[str, ...] = Field((), description="Accounts, all of which it must mention.")
    min_engagement: Annotated[int, Field(ge=0, le=999_999_999)] | None = Field(
        None, description="Fewest likes and reposts together."
    )
    comments: int = Field(0, ge=0, le=10, description="Strongest comments to add to each post.")

    @property
    def mixes(self) -> bool:
        """Whether posts of several platforms may stand side by side."""
        has_platform = any(
            condition.name == "platform" and not condition.negated
            for condition in self.to_query().filters
        )
        return has_platform or self._every_platform

    @property
    def _every_platform(self) -> bool:
        return (self.platform or "").casefold() == ALL

    def _value_of(self, field: str) -> _Value:
        return None if field == "platform" and self._every_platform else super()._value_of(field)


class PublishedSearch(SearchContract):
    """Search published articles and essays, exactly; say so if nothing is there."""

    kinds = (Kind.PUBLISHED, Kind.LIBRARY)
    dialect = MappingProxyType({"from": "author", "domain": "domain", "tag": "tags"})

    limit: Limit = 20
    author: str | None = Field(None, description="Who wrote it.")
    domain: str | None = Field(None, description="Where it was published, such as example.org.")
    tags: tuple[str, ...] = Field((), description="Tags, all of which an article must carry.")
