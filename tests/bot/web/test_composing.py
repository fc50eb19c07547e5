"""Writing over HTTP: JSON, a stream of events, and a page that needs no script."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from aiohttp import web

from bot.web.composing import ComposeBody
from bot.web.streaming import SharedWork
from tests.bot.web.browser import Visit, browsing
from tests.bot.web.stage import WebStage, judging, speaking, web_stage
from tests.bot.web.test_browsing import href
from tests.bot.web.test_pages import one, read, texts
from tests.bot.web.test_service import served
from tests.bot.web.test_streaming import REFUSED, STATUS, cutting_streams, shows
from tests.fakes.model import Asked, ModelServer, failure
from tests.fakes.writer import Writer, drafting
from tests.patience import PATIENCE, until
from tests.programs import require_program

ASKED = {"prompt": "coffee prices", "web": False}
EVENTS = {"Accept": "text/event-stream"}
RUN = ["retrieve", "merge", "evidence", "write", "guard", "check"]


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer([Writer()]) as server:
        yield server


@pytest.fixture
def environ(coffee_url: str, model: ModelServer) -> dict[str, str]:
    return judging(coffee_url, model)


@pytest.fixture
async def stage(environ: dict[str, str]) -> AsyncIterator[WebStage]:
    async with web_stage(environ) as ready:
        yield ready


def events(text: str) -> list[tuple[str, Any]]:
    """The events of a stream, as a stranger reads them."""
    found = re.findall(r"^event: (\w+)\ndata: (.*)\n\n", text, re.MULTILINE)
    return [(name, json.loads(data)) for name, data in found]


def hold_draft(model: ModelServer) -> tuple[Writer, asyncio.Event]:
    """Have the model answer a draft only once the event is set."""
    writer, waits = Writer(), asyncio.Event()

    async def wait_and_draft(asked: Asked, request: web.Request) -> web.StreamResponse:
        await waits.wait()
        return await drafting("Prices rise [1].")(asked, request)

    writer.says["draft"] = wait_and_draft
    model.script = [writer]
    return writer, waits


class TestPrograms:
    async def test_api_returns_the_json_of_the_command_line(self, stage: WebStage) -> None:
        answered = await stage.client.post("/api/compose", json=ASKED | {"variants": 2})
        assert answered.status_code == 200, answered.text
        body = answered.json()
        assert [len(one["tweets"]) for one in body["variants"]] == [1, 1]
        assert "[1]" in body["variants"][0]["tweets"][0]["text"]
        assert body["variants"][0]["checked"]
        source = body["sources"][0]
        assert (source["n"], source["kind"], source["corpus"]) == (1, "internal", "demo")
        assert [step["name"] for step in body["steps"] if not step["skipped"]] == RUN
        assert body["corpora"] == ["demo"]

    async def test_progress_as_events(self, stage: WebStage) -> None:
        answered = await stage.client.post("/api/compose", json=ASKED, headers=EVENTS)
        assert answered.headers["content-type"].startswith("text/event-stream")
        *steps, (last, body) = events(answered.text)
        assert [one["step"] for name, one in steps if name == "step"] == RUN
        assert last == "done"
        assert body["variants"][0]["thread"] is False

    async def test_failure_during_the_run_is_streamed_as_an_event(
        self, stage: WebStage, environ: dict[str, str]
    ) -> None:
        async with web_stage({**environ, "PRESAGIO_LLM__DAILY_TOKENS": "1"}) as poor:
            answered = await poor.client.post("/api/compose", json=ASKED, headers=EVENTS)
            ((name, body),) = events(answered.text)
            assert (name, body["status"]) == ("failed", 503)
            refused = await poor.client.post("/api/compose", json=ASKED)
            assert refused.status_code == 503

    async def test_a_dead_model_writes_nothing_and_says_why(
        self, stage: WebStage, model: ModelServer
    ) -> None:
        model.script = [failure(503)]
        body = (await stage.client.post("/api/compose", json=ASKED)).json()
        assert body["variants"] == []
        assert body["notice"]

    async def test_without_a_model_it_is_refused(self, coffee_web: WebStage) -> None:
        answered = await coffee_web.client.post("/api/compose", json=ASKED)
        assert answered.status_code == 409
        assert "No language model is set up" in answered.json()["message"]
        assert "/api/ask" in answered.json()["fix"]

    @pytest.mark.parametrize(
        ("changes", "status", "said"),
        [
            ({"prompt": " "}, 400, "prompt"),
            ({"prompt": "x" * 2001}, 400, "prompt"),
            ({"corpora": ["nobody"]}, 404, "There is no corpus"),
            ({"variants": 4}, 400, "variants"),
            ({"variants": 1.5}, 400, "variants"),
            ({"variants": "2"}, 400, "variants"),
            ({"language": "<script>"}, 400, "language"),
            ({"tools": True}, 400, "tools"),
            ({"corpora": ["demo", "demo"]}, 400, "a corpus is named twice"),
        ],
    )
    async def test_invalid_requests_are_refused_with_a_message(
        self, stage: WebStage, changes: dict[str, object], status: int, said: str
    ) -> None:
        answered = await stage.client.post("/api/compose", json=ASKED | changes)
        assert answered.status_code == status, answered.text
        assert said in answered.json()["message"]

    async def test_a_body_of_another_type_is_told_as_that(self, stage: WebStage) -> None:
        async def send(media_type: str) -> tuple[int, str, str]:
            answered = await stage.client.post(
                "/api/compose", content=b"q=coffee", headers={"Content-Type": media_type}
            )
            problem = answered.json()
            return answered.status_code, problem["message"], problem["fix"]

        assert await send("text/plain; charset=utf-8") == (
            415,
            "The body is of type text/plain, not JSON.",
            "Send the header: Content-Type: application/json",
        )
        status, _, fix = await send("application/json")
        assert (status, fix) == (400, "Send a JSON object, as /docs shows it.")

    def test_left_out_one_variant_is_written_and_the_web_asked(self) -> None:
        body = ComposeBody(prompt="coffee")
        assert (body.variants, body.web) == (1, True)

    async def test_q_is_the_prompt(self, stage: WebStage) -> None:
        asked = {"q": ASKED["prompt"], "web": False}
        assert (await stage.client.post("/api/compose", json=asked)).json()["variants"]

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"prompt"', b"\xff", b"[" * 100_000])
    async def test_a_body_that_is_no_request_is_refused_with_a_message(
        self, stage: WebStage, body: bytes
    ) -> None:
        answered = await stage.client.post("/api/compose", content=body)
        assert answered.status_code == 400
        assert answered.json()["message"].startswith("The parameter body is wrong: ")

    async def test_private_texts_are_not_written_about(self, stage: WebStage) -> None:
        async with stage.app.database.connection() as connection:
            await connection.execute("UPDATE corpus SET kind = 'personal'")
        answered = await stage.client.post("/api/compose", json=ASKED | {"corpora": ["demo"]})
        assert answered.status_code == 404

    async def test_compose_without_a_key_is_refused_unless_judging_is_enabled(
        self, environ: dict[str, str], model: ModelServer
    ) -> None:
        async with web_stage({**environ, "PRESAGIO_WEB__JUDGE": "false"}) as stage:
            for headers in ({}, EVENTS):
                answered = await stage.client.post("/api/compose", json=ASKED, headers=headers)
                assert answered.status_code == 403
                assert answered.json()["message"] == "Without a key no model is asked here."
            assert "<form" not in (await stage.client.get("/compose")).text
        assert model.calls == 0

    async def test_keys_and_rates_hold(self, environ: dict[str, str]) -> None:
        strict = {**environ, "WEB_API_KEYS": "k", "PRESAGIO_WEB__ANSWERS_PER_MINUTE": "1"}
        async with web_stage(strict) as stage:
            for body in ({"json": ASKED}, {"content": b"no JSON"}, {"json": {"prompt": 1}}):
                assert (await stage.client.post("/api/compose", **body)).status_code == 401
            asked = {"json": ASKED, "headers": speaking("k")}
            assert (await stage.client.post("/api/compose", **asked)).status_code == 200  # type: ignore[arg-type]  # the table has the types
            assert (await stage.client.post("/api/compose", **asked)).status_code == 429  # type: ignore[arg-type]  # as above

    async def test_usage_is_charged_to_the_api_budget(self, environ: dict[str, str]) -> None:
        async with web_stage({**environ, "WEB_API_KEYS": "k"}) as stage:
            await stage.client.post("/api/compose", json=ASKED, headers={**speaking("k"), **EVENTS})
            async with stage.app.database.connection() as connection:
                spent = await connection.fetch("SELECT DISTINCT source FROM model_call")
        assert [row["source"] for row in spent] == ["api"]

    async def test_a_reader_who_leaves_ends_the_run(
        self, environ: dict[str, str], model: ModelServer
    ) -> None:
        writer, waits = hold_draft(model)
        async with served(environ) as one:
            async with (
                httpx.AsyncClient(base_url=one.service.address) as client,
                client.stream("POST", "/api/compose", json=ASKED, headers=EVENTS) as stream,
            ):
                lines = stream.aiter_lines()
                while "write" not in await anext(lines):
                    pass
                await until(lambda: "draft" in writer.calls)
            await until(
                lambda: (
                    not [task for task in asyncio.all_tasks() if "Composer.compose" in repr(task)]
                )
            )
            waits.set()
        assert "check" not in writer.calls


class TestPage:
    async def test_the_form_works_without_a_script(self, stage: WebStage) -> None:
        shown = (await stage.client.get("/compose?prompt=Tea")).text
        assert 'action="/compose" method="post"' in shown
        assert ">Tea</textarea>" in shown
        written = await stage.client.post("/compose", data={"prompt": "coffee prices"})
        assert written.status_code == 200
        assert "Variant 1 of 3" in written.text
        page = read(written)
        assert page.css("#source-1-1 blockquote")
        assert href(page, ".card .cite") == "#source-1-1"
        [copied, *_] = [str(node.attributes["data-copy"]) for node in page.css("[data-copy]")]
        assert copied in texts(page, ".tweet")[0].replace(" [1]", "")
        assert "[" not in copied
        assert texts(page, ".card .meta")[0].startswith(f"{len(copied)} / 280")
        assert ">Write it again<" in written.text
        assert ">coffee prices</textarea>" in written.text

    async def test_a_source_that_variants_share_is_listed_once(
        self, stage: WebStage, model: ModelServer
    ) -> None:
        writer = Writer()
        variants = [["Prices rise [1]."], ["Coffee is dear [2]. Prices rise [1]."]]
        writer.says["draft"] = drafting(variants=variants)
        model.script = [writer]
        page = read(await stage.client.post("/compose", data={"prompt": "coffee prices"}))
        assert texts(page, ".tweet") == ["Prices rise. [1]", "Coffee is dear. [2] Prices rise. [1]"]
        cited = {link.attributes["href"] for link in page.css(".cite")}
        assert cited == {f"#{source.attributes['id']}" for source in page.css(".cited > li")}
        assert len(page.css(".cited > li")) == 2

    async def test_the_empty_form_has_subjects_to_try_and_names_whose_posts_it_reads(
        self, stage: WebStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.web.examples._PATIENCE", PATIENCE)
        page = read(await stage.get("/compose"))
        assert "It draws on the posts of" in texts(page, ".note")[0]
        example = page.css(".examples a")[0]
        tried = read(await stage.get(href(page, ".examples a")))
        assert example.text() == one(tried, "#prompt").text()

    async def test_form_sent_by_script_gets_steps_and_an_html_fragment(
        self, stage: WebStage
    ) -> None:
        answered = await stage.client.post(
            "/compose?lang=es", data={"prompt": "coffee prices"}, headers=EVENTS
        )
        *steps, (last, body) = events(answered.text)
        assert {"says": "Escribiendo…"} in [one for _, one in steps]
        assert last == "done"
        assert "Variante 1 de 3" in body["html"]
        assert "<html" not in body["html"]

    async def test_who_asks_again_after_a_broken_stream_gets_what_was_being_written(
        self, environ: dict[str, str], model: ModelServer
    ) -> None:
        writer, waits = hold_draft(model)
        form = {"prompt": "coffee prices"}
        # One answer a minute: who asks again is not counted again.
        async with (
            asyncio.timeout(PATIENCE),
            served(environ, answers_per_minute="1") as service,
            httpx.AsyncClient(base_url=service.service.address) as client,
        ):
            async with client.stream("POST", "/compose", data=form, headers=EVENTS):
                await until(lambda: "draft" in writer.calls)
            async with client.stream("POST", "/compose", data=form, headers=EVENTS) as stream:
                lines = stream.aiter_lines()
                assert "Reading and writing" in await anext(lines) + await anext(lines)
                waits.set()
                assert "Prices rise" in "".join([line async for line in lines])
            refused = await client.post("/compose", data=form)
        assert refused.status_code == 429
        assert writer.calls.count("draft") == 1

    async def test_what_ends_before_it_is_joined_is_not_written_again_uncounted(
        self, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(SharedWork, "__contains__", lambda *_: True)
        async with (
            served(environ, answers_per_minute="1") as service,
            httpx.AsyncClient(base_url=service.service.address) as client,
        ):
            form = {"prompt": "coffee prices"}
            first, second = [
                events((await client.post("/compose", data=form, headers=EVENTS)).text)[-1]
                for _ in range(2)
            ]
        assert (first[0], second[0]) == ("done", "failed")

    async def test_a_browser_asks_again_where_the_stream_breaks_and_says_why_it_is_refused(
        self, environ: dict[str, str]
    ) -> None:
        program = require_program("chromium")
        async with (
            served(environ) as service,
            cutting_streams(service.service.address) as cut,
            browsing(program) as browser,
        ):
            visit = Visit(browser, cut.address)
            await visit.open("compose?prompt=coffee+prices")
            await visit.read("document.querySelector('.compose').requestSubmit()")
            await shows(visit, STATUS, "broke")
            await shows(visit, "document.getElementById('composition').innerText", "Variant 1 of 3")
            assert await visit.read("document.querySelector('[aria-busy]')") is None
            cut.instead = REFUSED % 503
            await visit.read("document.querySelector('.compose').requestSubmit()")
            await shows(visit, STATUS, "Gone")

    async def test_what_models_and_sources_say_is_escaped(
        self, stage: WebStage, model: ModelServer
    ) -> None:
        writer = Writer()
        writer.says["draft"] = drafting("<script>alert()</script> Prices rise [1].")
        model.script = [writer]
        written = await stage.client.post("/compose", data={"prompt": "coffee prices"})
        assert "<script>alert" not in written.text

    async def test_an_empty_form_is_refused(self, stage: WebStage) -> None:
        answered = await stage.client.post("/compose", data={"prompt": " "})
        assert answered.status_code == 400
        assert "There is nothing to write about." in answered.text

    async def test_without_a_model_there_is_no_form_and_no_way_to_it(
        self, coffee_web: WebStage
    ) -> None:
        shown = (await coffee_web.client.get("/compose")).text
        assert "<form" not in shown
        assert "no language model may be asked here" in shown
        assert 'href="/compose"' not in (await coffee_web.client.get("/")).text

    async def test_home_page_links_to_compose(self, stage: WebStage) -> None:
        assert 'href="/compose"' in (await stage.client.get("/")).text
