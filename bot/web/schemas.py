"""The parameters of the API, each with its limits, its cursors, and the answers it describes."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.json_schema import WithJsonSchema

from bot.replies.dates import Period, read_date
from engine.contracts.answers import (
    AnswerModel,
    CitedText,
    FoundText,
    ProphecyAnswer,
    ProphecyHit,
    QuestionAnswer,
)
from engine.contracts.results import DocumentAnswer, FindAnswer, FoundHit
from engine.errors import NotAnswerable
from engine.messages import Message
from engine.query.find import DEFAULT_LIMIT, FindMode
from engine.search import Mode
from engine.settings.searching import MAX_MONTHS
from engine.values import Corpus, Kind

LONGEST_TEXT = 2000  # characters of a headline or a question
_SKIPPED = range(1, 100_000)  # texts before a page

Text = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_TEXT, pattern=r"[^\s\u0000]")
]
CorpusName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Moment = Annotated[
    datetime,
    BeforeValidator(lambda text: read_date(str(text))),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [
                {"format": "date", "pattern": "^[1-9]"},
                {"format": "date-time", "pattern": "^[1-9]"},
                {"pattern": "^[1-9][0-9]{3}(-(0[1-9]|1[0-2]))?$"},
            ],
            "examples": ["2015", "2015-03-02", "2015-03-02T14:00Z"],
        }
    ),
]


class StrictParameters(BaseModel):
    """What is asked: nothing that is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Parameters(StrictParameters):
    """What every question may say."""

    corpus: CorpusName | None = Field(
        None,
        description="Corpus to search, or all; left out, the configured one, else all.",
        examples=["me"],
    )


class PageParameters(BaseModel):
    """Where a page of an answer begins."""

    cursor: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="The `next` value of the page before; all else but the limit stays as it was.",
    )

    @property
    def skipped(self) -> int:
        """How many texts stand on the pages before. Raises NotAnswerable for a cursor of
        another question."""
        if self.cursor is None:
            return 0
        try:
            skipped, question = json.loads(urlsafe_b64decode(self.cursor))
        except (ValueError, TypeError):
            skipped, question = 0, ""
        if question != self._question or type(skipped) is not int or skipped not in _SKIPPED:
            raise NotAnswerable(
                Message("This cursor is of another question."),
                fix=Message("Send what next is in an answer, with the parameters of that answer."),
            )
        return skipped

    def turn_page(self, skipped: int) -> str:
        """Return the cursor of the page before which so many texts stand."""
        return urlsafe_b64encode(json.dumps([skipped, self._question]).encode()).decode()

    @property
    def _question(self) -> str:
        values = self.model_dump(mode="json", exclude={"cursor", "limit", "short"})
        return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


class FilterParameters(Parameters):
    """What narrows a search."""

    kind: Kind | None = Field(None, description="Search the corpus of this kind.")
    category: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        pattern=r"^[^\u0000]*$",
        description="Only what feeds of this category brought; without corpus, of the news.",
        examples=["tech"],
    )
    period: Period = Field(
        Period.ALL,
        description="Only texts of the last week or month. Left out, all: most corpora are"
        " archives, of which the last week is a small part.",
    )
    mode: Mode | None = Field(
        None,
        description="lexical: by words; hybrid: by meaning too; rerank: by words, re-ordered by"
        " meaning; semantic: the nearest in meaning, whatever their similarity. Left out, as"
        " configured.",
    )


class SearchParameters(FilterParameters, PageParameters):
    """A search by words and, where there are vectors, by meaning."""

    q: Text = Field(description="What to look for, in any words.", examples=["coffee prices"])
    limit: int = Field(10, ge=1, le=100, description="Texts in the answer, at most.")


class ProphecyParameters(Parameters):
    """A headline."""

    headline: Text = Field(
        validation_alias=AliasChoices("q", "headline"),
        description="The headline. The parameter may also be called `headline`.",
        examples=["Coffee prices hit a record high"],
    )
    date: Moment | None = Field(
        None, description="Its date; only older texts count. Left out, it is of now."
    )
    mode: Mode | None = Field(None, description="As in /api/search.")
    exclude_recent: int | None = Field(
        None,
        ge=0,
        le=MAX_MONTHS,
        description="Months before the headline to leave out; left out, as configured.",
        examples=[12],
    )
    limit: int = Field(3, ge=1, le=50, description="Texts in the answer, at most.")


class FindParameters(Parameters, PageParameters):
    """A query of the dialect."""

    query: Text = Field(
        validation_alias=AliasChoices("q", "query"),
        description="The query. The parameter may also be called `query`.",
        examples=['coffee before:2030 -"coffee break"'],
    )
    mode: FindMode = Field(
        FindMode.LEXICAL,
        description="lexical: by words; rerank: by words, re-ordered by meaning; semantic: the"
        " nearest in meaning.",
    )
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=100, description="Texts in the answer, at most.")


class AskParameters(FilterParameters):
    """A question."""

    question: Text = Field(
        validation_alias=AliasChoices("q", "question"),
        description="The question. The parameter may also be called `question`.",
        examples=["What was said about coffee?"],
    )
    limit: int = Field(5, ge=1, le=20, description="Sources, at most.")


class MonthParameters(StrictParameters, PageParameters):
    """A month of an archive."""

    month: str | None = Field(
        None,
        pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$",
        description="The month, in UTC; left out, the last one in which there are texts.",
        examples=["2015-03"],
    )
    limit: int = Field(30, ge=1, le=100, description="Texts in the answer, at most.")


class _Addressed(AnswerModel):
    page_url: str | None = Field(description="Its page on this server; null where there is none.")
    picture_url: str | None = Field(description="Its picture; null where there is none.")


class _Paged(AnswerModel):
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class _Originating(AnswerModel):
    title: str | None
    source: str | None = Field(description="The feed, else the domain, platform or corpus.")
    category: str | None = Field(description="That of its feed.")


class AddressedHit(ProphecyHit, _Addressed):
    """A text that foretold a headline, or is near to it."""


class HeadlineAnswer(ProphecyAnswer, _Addressed):
    """What `presagio search --json` prints, with addresses."""

    hits: list[AddressedHit]  # type: ignore[assignment]  # each has some names more
    near: list[AddressedHit] = Field(  # type: ignore[assignment]  # the same
        description="Texts that are too weak to be hits."
    )


class AddressedFind(FoundHit, _Addressed):
    """A text that meets a query."""


class FindPage(FindAnswer, _Paged):
    """A page of what `presagio find --json` prints, each hit with addresses."""

    hits: list[AddressedFind]  # type: ignore[assignment]  # each has some names more


class AddressedDocument(DocumentAnswer, _Addressed):
    """One text with the names that `presagio find --json` gives its hits, and its addresses."""


class ArchivedText(FoundText, _Addressed):
    """A text of a month."""

    lang: str | None
    engagement: int = Field(description="Likes and reposts.")
    continues: bool = Field(description="It goes on from the text above, of an earlier time.")


class MonthAnswer(_Paged):
    """The texts of a month, oldest first; threads stand together."""

    corpus: str
    month: str | None = Field(description="Null for an archive without dates.")
    months: dict[str, int] = Field(
        description="The months in which there are texts, with their number.",
        examples=[{"2015-03": 412}],
    )
    documents: list[ArchivedText]


class SearchHit(ProphecyHit, _Originating, _Addressed):
    """The same for a search."""

    similarity: float | None = Field(
        ge=0, le=1, description="Of meaning; null where no vectors were compared."
    )


class SearchAnswer(ProphecyAnswer, _Paged):
    """The same with what was counted and asked for."""

    kind: Kind | None = Field(description="Null for corpora of several kinds.")
    category: str | None
    period: Period
    searched: int = Field(description="Texts of the corpora in the period and category.")
    returned: int
    generated_at: str
    hits: list[SearchHit]  # type: ignore[assignment]  # each has some names more


class AnswerSource(CitedText, _Originating, _Addressed):
    """A text that the answer cites."""


class AskAnswer(QuestionAnswer):
    """What `presagio ask --json` prints."""

    generated_at: str
    sources: list[AnswerSource]  # type: ignore[assignment]  # each has some names more
    kind: Kind | None = Field(description="Null for corpora of several kinds.")
    category: str | None
    period: Period


class CorpusAnswer(AnswerModel):
    """A corpus, as `presagio corpora list --json` prints it."""

    name: str
    kind: Kind
    language: str
    documents: int
    author: str | None

    @classmethod
    def of(cls, corpus: Corpus) -> Self:
        """Return a corpus that may be asked."""
        return cls.model_validate({name: getattr(corpus, name) for name in cls.model_fields})


class CorporaAnswer(AnswerModel):
    """All corpora that may be asked."""

    corpora: list[CorpusAnswer]


class Health(AnswerModel):
    """Whether the process works, and which adapters hear anything."""

    status: str = Field(examples=["ok"])
    faces: dict[str, dict[str, bool | str]] = Field(
        examples=[{"telegram": {"listening": True, "way": "polling"}}]
    )


class Ready(AnswerModel):
    """Whether questions can be answered."""

    status: str = Field(examples=["ready"])


class ClearedModel(AnswerModel):
    """A model whose vectors are gone."""

    cleared: str


class ReloadedSettings(AnswerModel):
    """Settings that changed, by what it takes to follow them."""

    applied: list[str] = Field(examples=[["search.minimum_judgment"]])
    needs_restart: list[str] = Field(examples=[["telegram.api_base"]])
