"""docs/privacy.md, row by row: stand-ins record what they got, and what they did not.

The endpoints have the name of another machine, which leads to loopback here.
"""

import asyncio
import re
import socket
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import stamina
from aiohttp import web
from mcp import Client
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bot.agents import search_tools
from bot.app import App, open_app
from bot.cli.doctor import run_checks
from bot.cli.embed import embed_corpora
from bot.cli.glossary import suggest
from bot.commands.intents import Intent, IntentJudge
from bot.commands.pasted import read_pasted
from bot.console.screen import Output
from bot.evidence import open_passage_rerankers, open_web
from bot.queries.ask import ask
from bot.queries.compose import build_composer
from bot.settings import load_settings
from bot.web.mcp import create_tool_server
from bot.web.metrics import Metrics
from bot.web.shared_state import SharedState
from db.pool import Database
from engine.answer.cited_answer import CitedAnswer
from engine.compose.composition import ComposeRequest, Composition
from engine.errors import CorpusWithheld
from engine.posting.retold import RetellingQuestion
from engine.prophecy.headline import read_headline
from engine.search import Mode, Prophecy, SearchRequest
from engine.values import Kind
from tests.bot.conversing import event
from tests.bot.kinds import fill, text_of
from tests.bot.web.stage import web_stage
from tests.db.vectors import can_keep_vectors
from tests.engine.passages import scored
from tests.fakes.articles import REPORT
from tests.fakes.embeddings import EmbeddingServer
from tests.fakes.model import ModelServer, answer, scoring
from tests.fakes.rerank import RerankServer
from tests.fakes.search import Hit, SearchServer
from tests.fakes.stand_in import Answering
from tests.fakes.web import WebServer, page
from tests.fakes.writer import Writer
from tests.patience import PATIENCE
from tests.scenarios.stage import Stage, staged

Test = Callable[..., Awaitable[None]]

TABLE = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
SENT = TABLE.partition("\n## ")[0]
ROWS = re.findall(r"^\| ([a-z ]+): [^|]+(?:\|[^|]+){4}\|$", SENT, re.MULTILINE)
FAR = "models.example"  # another machine
NOW = datetime.now(UTC) + timedelta(minutes=1)
SECRET = "Our harbour secret: the lighthouse keeper sleeps"
PUBLIC = "The harbour tax is theft"
DIARY = [text_of(f"d{n}", f"{SECRET} {n}", days_ago=100 * n + 1) for n in range(4)]
TWEETS = [text_of(f"t{n}", f"{PUBLIC} {n}", days_ago=100 * n + 1) for n in range(4)]
ALLOWED = '["diary"]'

_tested: set[str] = set()


def row(name: str) -> Callable[[Test], Test]:
    """Say which row of the table a test proves."""
    _tested.add(name)
    return lambda test: test


def test_every_row_has_its_test() -> None:
    assert len(ROWS) == SENT.count("\n| ") - 2  # two lines are the heading
    assert set(ROWS) == _tested


@dataclass
class Machines:
    """A database with a private and a public corpus here, and two endpoints elsewhere."""

    monkeypatch: pytest.MonkeyPatch
    model: ModelServer
    vectors: EmbeddingServer
    said: list[str] = field(default_factory=list)

    @property
    def sent(self) -> str:
        """All that the model was asked."""
        asked = [*self.model.requests, *self.model.expansions, *self.model.comparisons]
        return "\n".join(str(one.body["messages"]) for one in asked)

    @asynccontextmanager
    async def app(self, **settings: str) -> AsyncIterator[App]:
        """An app with some settings: `llm__model="m"` is PRESAGIO_LLM__MODEL."""
        for name, value in settings.items():
            self.monkeypatch.setenv(f"PRESAGIO_{name.upper()}", value)
        async with open_app(load_settings(), progress=self.said.append) as opened:
            yield opened

    def far_model(self) -> None:
        self.monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", elsewhere(self.model.base_url))
        self.monkeypatch.setenv("PRESAGIO_LLM__RETRIES", "0")

    def far_vectors(self) -> None:
        self.monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "remote")
        self.monkeypatch.setenv("PRESAGIO_EMBEDDINGS__MODEL", "m")
        self.monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BASE_URL", elsewhere(self.vectors.base_url))


def elsewhere(url: str) -> str:
    return url.replace("127.0.0.1", FAR)


@pytest.fixture
async def machines(database: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Machines]:
    storage = await Database.open(database)
    await fill(storage, "diary", Kind.PERSONAL, DIARY)
    await fill(storage, "tweets", Kind.TWEETS, TWEETS)
    await storage.close()
    name_a_machine(monkeypatch)
    async with ModelServer([scoring(lambda _, __: 6)]) as model, EmbeddingServer() as vectors:
        with stamina.set_testing(True, attempts=1):
            yield Machines(monkeypatch, model, vectors)


def name_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the name of another machine lead to this one, for tests alone."""
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        far = host in (FAR, FAR.encode())
        return resolve("127.0.0.1" if far else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


async def search(app: App, corpus: str, mode: Mode | None = None) -> Prophecy:
    headline = read_headline("The harbour")
    request = SearchRequest(headline=headline, limit=3, now=NOW, mode=mode)
    found = await app.prophesy(request, corpus=corpus)
    assert found.hits
    return found


async def asked(app: App, question: str, *names: str) -> CitedAnswer:
    corpora = [await app.corpora.get(name) for name in names]
    request = SearchRequest(headline=read_headline(question), limit=5, now=NOW)
    return await ask(app, request, corpora)


async def embeds(app: App) -> None:
    if not await can_keep_vectors(app.database):
        pytest.skip("this server has no pgvector 0.7 or newer")


@row("judging")
async def test_private_texts_are_judged_only_where_they_may_be_sent(machines: Machines) -> None:
    machines.far_model()
    async with machines.app() as app:
        assert (await search(app, "tweets")).judged
        assert "The harbour" in machines.sent
        assert PUBLIC in machines.sent
        prophecy = await search(app, "diary")
    assert not prophecy.judged
    assert prophecy.verdict.notice == (
        "Not judged: Private text is not sent to models.example: diary."
        " To allow it, add the corpus to [llm] private_corpora."
    )
    assert machines.model.calls == 1
    assert SECRET not in machines.sent
    async with machines.app(llm__private_corpora=ALLOWED) as app:
        assert (await search(app, "diary")).judged
    assert SECRET in machines.sent


async def test_a_model_of_this_machine_may_read_everything(machines: Machines) -> None:
    async with machines.app(llm__base_url=machines.model.base_url) as app:
        assert (await search(app, "diary")).judged
    assert SECRET in machines.sent


@row("expanding")
async def test_a_private_corpus_is_not_described_to_another_machine(machines: Machines) -> None:
    machines.far_model()
    async with machines.app() as app:
        for name in ("tweets", "diary"):
            await app.corpora.change(name, author="Ana", description=f"What Ana says in {name}")
            await search(app, name)
        assert "What Ana says in tweets" in machines.sent
        assert "diary" not in machines.sent
        assert len(machines.model.expansions) == 1
    async with machines.app(search__expansion="off") as app:
        await search(app, "tweets")
    assert len(machines.model.expansions) == 1
    async with machines.app(search__expansion="auto", llm__private_corpora=ALLOWED) as app:
        assert (await search(app, "diary")).judged
    assert "What Ana says in diary" in machines.sent
    assert SECRET not in str(machines.model.expansions)


@row("comparing")
async def test_headlines_are_compared_only_for_chats_whose_archive_may_be_sent(
    machines: Machines,
) -> None:
    machines.far_model()
    machines.model.retellings = answer('{"same": [[2, 1]]}')
    question = RetellingQuestion({7: "20260531\tFed holds rates"}, {8: "20260601\tRates stay"})
    until = asyncio.get_running_loop().time() + PATIENCE

    async def compare(app: App, name: str) -> Mapping[int, int] | None:
        assert app.comparer is not None
        corpus = await app.corpora.get(name)
        return await app.comparer.compare(question, corpus, deadline=until, now=NOW)

    async with machines.app() as app:
        assert await compare(app, "diary") is None
        assert "Fed holds rates" not in machines.sent
        assert await compare(app, "tweets") == {7: 7, 8: 7}
    assert "Fed holds rates" in machines.sent
    async with machines.app(llm__private_corpora=ALLOWED) as app:
        assert await compare(app, "diary") == {7: 7, 8: 7}


@row("interpreting")
async def test_a_message_is_read_by_a_model_that_may_read_what_its_chat_sees(
    machines: Machines,
) -> None:
    machines.far_model()
    machines.model.script = [answer('{"intent": "source"}')]
    message = event("neta, who sleeps there")
    async with machines.app() as app:
        assert app.client is not None
        judge = IntentJudge(app.client)
        assert await judge.judge_intent(message, await app.corpora.list()) is None
        assert machines.model.calls == 0
        public = [await app.corpora.get("tweets")]
        assert await judge.judge_intent(message, public) is Intent.SOURCE
    assert "who sleeps there" in machines.sent
    async with machines.app(llm__private_corpora=ALLOWED) as app:
        assert app.client is not None
        listed = await app.corpora.list()
        assert await IntentJudge(app.client).judge_intent(message, listed) is Intent.SOURCE


@row("answering")
async def test_a_private_question_stays_here_with_its_passages(machines: Machines) -> None:
    machines.far_model()
    machines.model.script = [answer('{"claims": [{"text": "So it is.", "sources": [1]}]}')]

    async with machines.app() as app:
        assert (await asked(app, "What of the harbour tax?", "tweets")).model
        assert PUBLIC in machines.sent
        for names in (["diary"], ["tweets", "diary"]):
            given = await asked(app, "Who sleeps in the harbour?", *names)
            assert given.model is None
            assert given.sentences
            assert "models.example: diary" in (given.notice or "")
    assert machines.model.calls == 1
    assert "sleeps" not in machines.sent
    async with machines.app(llm__private_corpora=ALLOWED) as app:
        assert (await asked(app, "Who sleeps in the harbour?", "tweets", "diary")).model
    assert SECRET in machines.sent


@row("checking an answer")
async def test_a_private_answer_is_not_checked_elsewhere(machines: Machines) -> None:
    machines.far_model()
    machines.model.script = [
        answer('{"claims": [{"text": "So it is.", "sources": [1]}]}'),
        answer('{"checks": [{"i": 1, "verdict": "supported", "edit": ""}]}'),
    ]

    async with machines.app(answer__check="true") as app:
        assert not (await asked(app, "harbour", "diary")).checked
        assert not machines.sent
        assert (await asked(app, "harbour", "tweets")).checked
    assert [PUBLIC in str(one.body["messages"]) for one in machines.model.requests] == [True, True]


@row("writing")
async def test_private_corpus_is_not_composed_from_by_a_remote_model(machines: Machines) -> None:
    machines.far_model()
    machines.model.script = [writer := Writer()]
    async with machines.app() as app:
        corpora = {name: await app.corpora.get(name) for name in ("tweets", "diary")}

        async def written(*names: str) -> Composition:
            chosen = tuple(corpora[name] for name in names)
            return await build_composer(app).compose(
                ComposeRequest(prompt="the harbour", corpora=chosen), now=NOW
            )

        assert (await written("tweets")).variants
        assert writer.calls == ["evidence", "draft", "check"]
        assert PUBLIC in machines.sent
        for names in (["diary"], ["tweets", "diary"]):
            with pytest.raises(CorpusWithheld, match=r"models\.example: diary"):
                await written(*names)
    assert SECRET not in machines.sent
    async with machines.app(llm__private_corpora=ALLOWED) as app:
        assert (await written("tweets", "diary")).variants
    assert SECRET in machines.sent


@row("glossary")
async def test_private_corpus_words_are_not_sent_for_glossary_suggestions(
    machines: Machines,
) -> None:
    machines.far_model()
    machines.model.script = [answer('{"n": 2, "pairs": []}')]

    async def suggested(app: App, corpus: str) -> None:
        await suggest(app, corpus, now=NOW, json=True, output=Output.of_process())

    async with machines.app() as app:
        await suggested(app, "tweets")
        assert "theft" in machines.sent
        with pytest.raises(CorpusWithheld, match=r"\[llm\] private_corpora"):
            await suggested(app, "diary")
    assert machines.model.calls == 1
    assert "lighthouse" not in machines.sent
    async with machines.app(llm__private_corpora=ALLOWED) as app:
        await suggested(app, "diary")
    assert "lighthouse" in machines.sent


@row("vectors of texts")
async def test_private_texts_are_embedded_only_where_they_may_be_sent(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    machines.far_vectors()

    async def embedded(app: App, corpus: str) -> None:
        await embed_corpora(app, corpus, json=False, output=Output.of_process())

    async with machines.app() as app:
        await embeds(app)
        await embedded(app, "")
        output = capsys.readouterr()
        assert "tweets: 4 embedded" in output.out
        assert "diary is not embedded. Private text is not sent to models.example" in output.err
        with pytest.raises(CorpusWithheld, match=r"\[embeddings\] private_corpora"):
            await embedded(app, "diary")
    assert any(PUBLIC in text for text in machines.vectors.texts)
    assert not any(SECRET in text for text in machines.vectors.texts)
    async with machines.app(embeddings__private_corpora=ALLOWED) as app:
        await embedded(app, "")
    assert any(SECRET in text for text in machines.vectors.texts)


@row("vectors of questions")
async def test_queries_to_a_private_corpus_are_not_embedded_remotely(machines: Machines) -> None:
    machines.far_vectors()
    async with machines.app(embeddings__private_corpora=ALLOWED) as app:
        await embeds(app)
        await embed_corpora(app, "", json=True, output=Output.of_process())
        before = machines.vectors.calls
        for corpus in ("tweets", "diary"):
            assert (await search(app, corpus)).embedding_model
        texts = [request.texts for request in machines.vectors.requests[before:]]
        assert texts == [["The harbour"]] * 2
    before = machines.vectors.calls
    async with machines.app(embeddings__private_corpora="[]") as app:
        prophecy = await search(app, "diary")
        assert prophecy.mode is Mode.LEXICAL
        assert (prophecy.notice or "").startswith(
            "Searched by words alone: Private text is not sent to models.example: diary."
            " To allow it, add the corpus to [embeddings] private_corpora."
        )
        assert machines.vectors.calls == before
        await search(app, "tweets", Mode.LEXICAL)
        assert machines.vectors.calls == before
        await search(app, "tweets")
    assert machines.vectors.calls == before + 1


@row("pages and feeds")
async def test_only_the_pasted_link_is_fetched_without_private_headers(machines: Machines) -> None:
    async with WebServer() as site:
        site.pages["/news"] = page("<title>Harbour tax doubles again this year</title>")
        async with machines.app(
            fetch__allow_networks='["127.0.0.0/8"]', fetch__user_agent_contact="me@here.example"
        ) as app:
            linking = [text_of("l", f"The harbour again {site.url('/private')}", days_ago=1)]
            await fill(app.database, "links", Kind.PERSONAL, linking)
            await search(app, "links")
            assert site.requests == []
            read = await read_pasted(app, site.url("/news"), now=NOW)
    assert read.text == "Harbour tax doubles again this year"
    [asked] = site.requests
    assert asked.path == "/news"
    assert set(asked.headers) <= {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert "me@here.example" in asked.headers["user-agent"]


@row("web searches")
async def test_search_provider_receives_queries_and_pages_only_their_address(
    machines: Machines,
) -> None:
    async with SearchServer() as provider, WebServer() as site:
        site.pages["/report"] = page(REPORT)
        provider.found["harbour"] = [Hit(site.url("/report"), "Harbour traffic")]
        async with (
            machines.app(
                fetch__allow_networks='["127.0.0.0/8"]',
                web_search__providers='["searxng"]',
                web_search__searxng_url=elsewhere(provider.url("searxng").removesuffix("/search")),
            ) as app,
            AsyncExitStack() as stack,
        ):
            searched = open_web(app.settings, app.database, stack)
            assert searched
            found = await searched.gather(["harbour tax"], deadline=PATIENCE, now=NOW)
    assert len(found.pages) == 1
    assert provider.asked == [("searxng", "harbour tax")]
    assert [asked.path for asked in site.requests] == ["/robots.txt", "/report"]
    for asked in site.requests:
        assert not {"cookie", "referer", "authorization"} & asked.headers.keys()
        assert "tax" not in str(asked.headers)


@row("ordering")
async def test_private_passages_are_reranked_remotely_only_if_allowed(machines: Machines) -> None:
    async with RerankServer(form="vllm") as server:
        far = elsewhere(server.base_url)
        for allowed, requests in (("[]", 1), (ALLOWED, 3)):
            async with (
                machines.app(
                    rerank__backend="remote", rerank__base_url=far, rerank__private_corpora=allowed
                ) as app,
                AsyncExitStack() as stack,
            ):
                rerankers = open_passage_rerankers(app.settings, app.database, None, stack)
                diary, tweets = await app.corpus("diary"), await app.corpus("tweets")
                assert await rerankers([tweets, diary]).rerank("secret", scored([SECRET, PUBLIC]))
                assert await rerankers([tweets]).rerank("harbour", scored([PUBLIC]))
            assert len(server.bodies) == requests
        assert SECRET not in str(server.bodies[0])
        assert SECRET in str(server.bodies[1])


@row("chats")
async def test_a_chat_is_told_what_is_private_only_where_it_is_trusted(coffee_url: str) -> None:
    async with staged(coffee_url) as stage:
        storage = await Database.open(coffee_url)
        await fill(storage, "diary", Kind.PERSONAL, DIARY)
        await storage.close()
        alice = stage.telegram.user("Alice")
        chat = stage.telegram.private_chat(alice)

        async def ask_anew(stage: Stage) -> str:
            async with stage.serving():
                texts: Sequence[str] = [
                    (await (await alice.says(chat, words)).answer()).text
                    for words in ("/corpus", "/corpus diary", "/find harbour")
                ]
                await stage.telegram.until_acknowledged()
            return "\n".join(texts)

        refused = await ask_anew(stage)
        assert SECRET not in refused
        assert "diary:" not in refused
        stage.environment["PRESAGIO_CHAT__PRIVATE"] = f'["telegram:{chat.id}"]'
        assert SECRET in await ask_anew(stage)


@row("web")
async def test_the_page_shows_what_is_private_only_where_it_is_named(
    machines: Machines, database_url: str
) -> None:
    async with web_stage(database_url, now=lambda: NOW) as stage:
        await stage.problem("/api/search", 404, q="harbour", corpus="diary")
        shown = (await stage.get("/api/search", q="harbour")).text
        shown += (await stage.get("/search", q="harbour")).text
        assert SECRET not in shown
        assert PUBLIC in shown
    async with web_stage(database_url, now=lambda: NOW, corpora=ALLOWED) as stage:
        assert SECRET in (await stage.get("/api/search", q="harbour", corpus="diary")).text


@row("checks")
async def test_checks_send_keys_and_no_text(machines: Machines) -> None:
    asked: list[tuple[str, str, bytes, str]] = []

    async def listed(request: web.Request) -> web.Response:
        key = request.headers.get("Authorization", "")
        asked.append((request.method, request.path, await request.read(), key))
        return web.json_response({"data": []})

    machines.monkeypatch.setenv("OPENROUTER_API_KEY", "sk-1")
    machines.far_vectors()
    async with Answering(listed) as endpoint:
        address = f"{endpoint.root.replace('127.0.0.1', FAR)}/v1"
        machines.monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", address)
        await run_checks(load_settings(), json=True, output=Output.of_process(), now=lambda: NOW)
    assert asked == [("GET", "/v1/models", b"", "Bearer sk-1")]
    assert machines.vectors.calls == 0


@row("agents")
async def test_agent_sees_private_texts_only_through_the_full_app(machines: Machines) -> None:
    async def ask_anew(app: App) -> str:
        got: list[str] = []

        def asking(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            last = messages[-1].parts[-1]
            if isinstance(last, ToolReturnPart | RetryPromptPart):
                got.append(str(last.content))
                return ModelResponse(parts=[TextPart("done")])
            wanted = {"query": "harbour", "corpus": "diary"}
            return ModelResponse(parts=[ToolCallPart("personal_search", wanted)])

        await Agent(FunctionModel(asking), toolsets=[search_tools(app)]).run("Search.")
        return got[0]

    async with machines.app() as app:
        assert SECRET in await ask_anew(app)
        assert SECRET not in await ask_anew(app.public)


@row("other agents")
async def test_mcp_agent_sees_private_texts_only_if_allowed(machines: Machines) -> None:
    async def ask_anew(app: App) -> str:
        shared = SharedState(app, Metrics(), now=lambda: NOW)
        async with Client(create_tool_server(shared)) as client:
            asked = {"query": "harbour", "corpus": "diary"}
            return str((await client.call_tool("find", asked)).content)

    async with machines.app() as app:
        assert SECRET not in await ask_anew(app)
    async with machines.app(web__corpora=ALLOWED) as app:
        assert SECRET in await ask_anew(app)


def test_the_settings_that_the_table_names_exist() -> None:
    example = Path(__file__).parents[2] / "config.example.toml"
    settings = tomllib.loads(example.read_text(encoding="utf-8"))
    named = re.findall(r"`\[(\w+)\] (\w+)", TABLE)
    assert len(named) > 5
    for section, key in named:
        assert key in settings[section]
