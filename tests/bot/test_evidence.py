"""The settings choose who searches the web and who orders passages, and what may be sent there."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from bot.evidence import open_passage_rerankers, open_web
from bot.query_log import asked_by
from bot.settings import Settings, load_settings
from db.corpus.corpora import Corpora
from db.logs import Asker, Origin
from db.model_cache import Ledger, WebPages
from db.pool import Database
from engine.budget import BudgetSource
from engine.embed.fill import NullEmbedder
from engine.errors import SettingsError, WebSearchError
from engine.values import Corpus, Kind
from tests.fakes.articles import REPORT
from tests.fakes.search import Hit, SearchServer
from tests.fakes.stand_in import answer
from tests.fakes.web import WebServer, page
from tests.patience import PATIENCE

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def settings(**keys: str) -> Settings:
    """Settings from variables: `rerank__backend="bm25"`, `EXA_API_KEY="k"`."""
    environ = {
        name if name.isupper() else f"PRESAGIO_{name.upper()}": value
        for name, value in keys.items()
    }
    return load_settings(environ={**environ, "PRESAGIO_DATA_DIR": "x"})


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


async def corpus(storage: Database, kind: Kind) -> Corpus:
    return await Corpora(storage).ensure(kind.value, kind=kind, language="simple", author=None)


async def test_without_a_provider_there_is_no_web(storage: Database, stack: AsyncExitStack) -> None:
    assert open_web(settings(EXA_API_KEY="k"), storage, stack) is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"web_search__providers": '["brave"]'}, "Set BRAVE_API_KEY"),
        ({"web_search__providers": '["exa", "serper"]', "EXA_API_KEY": "k"}, "Set SERPER_API_KEY"),
        ({"web_search__providers": '["searxng"]'}, "searxng_url is empty"),
        ({"rerank__backend": "cross-encoder"}, "model is empty"),
        ({"rerank__backend": "remote", "RERANK_API_KEY": "two words"}, "to the key alone"),
    ],
)
async def test_settings_that_cannot_work_are_told_at_once(
    storage: Database, stack: AsyncExitStack, keys: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        open_web(settings(**keys), storage, stack)
        open_passage_rerankers(settings(**keys), storage, None, stack)


@pytest.mark.parametrize(
    "keys",
    [
        {"web_search__providers": '["google"]'},
        {"web_search__prices": '["exa"]'},
        {"web_search__prices": '["google = 1"]'},
        {"web_search__prices": '["exa = cheap"]'},
        {"web_search__searxng_url": "searxng.example"},
        {"rerank__backend": "best"},
    ],
)
def test_settings_that_mean_nothing_are_refused(keys: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        settings(**keys)


async def test_the_web_is_opened_by_its_first_use_and_closed_whole(storage: Database) -> None:
    async with SearchServer() as search, WebServer() as site:
        search.found["harbour"] = [Hit(site.url("/report"), "Harbour traffic")]
        site.pages["/report"] = page(REPORT)
        chosen = settings(
            web_search__providers='["searxng"]',
            web_search__searxng_url=search.url("searxng").removesuffix("/search"),
            fetch__allow_networks='["127.0.0.0/8"]',
        )
        async with AsyncExitStack() as stack:
            web = open_web(chosen, storage, stack)
            assert web
            assert web.available
            with asked_by(Asker(origin=Origin.CHAT, task="t", source=BudgetSource.CHATS)):
                found = await web.gather(["harbour"], deadline=PATIENCE, now=NOW)
            assert [one.title for one in found.pages] == ["Harbour traffic in 2024"]
            assert found.provider == "searxng"
            assert await WebPages(storage).get(site.url("/report")) is not None
        left = [
            child for child in psutil.Process().children() if "engine.page" in str(child.cmdline())
        ]
        assert left == []
        assert list(await Ledger(storage).spent(NOW.date())) == [BudgetSource.CHATS]


async def test_the_operators_are_told_of_a_provider_that_fails(
    storage: Database, stack: AsyncExitStack
) -> None:
    async with SearchServer() as search:
        search.script["searxng"] = [answer({"error": "it failed"}, 500)]
        chosen = settings(
            web_search__providers='["searxng"]',
            web_search__searxng_url=search.url("searxng").removesuffix("/search"),
        )
        web = open_web(chosen, storage, stack)
        assert web
        reported: list[WebSearchError] = []
        web.report_to(reported.append)
        found = await web.gather(["harbour"], deadline=PATIENCE, now=NOW)
    assert found.pages == ()
    (error,) = reported
    # Troubles.report tells the operators of what others read in plainer words.
    assert error.plain not in (None, error.message)
    assert "searxng" in str(error).lower()


async def test_visitors_search_the_web_only_where_they_are_judged(
    storage: Database, stack: AsyncExitStack
) -> None:
    async with SearchServer() as search:
        keys = {
            "web_search__providers": '["searxng"]',
            "web_search__searxng_url": search.url("searxng").removesuffix("/search"),
        }
        visitor = Asker(origin=Origin.CHAT, task="t", source=BudgetSource.WEB)
        for judge, asked in (("false", 0), ("true", 1)):
            web = open_web(settings(web__judge=judge, **keys), storage, stack)
            assert web
            with asked_by(visitor):
                await web.gather(["harbour"], deadline=PATIENCE, now=NOW)
            assert len(search.asked) == asked


async def test_each_backend_has_its_reranker(storage: Database, stack: AsyncExitStack) -> None:
    tweets = await corpus(storage, Kind.TWEETS)

    def name(**keys: str) -> str:
        chosen = settings(**keys)
        rerankers = open_passage_rerankers(chosen, storage, lambda _: NullEmbedder(), stack)
        return rerankers([tweets]).name

    assert name(embeddings__backend="null") == "bm25"
    assert name(embeddings__backend="tfidf") == "bm25"
    assert name(embeddings__backend="local") == f"bm25+{NullEmbedder().name}"
    assert name(embeddings__backend="local", rerank__seconds="0") == "bm25"
    assert name(embeddings__backend="local", rerank__backend="bm25") == "bm25"
    assert name(rerank__backend="remote", rerank__model="m") == "api.cohere.com/m"
    assert open_passage_rerankers(settings(), storage, None, stack)([tweets]).name == "bm25"
