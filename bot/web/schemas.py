"""The parameters of the API, each with its limits, and the answers that it describes."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.json_schema import WithJsonSchema

from bot.replies.dates import Period, read_date
from engine.answer.cited_answer import AnswerOutcome
from engine.contracts.results import Attachment
from engine.prophecy.score import Sureness
from engine.search import Mode
from engine.settings.searching import MOST_MONTHS
from engine.values import DateKind, Kind

_DATED_BY = "What the date tells, if not when it was written or published."

LONGEST_TEXT = 2000  # characters of a headline or a question

Text = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_TEXT, pattern=r"[^\s\u0000]")
]
CorpusName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Moment = Annotated[
    datetime,
    BeforeValidator(lambda text: read_date(str(text))),
    WithJsonSchema({"type": "string", "examples": ["2015", "2015-03-02", "2015-03-02T14:00Z"]}),
]


class Parameters(BaseModel):
    """What every question may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: CorpusName | None = Field(
        None, description="Corpus to search; left out, the configured or only one.", examples=["me"]
    )


class Narrowed(Parameters):
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


class SearchParameters(Narrowed):
    """A search by words and, where there are vectors, by meaning."""

    q: Text = Field(description="What to look for, in any words.", examples=["coffee prices"])
    limit: int = Field(10, ge=1, le=100, description="Texts in the answer, at most.")


class ProphecyParameters(Parameters):
    """A headline."""

    headline: Text = Field(
        description="The headline.", examples=["Coffee prices hit a record high"]
    )
    date: Moment | None = Field(
        None, description="Its date; only older texts count. Left out, it is of now."
    )
    mode: Mode | None = Field(None, description="As in /api/search.")
    exclude_recent: int | None = Field(
        None,
        ge=0,
        le=MOST_MONTHS,
        description="Months before the headline to leave out; left out, as configured.",
        examples=[12],
    )
    limit: int = Field(3, ge=1, le=50, description="Texts in the answer, at most.")


class AskParameters(Narrowed):
    """A question."""

    question: Text = Field(description="The question.", examples=["What was said about coffee?"])
    limit: int = Field(5, ge=1, le=20, description="Sources, at most.")


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class UsageFigures(_Answer):
    """What model calls consumed; null means that the endpoint did not say."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


class Parts(_Answer):
    """Parts of a score, 0 to 1 each; null: there is none."""

    judgment: float | None = Field(description="What the model says, of 6.")
    lexical: float | None = Field(description="Words in common.")
    age: float | None = Field(description="Older is higher.")
    semantic: float | None = Field(description="Similarity of meaning.")


class ItemPart(_Answer):
    """The part of a document of a library that a text is."""

    title: str
    part: int = Field(description="Number of the part, from 1.")
    heading: str | None = Field(description="The headings above it, outermost first.")
    page: int | None
    last_page: int | None
    pages: int | None = Field(description="Of the whole document.")


class ProphecyHit(_Answer):
    """A text, its score and why it was found."""

    rank: int
    id: str = Field(description="Id at the source, which is text.", examples=["1374658291"])
    created_at: str | None = Field(
        description="Null if nothing tells when it was written.",
        examples=["2012-03-14T09:30:00+00:00"],
    )
    dated_by: DateKind | None = Field(description=_DATED_BY)
    age: str | None = Field(
        description="How long before the headline.", examples=["9 years before"]
    )
    text: str
    place: ItemPart | None = Field(description="Null for what is no part of a document.")
    url: str | None
    author: str | None
    score: float = Field(ge=0, le=1)
    parts: Parts
    factors: dict[str, float] = Field(description="Multipliers that were applied.")
    matched: list[str] = Field(description="Words of the headline that the text says.")
    sureness: Sureness | None = Field(description="How sure the answer is; null for what is near.")
    why: str | None = Field(description="What the model says of a text that it scored 4 or more.")
    proposed_by: dict[str, int] = Field(description="Ranks in the lists that proposed it.")
    asked_for: dict[str, int] = Field(description="Phrases that found it, and its rank for each.")
    flags: list[str]


class _Originating(_Answer):
    title: str | None
    source: str | None = Field(description="The feed, else the domain, platform or corpus.")
    category: str | None = Field(description="That of its feed.")


class SearchHit(ProphecyHit, _Originating):
    """The same for a search."""

    similarity: float | None = Field(
        ge=0, le=1, description="Of meaning; null where no vectors were compared."
    )


class ProphecyAnswer(_Answer):
    """What `presagio search --json` prints."""

    query: str
    headline: str = Field(description="The query without links and the name of the source.")
    date: str | None
    corpus: str
    judged: bool = Field(description="Whether a model judged any text.")
    model: str | None
    prompt_version: str | None
    cached: bool
    mode: Mode
    embedding_model: str | None
    compared: int = Field(
        description="Of the best texts, by meaning, where the corpus has too few vectors."
    )
    candidates: int
    coverage: float = Field(ge=0, le=1, description="Share of the headline that one text covers.")
    elapsed_ms: int
    phrases: list[str] = Field(
        description="What a model said that the account may have written about it."
    )
    phrases_ms: int | None = Field(
        description="How long the model took for them; null if it was not asked."
    )
    phrases_late: bool = Field(
        description="Whether the model had named none in time; they are kept for the next search."
    )
    usage: UsageFigures | None
    notice: str | None = Field(description="What a person should know about how this was found.")
    hits: list[ProphecyHit]
    near: list[ProphecyHit] = Field(description="Texts that are too weak to be hits.")


class SearchAnswer(ProphecyAnswer):
    """The same with what was counted and asked for."""

    kind: Kind
    category: str | None
    period: Period
    searched: int = Field(description="Texts of the corpus in the period and category.")
    returned: int
    generated_at: str
    hits: list[SearchHit]  # type: ignore[assignment]  # each has some names more


class AnswerSentence(_Answer):
    """One sentence of an answer, with the numbers of its sources."""

    text: str
    sources: list[int]
    quoted: bool = Field(description="Taken from a source as it stands.")
    supported: bool | None = Field(
        description="Whether the check found it in its sources; null if it was not checked."
    )


class AnswerObjection(_Answer):
    """A sentence of the model that the check left out, marked or corrected."""

    text: str = Field(description="As the model had written it.")
    why: str


class AnswerSource(_Originating):
    """A text that the answer cites."""

    number: int = Field(description="What stands in the brackets.")
    corpus: str
    id: str
    created_at: str | None
    dated_by: DateKind | None = Field(description=_DATED_BY)
    text: str
    cited: str = Field(description="The part of the text that the answer is about.")
    place: ItemPart | None = Field(description="Null for what is no part of a document.")
    url: str | None
    author: str | None
    relevance: float = Field(ge=0, le=1)
    matched: list[str]
    flags: list[str]


class AskAnswer(_Answer):
    """What `presagio ask --json` prints."""

    question: str
    earlier: list[str]
    corpora: list[str]
    outcome: AnswerOutcome = Field(
        description="answered by a model; silent: it says that the sources do not say; extracted:"
        " sentences of the sources, without a model; nothing was found."
    )
    answer: str | None = Field(
        description="Each claim ends with the numbers of its sources.", examples=["So it is. [1]"]
    )
    sentences: list[AnswerSentence]
    checked: bool = Field(description="Whether a second call compared it with its sources.")
    objections: list[AnswerObjection]
    passages: int = Field(description="Texts that were found, cited or not.")
    model: str | None
    prompt_version: str | None
    cached: bool
    mode: Mode
    embedding_model: str | None
    elapsed_ms: int
    usage: UsageFigures | None
    generated_at: str
    notice: str | None
    sources: list[AnswerSource]
    kind: Kind
    category: str | None
    period: Period


class CorpusAnswer(_Answer):
    """A corpus, as `presagio corpora list --json` prints it."""

    name: str
    kind: Kind
    language: str
    documents: int
    author: str | None


class CorporaAnswer(_Answer):
    """All corpora that may be asked."""

    corpora: list[CorpusAnswer]


class DocumentAnswer(_Answer):
    """One text with the names that `presagio find --json` gives its hits."""

    corpus: str
    id: str
    created_at: str | None
    dated_by: DateKind | None = Field(description=_DATED_BY)
    text: str
    context: str | None = Field(description="The message that it answers.")
    title: str | None
    place: ItemPart | None = Field(description="Null for what is no part of a document.")
    url: str | None
    author: str | None
    role: str | None
    platform: str | None
    thread: str | None
    attribution: str = Field(description="Where it comes from, else author, source and date.")
    lang: str | None
    tags: list[str]
    mentions: list[str]
    engagement: int
    attachments: list[Attachment]
    participants: list[str] = Field(description="Of its conversation.")
    flags: list[str]


class Health(_Answer):
    """Whether the process works, and which adapters hear anything."""

    status: str = Field(examples=["ok"])
    faces: dict[str, dict[str, bool | str]] = Field(
        examples=[{"telegram": {"listening": True, "way": "polling"}}]
    )


class Ready(_Answer):
    """Whether questions can be answered."""

    status: str = Field(
        examples=["ready"],
        description="ready, or reading: only a standby answers, and nothing is stored.",
    )


class Cleared(_Answer):
    """A model whose vectors are gone."""

    cleared: str


class Reloaded(_Answer):
    """Settings that changed, by what it takes to follow them."""

    applied: list[str] = Field(examples=[["search.minimum_judgment"]])
    needs_restart: list[str] = Field(examples=[["telegram.api_base"]])
