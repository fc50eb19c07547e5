"""What the API answers."""

import asyncio
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import quote

import httpx
import pytest

from bot.card import can_draw
from bot.cli.embed import embed_corpus
from bot.console.screen import Output
from bot.queries.find import find
from bot.web.schemas import AskAnswer, SearchAnswer, SearchHit
from engine.contracts.answers import ProphecyAnswer, ProphecyHit, QuestionAnswer
from engine.contracts.results import DocumentAnswer, FindAnswer
from engine.errors import UsageError
from engine.values import Kind
from tests.ages import say_years
from tests.bot.kinds import fill, text_of
from tests.bot.web.stage import ADDRESS, NOW, WebStage, judging, speaking, web_stage
from tests.db.loading import START, document, load, load_texts
from tests.db.vectors import can_keep_vectors
from tests.fakes.model import ModelServer, scoring
from tests.patience import movable_time, until
from tests.scenarios.stage import HEADLINE, TWEETS, judged_by_words


@pytest.fixture
async def vectors_web(coffee_url: str) -> AsyncIterator[WebStage]:
    """Eight tweets about coffee, and a model for their vectors, of which there are none yet."""
    environ = {"DATABASE_URL": coffee_url, "PRESAGIO_EMBEDDINGS__BACKEND": "tfidf"}
    async with web_stage(environ) as stage:
        if not await can_keep_vectors(stage.app.database):
            pytest.skip("this server has no pgvector 0.7 or newer")
        yield stage


class TestByMeaning:
    async def test_the_nearest_are_shown_whatever_their_similarity(
        self, vectors_web: WebStage
    ) -> None:
        await embed_corpus(vectors_web.app, await vectors_web.app.corpus("demo"), output=_mute())
        asked = {"q": HEADLINE, "mode": "semantic", "limit": 8}
        found = await vectors_web.json("/api/search", **asked)
        assert (found["mode"], found["embedding_model"]) == ("semantic", "tfidf-384")
        assert len(found["hits"]) == len(TWEETS)
        assert found["hits"][0]["text"] == TWEETS[0]
        near = [hit["similarity"] for hit in found["hits"]]
        assert near == sorted(near, reverse=True)
        # By words, fewer are close enough to be shown.
        by_words = await vectors_web.json("/api/search", **asked | {"mode": "lexical"})
        assert len(by_words["hits"]) < len(TWEETS)
        assert {hit["similarity"] for hit in by_words["hits"]} == {None}


def _mute() -> Output:
    return Output(io.StringIO(), io.StringIO())


class TestNames:
    """They are those of the command line."""

    def test_search_answer_extends_the_prophecy_fields(self) -> None:
        counted = {"kind", "category", "period", "searched", "returned", "generated_at", "next"}
        assert set(SearchAnswer.model_fields) - set(ProphecyAnswer.model_fields) == counted
        assert set(SearchHit.model_fields) - set(ProphecyHit.model_fields) == {
            "similarity", "title", "source", "category", "page_url", "picture_url"
        }  # fmt: skip

    def test_ask_answer_extends_the_question_fields(self) -> None:
        more = {"category", "generated_at", "kind", "period"}
        assert set(AskAnswer.model_fields) - set(QuestionAnswer.model_fields) == more

    async def test_document_has_the_fields_of_a_find_hit(self, coffee_web: WebStage) -> None:
        found = await find(coffee_web.app, "harvest moon", corpus="demo")
        hit = FindAnswer.of("harvest moon", found, elapsed_ms=1).hits[0].to_json()
        document = await coffee_web.json(f"/api/documents/demo/{hit['id']}")
        corpus = document.pop("corpus")
        for address in ("page_url", "picture_url"):
            del document[address]
        assert set(document) == set(DocumentAnswer.model_fields) - {"corpus"}
        assert (corpus, document) == ("demo", {name: hit[name] for name in document})


class TestSearch:
    async def test_finds_and_counts(self, coffee_web: WebStage) -> None:
        answer = await coffee_web.json("/api/search", q="coffee harvest", limit=2)
        assert [hit["rank"] for hit in answer["hits"]] == [1, 2]
        assert "coffee" in answer["hits"][0]["text"].lower()
        asked = ("corpus", "kind", "category", "period", "mode")
        assert [answer[name] for name in asked] == ["demo", "tweets", None, "all", "lexical"]
        assert (answer["searched"], answer["returned"]) == (len(TWEETS), 2)
        assert all(hit["similarity"] is None for hit in answer["hits"])

    async def test_a_period_ends_now(self, web: WebStage) -> None:
        days = {"today": 0.5, "this week": 6, "this month": 29, "long ago": 300}
        texts = [
            document(name, f"coffee {name}", day=(NOW - timedelta(days=ago) - START).days)
            for name, ago in days.items()
        ]
        await load(web.app.database, "demo", texts)
        for period, expected in {"week": 2, "month": 3, "all": 4}.items():
            answer = await web.json("/api/search", q="coffee", period=period)
            assert (answer["searched"], answer["returned"]) == (expected, expected), period

    async def test_category_filters_the_news_corpus(self, news: WebStage) -> None:
        answer = await news.json("/api/search", q="coffee", category="Tech")
        assert (answer["corpus"], answer["kind"]) == ("news", "published")
        assert (answer["searched"], answer["category"]) == (1, "Tech")
        [hit] = answer["hits"]
        fields = {name: hit[name] for name in ("id", "title", "source", "category")}
        assert fields == {
            "id": "machine", "title": "Machines think", "source": "The Bean", "category": "tech"
        }  # fmt: skip
        assert answer["generated_at"] == NOW.isoformat()
        everything = await news.json("/api/search", q="coffee", corpus="news")
        assert everything["searched"] == 2

    async def test_an_unknown_category_or_kind_is_told(self, news: WebStage) -> None:
        for path, asked in (("/api/search", "q"), ("/api/ask", "question")):
            about = {asked: "coffee"}
            said = await news.problem(path, 404, **about, category="invalid")
            assert said.startswith("There is no category 'invalid'.")
            assert "kind" in await news.problem(path, 400, **about, kind="invalid")

    async def test_a_kind_finds_its_corpus(self, news: WebStage) -> None:
        assert (await news.json("/api/search", q="coffee", kind="published"))["returned"] == 2
        said = await news.problem("/api/search", 404, q="coffee", kind="library")
        assert said == "There is no corpus of the kind library."
        said = await news.problem("/api/search", 409, q="coffee", kind="library", corpus="news")
        assert said == (
            "Corpus news is of kind published, not library. Name another corpus, or another kind."
        )

    async def test_every_mode_answers_and_says_how(self, coffee_web: WebStage) -> None:
        lexical = await coffee_web.json("/api/search", q="coffee", mode="lexical")
        hybrid = await coffee_web.json("/api/search", q="coffee", mode="hybrid")
        assert lexical["mode"] == "lexical"
        assert "Searched by words alone" in hybrid["notice"]


class TestProphecy:
    async def test_prophecy_is_judged_and_cached(self, coffee_url: str) -> None:
        asked = {"headline": HEADLINE, "date": "2023-05-04"}
        async with (
            ModelServer([scoring(judged_by_words)]) as model,
            web_stage(judging(coffee_url, model)) as stage,
        ):
            answer = await stage.json("/api/prophecy", **asked)
            again = await stage.json("/api/prophecy", **asked)
        assert answer["judged"]
        assert answer["date"] == "2023-05-04T00:00:00+00:00"
        assert answer["hits"][0]["text"] == TWEETS[0]
        assert answer["hits"][0]["age"] == say_years(12, 6)
        assert (answer["cached"], again["cached"], model.calls) == (False, True, 1)


class TestAsk:
    async def test_without_a_model_sources_answer_in_their_words(
        self, coffee_web: WebStage
    ) -> None:
        answer = await coffee_web.json("/api/ask", question="What about coffee prices?", limit=2)
        assert answer["outcome"] == "extracted"
        assert all(sentence["quoted"] for sentence in answer["sentences"])
        cited = {number for sentence in answer["sentences"] for number in sentence["sources"]}
        assert cited == {source["number"] for source in answer["sources"]}
        assert answer["passages"] == 2
        assert (answer["kind"], answer["period"], answer["corpora"]) == ("tweets", "all", ["demo"])

    async def test_a_category_narrows_the_sources(self, news: WebStage) -> None:
        answer = await news.json("/api/ask", question="coffee machine?", category="tech")
        assert {source["id"] for source in answer["sources"]} == {"machine"}


class TestPages:
    """A cursor leads from page to page: every text once, in the order of one long page."""

    @pytest.mark.parametrize(
        ("path", "asked"),
        [
            ("/api/find", {"q": "coffee"}),
            ("/api/find", {"q": "before:2030"}),
            ("/api/find", {"q": "coffee", "corpus": "all"}),
            ("/api/search", {"q": "coffee harvest"}),
            ("/api/search", {"q": "coffee harvest", "corpus": "all"}),
        ],
    )
    async def test_pages_together_are_one_long_page(
        self, web: WebStage, path: str, asked: dict[str, str]
    ) -> None:
        for name, own in (("hot", ("tea", "milk", "cocoa")), ("cold", ("beer", "wine", "soda"))):
            await load_texts(web.app.database, name, [f"coffee or {each}" for each in own])
        given = {"corpus": "hot"} | asked
        whole = await web.json(path, **given, limit=100)
        pages = [await web.json(path, **given, limit=2)]
        while cursor := pages[-1]["next"]:
            pages.append(await web.json(path, **given, limit=2, cursor=cursor))
        hits = [hit for page in pages for hit in page["hits"]]
        assert len(hits) == (6 if asked.get("corpus") else 3)
        assert [hit["page_url"] for hit in hits] == [hit["page_url"] for hit in whole["hits"]]
        assert [hit["rank"] for hit in hits] == [*range(1, len(hits) + 1)]
        assert whole["next"] is None
        near = [page.get("near", []) for page in pages]
        assert not any(near[:-1])

    async def test_a_cursor_is_of_one_question(self, coffee_web: WebStage) -> None:
        cursor = (await coffee_web.json("/api/find", q="coffee", limit=1))["next"]
        wider = await coffee_web.json("/api/find", q="coffee", limit=3, cursor=cursor)
        assert [hit["rank"] for hit in wider["hits"]] == [2, 3, 4]
        for asked in ({"q": "tea"}, {"q": "coffee", "corpus": "demo"}):
            said = await coffee_web.problem("/api/find", 409, **asked, cursor=cursor)
            assert said.startswith("This cursor is of another question. Send")
        for broken in ("x", "WzFd", "bnVsbA==", "\0", "é"):
            await coffee_web.problem("/api/find", 409, q="coffee", cursor=broken)

    async def test_an_order_that_changes_with_the_limit_has_no_pages(
        self, vectors_web: WebStage
    ) -> None:
        await embed_corpus(vectors_web.app, await vectors_web.app.corpus("demo"), output=_mute())
        by_meaning = await vectors_web.json("/api/find", q="coffee", mode="rerank", limit=1)
        assert (len(by_meaning["hits"]), by_meaning["next"]) == (1, None)

    async def test_an_archive_is_listed_by_month(self, web: WebStage) -> None:
        days = {"1": 0, "2": 1, "3": 30, "4": 31, "5": 400}
        texts = [document(name, f"coffee {name}", day=day) for name, day in days.items()]
        await load(web.app.database, "demo", texts)
        last = await web.json("/api/documents/demo")
        assert last["months"] == {"2010-01": 3, "2010-02": 1, "2011-02": 1}
        assert (last["corpus"], last["month"], last["next"]) == ("demo", "2011-02", None)
        first = await web.json("/api/documents/demo", month="2010-01", limit=2)
        rest = await web.json("/api/documents/demo", month="2010-01", limit=2, cursor=first["next"])
        listed = [text["id"] for page in (first, rest) for text in page["documents"]]
        assert (listed, rest["next"]) == (["1", "2", "3"], None)
        assert first["documents"][0]["page_url"] == f"{ADDRESS}/documents/demo/1"
        for month in ("2010-03", "9999-12", "0000-01"):
            assert (await web.json("/api/documents/demo", month=month))["documents"] == []
        await web.problem("/api/documents/demo", 409, month="2010-02", cursor=first["next"])
        await web.problem("/api/documents/none", 404)


class TestNamesOfTheBox:
    """What is asked is `q` everywhere; the older names are understood too."""

    @pytest.mark.parametrize(
        ("path", "older"),
        [("/api/find", "query"), ("/api/prophecy", "headline"), ("/api/ask", "question")],
    )
    async def test_older_names_ask_the_same(
        self, coffee_web: WebStage, path: str, older: str
    ) -> None:
        answers = [await coffee_web.json(path, **{name: "coffee"}) for name in ("q", older)]
        for answer in answers:
            del answer["elapsed_ms"]
        assert answers[0] == answers[1]


class TestAddresses:
    async def test_hits_carry_the_addresses_of_their_page_and_picture(
        self, coffee_web: WebStage
    ) -> None:
        found = [
            *(await coffee_web.json("/api/search", q="coffee"))["hits"],
            *(await coffee_web.json("/api/find", q="coffee"))["hits"],
            *(await coffee_web.json("/api/ask", q="What about coffee prices?"))["sources"],
            await coffee_web.json("/api/documents/demo/1"),
            await coffee_web.json("/api/prophecy", q=HEADLINE),
        ]
        found += found[-1]["hits"]
        for answer in found:
            page = await coffee_web.get(answer["page_url"])
            assert page.headers["content-type"].startswith("text/html")
            assert answer.get("text", HEADLINE).split()[0] in page.text
            if answer["picture_url"]:
                picture = await coffee_web.get(answer["picture_url"])
                assert picture.headers["content-type"] == "image/png"
        assert {bool(answer["picture_url"]) for answer in found} == {can_draw()}

    async def test_without_pages_there_are_no_addresses(self, coffee_url: str) -> None:
        async with web_stage(coffee_url, page="false") as stage:
            text = await stage.json("/api/documents/demo/1")
            assert (text["page_url"], text["picture_url"]) == (None, None)

    async def test_addresses_begin_with_that_of_the_settings(self, coffee_url: str) -> None:
        async with web_stage(coffee_url, public_url="https://tweets.example.org/") as stage:
            text = await stage.json("/api/documents/demo/1")
            assert text["page_url"] == "https://tweets.example.org/documents/demo/1"


class TestCorpora:
    async def test_corpora_are_listed_with_kind_and_size(self, coffee_web: WebStage) -> None:
        assert await coffee_web.json("/api/corpora") == {
            "corpora": [
                {
                    "name": "demo",
                    "kind": "tweets",
                    "language": "english",
                    "documents": len(TWEETS),
                    "author": None,
                }
            ]
        }

    @pytest.mark.parametrize(
        "path",
        [
            "search?q=coffee&corpus=diary",
            "find?q=coffee&corpus=diary",
            "prophecy?q=coffee&corpus=diary",
            "ask?q=coffee&corpus=diary",
            "documents/diary",
            "documents/diary/0",
        ],
    )
    async def test_a_private_corpus_is_as_one_that_is_not_there(
        self, coffee_web: WebStage, path: str
    ) -> None:
        await fill(coffee_web.app.database, "diary", Kind.PERSONAL, [text_of("0", "coffee")])
        said = await coffee_web.problem(f"/api/{path}", 404)
        assert said == "There is no corpus 'diary'. There are: demo."


class TestDocuments:
    async def test_an_id_may_hold_anything(self, web: WebStage) -> None:
        ids = ["https://example.org/a?b=c#d", "a b/c", "9007199254740993", "ñ%2F"]
        await load(web.app.database, "demo", [document(one, f"text of {one}") for one in ids])
        for one in ids:
            assert (await web.json(f"/api/documents/demo/{quote(one, safe='')}"))["id"] == one

    async def test_an_unknown_one_is_said_to_be(self, coffee_web: WebStage) -> None:
        said = await coffee_web.problem("/api/documents/demo/999", 404)
        assert said == "Corpus demo holds no text with this id."
        await coffee_web.problem("/api/documents/demo/%00", 404)
        await coffee_web.problem("/api/documents/nowhere/1", 404)


class TestRefusals:
    @pytest.mark.parametrize(
        ("path", "said", "fix"),
        [
            ("/api/search", "The parameter q is missing.", ""),
            ("/api/search?q=", "The parameter q is wrong", "Write a word at least."),
            ("/api/search?q=%20%00", "The parameter q is wrong", "Write a word at least."),
            (f"/api/search?q={'a' * 2001}", "The parameter q", "Write at most 2000 characters."),
            ("/api/search?q=a&limit=0", "The parameter limit is wrong", "Write at least 1."),
            ("/api/search?q=a&limit=101", "The parameter limit is wrong", "Write at most 100."),
            ("/api/search?q=a&limit=x", "The parameter limit is wrong", "Write a whole number."),
            ("/api/search?q=a&period=year", "The parameter period", "'week', 'month' or 'all'."),
            ("/api/search?q=a&mode=psychic", "The parameter mode is wrong", ""),
            ("/api/search?q=a&corpus=A", "The parameter corpus", "/api/corpora lists the names."),
            ("/api/search?q=a&category=", "The parameter category", "/docs shows which values"),
            ("/api/search?q=a&Limit=3", "There is no parameter 'Limit'.", ""),
            ("/api/prophecy?headline=a&date=yesterday", "'yesterday' is not a date.", ""),
            ("/api/prophecy?headline=a&q=b", "There is no parameter 'headline'.", ""),
            ("/api/ask?question=a&limit=21", "The parameter limit is wrong", ""),
            ("/api/documents/demo?month=2015-13", "The parameter month is wrong", ""),
        ],
    )
    async def test_a_wrong_parameter_is_refused_with_what_to_send(
        self, coffee_web: WebStage, path: str, said: str, fix: str
    ) -> None:
        assert (await coffee_web.problem(path, 400)).startswith(said)
        told = (await coffee_web.get(path)).json()["fix"]
        assert told
        assert fix in told

    async def test_several_corpora_are_asked_together_where_none_is_named(
        self, web: WebStage
    ) -> None:
        for name in ("one", "two"):
            await load_texts(web.app.database, name, [f"coffee {name}"])
        found = (await web.client.get("/api/search?q=coffee&limit=5")).json()
        assert {hit["text"] for hit in found["hits"]} == {"coffee one", "coffee two"}
        assert {hit["source"] for hit in found["hits"]} == {"one", "two"}
        assert (found["searched"], found["returned"], found["kind"]) == (2, 2, None)
        asked = (await web.client.get("/api/ask?question=coffee")).json()
        assert {source["source"] for source in asked["sources"]} == {"one", "two"}
        for named in ({}, {"corpus": "all"}):
            foretold = await web.json("/api/prophecy", headline="coffee", **named)
            counted = await web.json("/api/find", query="coffee", **named)
            for answer in (foretold, counted):
                assert answer["corpus"] == "all"
                assert {hit["text"] for hit in answer["hits"]} == {"coffee one", "coffee two"}

    async def test_missing_corpus_is_reported(self, web: WebStage) -> None:
        assert "no corpus yet" in await web.problem("/api/search", 404, q="coffee")

    async def test_unknown_paths_and_methods_are_told_as_json(self, coffee_web: WebStage) -> None:
        assert await coffee_web.problem("/api/nothing", 404) == "There is nothing at this address."
        answered = await coffee_web.client.post("/api/search")
        assert answered.status_code == 405
        assert answered.json()["message"] == "That cannot be done at this address."

    async def test_a_database_that_is_away_is_503(self, coffee_web: WebStage) -> None:
        await coffee_web.app.database.close()
        answered = await coffee_web.get("/api/corpora")
        assert answered.status_code == 503
        assert int(answered.headers["Retry-After"]) > 0
        assert answered.json()["message"] == "The database does not answer."


@dataclass
class Slow:
    """A search that waits until the event is set, and fails."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0
    running: int = 0
    most: int = 0

    async def search(self, *_: object, **__: object) -> None:
        self.begun += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
            raise UsageError("Enough.")
        finally:
            self.running -= 1


class TestKeys:
    @pytest.fixture
    def environ(self, coffee_url: str) -> dict[str, str]:
        return {"DATABASE_URL": coffee_url, "WEB_API_KEYS": "k1,k2", "WEB_ADMIN_KEYS": "boss"}

    async def test_api_requires_a_known_key(self, environ: dict[str, str]) -> None:
        async with web_stage(environ) as stage:
            for path in ("/api/search?q=a", "/api/corpora", "/api/prophecy?headline=a", "/metrics",
                         "/api/ask?question=a", "/api/documents/demo/1"):  # fmt: skip
                answered = await stage.client.get(path)
                assert answered.status_code == 401, path
                assert answered.headers["WWW-Authenticate"] == "Bearer"
                wrong = await stage.client.get(path, headers=speaking("k3"))
                assert wrong.status_code == 401
                assert wrong.json()["message"] == "There is no such key."
                for key in ("k1", "k2", "boss"):
                    right = await stage.client.get(path, headers=speaking(key))
                    assert right.status_code == 200, right.text

    async def test_health_probes_need_no_key(self, environ: dict[str, str]) -> None:
        async with web_stage(environ) as stage:
            assert (await stage.client.get("/healthz")).status_code == 200
            assert (await stage.client.get("/readyz")).status_code == 200

    async def test_keys_appear_in_no_answer_or_log(
        self, environ: dict[str, str], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("DEBUG")
        async with web_stage({**environ, "WEB_API_KEYS": "s3cr3t"}) as stage:
            answered = [
                await stage.client.get(path, headers=speaking("s3cr3t"))
                for path in ("/api/corpora", "/metrics", "/healthz", "/openapi.json", "/api/none")
            ]
            assert "s3cr3t" not in repr(stage.shared)
        assert not [one for one in answered if "s3cr3t" in one.text]
        assert "s3cr3t" not in caplog.text


async def test_answered_event_is_logged_without_the_query(
    coffee_web: WebStage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "presagio.web")
    paths = ("/api/search?q=secretly", "/healthz", "/static/page.css", "/corpora", "/robots.txt")
    for path in paths:
        await coffee_web.client.get(path)
    [record] = [one for one in caplog.records if one.getMessage() == "answered"]
    fields = record.__dict__["fields"]
    assert list(fields) == ["platform", "to", "status", "ms"]
    assert (fields["platform"], fields["to"], fields["status"]) == ("web", "/api/search", "200")
    assert "secretly" not in str(record.__dict__)


class TestRates:
    async def test_too_many_requests_are_answered_with_429_and_retry_after(
        self, coffee_url: str
    ) -> None:
        async with web_stage(coffee_url, requests_per_minute="3") as stage:
            statuses = [(await stage.get("/api/corpora")).status_code for _ in range(4)]
            assert statuses == [200, 200, 200, 429]
            answered = await stage.get("/api/corpora")
            assert answered.headers["Retry-After"] == "20"
            assert answered.json()["fix"] == "Wait 20 s."
            assert (await stage.get("/")).status_code == 429
            assert (await stage.get("/healthz")).status_code == 200

    async def test_expensive_paths_have_their_own_rate_limit(self, coffee_url: str) -> None:
        async with web_stage(coffee_url, answers_per_minute="2") as stage:
            assert (await stage.get("/api/prophecy", headline="a")).status_code == 200
            assert (await stage.get("/api/ask", question="a")).status_code == 200
            assert (await stage.get("/prophecy", headline="a")).status_code == 429
            assert (await stage.get("/api/search", q="a")).status_code == 200


async def test_where_corpora_are_left_out_that_is_said(
    coffee_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.corpora._MOST_AT_ONCE", 1)
    async with web_stage(coffee_url) as stage:
        for name in ("small", "large"):
            await load_texts(stage.app.database, name, ["coffee by the sea"] * len(name) * 3)
        found = await stage.json("/api/find", query="coffee", corpus="all")
        assert "Of 2 archives the 1 largest" in found["notice"]
        answer = await stage.json("/api/prophecy", headline=HEADLINE, corpus="all")
        assert "Of 2 archives the 1 largest" in answer["notice"]


@pytest.mark.parametrize("path", ["find?query", "search?q", "prophecy?headline", "ask?question"])
async def test_a_parameter_that_is_given_twice_is_refused(coffee_web: WebStage, path: str) -> None:
    for more in ("&corpus=demo&corpus=none", "&limit=1&limit=2"):
        answered = await coffee_web.client.get(f"/api/{path}=coffee{more}")
        assert answered.status_code == 400
        assert answered.json()["message"].endswith(" is given 2 times.")


class TestTurns:
    """Without a key an address searches once at a time, and not for long."""

    PATHS = ("/api/find?query=coffee", "/api/search?q=coffee", "/search?q=coffee")

    @pytest.fixture
    def slow(self, monkeypatch: pytest.MonkeyPatch) -> Slow:
        slow = Slow()
        for name in ("api.find", "shared_state.SharedState.prophesy_from", "searching.find"):
            monkeypatch.setattr(f"bot.web.{name}", slow.search)
        return slow

    @pytest.mark.parametrize("path", PATHS)
    async def test_one_address_searches_once_at_a_time(
        self, coffee_web: WebStage, slow: Slow, path: str
    ) -> None:
        asking = [asyncio.create_task(coffee_web.client.get(path)) for _ in range(5)]
        await until(lambda: slow.begun)
        other = httpx.ASGITransport(
            coffee_web.application, raise_app_exceptions=False, client=("192.0.2.8", 1)
        )
        async with httpx.AsyncClient(transport=other, base_url=ADDRESS) as client:
            theirs = asyncio.create_task(client.get(path))
            await until(lambda: slow.begun == 2)
            assert slow.running == 2  # one of each
            slow.go.set()
            await asyncio.gather(*asking, theirs)
        assert (slow.begun, slow.most) == (6, 2)

    @pytest.mark.parametrize("path", PATHS)
    async def test_a_search_that_takes_long_is_ended_and_said_to(
        self, coffee_web: WebStage, slow: Slow, path: str
    ) -> None:
        with movable_time() as move:
            asking = asyncio.create_task(coffee_web.client.get(path))
            await until(lambda: slow.begun)
            move(11)
            answered = await asking
        assert answered.status_code == 503
        assert "That takes too long here." in answered.text
        assert slow.running == 0

    async def test_the_time_of_a_search_counts_as_requests(
        self, coffee_web: WebStage, slow: Slow
    ) -> None:
        asking = asyncio.create_task(coffee_web.client.get(self.PATHS[0]))
        await until(lambda: slow.begun)
        coffee_web.shared.clock = lambda: 9.0
        slow.go.set()
        await asking
        statuses = [(await coffee_web.get("/api/corpora")).status_code for _ in range(50)]
        assert 0 < statuses.count(200) < 50

    async def test_whoever_has_a_key_searches_as_often_as_wanted(
        self, coffee_url: str, slow: Slow
    ) -> None:
        async with web_stage({"DATABASE_URL": coffee_url, "WEB_API_KEYS": "k"}) as stage:
            asking = [
                asyncio.create_task(stage.client.get(self.PATHS[0], headers=speaking("k")))
                for _ in range(3)
            ]
            await until(lambda: slow.running == 3)
            slow.go.set()
            await asyncio.gather(*asking)


async def test_cors_is_allowed_only_for_named_origins(coffee_url: str) -> None:
    named = "https://example.org"
    for allowed, origins in (("[]", []), (f'["{named}"]', [named])):
        async with web_stage(coffee_url, allow_origins=allowed) as stage:
            for origin in (named, "https://evil.example"):
                answered = await stage.client.get("/api/corpora", headers={"Origin": origin})
                allows = answered.headers.get("access-control-allow-origin")
                assert allows == (origin if origin in origins else None)


async def test_visitor_queries_are_logged_only_as_hashes(coffee_web: WebStage) -> None:
    await coffee_web.json("/api/prophecy", headline="coffee for Zacharias")
    await coffee_web.json("/api/search", q="coffee for Zacharias")
    await coffee_web.json("/api/ask", question="Did Zacharias drink coffee?")
    await coffee_web.get("/search", q="Zacharias")
    async with coffee_web.app.database.connection() as connection:
        rows = await connection.fetch("SELECT * FROM search_log")
    assert [row["job"] for row in rows] == ["search", "search", "ask", "find"]
    assert "Zacharias" not in repr(rows)


@pytest.fixture
async def news(web: WebStage) -> WebStage:
    """A corpus of news with two texts, one of which has a category."""
    texts = [document("machine", "A coffee machine that thinks"), document("cup", "Coffee cup won")]
    corpus = await load(web.app.database, "news", texts)
    async with web.app.database.connection() as connection:
        await connection.execute(
            "UPDATE corpus SET kind = $2 WHERE id = $1", corpus.id, Kind.PUBLISHED.value
        )
        await connection.execute(
            "UPDATE document SET tags = '{tech}', author = 'The Bean', title = 'Machines think'"
            " WHERE external_id = 'machine'"
        )
    return web
