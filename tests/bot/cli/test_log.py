"""Every search and find is logged, by whom and for what; messages of a chat only by their hash."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from bot.app import App, open_app
from bot.queries.ask import ask_one
from bot.queries.find import find
from bot.query_log import asked_by, log_of
from bot.settings import load_settings
from db.logs import Asker, LogEntry, Origin
from engine.budget import BudgetSource
from engine.contracts.results import FoundHit
from engine.errors import CorpusNotFound
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest
from tests.bot.conftest import Invoke
from tests.bot.kinds import fill_all
from tests.database import wait_for
from tests.db.loading import load_texts

CHAT = Asker(origin=Origin.CHAT, task="telegram:17", source=BudgetSource.CHATS)
NAMES = {
    "id", "asked_at", "task", "origin", "job", "corpus", "query", "query_hash", "expanded",
    "filters", "plan", "counts", "returned", "milliseconds", "prompt_tokens", "completion_tokens",
    "cost_usd", "error", "platforms",
}  # fmt: skip


@pytest.fixture
async def app(database: str) -> AsyncIterator[App]:
    async with open_app(load_settings(), progress=print) as opened:
        await load_texts(opened.database, "one", ["coffee is dear", "coffee and tea"], "english")
        yield opened


async def kept(app: App) -> list[LogEntry]:
    return await log_of(app.database, app.settings).recent(now=datetime.now(UTC), limit=10)


async def ask(app: App, headline: str) -> None:
    request = SearchRequest(headline=read_headline(headline), limit=3, now=datetime.now(UTC))
    await app.prophesy(request, corpus="")


async def test_a_find_is_logged(app: App) -> None:
    await find(app, "  coffee -tea before:2030 ")
    [entry] = await kept(app)
    assert (entry.origin, entry.job, entry.corpus) == ("console", "find", "one")
    assert (entry.query, entry.filters) == ("coffee -tea before:2030", ("before:2030",))
    assert (entry.plan, entry.returned, entry.error) == ("ranked", ("0",), None)
    assert entry.counts["matching"] == 1
    assert entry.milliseconds > 0


async def test_a_search_is_logged_with_what_it_cost(app: App) -> None:
    await ask(app, "Coffee prices soar")
    [entry] = await kept(app)
    assert (entry.job, entry.query, entry.plan) == ("search", "Coffee prices soar", "lexical")
    assert entry.counts["judged"] == 0
    assert set(entry.returned) <= {"0", "1"}
    assert entry.cost_usd is None


async def test_a_question_is_logged_and_from_a_chat_as_a_hash(app: App) -> None:
    now = datetime.now(UTC)
    await ask_one(app, "Is coffee dear?", corpus="", earlier=(), now=now)
    with asked_by(CHAT):
        await ask_one(app, "Is coffee dear?", corpus="", earlier=(), now=now)
    chat, console = await kept(app)
    assert (console.job, console.query, console.plan) == ("ask", "Is coffee dear?", "extracted")
    assert (console.corpus, console.counts["returned"]) == ("one", len(console.returned))
    assert (chat.job, chat.query, chat.returned) == ("ask", None, console.returned)


async def test_a_search_that_fails_is_logged_by_the_name_of_its_error(app: App) -> None:
    with pytest.raises(CorpusNotFound):
        await find(app, "coffee", corpus="nowhere")
    [entry] = await kept(app)
    assert (entry.error, entry.returned, entry.corpus) == ("CorpusNotFound", (), "nowhere")


@pytest.mark.parametrize("queries", [False, True])
async def test_chat_queries_are_logged_in_full_only_if_configured(
    app: App, queries: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESAGIO_LOG__CHAT_QUERIES", str(queries).lower())
    chosen = load_settings()
    app = App(**{**{name: getattr(app, name) for name in app.__slots__}, "settings": chosen})
    with asked_by(CHAT):
        await find(app, "coffee from:ana")
        await ask(app, "Coffee prices soar, says my neighbour")
    headline, query = await kept(app)
    assert (headline.query, headline.task, headline.origin) == (None, "telegram:17", "chat")
    assert query.query == ("coffee from:ana" if queries else None)
    assert query.filters == (("from:ana",) if queries else ("from:",))
    assert headline.query_hash != query.query_hash


def entries(invoke: Invoke, *arguments: str) -> list[Any]:
    lines = invoke("log", "--json", *arguments).out.splitlines()
    return [orjson.loads(line) for line in lines]


class TestCommand:
    def test_log_lists_searches_newest_first(self, invoke: Invoke, database: str) -> None:
        fill(database)
        invoke("find", "coffee", "--corpus", "posts")
        invoke("find", "xylophone", "--corpus", "posts")
        found = entries(invoke)
        assert [entry["query"] for entry in found] == ["xylophone", "coffee"]
        assert all(set(entry) >= NAMES for entry in found)
        assert [entry["query"] for entry in entries(invoke, "--failed")] == ["xylophone"]
        assert len(entries(invoke, "--limit", "1")) == 1
        out = invoke("log").out
        assert "posts" in out
        assert "ranked" in out

    def test_empty_log_is_reported_on_stderr(self, invoke: Invoke, database: str) -> None:
        done = invoke("log")
        assert (done.code, done.out) == (0, "")
        assert "No search is remembered." in done.err

    def test_keep_days_zero_logs_nothing(
        self, invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(database)
        monkeypatch.setenv("PRESAGIO_LOG__KEEP_DAYS", "0")
        invoke("find", "coffee", "--corpus", "posts")
        assert entries(invoke) == []


def fill(url: str) -> None:
    async def filled() -> None:
        async with open_app(load_settings(), progress=print) as opened:
            await fill_all(opened.database)

    wait_for(filled())


class TestFindJson:
    """`find --json` has the same names for every kind, and none twice for one value."""

    @pytest.mark.parametrize("corpus", ["chats", "posts", "articles"])
    def test_find_json_has_the_receipt_and_one_name_for_each_value(
        self, invoke: Invoke, database: str, corpus: str
    ) -> None:
        fill(database)
        found = invoke("find", "coffee", "--corpus", corpus, "--json").json
        assert found["counts"]["candidates"] == found["counts"]["passing"]
        for hit in found["hits"]:
            assert set(hit) == set(FoundHit.model_fields)
            assert not {"snippet", "date", "thread_id", "post_id", "message_id"} & set(hit)
            assert 0 < hit["score"] <= 1
            assert hit["bm25"] == pytest.approx(sum(m["score"] for m in hit["matched"]), abs=1e-3)
