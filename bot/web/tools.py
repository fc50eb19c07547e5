"""The tools for agents: the questions of the API, with the same parameters and answers."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.queries.compose import composer
from bot.queries.find import find
from bot.replies.composition import composition_json
from bot.replies.find import found_json
from bot.web.api import corpora_json, document_json, read_document
from bot.web.parameters import (
    AskParameters,
    CorpusName,
    Parameters,
    ProphecyParameters,
    SearchParameters,
    Text,
)
from bot.web.searching import answer_headline, answer_question, search_corpus
from bot.web.shared_state import SharedState
from engine.compose.composition import ComposeRequest
from engine.query.find import DEFAULT_LIMIT
from engine.query.meaning import FindMode


class FindParameters(Parameters):
    """A query of the dialect."""

    query: Text = Field(description="The query.", examples=['"border wall" before:2015 -street'])
    mode: FindMode = Field(
        FindMode.LEXICAL,
        description="lexical: by words; rerank: by words, re-ordered by meaning; semantic: the"
        " nearest in meaning.",
    )
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=100, description="Texts in the answer, at most.")


class ComposeParameters(BaseModel):
    """What to write about, and from what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: Text = Field(description="What to write about.", examples=["Coffee prices"])
    corpora: list[CorpusName] = Field(
        [],
        max_length=10,
        description="Corpora to take the evidence from; none: the configured or only one.",
    )
    language: str | None = Field(
        None,
        pattern=r"^[A-Za-z]{2,20}(-[A-Za-z0-9]{2,8})?$",
        description="To write in, such as es; left out, the language of the prompt.",
    )
    thread: bool = Field(False, description="A thread of 2 to 6 tweets.")
    variants: int = Field(1, ge=1, le=3, description="Variants to choose from.")
    web: bool = Field(True, description="Whether the web is asked for what the corpora lack.")


class DocumentParameters(BaseModel):
    """One text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: CorpusName = Field(description="Its corpus.")
    id: str = Field(min_length=1, max_length=1000, description="Its id in an answer.")


class CorporaParameters(BaseModel):
    """Nothing is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """A tool. `expensive` ones may ask a model, and an address may call them less often."""

    name: str
    title: str
    description: str
    parameters: type[BaseModel]
    answer: Callable[[SharedState, Any], Awaitable[dict[str, object]]]
    expensive: bool = False

    async def call(self, shared: SharedState, arguments: Mapping[str, Any]) -> dict[str, object]:
        """Return the answer as JSON values.

        Raises RequestValidationError for wrong arguments, and the errors of the API.
        """
        try:
            asked = self.parameters.model_validate(dict(arguments))
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error
        return await self.answer(shared, asked)


async def _find(shared: SharedState, asked: FindParameters) -> dict[str, object]:
    started = time.perf_counter()
    found = await find(
        shared.app,
        asked.query,
        corpus=asked.corpus or "",
        limit=asked.limit,
        voice=True,
        mode=asked.mode,
    )
    return found_json(asked.query, found, elapsed_ms=(time.perf_counter() - started) * 1000)


async def _compose(shared: SharedState, asked: ComposeParameters) -> dict[str, object]:
    names = dict.fromkeys(asked.corpora or [""])
    request = ComposeRequest(
        prompt=asked.prompt,
        corpora=tuple([await shared.corpus(name) for name in names]),
        language=asked.language,
        thread=asked.thread,
        variants=asked.variants,
        web=asked.web,
    )
    return composition_json(await composer(shared.app).compose(request, now=shared.now()))


async def _document(shared: SharedState, asked: DocumentParameters) -> dict[str, object]:
    return document_json(*await read_document(shared, asked.corpus, asked.id))


async def _corpora(shared: SharedState, _: CorporaParameters) -> dict[str, object]:
    return await corpora_json(shared)


TOOLS = (
    ToolEntry(
        name="search",
        title="Find texts by words and by meaning",
        description="Find texts of one corpus in any words, best first. No model judges them; age"
        " does not count.",
        parameters=SearchParameters,
        answer=search_corpus,
    ),
    ToolEntry(
        name="prophecy",
        title="Find the old texts that foretold a headline",
        description="Find the texts, older than a headline, that foresaw it. Without hits nothing"
        " foretold it, and `near` holds what came nearest.",
        parameters=ProphecyParameters,
        answer=answer_headline,
        expensive=True,
    ),
    ToolEntry(
        name="find",
        title="Find exactly the texts that meet a query",
        description='Find all texts that meet a query: word "exact phrase" a OR b -word; before:'
        " after: on: lang: from: in: platform: role: domain: thread: tag: min:100 has:media"
        " is:repost, each also with - before it. Dates are 2015, 2015-03 or 2015-03-02."
        " `counts` tells how many there are.",
        parameters=FindParameters,
        answer=_find,
    ),
    ToolEntry(
        name="ask",
        title="Answer a question from the texts",
        description="Answer a question from one corpus, each claim with its sources; without a"
        " model, in the words of the sources.",
        parameters=AskParameters,
        answer=answer_question,
        expensive=True,
    ),
    ToolEntry(
        name="compose",
        title="Write a tweet in which each claim has a source",
        description="Write a tweet or a thread from the texts and, for what they lack, the web."
        " Nothing is published. Takes up to a minute, and needs a model.",
        parameters=ComposeParameters,
        answer=_compose,
        expensive=True,
    ),
    ToolEntry(
        name="corpora",
        title="List the corpora",
        description="List the corpora that may be asked: name, kind, language, number of texts.",
        parameters=CorporaParameters,
        answer=_corpora,
    ),
    ToolEntry(
        name="document",
        title="Read one text",
        description="Return one text whole, by its corpus and its id in an answer.",
        parameters=DocumentParameters,
        answer=_document,
    ),
)
