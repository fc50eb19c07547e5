"""Searches as tools for agents. Needs the extra `agents`; nothing else in presagio imports it.

    async with open_app(load_settings(), progress=print) as app:
        agent = Agent("openai:gpt-5-mini", toolsets=[search_tools(app)])
        print((await agent.run("What did I write about coffee?")).output)

The model sees the contracts of engine.contracts: their descriptions, types and limits. What a tool
returns is data, never an instruction.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel
from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool

from bot.app import App
from bot.queries.find import personal_search, published_search, social_search
from bot.query_log import asked_by
from db.logs import Asker, Origin
from engine.budget import BudgetSource
from engine.contracts.requests import PersonalSearch, PublishedSearch, SearchContract, SocialSearch
from engine.contracts.results import PersonalResult, PublishedResult, SocialResult
from engine.errors import CorpusNotFound, UsageError

_Search = TypeVar("_Search", bound=SearchContract)
_Result = TypeVar("_Result", bound=BaseModel)


def search_tools(app: App) -> FunctionToolset[object]:
    """Return personal_search, social_search and published_search over the corpora of an app.

    The model is told about a missing corpus and may name another. Tools raise storage errors.
    Each search is logged under the id of the agent's run.
    """

    async def personal(context: RunContext[object], search: PersonalSearch) -> PersonalResult:
        return await _answer_search(context, app, search, personal_search)

    async def social(context: RunContext[object], search: SocialSearch) -> SocialResult:
        return await _answer_search(context, app, search, social_search)

    async def published(context: RunContext[object], search: PublishedSearch) -> PublishedResult:
        return await _answer_search(context, app, search, published_search)

    return FunctionToolset(
        tools=[
            Tool(personal, name="personal_search", description=_describe_search(PersonalSearch)),
            Tool(social, name="social_search", description=_describe_search(SocialSearch)),
            Tool(published, name="published_search", description=_describe_search(PublishedSearch)),
        ]
    )


async def _answer_search(
    context: RunContext[object],
    app: App,
    search: _Search,
    work: Callable[[App, _Search], Awaitable[_Result]],
) -> _Result:
    task = context.run_id or "agent"
    with asked_by(Asker(origin=Origin.AGENT, task=task, source=BudgetSource.CONSOLE)):
        try:
            return await work(app, search)
        except (CorpusNotFound, UsageError) as error:
            raise ModelRetry(str(error)) from error


def _describe_search(search: type[SearchContract]) -> str:
    return " ".join((search.__doc__ or "").split())
