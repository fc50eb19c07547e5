"""The parameters of the API, each with its limits. What is not listed is refused."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.json_schema import WithJsonSchema

from bot.dates import read_date
from bot.period import Period
from engine.types import Kind, Mode

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
    period: Period = Field(Period.ALL, description="Only texts of the last week or month.")
    mode: Mode | None = Field(
        None, description="By words, by meaning too, or re-ordered by it; left out, as configured."
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
    limit: int = Field(3, ge=1, le=50, description="Texts in the answer, at most.")


class AskParameters(Narrowed):
    """A question."""

    question: Text = Field(description="The question.", examples=["What was said about coffee?"])
    limit: int = Field(5, ge=1, le=20, description="Sources, at most.")
